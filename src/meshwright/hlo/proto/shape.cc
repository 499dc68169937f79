#include "meshwright/hlo/proto/shape.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/text_cursor.h"

namespace meshwright {
namespace {

// A tile dimension that is merged with the next one; printed as '*'.
constexpr int64_t kCombinedDimension = std::numeric_limits<int64_t>::min();

std::string TileText(const proto::TileProto& tile) {
  std::vector<std::string> dims;
  for (int64_t dim : tile.dimensions()) {
    dims.push_back(dim == kCombinedDimension ? "*" : StrCat(dim));
  }
  return StrCat("(", absl::StrJoin(dims, ","), ")");
}

// What XLA prints after the order of dimensions: `:T(8,128)(2,1)L(1024)E(4)S(1)SC(0:512)M(64)`.
std::string LayoutSuffix(const proto::LayoutProto& layout) {
  std::string text;
  if (layout.tiles_size() > 0) text += "T";
  for (const proto::TileProto& tile : layout.tiles()) text += TileText(tile);
  if (layout.tail_padding_alignment_in_elements() > 1) {
    StrAppend(&text, "L(", layout.tail_padding_alignment_in_elements(), ")");
  }
  if (layout.element_size_in_bits() != 0)
    StrAppend(&text, "E(", layout.element_size_in_bits(), ")");
  if (layout.memory_space() != 0) StrAppend(&text, "S(", layout.memory_space(), ")");
  if (layout.split_configs_size() > 0) text += "SC";
  for (const proto::SplitConfigProto& split : layout.split_configs()) {
    StrAppend(&text, "(", split.dimension(), ":", absl::StrJoin(split.split_indices(), ","), ")");
  }
  if (layout.dynamic_shape_metadata_prefix_bytes() > 0) {
    StrAppend(&text, "M(", layout.dynamic_shape_metadata_prefix_bytes(), ")");
  }
  return text.empty() ? "" : ":" + text;
}

bool ReadTile(TextCursor& cursor, proto::TileProto* tile) {
  do {
    if (cursor.Consume('*')) {
      tile->add_dimensions(kCombinedDimension);
      continue;
    }
    const absl::StatusOr<int64_t> dim = cursor.Integer();
    if (!dim.ok()) return false;
    tile->add_dimensions(*dim);
  } while (cursor.Consume(','));
  return cursor.Consume(')');
}

bool ReadSplit(TextCursor& cursor, proto::SplitConfigProto* split) {
  const absl::StatusOr<int64_t> dimension = cursor.Integer();
  if (!dimension.ok() || !cursor.Consume(':')) return false;
  split->set_dimension(*dimension);
  do {
    const absl::StatusOr<int64_t> index = cursor.Integer();
    if (!index.ok()) return false;
    split->add_split_indices(*index);
  } while (cursor.Consume(','));
  return cursor.Consume(')');
}

// `64)`, what follows "S(".
bool ReadNumber(TextCursor& cursor, proto::LayoutProto* layout,
                void (proto::LayoutProto::*set)(int64_t)) {
  const absl::StatusOr<int64_t> value = cursor.Integer();
  if (!value.ok() || !cursor.Consume(')')) return false;
  (layout->*set)(*value);
  return true;
}

// Inverse of LayoutSuffix; false at the first part it does not know.
bool ReadLayoutSuffix(std::string_view text, proto::LayoutProto* layout) {
  TextCursor cursor(text, "layout");
  if (!cursor.Consume(':')) return cursor.AtEnd();
  if (cursor.Consume('T')) {
    while (cursor.Consume('(')) {
      if (!ReadTile(cursor, layout->add_tiles())) return false;
    }
  }
  using Layout = proto::LayoutProto;
  while (!cursor.AtEnd()) {
    bool known = false;
    if (cursor.Consume("L(")) {
      known = ReadNumber(cursor, layout, &Layout::set_tail_padding_alignment_in_elements);
    } else if (cursor.Consume("E(")) {
      known = ReadNumber(cursor, layout, &Layout::set_element_size_in_bits);
    } else if (cursor.Consume("S(")) {
      known = ReadNumber(cursor, layout, &Layout::set_memory_space);
    } else if (cursor.Consume("M(")) {
      known = ReadNumber(cursor, layout, &Layout::set_dynamic_shape_metadata_prefix_bytes);
    } else if (cursor.Consume("SC")) {
      known = cursor.Peek() == '(';
      while (known && cursor.Consume('(')) known = ReadSplit(cursor, layout->add_split_configs());
    }
    if (!known) return false;
  }
  return true;
}

absl::Status CheckLayout(const Shape& shape) {
  std::vector<int64_t> order = shape.minor_to_major;
  std::sort(order.begin(), order.end());
  bool is_order = static_cast<int64_t>(order.size()) == shape.rank();
  for (size_t i = 0; i < order.size(); ++i) is_order &= order[i] == static_cast<int64_t>(i);
  if (is_order || order.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat("layout {%s} is not an order of %d dimensions",
                                                    absl::StrJoin(shape.minor_to_major, ","),
                                                    shape.rank()));
}

}  // namespace

absl::StatusOr<Shape> ShapeFromProto(const proto::ShapeProto& shape) {
  Shape result;
  result.type = static_cast<ElementType>(shape.element_type());
  const bool known = result.type != ElementType::kInvalid &&
                     ElementTypeFromName(ElementTypeName(result.type)) == result.type;
  if (!known) {
    return absl::InvalidArgumentError(
        absl::StrFormat("shape has the unknown element type %d", shape.element_type()));
  }
  if (result.is_tuple()) {
    for (const proto::ShapeProto& element : shape.tuple_shapes()) {
      MW_ASSIGN_OR_RETURN(result.tuple.emplace_back(), ShapeFromProto(element));
    }
    return result;
  }
  if (!result.is_array()) return result;
  for (int64_t dim : shape.dimensions()) {
    if (dim < 0) {
      return absl::InvalidArgumentError(
          absl::StrFormat("shape has a dimension of unknown or negative size (%d)", dim));
    }
    result.dims.push_back(dim);
  }
  const auto& dynamic = shape.is_dynamic_dimension();
  if (std::find(dynamic.begin(), dynamic.end(), true) != dynamic.end()) {
    if (dynamic.size() != shape.dimensions_size()) {
      return absl::InvalidArgumentError(
          absl::StrFormat("shape of %d dimensions says of %d whether they are dynamic",
                          shape.dimensions_size(), dynamic.size()));
    }
    result.dynamic.assign(dynamic.begin(), dynamic.end());
  }
  if (result.elements() == std::numeric_limits<int64_t>::max()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("shape %s has too many elements", result.ToString(/*with_layout=*/false)));
  }
  const proto::LayoutProto& layout = shape.layout();
  result.minor_to_major.assign(layout.minor_to_major().begin(), layout.minor_to_major().end());
  result.layout_suffix = LayoutSuffix(layout);
  result.has_layout = !result.minor_to_major.empty() || !result.layout_suffix.empty();
  MW_RETURN_IF_ERROR(CheckLayout(result));
  return result;
}

void ShapeToProto(const Shape& shape, proto::ShapeProto* out) {
  out->set_element_type(static_cast<int>(shape.type));
  for (const Shape& element : shape.tuple) ShapeToProto(element, out->add_tuple_shapes());
  if (!shape.is_array()) return;
  out->mutable_dimensions()->Add(shape.dims.begin(), shape.dims.end());
  for (bool dynamic : shape.dynamic) out->add_is_dynamic_dimension(dynamic);
  if (!shape.has_layout && shape.rank() > 0) return;
  proto::LayoutProto* layout = out->mutable_layout();
  layout->mutable_minor_to_major()->Add(shape.minor_to_major.begin(), shape.minor_to_major.end());
  layout->set_tail_padding_alignment_in_elements(1);  // as XLA always does
  ReadLayoutSuffix(shape.layout_suffix, layout);
}

}  // namespace meshwright
