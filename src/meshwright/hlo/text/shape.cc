#include "meshwright/hlo/text/shape.h"

#include <algorithm>
#include <string>
#include <utility>

#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

// More elements than any array XLA can index; products beyond it are typing errors.
constexpr int64_t kMaxElements = int64_t{1} << 62;

absl::Status ParseDimensions(TextCursor& cursor, Shape& shape) {
  MW_RETURN_IF_ERROR(cursor.Expect("[", "after the element type"));
  if (cursor.Consume(']')) return absl::OkStatus();
  bool any_dynamic = false;
  std::vector<bool> dynamic;
  do {
    if (cursor.Peek() == '?') {
      return cursor.Error("dimension '?' has no bound; planning needs one, e.g. '<=128'");
    }
    const bool is_dynamic = cursor.Consume("<=");
    const size_t at = cursor.position();
    MW_ASSIGN_OR_RETURN(const int64_t size, cursor.Integer());
    if (size < 0) return cursor.Error(at, StrCat("dimension ", size, " is negative"));
    any_dynamic |= is_dynamic;
    dynamic.push_back(is_dynamic);
    shape.dims.push_back(size);
    if (shape.dims.size() > kMaxTextNesting) {
      return cursor.Error(StrCat("more than ", kMaxTextNesting, " dimensions"));
    }
  } while (cursor.Consume(','));
  if (any_dynamic) shape.dynamic = std::move(dynamic);
  return cursor.Expect("]", "after the dimensions");
}

// `{1,0:T(8,128)S(1)}`; the text after the colon is kept as it is.
absl::Status ParseLayout(TextCursor& cursor, Shape& shape) {
  const size_t begin = cursor.position();
  if (!cursor.Consume('{')) return absl::OkStatus();
  shape.has_layout = true;
  if (cursor.Peek() != '}' && cursor.Peek() != ':') {
    do {
      MW_ASSIGN_OR_RETURN(const int64_t dim, cursor.Integer());
      shape.minor_to_major.push_back(dim);
    } while (cursor.Consume(','));
  }
  if (cursor.Consume(':')) {
    MW_ASSIGN_OR_RETURN(const std::string_view suffix, cursor.RawValue());
    shape.layout_suffix = StrCat(":", CanonicalText(suffix));
  }
  MW_RETURN_IF_ERROR(cursor.Expect("}", "after the layout"));
  uint64_t seen[2] = {0, 0};
  static_assert(kMaxTextNesting <= 128);
  for (const int64_t dim : shape.minor_to_major) {
    const bool in_range = dim >= 0 && dim < shape.rank();
    if (!in_range || (seen[dim / 64] >> (dim % 64) & 1) != 0) {
      return cursor.Error(
          begin, StrCat("layout is not an order of the ", shape.rank(), " dimensions: ", dim,
                        in_range ? " occurs twice" : " is out of range"));
    }
    seen[dim / 64] |= uint64_t{1} << (dim % 64);
  }
  if (!shape.minor_to_major.empty() &&
      static_cast<int64_t>(shape.minor_to_major.size()) != shape.rank()) {
    return cursor.Error(begin, StrCat("layout orders ", shape.minor_to_major.size(), " of ",
                                      shape.rank(), " dimensions"));
  }
  // Empty braces say nothing; XLA prints none for a scalar.
  if (shape.minor_to_major.empty() && shape.layout_suffix.empty()) shape.has_layout = false;
  return absl::OkStatus();
}

// Whether a layout is next: a '{' right behind the brackets, or one before a number or a colon.
// `f32[] {` alone starts a computation's body.
bool AtLayout(TextCursor& cursor, bool spaced) {
  const size_t end = cursor.position();
  if (end < cursor.text().size() && cursor.text()[end] == '{') return true;
  if (!spaced) return false;
  bool found = false;
  if (cursor.Consume('{')) {
    const char next = cursor.Peek();
    found = next == ':' || (next >= '0' && next <= '9');
  }
  cursor.set_position(end);
  return found;
}

absl::Status ParseInto(TextCursor& cursor, int depth, bool spaced, Shape& shape) {
  if (cursor.Consume('(')) {
    if (depth == kMaxTextNesting) {
      return cursor.Error(StrCat("tuples nested deeper than ", kMaxTextNesting));
    }
    shape.type = ElementType::kTuple;
    if (cursor.Consume(')')) return absl::OkStatus();
    do {
      MW_RETURN_IF_ERROR(ParseInto(cursor, depth + 1, spaced, shape.tuple.emplace_back()));
    } while (cursor.Consume(','));
    return cursor.Expect(")", "after the tuple's shapes");
  }
  cursor.SkipSpace();
  const size_t at = cursor.position();
  const std::string_view name = cursor.Name();
  if (name.empty()) return cursor.Expected("a shape such as f32[2,3]");
  shape.type = ElementTypeFromName(name);
  if (shape.type == ElementType::kInvalid || shape.is_tuple()) {
    return cursor.Error(at, StrCat("unknown element type ", QuoteForError(name),
                                   "; valid are pred, s1...s64, u1...u64, f8e5m2, "
                                   "f8e4m3fn, f16, bf16, f32, f64, c64, c128, token, "
                                   "opaque, ..."));
  }
  MW_RETURN_IF_ERROR(ParseDimensions(cursor, shape));
  if (!shape.is_array()) {
    if (shape.rank() > 0) return cursor.Error(at, StrCat(name, " has no dimensions"));
    return absl::OkStatus();
  }
  if (shape.elements() > kMaxElements) {
    return cursor.Error(at,
                        StrCat("shape ", shape.ToString(false), " has more than 2^62 elements"));
  }
  return AtLayout(cursor, spaced) ? ParseLayout(cursor, shape) : absl::OkStatus();
}

}  // namespace

absl::StatusOr<Shape> ParseShape(TextCursor& cursor, bool spaced) {
  Shape shape;
  MW_RETURN_IF_ERROR(ParseInto(cursor, 0, spaced, shape));
  return shape;
}

}  // namespace meshwright
