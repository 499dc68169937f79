#include "meshwright/inter/layers/fingerprint.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "meshwright/hlo/op_sharding_rule.h"

namespace meshwright {
namespace {

// In place of a slice's start, limit and stride, or of a padding's low, high and interior, of which
// the first and the last are never negative.
constexpr std::array<int64_t, 3> kAnyEntry = {-1, -1, -1};

}  // namespace

Fingerprint& Fingerprint::Add(std::string_view text) {
  Add(text.size());
  for (size_t i = 0; i < text.size(); i += 8) {
    uint64_t word = 0;
    for (size_t j = i; j < std::min(i + 8, text.size()); ++j) {
      word = word << 8 | static_cast<unsigned char>(text[j]);
    }
    Add(word);
  }
  return *this;
}

Fingerprint& Fingerprint::Add(const std::vector<int64_t>& list) {
  Add(list.size());
  for (int64_t i : list) Add(static_cast<uint64_t>(i));
  return *this;
}

Fingerprint& Fingerprint::Add(const Shape& shape) {
  Add(static_cast<uint64_t>(shape.type)).Add(shape.dims).Add(shape.tuple.size());
  for (const Shape& element : shape.tuple) Add(element);
  return *this;
}

void OpFingerprints::AddAttributes(const Instruction& op, Fingerprint& f) {
  const auto add = [&](int64_t number) { f.Add(static_cast<uint64_t>(number)); };
  f.Add(op.dimensions);
  add(op.iota_dimension);
  f.Add(op.dot.lhs_batch).Add(op.dot.rhs_batch);
  f.Add(op.dot.lhs_contracting).Add(op.dot.rhs_contracting);
  for (const WindowDimension& w : op.window) {
    for (int64_t number :
         std::array{w.size, w.stride, w.padding_low, w.padding_high, w.window_dilation,
                    w.base_dilation, int64_t{w.reversal ? 1 : 0}}) {
      add(number);
    }
  }
  const ConvolutionDimensions& c = op.convolution;
  for (int64_t number :
       std::array{c.input_batch, c.input_feature, c.kernel_input_feature, c.kernel_output_feature,
                  c.output_batch, c.output_feature, op.feature_group_count, op.batch_group_count}) {
    add(number);
  }
  f.Add(c.input_spatial).Add(c.kernel_spatial).Add(c.output_spatial);
  const GatherDimensions& g = op.gather;
  f.Add(g.offset_dims).Add(g.collapsed_slice_dims).Add(g.start_index_map);
  f.Add(g.operand_batching_dims).Add(g.start_indices_batching_dims).Add(g.slice_sizes);
  add(g.index_vector_dim);
  const ScatterDimensions& s = op.scatter;
  f.Add(s.update_window_dims).Add(s.inserted_window_dims).Add(s.scatter_dims_to_operand_dims);
  f.Add(s.input_batching_dims).Add(s.scatter_indices_batching_dims);
  add(s.index_vector_dim);
  for (const SliceDimension& d : op.slice) {
    const bool any = entries_ == Entries::kAlike && d.limit - d.start == 1;
    for (int64_t number : any ? kAnyEntry : std::array{d.start, d.limit, d.stride}) add(number);
  }
  f.Add(op.dynamic_slice_sizes);
  for (size_t i = 0; i < op.padding.size(); ++i) {
    const PaddingDimension& d = op.padding[i];
    const bool any = entries_ == Entries::kAlike && i < op.shape.dims.size() && d.low >= 0 &&
                     d.high >= 0 && op.shape.dims[i] - d.low - d.high == 1;
    for (int64_t number : any ? kAnyEntry : std::array{d.low, d.high, d.interior}) add(number);
  }
  f.Add(op.direction).Add(op.custom_call_target).Add(op.literal.data);
  for (const auto& [name, value] : op.other) f.Add(name).Add(value);
  if (const std::string* const rule = FindOpShardingRule(op)) f.Add(*rule);
}

uint64_t OpFingerprints::OfComputation(ComputationId id) {
  const auto [it, inserted] = computations_.try_emplace(id.value, 0);
  if (!inserted) return it->second;
  Fingerprint f;
  const Computation& computation = (*graph_.module)[id];
  for (const Instruction& instruction : computation.instructions) {
    f.Add(static_cast<uint64_t>(instruction.opcode)).Add(instruction.shape);
    f.Add(static_cast<uint64_t>(instruction.parameter_number));
    f.Add(static_cast<uint64_t>(instruction.tuple_index));
    for (InstructionId operand : instruction.operands) f.Add(operand.index());
    AddAttributes(instruction, f);
    for (ComputationId called : instruction.called) f.Add(OfComputation(called));
  }
  f.Add(computation.root.index());
  return computations_[id.value] = f.value();
}

uint64_t OpFingerprints::Of(OpId id) {
  const Op& op = graph_[id];
  Fingerprint f;
  f.Add(static_cast<uint64_t>(op.kind));
  if (op.kind == OpKind::kInstruction) {
    f.Add(static_cast<uint64_t>(op.instruction->opcode));
    AddAttributes(*op.instruction, f);
    for (ComputationId called : op.instruction->called) f.Add(OfComputation(called));
  }
  for (ValueId v : op.operands) f.Add(graph_[v].shape);
  for (ValueId v : op.results) f.Add(graph_[v].shape);
  return f.value();
}

std::string GraphFingerprint(const Graph& graph) {
  OpFingerprints fingerprints(graph);
  Fingerprint f;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    f.Add(fingerprints.Of(OpId(i)));
    for (ValueId v : graph.ops[i].operands) f.Add(static_cast<uint64_t>(v.value));
  }
  return absl::StrCat(absl::Hex(f.value(), absl::kZeroPad16));
}

}  // namespace meshwright
