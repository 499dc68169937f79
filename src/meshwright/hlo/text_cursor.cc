#include "meshwright/hlo/text_cursor.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

#include "absl/strings/escaping.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

constexpr std::array<bool, 256> kNameChars = [] {
  std::array<bool, 256> table = {};
  for (int c = 0; c < 256; ++c) {
    table[static_cast<size_t>(c)] = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                                    (c >= 'A' && c <= 'Z') || c == '_' || c == '.' || c == '-' ||
                                    c == '$' || c == '@' || c == '~';
  }
  return table;
}();

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v'; }
char Closing(char open) { return open == '(' ? ')' : open == '[' ? ']' : '}'; }
bool IsOpening(char c) { return c == '(' || c == '[' || c == '{'; }
bool IsClosing(char c) { return c == ')' || c == ']' || c == '}'; }

// End of a comment that starts at `at`, or `at` if none does. An unclosed one extends to the end.
size_t SkipComment(std::string_view text, size_t at) {
  if (at + 1 >= text.size() || text[at] != '/') return at;
  const std::string_view end = text[at + 1] == '*' ? "*/" : text[at + 1] == '/' ? "\n" : "";
  if (end.empty()) return at;
  const size_t found = text.find(end, at + 2);
  return found == std::string_view::npos ? text.size() : found + end.size();
}

}  // namespace

bool IsNameChar(char c) { return kNameChars[static_cast<unsigned char>(c)]; }

std::string QuoteForError(std::string_view text) {
  constexpr size_t kLongest = 60;
  const bool cut = text.size() > kLongest;
  return StrCat("\"", absl::CHexEscape(ToAbsl(text.substr(0, kLongest))), cut ? "...\"" : "\"");
}

void TextCursor::SkipSpace() {
  while (position_ < text_.size()) {
    const char c = text_[position_];
    if (IsBlank(c)) {
      ++position_;
    } else if (c == '/') {
      const size_t after = SkipComment(text_, position_);
      if (after == position_) return;
      position_ = after;
    } else {
      return;
    }
  }
}

char TextCursor::Peek() {
  SkipSpace();
  return position_ < text_.size() ? text_[position_] : '\0';
}

bool TextCursor::AtEnd() {
  SkipSpace();
  return position_ == text_.size();
}

bool TextCursor::Consume(char token) {
  SkipSpace();
  if (position_ == text_.size() || text_[position_] != token) return false;
  ++position_;
  return true;
}

bool TextCursor::Consume(std::string_view token) {
  SkipSpace();
  if (!text_.substr(position_).starts_with(token)) return false;
  position_ += token.size();
  return true;
}

bool TextCursor::ConsumeWord(std::string_view word) {
  SkipSpace();
  if (!text_.substr(position_).starts_with(word)) return false;
  const size_t end = position_ + word.size();
  if (end < text_.size() && IsNameChar(text_[end])) return false;
  position_ = end;
  return true;
}

absl::Status TextCursor::Expect(std::string_view token, std::string_view what) {
  if (Consume(token)) return absl::OkStatus();
  return Expected(StrCat("'", token, "'", what.empty() ? "" : " ", what));
}

bool IsHloKeyword(std::string_view name) { return name == "ROOT" || name == "ENTRY"; }

std::string_view TextCursor::Name() {
  SkipSpace();
  size_t begin = position_;
  if (begin < text_.size() && text_[begin] == '%') ++begin;
  size_t end = begin;
  while (end < text_.size() && IsNameChar(text_[end])) {
    if (text_[end] == '-' && end + 1 < text_.size() && text_[end + 1] == '>') break;
    ++end;
  }
  const std::string_view name = text_.substr(begin, end - begin);
  if (name.empty() || (begin == position_ && IsHloKeyword(name))) return {};
  position_ = end;
  return name;
}

absl::StatusOr<int64_t> TextCursor::Integer() {
  SkipSpace();
  int64_t value = 0;
  const char* begin = text_.data() + position_;
  const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
  if (error == std::errc::result_out_of_range) return Error("integer does not fit in 64 bits");
  if (error != std::errc()) return Expected("an integer");
  position_ += static_cast<size_t>(end - begin);
  return value;
}

absl::StatusOr<std::vector<int64_t>> TextCursor::IntegerList() {
  MW_RETURN_IF_ERROR(Expect("{", "before a list of integers"));
  std::vector<int64_t> values;
  if (Consume('}')) return values;
  while (true) {
    MW_ASSIGN_OR_RETURN(const int64_t value, Integer());
    values.push_back(value);
    if (Consume('}')) return values;
    if (!Consume(',')) return Expected("',' or '}' in a list of integers");
  }
}

