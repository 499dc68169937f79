#include "meshwright/hlo/text/literal.h"

#include <cctype>
#include <string_view>
#include <utility>

#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/element_value.h"
#include "meshwright/hlo/text/shape.h"

namespace meshwright {
namespace {

// An array whose value the text does not spell out gets at most this much data; so reading stays
// linear in the size of the text.
constexpr int64_t kMaxFilledBytes = int64_t{1} << 16;

class LiteralReader {
 public:
  explicit LiteralReader(TextCursor& cursor) : cursor_(cursor) {}

  absl::Status Read(const Shape& shape, Literal& literal) {
    SkipShape(shape);
    if (shape.is_tuple()) return ReadTuple(shape, literal);
    if (!shape.is_array()) {
      return cursor_.Error(StrCat("a constant cannot have type ", shape.ToString()));
    }
    MW_RETURN_IF_ERROR(ReadLevel(shape, 0, literal));
    if (literal.elided) literal.data.clear();
    return absl::OkStatus();
  }

 private:
  // Older printers repeat the type: `constant(f32[2] {1, 2})`.
  void SkipShape(const Shape& shape) {
    const size_t start = cursor_.position();
    if (cursor_.Name() == ElementTypeName(shape.type) && cursor_.Peek() == '[') {
      cursor_.set_position(start);
      if (ParseShape(cursor_, /*spaced=*/false).ok()) return;
    }
    cursor_.set_position(start);
  }

  // Consumes `...`, and marks the literal.
  bool Elided(Literal& literal) {
    if (!cursor_.Consume("...")) return false;
    literal.elided = true;
    return true;
  }

  absl::Status ReadTuple(const Shape& shape, Literal& literal) {
    if (cursor_.Consume('{')) {
      if (!Elided(literal)) return cursor_.Expected("'...' or a tuple in '(' and ')'");
      return cursor_.Expect("}", "after '...'");
    }
    MW_RETURN_IF_ERROR(cursor_.Expect("(", "before a tuple's values"));
    for (size_t i = 0; i < shape.tuple.size(); ++i) {
      if (i > 0) MW_RETURN_IF_ERROR(cursor_.Expect(",", "between a tuple's values"));
      MW_RETURN_IF_ERROR(Read(shape.tuple[i], literal.tuple.emplace_back()));
    }
    return cursor_.Expect(")", "after a tuple's values");
  }

  // One bracket level: dimension `dim`, or an element where no dimension is left.
  absl::Status ReadLevel(const Shape& shape, size_t dim, Literal& literal) {
    if (dim == shape.dims.size()) {
      if (dim > 0 || cursor_.Peek() != '{') return ReadElement(shape.type, literal);
      cursor_.Consume('{');
      if (!Elided(literal)) return cursor_.Expected("a single value or '{...}'");
      return cursor_.Expect("}", "after '...'");
    }
    if (dim == 0 && cursor_.Peek() != '{') return ReadFirstElement(shape, literal);
    const size_t at = cursor_.position();
    MW_RETURN_IF_ERROR(
        cursor_.Expect("{", StrCat("before dimension ", dim, " of ", shape.ToString(false))));
    int64_t count = 0;
    bool left_out = false;
    while (cursor_.Peek() != '}') {
      // XLA's parser takes rows without a comma between them.
      if (count > 0 && !cursor_.Consume(',') && cursor_.Peek() != '{') {
        return cursor_.Expected("',' or '}' in a literal");
      }
      left_out = Elided(literal);
      if (left_out) break;
      MW_RETURN_IF_ERROR(ReadLevel(shape, dim + 1, literal));
      ++count;
    }
    MW_RETURN_IF_ERROR(cursor_.Expect("}", "after '...'"));
    if (!left_out && !literal.elided && count != shape.dims[dim]) {
      return cursor_.Error(
          at, StrCat("literal has ", count, " values along dimension ", dim, "; its type ",
                     shape.ToString(false), " has ", shape.dims[dim]));
    }
    return absl::OkStatus();
  }

