#include "meshwright/hlo/proto/instruction.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/proto/attributes.h"
#include "meshwright/hlo/proto/dimensions.h"
#include "meshwright/hlo/proto/literal.h"
#include "meshwright/hlo/proto/shape.h"
#include "meshwright/hlo/proto/sharding.h"
#include "meshwright/hlo/scaled_dot.h"
#include "meshwright/hlo/text/metadata.h"
#include "meshwright/hlo/text_cursor.h"

namespace meshwright {
namespace {

using proto::HloInstructionProto;

Metadata MetadataFromProto(const HloInstructionProto& instruction) {
  const proto::OpMetadata& metadata = instruction.metadata();
  Metadata result;
  result.op_type = metadata.op_type();
  result.op_name = metadata.op_name();
  result.source_file = metadata.source_file();
  result.scheduling_name = metadata.scheduling_name();
  result.deduplicated_name = metadata.deduplicated_name();
  result.source_line = metadata.source_line();
  result.source_end_line = metadata.source_end_line();
  result.source_column = metadata.source_column();
  result.source_end_column = metadata.source_end_column();
  result.stack_frame_id = metadata.stack_frame_id();
  if (metadata.profile_type_size() > 0) {
    result.other.emplace_back("profile_type",
                              StrCat("{", absl::StrJoin(metadata.profile_type(), ","), "}"));
  }
  if (instruction.text_metadata_size() > 0) result.other.clear();
  for (const proto::TextAttribute& field : instruction.text_metadata()) {
    result.other.emplace_back(field.name(), field.value());
  }
  return result;
}

void MetadataToProto(const Metadata& metadata, HloInstructionProto* out) {
  proto::OpMetadata* to = out->mutable_metadata();
  to->set_op_type(metadata.op_type);
  to->set_op_name(metadata.op_name);
  to->set_source_file(metadata.source_file);
  to->set_scheduling_name(metadata.scheduling_name);
  to->set_deduplicated_name(metadata.deduplicated_name);
  to->set_source_line(static_cast<int32_t>(metadata.source_line));
  to->set_source_end_line(static_cast<int32_t>(metadata.source_end_line));
  to->set_source_column(static_cast<int32_t>(metadata.source_column));
  to->set_source_end_column(static_cast<int32_t>(metadata.source_end_column));
  to->set_stack_frame_id(static_cast<int32_t>(metadata.stack_frame_id));
  for (const auto& [name, value] : metadata.other) {
    proto::TextAttribute* field = out->add_text_metadata();
    field->set_name(name);
    field->set_value(value);
  }
}

// A backend config is printed as it is where it reads as one braced value, else as a string.
std::string BackendConfigText(const std::string& config) {
  if (config.starts_with("{")) {
    TextCursor cursor(config, "");
    const absl::StatusOr<std::string_view> value = cursor.RawValue();
    if (value.ok() && value->size() == config.size()) return config;
  }
  return config.empty() ? "" : QuotedText(config);
}

std::string BackendConfigBytes(const std::string& text) {
  if (!text.starts_with("\"")) return text;
  TextCursor cursor(text, "");
  absl::StatusOr<std::string> value = cursor.QuotedString();
  return value.ok() ? *std::move(value) : text;
}

absl::StatusOr<std::string> ShardingFromProto(const HloInstructionProto& instruction) {
  if (!instruction.text_sharding().empty()) return instruction.text_sharding();
  if (!instruction.has_sharding()) return std::string();
  return ShardingText(instruction.sharding());
}

void ShardingToProto(const std::string& text, HloInstructionProto* out) {
  if (text.empty()) return;
  const bool known = ShardingFromText(text, out->mutable_sharding());
  const absl::StatusOr<std::string> back = ShardingText(out->sharding());
  if (known && back.ok() && *back == text) return;
  out->clear_sharding();
  out->set_text_sharding(text);
}

// Attributes that XLA stores in a field of their own for some opcodes only.
absl::Status DimensionsFromProto(const HloInstructionProto& from, Instruction& to) {
  switch (to.opcode) {
    case Opcode::kIota:
      if (from.dimensions_size() != 1) {
        return absl::InvalidArgumentError(
            absl::StrFormat("iota has %d dimensions instead of one", from.dimensions_size()));
      }
      to.iota_dimension = from.dimensions(0);
      break;
    case Opcode::kReshape:
      break;  // the inferred dimension, see proto_attributes.cc
    case Opcode::kDot:
      to.dot = DotFromProto(from.dot_dimension_numbers());
      break;
    case Opcode::kRaggedDot:
      to.dot = DotFromProto(from.ragged_dot_dimension_numbers().dot_dimension_numbers());
      break;
    case Opcode::kConvolution:
      to.window = WindowFromProto(from.window());
      to.convolution = ConvolutionFromProto(from.convolution_dimension_numbers());
      if (from.feature_group_count() != 0) to.feature_group_count = from.feature_group_count();
      if (from.batch_group_count() != 0) to.batch_group_count = from.batch_group_count();
      break;
    case Opcode::kReduceWindow:
    case Opcode::kSelectAndScatter:
      to.window = WindowFromProto(from.window());
      break;
    case Opcode::kGather:
      to.gather = GatherFromProto(from);
      break;
    case Opcode::kScatter:
      to.scatter = ScatterFromProto(from);
      break;
    case Opcode::kSlice:
      for (const HloInstructionProto::SliceDimensions& slice : from.slice_dimensions()) {
        to.slice.push_back({slice.start(), slice.limit(), slice.stride()});
      }
      break;
    case Opcode::kDynamicSlice:
      to.dynamic_slice_sizes = FromList(from.dynamic_slice_sizes());
      break;
    case Opcode::kPad:
      for (const auto& dim : from.padding_config().dimensions()) {
        to.padding.push_back(
            {dim.edge_padding_low(), dim.edge_padding_high(), dim.interior_padding()});
      }
      break;
    default:
      to.dimensions = FromList(from.dimensions());
      break;
  }
  return absl::OkStatus();
}

void DimensionsToProto(const Instruction& from, HloInstructionProto* to) {
  ToList(from.dimensions, to->mutable_dimensions());
  switch (from.opcode) {
    case Opcode::kIota:
      to->add_dimensions(from.iota_dimension);
      break;
    case Opcode::kDot:
      DotToProto(from.dot, to->mutable_dot_dimension_numbers());
      break;
    case Opcode::kRaggedDot:
      DotToProto(from.dot,
                 to->mutable_ragged_dot_dimension_numbers()->mutable_dot_dimension_numbers());
      break;
    case Opcode::kConvolution:
      WindowToProto(from.window, to->mutable_window());
      ConvolutionToProto(from.convolution, to->mutable_convolution_dimension_numbers());
      to->set_feature_group_count(from.feature_group_count);
      to->set_batch_group_count(from.batch_group_count);
      break;
    case Opcode::kReduceWindow:
    case Opcode::kSelectAndScatter:
      WindowToProto(from.window, to->mutable_window());
      break;
    case Opcode::kGather:
      GatherToProto(from.gather, to);
      break;
    case Opcode::kScatter:
      ScatterToProto(from.scatter, to);
      break;
    case Opcode::kSlice:
      for (const SliceDimension& slice : from.slice) {
        HloInstructionProto::SliceDimensions* added = to->add_slice_dimensions();
        added->set_start(slice.start);
        added->set_limit(slice.limit);
        added->set_stride(slice.stride);
      }
      break;
    case Opcode::kDynamicSlice:
      ToList(from.dynamic_slice_sizes, to->mutable_dynamic_slice_sizes());
      break;
    case Opcode::kPad:
      for (const PaddingDimension& dim : from.padding) {
        auto* added = to->mutable_padding_config()->add_dimensions();
        added->set_edge_padding_low(dim.low);
        added->set_edge_padding_high(dim.high);
        added->set_interior_padding(dim.interior);
      }
      break;
    default:
      break;
  }
}

// XLA reads no literal without a layout; the elements of one that has none are in row-major order.
void SetRowMajor(Shape& shape) {
  for (Shape& element : shape.tuple) SetRowMajor(element);
  if (!shape.is_array() || shape.has_layout) return;
  for (int64_t d = shape.rank(); d-- > 0;) shape.minor_to_major.push_back(d);
  shape.has_layout = true;
}

}  // namespace

absl::StatusOr<Instruction> InstructionFromProto(const HloInstructionProto& from) {
  Instruction to;
  to.name = from.name();
  std::optional<Opcode> opcode = OpcodeFromName(from.opcode());
  const bool is_scaled_dot = from.opcode() == kScaledDotName;
  if (is_scaled_dot) opcode = Opcode::kDot;
  const auto operands = static_cast<size_t>(from.operand_ids_size());
  if (opcode == Opcode::kDot && is_scaled_dot != (operands == kScaledDotOperands)) {
    return absl::InvalidArgumentError(StrCat(from.opcode(), " with ", operands, " operands"));
  }
  if (!opcode.has_value()) {
    return absl::InvalidArgumentError(StrCat("unknown opcode ", QuoteForError(from.opcode())));
  }
  to.opcode = *opcode;
  MW_ASSIGN_OR_RETURN(to.shape, ShapeFromProto(from.shape()));
  if (to.opcode == Opcode::kParameter) to.parameter_number = from.parameter_number();
  if (to.opcode == Opcode::kGetTupleElement) to.tuple_index = from.tuple_index();
  if (to.opcode == Opcode::kConstant) {
    MW_ASSIGN_OR_RETURN(to.literal, LiteralFromProto(from.literal(), to.shape));
  }
  MW_RETURN_IF_ERROR(DimensionsFromProto(from, to));
  to.direction = from.comparison_direction();
  to.fusion_kind = from.fusion_kind();
  to.custom_call_target = from.custom_call_target();
  to.async_name = from.async_name();
  MW_ASSIGN_OR_RETURN(to.sharding, ShardingFromProto(from));
  to.backend_config = BackendConfigText(from.backend_config());
  to.frontend_attributes = SortedFrontendAttributes(from.frontend_attributes());
  to.metadata = MetadataFromProto(from);
  return to;
}

void InstructionToProto(const Instruction& from, HloInstructionProto* to) {
  to->set_name(from.name);
  to->set_opcode(std::string(OpcodeName(from.opcode)));
  Shape shape = from.shape;
  if (from.opcode == Opcode::kConstant) SetRowMajor(shape);
  ShapeToProto(shape, to->mutable_shape());
  if (from.opcode == Opcode::kParameter) to->set_parameter_number(from.parameter_number);
  if (from.opcode == Opcode::kGetTupleElement) to->set_tuple_index(from.tuple_index);
  if (from.opcode == Opcode::kConstant) {
    LiteralToProto(from.literal, shape, to->mutable_literal());
  }
  DimensionsToProto(from, to);
  to->set_comparison_direction(from.direction);
  to->set_fusion_kind(from.fusion_kind);
  to->set_custom_call_target(from.custom_call_target);
  to->set_async_name(from.async_name);
  ShardingToProto(from.sharding, to);
  to->set_backend_config(BackendConfigBytes(from.backend_config));
  FrontendAttributesToProto(from.frontend_attributes, to->mutable_frontend_attributes());
  MetadataToProto(from.metadata, to);
  if (from.opcode == Opcode::kCustomCall)
    to->set_custom_call_api_version(1);  // unless `other` says more
}

}  // namespace meshwright
