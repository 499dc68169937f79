#include "meshwright/hlo/proto/dimensions.h"

namespace meshwright {
std::vector<WindowDimension> WindowFromProto(const proto::Window& window) {
  std::vector<WindowDimension> result;
  for (const proto::WindowDimension& from : window.dimensions()) {
    WindowDimension& dim = result.emplace_back();
    dim.size = from.size();
    dim.stride = from.stride();
    dim.padding_low = from.padding_low();
    dim.padding_high = from.padding_high();
    dim.window_dilation = from.window_dilation();
    dim.base_dilation = from.base_dilation();
    dim.reversal = from.window_reversal();
  }
  return result;
}

void WindowToProto(const std::vector<WindowDimension>& window, proto::Window* out) {
  for (const WindowDimension& dim : window) {
    proto::WindowDimension* to = out->add_dimensions();
    to->set_size(dim.size);
    to->set_stride(dim.stride);
    to->set_padding_low(dim.padding_low);
    to->set_padding_high(dim.padding_high);
    to->set_window_dilation(dim.window_dilation);
    to->set_base_dilation(dim.base_dilation);
    to->set_window_reversal(dim.reversal);
  }
}

DotDimensions DotFromProto(const proto::DotDimensionNumbers& dot) {
  DotDimensions result;
  result.lhs_batch = FromList(dot.lhs_batch_dimensions());
  result.rhs_batch = FromList(dot.rhs_batch_dimensions());
  result.lhs_contracting = FromList(dot.lhs_contracting_dimensions());
  result.rhs_contracting = FromList(dot.rhs_contracting_dimensions());
  return result;
}

void DotToProto(const DotDimensions& dot, proto::DotDimensionNumbers* out) {
  ToList(dot.lhs_batch, out->mutable_lhs_batch_dimensions());
  ToList(dot.rhs_batch, out->mutable_rhs_batch_dimensions());
  ToList(dot.lhs_contracting, out->mutable_lhs_contracting_dimensions());
  ToList(dot.rhs_contracting, out->mutable_rhs_contracting_dimensions());
}

ConvolutionDimensions ConvolutionFromProto(const proto::ConvolutionDimensionNumbers& dimensions) {
  ConvolutionDimensions result;
  result.input_batch = dimensions.input_batch_dimension();
  result.input_feature = dimensions.input_feature_dimension();
  result.input_spatial = FromList(dimensions.input_spatial_dimensions());
  result.kernel_input_feature = dimensions.kernel_input_feature_dimension();
  result.kernel_output_feature = dimensions.kernel_output_feature_dimension();
  result.kernel_spatial = FromList(dimensions.kernel_spatial_dimensions());
  result.output_batch = dimensions.output_batch_dimension();
  result.output_feature = dimensions.output_feature_dimension();
  result.output_spatial = FromList(dimensions.output_spatial_dimensions());
  return result;
}

void ConvolutionToProto(const ConvolutionDimensions& dimensions,
                        proto::ConvolutionDimensionNumbers* out) {
  out->set_input_batch_dimension(dimensions.input_batch);
  out->set_input_feature_dimension(dimensions.input_feature);
  ToList(dimensions.input_spatial, out->mutable_input_spatial_dimensions());
  out->set_kernel_input_feature_dimension(dimensions.kernel_input_feature);
  out->set_kernel_output_feature_dimension(dimensions.kernel_output_feature);
  ToList(dimensions.kernel_spatial, out->mutable_kernel_spatial_dimensions());
  out->set_output_batch_dimension(dimensions.output_batch);
  out->set_output_feature_dimension(dimensions.output_feature);
  ToList(dimensions.output_spatial, out->mutable_output_spatial_dimensions());
}

GatherDimensions GatherFromProto(const proto::HloInstructionProto& instruction) {
  const proto::GatherDimensionNumbers& numbers = instruction.gather_dimension_numbers();
  GatherDimensions result;
  result.offset_dims = FromList(numbers.offset_dims());
  result.collapsed_slice_dims = FromList(numbers.collapsed_slice_dims());
  result.start_index_map = FromList(numbers.start_index_map());
  result.operand_batching_dims = FromList(numbers.operand_batching_dims());
  result.start_indices_batching_dims = FromList(numbers.start_indices_batching_dims());
  result.index_vector_dim = numbers.index_vector_dim();
  result.slice_sizes = FromList(instruction.gather_slice_sizes());
  result.indices_are_sorted = instruction.indices_are_sorted();
  return result;
}

void GatherToProto(const GatherDimensions& gather, proto::HloInstructionProto* out) {
  proto::GatherDimensionNumbers* numbers = out->mutable_gather_dimension_numbers();
  ToList(gather.offset_dims, numbers->mutable_offset_dims());
  ToList(gather.collapsed_slice_dims, numbers->mutable_collapsed_slice_dims());
  ToList(gather.start_index_map, numbers->mutable_start_index_map());
  ToList(gather.operand_batching_dims, numbers->mutable_operand_batching_dims());
  ToList(gather.start_indices_batching_dims, numbers->mutable_start_indices_batching_dims());
  numbers->set_index_vector_dim(gather.index_vector_dim);
  ToList(gather.slice_sizes, out->mutable_gather_slice_sizes());
  out->set_indices_are_sorted(gather.indices_are_sorted);
}

ScatterDimensions ScatterFromProto(const proto::HloInstructionProto& instruction) {
  const proto::ScatterDimensionNumbers& numbers = instruction.scatter_dimension_numbers();
  ScatterDimensions result;
  result.update_window_dims = FromList(numbers.update_window_dims());
  result.inserted_window_dims = FromList(numbers.inserted_window_dims());
  result.scatter_dims_to_operand_dims = FromList(numbers.scatter_dims_to_operand_dims());
  result.input_batching_dims = FromList(numbers.input_batching_dims());
  result.scatter_indices_batching_dims = FromList(numbers.scatter_indices_batching_dims());
  result.index_vector_dim = numbers.index_vector_dim();
  result.indices_are_sorted = instruction.indices_are_sorted();
  result.unique_indices = instruction.unique_indices();
  return result;
}

void ScatterToProto(const ScatterDimensions& scatter, proto::HloInstructionProto* out) {
  proto::ScatterDimensionNumbers* numbers = out->mutable_scatter_dimension_numbers();
  ToList(scatter.update_window_dims, numbers->mutable_update_window_dims());
  ToList(scatter.inserted_window_dims, numbers->mutable_inserted_window_dims());
  ToList(scatter.scatter_dims_to_operand_dims, numbers->mutable_scatter_dims_to_operand_dims());
  ToList(scatter.input_batching_dims, numbers->mutable_input_batching_dims());
  ToList(scatter.scatter_indices_batching_dims, numbers->mutable_scatter_indices_batching_dims());
  numbers->set_index_vector_dim(scatter.index_vector_dim);
  out->set_indices_are_sorted(scatter.indices_are_sorted);
  out->set_unique_indices(scatter.unique_indices);
}

}  // namespace meshwright
