#include "meshwright/hlo/counted_indices.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/element_value.h"
#include "meshwright/hlo/uniform.h"
#include "meshwright/hlo/unique_names.h"

namespace meshwright {
namespace {

bool Contains(const std::vector<int64_t>& list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

// 0, 1, 2, ...
bool IsCount(const Instruction& constant) {
  const int64_t count = constant.shape.elements();
  if (constant.shape.rank() != 1 || constant.literal.elided || !IsInteger(constant.shape.type))
    return false;
  const size_t bytes = static_cast<size_t>(ElementBytes(constant.shape.type));
  for (int64_t i = 0; i < count; ++i) {
    const char* element = constant.literal.data.data() + static_cast<size_t>(i) * bytes;
    if (ElementAsDouble(constant.shape.type, element) != static_cast<double>(i)) return false;
  }
  return true;
}

// The dimension of `to` that dimension `d` of `from` becomes where a reshape only adds and takes
// away dimensions of size 1.
std::optional<int64_t> ReshapedDimension(const Shape& from, const Shape& to, int64_t d) {
  int64_t at = 0;
  std::optional<int64_t> found;
  for (int64_t i = 0; i < from.rank(); ++i) {
    if (from.dims[i] == 1) continue;
    while (at < to.rank() && to.dims[at] == 1) ++at;
    if (at == to.rank() || to.dims[at] != from.dims[i]) return std::nullopt;
    if (i == d) found = at;
    ++at;
  }
  return found;
}

// Operators between an iota and an index are few, as JAX writes them; more are not looked at.
constexpr int kMostOperators = 64;

// The dimension of an array of integers along which every element is its position. `left`: how many
// operators may still be looked at.
std::optional<int64_t> CountedDimension(const Graph& graph, ValueId value, int* left) {
  if (--*left < 0) return std::nullopt;
  const Op& op = graph[graph[value].producer];
  if (op.kind != OpKind::kInstruction || !IsInteger(graph[value].shape.type)) return std::nullopt;
  const auto operand = [&](size_t i) { return CountedDimension(graph, op.operands[i], left); };
  switch (op.instruction->opcode) {
    case Opcode::kIota:
      return op.instruction->iota_dimension;
    case Opcode::kConstant:
      return IsCount(*op.instruction) ? std::optional<int64_t>(0) : std::nullopt;
    case Opcode::kBroadcast: {
      const std::optional<int64_t> d = operand(0);
      return d.has_value() ? std::optional(op.instruction->dimensions[static_cast<size_t>(*d)]) : d;
    }
    case Opcode::kReshape: {
      const std::optional<int64_t> d = operand(0);
      return d.has_value() ? ReshapedDimension(graph[op.operands[0]].shape, graph[value].shape, *d)
                           : d;
    }
    case Opcode::kConvert:
    case Opcode::kCopy:
      return operand(0);
    case Opcode::kCustomCall:
      return op.instruction->custom_call_target == "Sharding" && op.operands.size() == 1
                 ? operand(0)
                 : std::nullopt;
    case Opcode::kSelect: {
      // JAX counts negative indices from the end: select(i < 0, i + n, i).
      const Op& below = graph[graph[op.operands[0]].producer];
      const bool never = below.kind == OpKind::kInstruction &&
                         below.instruction->opcode == Opcode::kCompare &&
                         below.instruction->direction == "LT" && IsZero(graph, below.operands[1]) &&
                         CountedDimension(graph, below.operands[0], left).has_value();
      return never ? operand(2) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

std::optional<int64_t> CountedDimension(const Graph& graph, ValueId value) {
  int left = kMostOperators;
  return CountedDimension(graph, value, &left);
}

// What gathers and scatters have in common.
struct Indexing {
  size_t indices;  // operand
  const std::vector<int64_t>&single, &map, &operand_batch, &indices_batch;
  int64_t vector_dimension;
};
std::optional<Indexing> IndexingOf(const Op& op) {
  if (op.kind != OpKind::kInstruction) return std::nullopt;
  const GatherDimensions& g = op.instruction->gather;
  const ScatterDimensions& s = op.instruction->scatter;
  switch (op.instruction->opcode) {
    case Opcode::kGather:
      return Indexing{1,
                      g.collapsed_slice_dims,
                      g.start_index_map,
                      g.operand_batching_dims,
                      g.start_indices_batching_dims,
                      g.index_vector_dim};
    case Opcode::kScatter:
      return Indexing{
          op.results.size(),     s.inserted_window_dims,          s.scatter_dims_to_operand_dims,
          s.input_batching_dims, s.scatter_indices_batching_dims, s.index_vector_dim};
    default:
      return std::nullopt;
  }
}

// What joins the components of index vectors, one each; nullptr if they come otherwise.
const Op* JoinedComponents(const Graph& graph, const Op& op, const Indexing& indexing) {
  const Op& join = graph[graph[op.operands[indexing.indices]].producer];
  if (join.kind != OpKind::kInstruction || join.instruction->opcode != Opcode::kConcatenate ||
      join.instruction->dimensions[0] != indexing.vector_dimension ||
      join.operands.size() != indexing.map.size() || join.computation != op.computation)
    return nullptr;
  return &join;
}

void Erase(std::vector<int64_t>& list, int64_t value) {
  list.erase(std::remove(list.begin(), list.end(), value), list.end());
}

// Adds a pair to batching dimensions, which are in the order of the operand's.
void AddPair(std::vector<int64_t>& operand, std::vector<int64_t>& indices,
             const CountedIndex& counted) {
  const auto at = std::lower_bound(operand.begin(), operand.end(), counted.operand_dimension);
  indices.insert(indices.begin() + (at - operand.begin()), counted.indices_dimension);
  operand.insert(at, counted.operand_dimension);
}

void BatchDimensions(const std::vector<CountedIndex>& counted, Instruction& instruction) {
  GatherDimensions& g = instruction.gather;
  ScatterDimensions& s = instruction.scatter;
  for (const CountedIndex& c : counted) {
    if (instruction.opcode == Opcode::kGather) {
      Erase(g.collapsed_slice_dims, c.operand_dimension);
      Erase(g.start_index_map, c.operand_dimension);
      AddPair(g.operand_batching_dims, g.start_indices_batching_dims, c);
    } else {
      Erase(s.inserted_window_dims, c.operand_dimension);
      Erase(s.scatter_dims_to_operand_dims, c.operand_dimension);
      AddPair(s.input_batching_dims, s.scatter_indices_batching_dims, c);
    }
  }
  g.indices_are_sorted = s.indices_are_sorted = false;
}

// What becomes of one gather or scatter: which components its index vectors keep.
struct Rewrite {
  size_t indices;  // operand
  int64_t vector_dimension;
  std::vector<CountedIndex> counted;
  std::vector<InstructionId> kept;
};

}  // namespace

std::vector<CountedIndex> CountedIndices(const Graph& graph, const Op& op) {
  const std::optional<Indexing> indexing = IndexingOf(op);
  if (!indexing.has_value()) return {};
  const Op* const join = JoinedComponents(graph, op, *indexing);
  if (join == nullptr) return {};
  const Shape& operand = graph[op.operands[0]].shape;
  std::vector<CountedIndex> counted;
  for (size_t k = 0; k < indexing->map.size(); ++k) {
    const int64_t d = indexing->map[k];
    const std::optional<int64_t> along = CountedDimension(graph, join->operands[k]);
    if (!along.has_value() || *along == indexing->vector_dimension ||
        !Contains(indexing->single, d) || Contains(indexing->indices_batch, *along) ||
        graph[join->operands[k]].shape.dims[static_cast<size_t>(*along)] !=
            operand.dims[static_cast<size_t>(d)])
      continue;
    const bool again = std::any_of(counted.begin(), counted.end(), [&](const CountedIndex& c) {
      return c.indices_dimension == *along;
    });
    if (!again) counted.push_back({static_cast<int64_t>(k), d, *along});
  }
  if (counted.size() == indexing->map.size()) counted.pop_back();
  return counted;
}

Module WithBatchedIndices(const Graph& graph) {
  absl::flat_hash_map<const Instruction*, Rewrite> rewrites;
  for (const Op& op : graph.ops) {
    std::vector<CountedIndex> counted = CountedIndices(graph, op);
    if (counted.empty()) continue;
    const Indexing indexing = *IndexingOf(op);
    Rewrite rewrite{indexing.indices, indexing.vector_dimension, std::move(counted), {}};
    const Op& join = *JoinedComponents(graph, op, indexing);
    for (size_t k = 0; k < join.instruction->operands.size(); ++k) {
      const bool dropped = std::any_of(
          rewrite.counted.begin(), rewrite.counted.end(),
          [&](const CountedIndex& c) { return c.component == static_cast<int64_t>(k); });
      if (!dropped) rewrite.kept.push_back(join.instruction->operands[k]);
    }
    rewrites.emplace(op.instruction, std::move(rewrite));
  }
  Module module = *graph.module;
  if (rewrites.empty()) return module;
  UniqueNames names;
  for (const Computation& computation : module.computations) {
    for (const Instruction& instruction : computation.instructions) names.Take(instruction.name);
  }
  for (size_t c = 0; c < module.computations.size(); ++c) {
    const Computation& from = graph.module->computations[c];
    Computation& to = module.computations[c];
    to.instructions.clear();
    std::vector<InstructionId> moved;
    const auto move = [&](std::vector<InstructionId>& ids) {
      for (InstructionId& id : ids) id = moved[id.index()];
    };
    for (const Instruction& instruction : from.instructions) {
      Instruction copy = instruction;
      move(copy.operands);
      move(copy.control_predecessors);
      if (const auto found = rewrites.find(&instruction); found != rewrites.end()) {
        Rewrite& rewrite = found->second;
        move(rewrite.kept);
        BatchDimensions(rewrite.counted, copy);
        InstructionId& indices = copy.operands[rewrite.indices];
        Instruction join = to[indices];
        indices = rewrite.kept[0];
        if (rewrite.kept.size() > 1) {
          join.name = names.Take(StrCat(instruction.name, ".indices"));
          join.operands = rewrite.kept;
          join.shape.dims[static_cast<size_t>(rewrite.vector_dimension)] =
              static_cast<int64_t>(rewrite.kept.size());
          join.is_root = false;
          indices = InstructionId(to.instructions.size());
          to.instructions.push_back(std::move(join));
        }
      }
      moved.emplace_back(to.instructions.size());
      to.instructions.push_back(std::move(copy));
    }
    move(to.parameters);
    to.root = moved[from.root.index()];
  }
  return module;
}

}  // namespace meshwright
