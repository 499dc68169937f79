#include "meshwright/hlo/stablehlo/mlir_syntax.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

using Kind = MlirAttribute::Kind;

// Aliases may name aliases, so a short text can stand for an endless attribute.
constexpr int kMaxExpansions = 1000;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

absl::StatusOr<std::string_view> QuotedOnOneLine(TextCursor& cursor) {
  cursor.SkipSpace();
  const size_t at = cursor.position();
  MW_ASSIGN_OR_RETURN(const std::string_view quoted, cursor.RawQuotedString());
  if (quoted.find('\n') == std::string_view::npos) return quoted;
  return cursor.Error(at, "string has no closing quote on its line");
}

int HexDigit(char c) {
  if (IsDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

class AttributeParser {
 public:
  AttributeParser(TextCursor& cursor, const MlirAliases& aliases)
      : cursor_(cursor), aliases_(aliases) {}

  absl::StatusOr<MlirAttribute> Parse(bool typed) {
    if (++depth_ > kMaxTextNesting) {
      return cursor_.Error(StrCat("attributes nested deeper than ", kMaxTextNesting));
    }
    MlirAttribute attribute;
    const char next = cursor_.Peek();
    attribute.position = cursor_.position();
    MW_RETURN_IF_ERROR(Value(next, attribute));
    attribute.text =
        attribute.kind == Kind::kElements
            ? attribute.text
            : cursor_.text().substr(attribute.position, cursor_.position() - attribute.position);
    if (typed && attribute.kind != Kind::kElements && cursor_.Peek() == ':') {
      cursor_.Consume(':');
      MW_RETURN_IF_ERROR(SkipType());
    }
    --depth_;
    return attribute;
  }

  // The entries up to `close`, which is consumed; what opens them was consumed before.
  absl::Status Entries(char close, MlirAttributes& entries) {
    if (cursor_.Consume(close)) return absl::OkStatus();
    do {
      // Structures may end with a comma, `#stablehlo.gather<a = 1,>`.
      if (close == '>' && cursor_.Consume(close)) return absl::OkStatus();
      std::string_view name;
      if (cursor_.Peek() == '"') {
        MW_ASSIGN_OR_RETURN(name, cursor_.RawQuotedString());
        name = name.substr(1, name.size() - 2);
      } else {
        name = MlirName(cursor_);
      }
      if (name.empty()) return cursor_.Expected("the name of an attribute");
      MlirAttribute value;
      value.position = cursor_.position();
      if (cursor_.Consume('=')) {
        MW_ASSIGN_OR_RETURN(value, Parse(/*typed=*/true));
      }
      entries.push_back({name, std::move(value)});
    } while (cursor_.Consume(','));
    return cursor_.Expect(std::string_view(&close, 1), "after the attributes");
  }

 private:
  absl::Status Value(char next, MlirAttribute& attribute) {
    switch (next) {
      case '"': {
        attribute.kind = Kind::kString;
        MW_ASSIGN_OR_RETURN(attribute.string, MlirString(cursor_));
        return absl::OkStatus();
      }
      case '@': {
        attribute.kind = Kind::kSymbol;
        MW_ASSIGN_OR_RETURN(const std::string_view name, MlirSymbol(cursor_));
        attribute.string = std::string(name);
        while (cursor_.Consume("::")) MW_RETURN_IF_ERROR(MlirSymbol(cursor_).status());
        return absl::OkStatus();
      }
      case '[':
        cursor_.Consume('[');
        return List(']', attribute);
      case '{':
        cursor_.Consume('{');
        attribute.kind = Kind::kDictionary;
        return Entries('}', attribute.entries);
      case '<':
        return Angles(attribute);
      case '#':
        return Hash(attribute);
      case '!':
      case '(':
        attribute.kind = Kind::kOpaque;
        return SkipType();
      default:
        break;
    }
    if (next == '-' || next == '+' || IsDigit(next)) return Number(attribute);
    if (StartsMlirName(next)) return Word(attribute);
    return cursor_.Expected("an attribute");
  }

  absl::Status List(char close, MlirAttribute& attribute) {
    attribute.kind = Kind::kIntegers;
    if (cursor_.Consume(close)) return absl::OkStatus();
    do {
      MW_ASSIGN_OR_RETURN(MlirAttribute item, Parse(/*typed=*/true));
      if (attribute.kind == Kind::kIntegers && item.kind == Kind::kInteger) {
        attribute.integers.push_back(item.integer);
        continue;
      }
      if (attribute.kind == Kind::kIntegers) {
        attribute.kind = Kind::kList;
        for (const int64_t value : attribute.integers) {
          MlirAttribute& earlier = attribute.list.emplace_back();
          earlier.kind = Kind::kInteger;
          earlier.integer = value;
        }
        attribute.integers.clear();
      }
      attribute.list.push_back(std::move(item));
    } while (cursor_.Consume(','));
    return cursor_.Expect(std::string_view(&close, 1), "after the items of a list");
  }

  // `<a = 1, b = [2]>` is a dictionary, any other `<...>` only text.
  absl::Status Angles(MlirAttribute& attribute) {
    const size_t at = cursor_.position();
    cursor_.Consume('<');
    // `<raw a = 1>`: the numbers of a convolution that its short form cannot say.
    const bool raw = cursor_.ConsumeWord("raw");
    const bool named = !MlirName(cursor_).empty() && cursor_.Peek() == '=';
    const bool empty = !raw && cursor_.Peek() == '>';
    cursor_.set_position(at);
    if (named || empty) {
      cursor_.Consume('<');
      if (raw) cursor_.ConsumeWord("raw");
      attribute.kind = Kind::kDictionary;
      return Entries('>', attribute.entries);
    }
    attribute.kind = Kind::kOpaque;
    return SkipAngleBrackets(cursor_);
  }

  // `#alias`, `#dialect.name<...>`, `#dialect<name ...>`
  absl::Status Hash(MlirAttribute& attribute) {
    const size_t at = cursor_.position();
    cursor_.Consume('#');
    const std::string_view name = MlirName(cursor_);
    if (name.empty()) return cursor_.Expected("the name of an attribute after '#'");
    attribute.kind = Kind::kOpaque;
    const size_t end = cursor_.position();
    if (end < cursor_.text().size() && cursor_.text()[end] == '<') return Angles(attribute);
    if (name.find('.') != std::string_view::npos) return absl::OkStatus();
    if (++expansions_ > kMaxExpansions) {
      return cursor_.Error(at, StrCat("more than ", kMaxExpansions, " aliases in one attribute"));
    }
    const size_t value = aliases_.Find(name);
    if (value == std::string_view::npos) {
      return cursor_.Error(at, StrCat("alias ", QuoteForError(StrCat("#", name)),
                                      " is not defined; add a line #", name, " = ..."));
    }
    cursor_.set_position(value);
    absl::StatusOr<MlirAttribute> aliased = Parse(/*typed=*/true);
    if (!aliased.ok()) return aliased.status();
    attribute = *std::move(aliased);
    attribute.position = at;
    cursor_.set_position(end);
    return absl::OkStatus();
  }

  absl::Status Number(MlirAttribute& attribute) {
    const std::string_view text = cursor_.text();
    const size_t begin = cursor_.position();
    size_t end = begin + 1;
    while (end < text.size() &&
           (ContinuesMlirName(text[end]) || ((text[end] == '-' || text[end] == '+') &&
                                             (text[end - 1] == 'e' || text[end - 1] == 'E')))) {
      ++end;
    }
    std::string_view digits = text.substr(begin, end - begin);
    cursor_.set_position(end);
    attribute.kind = Kind::kInteger;
    int base = 10;
    if (digits.starts_with("0x")) {
      digits.remove_prefix(2);
      base = 16;
    }
    const char* const last = digits.data() + digits.size();
    auto [stop, error] = std::from_chars(digits.data(), last, attribute.integer, base);
    if (stop == last && error == std::errc()) return absl::OkStatus();
    uint64_t bits = 0;
    const auto [stop_unsigned, error_unsigned] = std::from_chars(digits.data(), last, bits, base);
    if (stop_unsigned == last && error_unsigned == std::errc()) {
      attribute.integer = static_cast<int64_t>(bits);  // an unsigned 64-bit number, bit for bit
      return absl::OkStatus();
    }
    const bool real = digits.find_first_of(".eE") != std::string_view::npos;
    if (!real || digits.find_first_not_of("0123456789.eE+-") != std::string_view::npos) {
      return cursor_.Error(begin, StrCat("not a number of 64 bits: ", QuoteForError(digits)));
    }
    attribute.kind = Kind::kOpaque;
    return absl::OkStatus();
  }

  absl::Status Word(MlirAttribute& attribute) {
    const size_t at = cursor_.position();
    const std::string_view word = MlirName(cursor_);
    if (word == "unit") return absl::OkStatus();
    if (word == "true" || word == "false") {
      attribute.kind = Kind::kInteger;
      attribute.integer = word == "true" ? 1 : 0;
      return absl::OkStatus();
    }
    if (word == "array") return Array(attribute);
    if (word == "dense" || word == "dense_resource") return Dense(word != "dense", attribute);
    attribute.kind = Kind::kOpaque;
    if (word == "loc") {
      return cursor_.RawValue().status();
    }
    cursor_.set_position(at);
    return SkipType();
  }

  // `array<i64: 1, 2>`, `array<i64>`
  absl::Status Array(MlirAttribute& attribute) {
    MW_RETURN_IF_ERROR(cursor_.Expect("<", "after \"array\""));
    if (MlirName(cursor_).empty()) return cursor_.Expected("the type of the array's items");
    attribute.kind = Kind::kIntegers;
    if (!cursor_.Consume(':')) return cursor_.Expect(">", "after the type of the array's items");
    return List('>', attribute);
  }

  absl::Status Dense(bool resource, MlirAttribute& attribute) {
    attribute.kind = Kind::kElements;
    attribute.elided = resource;
    cursor_.SkipSpace();
    const size_t begin = cursor_.position() + 1;
    MW_RETURN_IF_ERROR(SkipAngleBrackets(cursor_));
    attribute.text = cursor_.text().substr(begin, cursor_.position() - begin - 1);
    attribute.elided |= attribute.text.find("__elided__") != std::string_view::npos;
    attribute.position = begin;
    MW_RETURN_IF_ERROR(cursor_.Expect(":", "before the type of the elements"));
    MW_ASSIGN_OR_RETURN(attribute.type, ParseMlirType(cursor_));
    return absl::OkStatus();
  }

  // Any type, also of functions.
  absl::Status SkipType() {
    if (cursor_.Peek() == '(') {
      cursor_.Consume('(');
      if (!cursor_.Consume(')')) {
        do {
          MW_RETURN_IF_ERROR(SkipNested());
        } while (cursor_.Consume(','));
        MW_RETURN_IF_ERROR(cursor_.Expect(")", "after types"));
      }
      if (!cursor_.Consume("->")) return absl::OkStatus();
      return SkipNested();
    }
    cursor_.Consume('!');
    if (MlirName(cursor_).empty()) return cursor_.Expected("a type");
    const size_t end = cursor_.position();
    if (end < cursor_.text().size() && cursor_.text()[end] == '<') {
      return SkipAngleBrackets(cursor_);
    }
    return absl::OkStatus();
  }
  absl::Status SkipNested() {
    if (++depth_ > kMaxTextNesting) {
      return cursor_.Error(StrCat("types nested deeper than ", kMaxTextNesting));
    }
    MW_RETURN_IF_ERROR(SkipType());
    --depth_;
    return absl::OkStatus();
  }

  TextCursor& cursor_;
  const MlirAliases& aliases_;
  int depth_ = 0;
  int expansions_ = 0;
};

}  // namespace

absl::StatusOr<std::string_view> MlirSymbol(TextCursor& cursor) {
  MW_RETURN_IF_ERROR(cursor.Expect("@", "before the name of a symbol"));
  const size_t at = cursor.position();
  if (at < cursor.text().size() && cursor.text()[at] == '"') {
    MW_ASSIGN_OR_RETURN(const std::string_view quoted, QuotedOnOneLine(cursor));
    return quoted.substr(1, quoted.size() - 2);
  }
  size_t end = at;
  while (end < cursor.text().size() &&
         (ContinuesMlirName(cursor.text()[end]) || cursor.text()[end] == '-')) {
    ++end;
  }
  if (end == at) return cursor.Expected("the name of a symbol after '@'");
  cursor.set_position(end);
  return cursor.text().substr(at, end - at);
}

absl::StatusOr<std::string> MlirString(TextCursor& cursor) {
  MW_ASSIGN_OR_RETURN(std::string_view raw, QuotedOnOneLine(cursor));
  raw = raw.substr(1, raw.size() - 2);
  std::string value;
  value.reserve(raw.size());
  for (size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 == raw.size()) {
      value += raw[i];
      continue;
    }
    const char escaped = raw[++i];
    const int high = HexDigit(escaped);
    const int low = i + 1 < raw.size() ? HexDigit(raw[i + 1]) : -1;
    if (high >= 0 && low >= 0) {
      value += static_cast<char>(high * 16 + low);
      ++i;
    } else {
      value += escaped == 'n' ? '\n' : escaped == 't' ? '\t' : escaped;
    }
  }
  return value;
}