  // One value where an array is due: to XLA's parser it is the first element, and the others are 0.
  absl::Status ReadFirstElement(const Shape& shape, Literal& literal) {
    MW_RETURN_IF_ERROR(ReadElement(shape.type, literal));
    const auto size = static_cast<int64_t>(literal.data.size());
    literal.elided = shape.elements() > kMaxFilledBytes / size;
    if (!literal.elided) literal.data.resize(static_cast<size_t>(shape.elements() * size), '\0');
    return absl::OkStatus();
  }

  absl::Status ReadElement(ElementType type, Literal& literal) {
    const ElementType part = ComplexComponent(type);
    if (part == ElementType::kInvalid) return ReadNumber(type, literal);
    if (!cursor_.Consume('(')) {  // a real number
      MW_RETURN_IF_ERROR(ReadNumber(part, literal));
      literal.data.append(static_cast<size_t>(ElementBytes(part)), '\0');
      return absl::OkStatus();
    }
    MW_RETURN_IF_ERROR(ReadNumber(part, literal));
    MW_RETURN_IF_ERROR(cursor_.Expect(",", "before the imaginary part"));
    MW_RETURN_IF_ERROR(ReadNumber(part, literal));
    return cursor_.Expect(")", "after the imaginary part");
  }

  absl::Status ReadNumber(ElementType type, Literal& literal) {
    cursor_.SkipSpace();
    const std::string_view text = cursor_.text();
    const size_t begin = cursor_.position();
    size_t end = begin;
    while (end < text.size() && (IsNameChar(text[end]) || text[end] == '+')) ++end;
    // nan(0x7fc)
    if (end - begin >= 3 && text.substr(end - 3, 3) == "nan" && end < text.size() &&
        text[end] == '(') {
      while (end < text.size() && text[end] != ')' && text[end] != '\n') ++end;
      if (end < text.size()) ++end;
    }
    if (end == begin) {
      return cursor_.Expected(StrCat("a value of type ", ElementTypeName(type)));
    }
    const std::string_view token = text.substr(begin, end - begin);
    if (!AppendElement(type, token, literal.data)) {
      return cursor_.Error(
          StrCat(QuoteForError(token), " is no value of type ", ElementTypeName(type)));
    }
    cursor_.set_position(end);
    return absl::OkStatus();
  }

  TextCursor& cursor_;
};

// Appends dimension `dim` and moves `at` behind the bytes it printed.
void AppendLevel(const Literal& literal, const Shape& shape, size_t dim, size_t& at,
                 std::string& out) {
  const auto size = static_cast<size_t>(ElementBytes(shape.type));
  if (dim == shape.dims.size()) {
    if (at + size > literal.data.size())
      return;  // data shorter than its type says: print what is there
    // XLA prints predicates of arrays as digits, a single one as a word.
    if (shape.type == ElementType::kPred && !shape.dims.empty()) {
      out += literal.data[at] != 0 ? '1' : '0';
    } else {
      out += ElementText(shape.type, literal.data.data() + at);
    }
    at += size;
    return;
  }
  const bool innermost = dim + 1 == shape.dims.size();
  const bool spaced = shape.dims.size() > 1 && !(innermost && shape.dims[dim] <= 1);
  out += spaced ? "{ " : "{";
  for (int64_t i = 0; i < shape.dims[dim]; ++i) {
    if (i > 0) out += ", ";
    AppendLevel(literal, shape, dim + 1, at, out);
    if (at >= literal.data.size() && size > 0 && shape.elements() > 0) {
      break;
    }
  }
  out += spaced ? " }" : "}";
}

}  // namespace

absl::StatusOr<Literal> ParseLiteral(TextCursor& cursor, const Shape& shape) {
  Literal literal;
  MW_RETURN_IF_ERROR(LiteralReader(cursor).Read(shape, literal));
  return literal;
}

void AppendLiteral(const Literal& literal, const Shape& shape, std::string& out) {
  if (literal.elided) {
    out += "{...}";
  } else if (shape.is_tuple()) {
    out += '(';
    for (size_t i = 0; i < literal.tuple.size() && i < shape.tuple.size(); ++i) {
      if (i > 0) out += ", ";
      AppendLiteral(literal.tuple[i], shape.tuple[i], out);
    }
    out += ')';
  } else {
    size_t at = 0;
    AppendLevel(literal, shape, 0, at, out);
  }
}

}  // namespace meshwright
