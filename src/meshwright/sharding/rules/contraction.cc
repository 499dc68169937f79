#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/sharding/rule_builders.h"
#include "meshwright/sharding/rules/dimension_lists.h"

namespace meshwright::rules {
namespace {

Reduction SumOf(const Shape& shape) {
  return shape.type == ElementType::kPred ? Reduction::kOr : Reduction::kSum;
}

// dot. Dimension `group` of the right operand, if there is one, holds a matrix for each group of
// rows; `by_group`: the result has a product for each group of what is contracted, first.
void DotFactors(RuleBuilder& builder, int64_t group, bool by_group) {
  const DotDimensions& dims = builder.instruction().dot;
  if (dims.lhs_batch.size() != dims.rhs_batch.size() ||
      dims.lhs_contracting.size() != dims.rhs_contracting.size()) {
    return builder.Unsupported();
  }
  int64_t out = 0;  // result dimensions: batch, free ones of the left, free ones of the right
  double groups = 1;
  if (by_group) {
    groups = static_cast<double>(builder.ResultSize(0, out));
    builder.Parallel({}, {out++}, 'g');
  }
  for (size_t i = 0; i < dims.lhs_batch.size(); ++i) {
    builder.Parallel({dims.lhs_batch[i], dims.rhs_batch[i]}, {out++}, i == 0 ? 'b' : '?');
  }
  char label = 'm';
  for (int64_t d = 0; d < builder.operand(0).rank(); ++d) {
    if (Contains(dims.lhs_batch, d) || Contains(dims.lhs_contracting, d)) continue;
    builder.Parallel({d}, {out++}, label);
    label = '?';
  }
  label = 'n';
  for (int64_t d = 0; d < builder.operand(1).rank(); ++d) {
    if (Contains(dims.rhs_batch, d) || Contains(dims.rhs_contracting, d) || d == group) continue;
    builder.Parallel({kNoDim, d}, {out++}, label);
    label = '?';
  }
  if (out != builder.result(0).rank()) builder.Unsupported();
  if (group != kNoDim) builder.Reduce({kNoDim, group}, SumOf(builder.result(0)), 'g');
  double flops = 2 * ElementCount(builder.result(0)) / groups;
  for (size_t i = 0; i < dims.lhs_contracting.size(); ++i) {
    flops *= static_cast<double>(builder.OperandSize(0, dims.lhs_contracting[i]));
    builder.Reduce({dims.lhs_contracting[i], dims.rhs_contracting[i]}, SumOf(builder.result(0)),
                   i == 0 ? 'k' : '?');
  }
  builder.Flops(flops);
}

// The number in an attribute such as lhs_ragged_dims={0}; nullopt unless there is exactly one.
std::optional<int64_t> OnlyNumber(const Instruction& instruction, std::string_view attribute) {
  const std::optional<std::vector<int64_t>> numbers = FindIntegers(instruction, attribute);
  if (!numbers.has_value() || numbers->size() != 1) return {};
  return numbers->front();
}

// Nothing but the identity along a spatial dimension: each output element needs the input element
// at the same place only.
bool IsPointwise(const WindowDimension& window) {
  return window.size == 1 && window.stride == 1 && window.padding_low == 0 &&
         window.padding_high == 0 && window.base_dilation == 1;
}

// Nobody multiplies with the zeros between elements of an input that is dilated in the gradient of
// a strided convolution. XLA knows it by its filter, which is reversed (conv_rewriter.cc), and
// computes any other as it is written.
bool IsGradientOfInputs(const RuleBuilder& builder) {
  const Instruction& conv = builder.instruction();
  if (std::any_of(conv.window.begin(), conv.window.end(),
                  [](const WindowDimension& along) { return along.reversal; }))
    return true;
  const Graph& graph = builder.graph();
  for (ValueId filter = builder.op().operands[1];;) {
    const Op& op = graph[graph[filter].producer];
    if (op.kind != OpKind::kInstruction) return false;
    switch (op.instruction->opcode) {
      case Opcode::kReverse:
      case Opcode::kConstant:
        return true;
      case Opcode::kConvert:
      case Opcode::kTranspose:
      case Opcode::kReshape:
      case Opcode::kBitcast:
      case Opcode::kCopy:
        filter = op.operands[0];
        break;
      default:
        return false;
    }
  }
}

// The window covers the input exactly: the spatial dimension is contracted like a dot's.
bool IsContraction(const WindowDimension& window, int64_t input, int64_t kernel, int64_t output) {
  return output == 1 && input == kernel && window.padding_low == 0 && window.padding_high == 0 &&
         window.window_dilation == 1 && window.base_dilation == 1 && !window.reversal;
}

}  // namespace

void Dot(RuleBuilder& builder) { DotFactors(builder, kNoDim, /*by_group=*/false); }

// A part of the rows, of what is contracted, or of the groups tells from its place, and from the
// sizes of all groups, which rows go with which group. With a part of the groups a device leaves
// the rows of others zero: results add up.
//
// Without kernels for groups XLA (ragged_dot_rewriter) multiplies densely: it copies the left
// operand once for each group, and once more with its rows first where they are not contracted.
void RaggedDot(RuleBuilder& builder) {
  const std::optional<int64_t> ragged = OnlyNumber(builder.instruction(), "lhs_ragged_dims");
  if (!ragged) return builder.Unsupported();
  const DotDimensions& dims = builder.instruction().dot;
  if (Contains(dims.lhs_batch, *ragged)) return Dot(builder);
  const auto rows = static_cast<double>(builder.operand(0).bytes());
  if (Contains(dims.lhs_contracting, *ragged)) {
    builder.Masked(rows * static_cast<double>(builder.ResultSize(0, 0)), 1);
    return DotFactors(builder, kNoDim, /*by_group=*/true);
  }
  const std::optional<int64_t> group = OnlyNumber(builder.instruction(), "rhs_group_dims");
  if (!group) return builder.Unsupported();
  builder.Masked(rows * static_cast<double>(builder.OperandSize(1, *group)), 2);
  DotFactors(builder, *group, /*by_group=*/false);
}

// Input [(batch groups, b), (feature groups, i), spatial], kernel [i, (groups, o), spatial], output
// [b, (groups, o), spatial]. Everything comes out of dim_labels, so the forms that JAX emits for
// gradients (batch and feature exchanged, dilated windows) need no case of their own.
void Convolution(RuleBuilder& builder) {
  const Instruction& conv = builder.instruction();
  const ConvolutionDimensions& dims = conv.convolution;
  int64_t features = conv.feature_group_count, batches = conv.batch_group_count;
  int64_t out_batch = builder.ResultSize(0, dims.output_batch);
  int64_t out_feature = builder.ResultSize(0, dims.output_feature);
  int64_t in_feature = builder.OperandSize(1, dims.kernel_input_feature);
  if (features < 1 || batches < 1 || (features > 1 && batches > 1) ||
      out_feature % (features * batches) != 0 || conv.window.size() != dims.input_spatial.size() ||
      dims.kernel_spatial.size() != dims.input_spatial.size() ||
      dims.output_spatial.size() != dims.input_spatial.size()) {
    return builder.Unsupported();
  }
  builder.Add(FactorKind::kParallel, batches, {dims.input_batch, dims.kernel_output_feature},
              {dims.output_feature}, Reduction::kNone, 'g');
  builder.Add(FactorKind::kParallel, features, {dims.input_feature, dims.kernel_output_feature},
              {dims.output_feature}, Reduction::kNone, 'g');
  builder.Add(FactorKind::kParallel, out_batch, {dims.input_batch}, {dims.output_batch},
              Reduction::kNone, 'b');
  builder.Add(FactorKind::kParallel, out_feature / (features * batches),
              {kNoDim, dims.kernel_output_feature}, {dims.output_feature}, Reduction::kNone, 'o');
  builder.Add(FactorKind::kReduction, in_feature, {dims.input_feature, dims.kernel_input_feature},
              {}, SumOf(builder.result(0)), 'i');
  double flops = 2 * ElementCount(builder.result(0)) * static_cast<double>(in_feature);
  const bool to_inputs = IsGradientOfInputs(builder);
  for (size_t s = 0; s < conv.window.size(); ++s) {
    int64_t input = dims.input_spatial[s], kernel = dims.kernel_spatial[s],
            output = dims.output_spatial[s];
    flops *= static_cast<double>(builder.OperandSize(1, kernel));
    if (to_inputs) flops /= static_cast<double>(std::max<int64_t>(1, conv.window[s].base_dilation));
    if (IsPointwise(conv.window[s])) {
      builder.Parallel({input}, {output});
    } else if (IsContraction(conv.window[s], builder.OperandSize(0, input),
                             builder.OperandSize(1, kernel), builder.ResultSize(0, output))) {
      builder.Reduce({input, kernel}, SumOf(builder.result(0)));
    }
  }
  builder.Flops(flops);
}

}  // namespace meshwright::rules
