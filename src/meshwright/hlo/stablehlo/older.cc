#include <algorithm>
#include <utility>

#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/stablehlo/lowering.h"

// Operations that StableHLO had once or that only MHLO has: einsum and torch_index_select, which
// are products and gathers, and what HLO has opcodes for that StableHLO has no operations of.

namespace meshwright {
namespace {

// ---- einsum ----

// Which dimensions of both sides belong together, by "ab,bc->ac": one letter a dimension.
struct Einsum {
  std::string lhs, rhs, result;
};

absl::StatusOr<Einsum> ReadEinsum(StablehloLowering& l, const MlirOperation& operation) {
  const MlirAttribute* const config = operation.Find("einsum_config");
  std::string text = config == nullptr ? "" : config->string;
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const size_t comma = text.find(','), arrow = text.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || arrow < comma) {
    return l.Error(operation, "lacks its einsum_config, \"ab,bc->ac\"");
  }
  Einsum einsum{text.substr(0, comma), text.substr(comma + 1, arrow - comma - 1),
                text.substr(arrow + 2)};
  const std::pair<const std::string*, MlirValue> sides[] = {{&einsum.lhs, operation.operands[0]},
                                                            {&einsum.rhs, operation.operands[1]},
                                                            {&einsum.result, operation.results[0]}};
  for (const auto& [labels, value] : sides) {
    std::string sorted = *labels;
    std::sort(sorted.begin(), sorted.end());
    const bool letters = std::all_of(sorted.begin(), sorted.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    });
    MW_RETURN_IF_ERROR(l.ExpectArray(operation, value));
    if (!letters || std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end() ||
        static_cast<int64_t>(sorted.size()) != l.Type(value).rank()) {
      return l.Error(operation, StrCat("has labels ", QuoteForError(*labels), " for ",
                                       l.Type(value).ToString(false),
                                       "; each dimension needs a letter of its own"));
    }
  }
  return einsum;
}

int64_t PositionIn(std::string_view labels, char label) {
  const size_t at = labels.find(label);
  return at == std::string_view::npos ? -1 : static_cast<int64_t>(at);
}

// A product, and a transpose where the result has another order than HLO's: first what both sides
// and the result have, then what is the left one's, then the right one's.
absl::Status LowerEinsum(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, 2, 1, 0));
  MW_ASSIGN_OR_RETURN(const Einsum einsum, ReadEinsum(l, operation));
  MW_ASSIGN_OR_RETURN(Instruction dot, l.Prepare(operation, opcode));
  std::string free[2], batch;
  for (size_t d = 0; d < einsum.lhs.size(); ++d) {
    const char label = einsum.lhs[d];
    const int64_t other = PositionIn(einsum.rhs, label);
    const bool kept = PositionIn(einsum.result, label) >= 0;
    if (other < 0) {
      free[0] += label;
      continue;
    }
    (kept ? dot.dot.lhs_batch : dot.dot.lhs_contracting).push_back(static_cast<int64_t>(d));
    (kept ? dot.dot.rhs_batch : dot.dot.rhs_contracting).push_back(other);
    if (kept) batch += label;
  }
  for (const char label : einsum.rhs) {
    if (PositionIn(einsum.lhs, label) < 0) free[1] += label;
  }
  const std::string made = StrCat(batch, free[0], free[1]);
  std::vector<int64_t> order;  // of the product's dimensions in the result
  for (const char label : einsum.result) order.push_back(PositionIn(made, label));
  if (made.size() != order.size() || std::count(order.begin(), order.end(), -1) > 0) {
    return l.Error(operation,
                   "sums over a dimension that one side has alone, or has one that neither has");
  }
  if (std::is_sorted(order.begin(), order.end())) return l.Emit(operation, std::move(dot));
  Instruction transpose;
  transpose.opcode = Opcode::kTranspose;
  transpose.shape = dot.shape;
  transpose.dimensions = order;
  transpose.metadata = dot.metadata;
  transpose.place = dot.place;
  transpose.sharding = std::exchange(dot.sharding, "");
  for (size_t d = 0; d < order.size(); ++d) {
    dot.shape.dims[static_cast<size_t>(order[d])] = transpose.shape.dims[d];
  }
  transpose.operands = {l.builder().Add(std::move(dot))};
  return l.Emit(operation, std::move(transpose));
}

