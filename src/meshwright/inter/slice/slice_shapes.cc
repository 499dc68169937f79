#include "meshwright/inter/slice/slice_shapes.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/element_value.h"
#include "meshwright/hlo/flatten.h"
#include "meshwright/hlo/op_sharding_rule.h"
#include "meshwright/hlo/uniform.h"
#include "meshwright/inter/slice/slice_members.h"

namespace meshwright {
namespace {

absl::Status Cannot(const Op& op, std::string_view why) {
  return absl::InvalidArgumentError(StrCat("\"", op.name, "\" cannot be divided: ", why));
}

// Operand `i` of `op` is smaller in dimension `d`.
struct Shrunk {
  size_t operand, d;
  int64_t from, to;
};

std::vector<Shrunk> FindShrunk(const Graph& graph, const Op& op, const std::vector<Shape>& taken) {
  std::vector<Shrunk> found;
  for (size_t i = 0; i < taken.size(); ++i) {
    const std::vector<int64_t>& dims = graph[op.operands[i]].shape.dims;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (taken[i].dims[d] != dims[d]) found.push_back({i, d, dims[d], taken[i].dims[d]});
    }
  }
  return found;
}

// The rule that the program states for a call repeats its sizes.
absl::Status ShrinkShardingRule(const Op& op, const std::vector<Shape>& taken,
                                Instruction* instruction) {
  for (auto& [name, text] : instruction->frontend_attributes) {
    if (name != kShardingRuleAttribute) continue;
    MW_ASSIGN_OR_RETURN(OpShardingRule rule, ParseOpShardingRule(text, op.name));
    std::vector<const Shape*> operands, results;
    for (const Shape& shape : taken) operands.push_back(&shape);
    ForEachLeaf(instruction->shape,
                [&](const std::vector<int64_t>&, const Shape& leaf) { results.push_back(&leaf); });
    if (!ResizeOpShardingRule(operands, results, &rule))
      return Cannot(op, "its sharding rule does not say how");
    text = OpShardingRuleText(rule);
  }
  return absl::OkStatus();
}

// A call that fixes the layouts of its operands repeats their shapes:
// `{f32[8,128]{1,0}, f32[128]{0}}`.
absl::Status ShrinkLayoutConstraints(const Op& op, const std::vector<Shape>& taken,
                                     Instruction* instruction) {
  for (auto& [name, text] : instruction->other) {
    if (name != "operand_layout_constraints") continue;
    std::string shrunk;
    size_t from = 0, operand = 0;
    for (size_t open = text.find('['); open != std::string::npos; open = text.find('[', from)) {
      const size_t close = text.find(']', open);
      if (close == std::string::npos || operand == taken.size()) break;
      StrAppend(&shrunk, text.substr(from, open - from), "[",
                absl::StrJoin(taken[operand++].dims, ","), "]");
      from = close + 1;
    }
    if (operand != taken.size() || text.find('[', from) != std::string::npos)
      return Cannot(op, "its operands have fixed sizes");
    text = StrCat(shrunk, text.substr(from));
  }
  return absl::OkStatus();
}

// cuDNN's attention repeats the shape of its scores, [samples, heads, queries, keys], of which the
// first result has all but the last.
void ShrinkAttentionConfig(Instruction* instruction) {
  std::string& config = instruction->backend_config;
  const size_t scores = config.find("intermediate_tensor_shape");
  const size_t open = config.find('[', config.find("dimensions", scores));
  const size_t close = config.find(']', open);
  if (scores == std::string::npos || close == std::string::npos) return;
  std::vector<std::string> sizes = absl::StrSplit(config.substr(open + 1, close - open - 1),
                                                  absl::ByAnyChar(", \\\""), absl::SkipEmpty());
  std::vector<Shape> results;
  ForEachLeaf(instruction->shape,
              [&](const std::vector<int64_t>&, const Shape& leaf) { results.push_back(leaf); });
  if (sizes.size() != 4 || results.empty() || results[0].rank() != 4) return;
  for (size_t d = 0; d < 3; ++d) sizes[d] = StrCat(results[0].dims[d]);
  const std::string quote =
      config.substr(open + 1, config.find_first_of("0123456789", open) - open - 1);
  config.replace(open + 1, close - open - 1,
                 absl::StrJoin(sizes, ", ", [&](std::string* out, const std::string& size) {
                   StrAppend(out, quote, size, quote);
                 }));
}

}  // namespace

Shape SliceShape(const SliceContext& context, const SliceRequest& request, ValueId value) {
  Shape shape = context.graph[value].shape;
  if (const int32_t d = context.batch.dimension[value.index()]; d >= 0) {
    shape.dims[d] /= request.micro_batches;
  }
  if (const int32_t d = context.stacks.dimension[value.index()]; d >= 0) {
    const LayerLoop& loop = context.layers.loops[context.stacks.loop[value.index()]];
    const LoopPart part = PartOf(loop, request.begin, request.end);
    shape.dims[d] = shape.dims[d] / loop.count * (part.high - part.low);
  }
  return shape;
}

absl::Status ShrinkInstruction(const Graph& graph, const Op& op, const std::vector<Shape>& taken,
                               Instruction* instruction) {
  if (instruction->opcode == Opcode::kConstant) {
    const Shape& shape = graph[op.results[0]].shape;
    if (instruction->shape.dims == shape.dims) return absl::OkStatus();
    if (!IsUniform(*op.instruction)) return Cannot(op, "its elements differ");
    const size_t bytes = static_cast<size_t>(ElementBytes(shape.type));
    instruction->literal.data.resize(bytes * static_cast<size_t>(instruction->shape.elements()));
    return absl::OkStatus();
  }
  const std::vector<Shrunk> shrunk = FindShrunk(graph, op, taken);
  if (shrunk.empty()) return absl::OkStatus();
  MW_RETURN_IF_ERROR(ShrinkLayoutConstraints(op, taken, instruction));
  for (const Shrunk& s : shrunk) {
    switch (instruction->opcode) {
      case Opcode::kSlice: {
        SliceDimension& slice = instruction->slice[s.d];
        if (slice != SliceDimension{0, s.from, 1}) return Cannot(op, "it takes some samples only");
        slice.limit = s.to;
        break;
      }
      case Opcode::kDynamicSlice:
        if (s.operand > 0) break;
        if (instruction->dynamic_slice_sizes[s.d] == s.from) {
          instruction->dynamic_slice_sizes[s.d] = s.to;
        }
        break;
      case Opcode::kGather:
        if (s.operand > 0) break;
        if (instruction->gather.slice_sizes[s.d] == s.from) {
          instruction->gather.slice_sizes[s.d] = s.to;
        }
        break;
      case Opcode::kPad:
        if (s.operand == 0 && instruction->padding[s.d] != PaddingDimension()) {
          return Cannot(op, "it pads the divided dimension");
        }
        break;
      case Opcode::kCustomCall:
        ShrinkAttentionConfig(instruction);
        return ShrinkShardingRule(op, taken, instruction);
      case Opcode::kGetDimensionSize:
        return Cannot(op, "it counts the samples");
      default:
        break;
    }
  }
  return absl::OkStatus();
}

}  // namespace meshwright