size_t TextCursor::SkipQuoted(size_t at) const {
  for (++at; at < text_.size(); ++at) {
    if (text_[at] == '\\') {
      ++at;
    } else if (text_[at] == '"') {
      return at + 1;
    }
  }
  return std::string_view::npos;
}

absl::StatusOr<std::string_view> TextCursor::RawQuotedString() {
  if (Peek() != '"') return Expected("a string in double quotes");
  const size_t begin = position_;
  const size_t end = SkipQuoted(begin);
  if (end == std::string_view::npos) return Error("string has no closing quote");
  position_ = end;
  return text_.substr(begin, end - begin);
}

absl::StatusOr<std::string> TextCursor::QuotedString() {
  MW_ASSIGN_OR_RETURN(std::string_view raw, RawQuotedString());
  const size_t begin = position_ - raw.size();
  raw = raw.substr(1, raw.size() - 2);
  if (raw.find('\\') == std::string_view::npos) return std::string(raw);
  std::string value;
  std::string problem;
  if (!absl::CUnescape(ToAbsl(raw), &value, &problem)) {
    return Error(begin, StrCat("bad escape in string: ", absl::CHexEscape(problem)));
  }
  return value;
}

absl::StatusOr<std::string_view> TextCursor::RawValue(bool until_blank) {
  SkipSpace();
  const size_t begin = position_;
  char expected[kMaxTextNesting];  // closing brackets of those that are open
  int depth = 0;
  size_t at = begin;
  for (; at < text_.size(); ++at) {
    const char c = text_[at];
    if (c == '"') {
      const size_t end = SkipQuoted(at);
      if (end == std::string_view::npos) return Error(at, "string has no closing quote");
      at = end - 1;
    } else if (IsOpening(c)) {
      if (depth == kMaxTextNesting) {
        return Error(at, StrCat("brackets nested deeper than ", kMaxTextNesting));
      }
      expected[depth++] = Closing(c);
    } else if (IsClosing(c)) {
      if (depth == 0) break;
      if (c != expected[--depth]) {
        return Error(at,
                     StrCat("found '", std::string_view(&c, 1), "' where '",
                            std::string_view(&expected[depth], 1), "' would close the bracket"));
      }
    } else if (c == '/') {
      const size_t end = SkipComment(text_, at);
      if (end != at && depth == 0) break;
      if (end != at) at = end - 1;
    } else if (depth == 0 && (c == ',' || c == '\n' || (until_blank && IsBlank(c)))) {
      break;
    }
  }
  if (depth > 0) return Error(begin, "the file ends inside of this value; a bracket is not closed");
  position_ = at;
  while (at > begin && IsBlank(text_[at - 1])) --at;
  return text_.substr(begin, at - begin);
}

absl::Status TextCursor::Error(size_t position, std::string_view message) const {
  const std::string_view before = text_.substr(0, position);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return absl::InvalidArgumentError(
      StrCat(file_name_, ":", line, ":", position - line_start + 1, ": ", message));
}

absl::Status TextCursor::Expected(std::string_view what) {
  if (AtEnd()) return Error(StrCat("the file ends where ", what, " was expected"));
  size_t end = position_ + 1;
  if (IsNameChar(text_[position_]) || text_[position_] == '%') {
    while (end < text_.size() && IsNameChar(text_[end])) ++end;
  }
  return Error(StrCat("expected ", what, ", found ",
                      QuoteForError(text_.substr(position_, end - position_))));
}

SourcePlace TextCursor::PlaceAt(size_t position) {
  if (position < line_position_) {
    line_position_ = line_begin_ = 0;
    line_ = 1;
  }
  const std::string_view between = text_.substr(line_position_, position - line_position_);
  line_ += static_cast<int32_t>(std::count(between.begin(), between.end(), '\n'));
  const size_t newline = between.rfind('\n');
  if (newline != std::string_view::npos) line_begin_ = line_position_ + newline + 1;
  line_position_ = position;
  return {line_, static_cast<int32_t>(position - line_begin_ + 1)};
}

std::string CanonicalText(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool blank = false;  // white space seen since the last character written
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (const size_t end = SkipComment(text, at); end != at) {
      at = end - 1;
      continue;
    }
    if (IsBlank(c)) {
      blank = true;
      continue;
    }
    if (blank && !out.empty() && !IsOpening(out.back()) && !IsClosing(c) && c != ',') out += ' ';
    blank = false;
    out += c;
    if (c != '"') continue;
    while (++at < text.size()) {
      out += text[at];
      if (text[at] == '\\' && at + 1 < text.size()) {
        out += text[++at];
      } else if (text[at] == '"') {
        break;
      }
    }
  }
  return out;
}

}  // namespace meshwright