// ---- torch_index_select ----

// Selects the entries of the operand's dimension `dim` that the indices say; the first `batch_dims`
// dimensions of both go together.
absl::Status LowerIndexSelect(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, 2, 1, 0));
  for (const MlirValue value : operation.operands) {
    MW_RETURN_IF_ERROR(l.ExpectArray(operation, value));
  }
  const int64_t rank = l.OperandType(operation, 0).rank();
  const int64_t index_rank = l.OperandType(operation, 1).rank();
  MW_ASSIGN_OR_RETURN(int64_t dim, l.Integer(operation, {"dim"}));
  int64_t batch = l.IntegerOr(operation, "batch_dims", 0);
  if (dim < 0) dim += rank;
  if (batch < 0) batch += index_rank;
  if (dim < 0 || dim >= rank || batch < 0 || batch > dim || batch > index_rank) {
    return l.Error(operation, StrCat("dim and batch_dims do not fit operands of ", rank, " and ",
                                     index_rank, " dimensions"));
  }
  MW_ASSIGN_OR_RETURN(Instruction gather, l.Prepare(operation, opcode));
  GatherDimensions& g = gather.gather;
  g.start_index_map = {dim};
  g.collapsed_slice_dims = {dim};
  g.index_vector_dim = index_rank;
  for (int64_t d = 0; d < batch; ++d) {
    g.operand_batching_dims.push_back(d);
    g.start_indices_batching_dims.push_back(d);
  }
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t size = l.OperandType(operation, 0).dims[static_cast<size_t>(d)];
    g.slice_sizes.push_back(d == dim || d < batch ? std::min<int64_t>(size, 1) : size);
    if (d >= batch && d != dim) {
      g.offset_dims.push_back(d < dim ? d : d + index_rank - batch - 1);
    }
  }
  return l.Emit(operation, std::move(gather));
}

// ---- what only MHLO has ----

template <int64_t kOperands>
absl::Status LowerWith(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, kOperands, 1, 0));
  return LowerPlain(l, operation, opcode);
}

absl::Status LowerFusion(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, -1, -1, 1));
  MW_ASSIGN_OR_RETURN(Instruction fusion, l.Prepare(operation, opcode));
  const std::string kind = l.Word(operation.Find("fusion_kind"));
  fusion.fusion_kind = kind.empty() ? "kLoop" : kind;
  return LowerWithReducer(l, operation, std::move(fusion));
}

absl::Status LowerRngState(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, 0, 1, 0));
  MW_ASSIGN_OR_RETURN(const int64_t delta, l.Integer(operation, {"delta"}));
  MW_ASSIGN_OR_RETURN(Instruction state, l.Prepare(operation, opcode));
  state.other.emplace_back("delta", StrCat(delta));
  return l.Emit(operation, std::move(state));
}

constexpr StablehloOperation kOlderOperations[] = {
    {"stablehlo.einsum", Opcode::kDot, LowerEinsum},
    {"stablehlo.torch_index_select", Opcode::kGather, LowerIndexSelect},
    {"mhlo.add_dependency", Opcode::kAddDependency, LowerWith<2>},
    {"mhlo.bitcast", Opcode::kBitcast, LowerWith<1>},
    {"mhlo.fusion", Opcode::kFusion, LowerFusion},
    {"mhlo.stochastic_convert", Opcode::kStochasticConvert, LowerWith<2>},
    {"mhlo.xla.rng_get_and_update_state", Opcode::kRngGetAndUpdateState, LowerRngState},
};

}  // namespace

absl::Span<const StablehloOperation> OlderOperations() { return kOlderOperations; }

}  // namespace meshwright