const MlirAttribute* MlirAttribute::Find(std::string_view name) const {
  for (const auto& [key, value] : entries) {
    if (key == name) return &value;
  }
  return nullptr;
}

MlirAliases::MlirAliases(std::string_view text) {
  for (size_t at = 0; at < text.size(); ++at) {
    at = std::min(text.find_first_not_of(" \t", at), text.size());
    if (at == text.size()) break;
    if (text[at] == '#' || text[at] == '!') {
      TextCursor cursor(text, "");
      cursor.set_position(at + 1);
      std::string_view name = MlirName(cursor);
      const bool is_type = text[at] == '!';
      if (!name.empty() && cursor.Consume('=')) {
        if (is_type) name = text.substr(at, 1 + name.size());
        positions_.emplace_back(name, cursor.position());
      }
    }
    at = text.find('\n', at);
    if (at == std::string_view::npos) break;
  }
  std::stable_sort(positions_.begin(), positions_.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
}

size_t MlirAliases::Find(std::string_view name) const {
  const auto found =
      std::lower_bound(positions_.begin(), positions_.end(), name,
                       [](const auto& row, std::string_view key) { return row.first < key; });
  return found != positions_.end() && found->first == name ? found->second : std::string_view::npos;
}

absl::StatusOr<MlirAttribute> ParseMlirAttribute(TextCursor& cursor, const MlirAliases& aliases,
                                                 bool typed) {
  return AttributeParser(cursor, aliases).Parse(typed);
}

absl::StatusOr<MlirAttributes> ParseMlirDictionary(TextCursor& cursor, const MlirAliases& aliases) {
  MW_RETURN_IF_ERROR(cursor.Expect("{", "before attributes"));
  MlirAttributes attributes;
  MW_RETURN_IF_ERROR(AttributeParser(cursor, aliases).Entries('}', attributes));
  return attributes;
}

absl::Status SkipAngleBrackets(TextCursor& cursor) {
  MW_RETURN_IF_ERROR(cursor.Expect("<"));
  const std::string_view text = cursor.text();
  const size_t begin = cursor.position() - 1;
  int64_t depth = 1;
  for (size_t at = begin + 1; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') {
      cursor.set_position(at);
      MW_RETURN_IF_ERROR(cursor.RawQuotedString().status());
      at = cursor.position() - 1;
    } else if (c == '/') {
      cursor.set_position(at);
      cursor.SkipSpace();  // a comment may hold any bracket
      at = std::max(at, cursor.position() - 1);
    } else if (c == '<') {
      ++depth;
    } else if (c == '>' && text[at - 1] != '-' && --depth == 0) {
      cursor.set_position(at + 1);
      return absl::OkStatus();
    }
  }
  return cursor.Error(begin, "the file ends before this '<' is closed");
}

}  // namespace meshwright
