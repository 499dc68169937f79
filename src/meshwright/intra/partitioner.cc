// How XLA's partitioner (xla/service/spmd) computes operators:
//
//  * Elementwise operators, broadcasts, transposes and reshapes are computed in the sharding of
//    their result, to which operands are resharded first; elementwise ones whose several operands
//    are sharded alike in that of their operands, and their result is resharded; a reshape whose
//    result's axes have no place in its operand in that of its operand.
//  * Reductions are computed where their operand lies; partial results are combined at once, and
//    what comes out is resharded.
//  * Matmuls (dot_handler.cc, PartitionDot): mesh axes are given to dimensions in turn, as
//    many at once as agree. If all that are left cut one kind of dimension alike in two of left
//    operand, right operand and result (batch: any two; contracted: both operands; rows: left
//    operand and result; columns: right operand and result), it is cut there. Else the axes that
//    cut batch dimensions of the result and of an operand alike are given away, then those of
//    rows or columns (the ones that leave less of the other operand to be gathered), then those of
//    contracted dimensions, and so on with the axes that are left. Where nothing agrees the result
//    decides; a replicated result leaves a contraction that one operand is cut along only where
//    that operand is larger than the result.
//
//
// Left out: windowed products (loops of permutes, for operands beyond a threshold that GPUs do not
// reach), groups of devices that agree in number only, convolutions, and operators that move data
// by indices; PartitionedStrategy knows nothing about those.

#include "meshwright/intra/partitioner.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "meshwright/intra/partitioner_reshard.h"

namespace meshwright {
namespace {

using Factors = std::vector<FactorIndex>;  // by mesh axis

bool IsIn(const TensorFactors& tensor, FactorIndex factor) {
  return std::any_of(tensor.dims.begin(), tensor.dims.end(), [&](const auto& dim) {
    return std::find(dim.begin(), dim.end(), factor) != dim.end();
  });
}

// The factor that each axis of `sharding` cuts in `tensor`; nullopt if one cuts none that may be.
std::optional<Factors> FactorsOf(const Rule& rule, const TensorFactors& tensor,
                                 const Sharding& sharding, const Mesh& mesh) {
  Factors factors(mesh.rank(), kNoFactor);
  if (tensor.dims.size() != sharding.dims.size()) return std::nullopt;
  for (size_t d = 0; d < sharding.dims.size(); ++d) {
    size_t at = 0;
    int64_t rest = tensor.dims[d].empty() ? 1 : rule.factors[tensor.dims[d][0]].size;
    for (AxisIndex axis : sharding.dims[d]) {
      const int64_t size = mesh.axes[axis].size;
      if (size == 1) continue;
      while (rest == 1 && at + 1 < tensor.dims[d].size())
        rest = rule.factors[tensor.dims[d][++at]].size;
      if (tensor.dims[d].empty()) return std::nullopt;
      const FactorIndex factor = tensor.dims[d][at];
      if (rest % size != 0 && (!rule.factors[factor].uneven || rest < size)) return std::nullopt;
      if (rule.factors[factor].kind == FactorKind::kWhole) return std::nullopt;
      factors[axis] = factor;
      rest /= size;
    }
  }
  return factors;
}

enum class Cut : uint8_t { kNone, kBatch, kRows, kColumns, kContracted };

// The axes of a matmul, given to its factors in turn.
class Product {
 public:
  // `result_axes`: the result's sharding, of which `result` are the factors.
  Product(const Rule& rule, Factors lhs, Factors rhs, Factors result, const Sharding& result_axes,
          double lhs_bytes, double rhs_bytes, double result_bytes, const Mesh& mesh)
      : rule_(rule),
        mesh_(mesh),
        result_axes_(result_axes),
        lhs_{std::move(lhs), lhs_bytes},
        rhs_{std::move(rhs), rhs_bytes},
        result_{std::move(result), result_bytes},
        strategy_(mesh.rank(), kNoFactor) {
    for (size_t a = 0; a < mesh.rank(); ++a) {
      if (mesh.axes[a].size > 1) open_.push_back(static_cast<AxisIndex>(a));
    }
  }

  Factors Run() {
    while (!open_.empty()) {
      const bool replicated = Count(result_) == 0;
      // A result that is replicated along some axes keeps the rest from being settled at once.
      const bool partial = !replicated && Count(result_) < open_.size();
      if (!partial && AllAtOnce()) break;
      if (Group()) continue;
      // Nothing agrees.
      if (replicated) {
        TakeLargerContraction();
      } else {
        Take(result_, Axes(result_));
      }
      break;
    }
    return strategy_;
  }

 private:
  struct Side {
    Factors cuts;
    double bytes;  // of the whole array
  };

  Cut CutOf(FactorIndex factor) const {
    if (factor == kNoFactor) return Cut::kNone;
    const bool lhs = IsIn(rule_.operands[0], factor), rhs = IsIn(rule_.operands[1], factor);
    if (!IsIn(rule_.results[0], factor)) return Cut::kContracted;
    if (lhs && rhs) return Cut::kBatch;
    return lhs ? Cut::kRows : Cut::kColumns;
  }

  AxisList Axes(const Side& side) const {
    AxisList axes;
    for (AxisIndex a : open_) {
      if (side.cuts[a] != kNoFactor) axes.push_back(a);
    }
    return axes;
  }
  AxisList Axes(const Side& side, Cut cut) const {
    AxisList axes;
    for (AxisIndex a : open_) {
      if (CutOf(side.cuts[a]) == cut) axes.push_back(a);
    }
    return axes;
  }
  size_t Count(const Side& side) const { return Axes(side).size(); }

  bool All(const Side& side, Cut cut) const { return Axes(side, cut) == open_; }
  static bool Agree(const Side& a, const Side& b, const AxisList& axes) {
    return std::all_of(axes.begin(), axes.end(),
                       [&](AxisIndex axis) { return a.cuts[axis] == b.cuts[axis]; });
  }

  // `axes` is no reference to `open_`, which gets shorter.
  void Take(const Side& side, const AxisList& axes) {
    for (AxisIndex axis : axes) {
      strategy_[axis] = side.cuts[axis];
      open_.erase(std::find(open_.begin(), open_.end(), axis));
    }
  }

  // All axes that are left cut one kind of dimension alike in two of the three arrays.
  bool AllAtOnce() {
    struct Pair {
      const Side *a, *b;
      Cut cut;
    };
    const Side& larger = lhs_.bytes < rhs_.bytes ? rhs_ : lhs_;
    const Side& smaller = lhs_.bytes < rhs_.bytes ? lhs_ : rhs_;
    for (const Pair& pair :
         {Pair{&lhs_, &rhs_, Cut::kBatch}, Pair{&lhs_, &result_, Cut::kBatch},
          Pair{&rhs_, &result_, Cut::kBatch}, Pair{&larger, &smaller, Cut::kContracted},
          Pair{&lhs_, &result_, Cut::kRows}, Pair{&rhs_, &result_, Cut::kColumns}}) {
      if (!All(*pair.a, pair.cut) || !All(*pair.b, pair.cut)) continue;
      if (pair.cut != Cut::kContracted && !Agree(*pair.a, *pair.b, open_)) continue;
      Take(*pair.a, AxisList(open_));
      return true;
    }
    return false;
  }

  // Some axes agree; those are given away.
  bool Group() {
    const AxisList batch = Axes(result_, Cut::kBatch);
    if (!batch.empty() &&
        (Matches(lhs_, Cut::kBatch, batch) || Matches(rhs_, Cut::kBatch, batch)) && MakeRoom(batch))
      return Give(result_, batch);
    const AxisList rows = Axes(lhs_, Cut::kRows), columns = Axes(rhs_, Cut::kColumns);
    const bool by_rows = !rows.empty() && Matches(result_, Cut::kRows, rows);
    const bool by_columns = !columns.empty() && Matches(result_, Cut::kColumns, columns);
    if (by_rows && (!by_columns || static_cast<double>(mesh_.Size(rows)) * HeldBytes(rhs_) <
                                       static_cast<double>(mesh_.Size(columns)) * HeldBytes(lhs_)))
      return GiveReplicating(lhs_, rows, &rhs_);
    if (by_columns) return GiveReplicating(rhs_, columns, &lhs_);
    if (const AxisList some = Alike(lhs_, result_, Cut::kRows); !some.empty())
      return GiveReplicating(lhs_, some, &rhs_);
    if (const AxisList some = Alike(rhs_, result_, Cut::kColumns); !some.empty())
      return GiveReplicating(rhs_, some, &lhs_);
    const AxisList contracted = Alike(lhs_, rhs_, Cut::kContracted);
    return !contracted.empty() && GiveContracted(contracted);
  }

  // Axes of the dimensions of this kind that `a` and `b` cut by the same axes.
  AxisList Alike(const Side& a, const Side& b, Cut cut) const {
    AxisList alike;
    for (AxisIndex axis : Axes(a, cut)) {
      const FactorIndex factor = a.cuts[axis];
      const bool same = std::all_of(open_.begin(), open_.end(), [&](AxisIndex other) {
        return (a.cuts[other] == factor) == (b.cuts[other] == factor);
      });
      if (same) alike.push_back(axis);
    }
    return alike;
  }

  // Batch axes of the result that an operand has elsewhere: it must have nothing else of that kind,
  // all of which is gathered. False if it has.
  bool MakeRoom(const AxisList& batch) {
    for (const auto& [side, own] :
         {std::pair{&lhs_, Cut::kRows}, std::pair{&rhs_, Cut::kColumns}}) {
      AxisList elsewhere;
      for (AxisIndex axis : batch) {
        const Cut cut = CutOf(side->cuts[axis]);
        if (cut == own || cut == Cut::kContracted) elsewhere.push_back(axis);
      }
      if (!elsewhere.empty() && elsewhere != Axes(*side, own) &&
          elsewhere != Axes(*side, Cut::kContracted))
        return false;
    }
    return true;
  }

  // Contracted dimensions are cut; what the result is cut by besides stays only where these axes do
  // not stand in one dimension with others, but for those that cut it before them: then the sums
  // are scattered over what these leave.
  bool GiveContracted(const AxisList& axes) {
    bool mixed = false;
    for (const AxisList& dim : result_axes_.dims) {
      bool summed = false;
      for (AxisIndex axis : dim) {
        if (std::find(open_.begin(), open_.end(), axis) == open_.end()) continue;
        const bool given = std::find(axes.begin(), axes.end(), axis) != axes.end();
        mixed |= summed && !given;
        summed |= given;
      }
    }
    if (mixed) std::fill(result_.cuts.begin(), result_.cuts.end(), kNoFactor);
    return Give(lhs_, axes);
  }

  bool Give(const Side& side, const AxisList& axes) {
    Take(side, axes);
    return true;
  }

  // Rows or columns are cut as the result has them, along whichever of their dimensions; the other
  // operand is replicated along these axes. Where it has them in a dimension together with others,
  // it is cut anew, as the result and this operand want it.
  bool GiveReplicating(const Side& side, const AxisList& axes, Side* other) {
    const auto given = [&](AxisIndex axis) {
      return std::find(axes.begin(), axes.end(), axis) != axes.end();
    };
    bool mixed = false;
    for (AxisIndex axis : axes) {
      for (AxisIndex open : open_) {
        mixed |= other->cuts[axis] != kNoFactor && other->cuts[open] == other->cuts[axis] &&
                 !given(open);
      }
    }
    const TensorFactors& tensor = rule_.operands[other == &lhs_ ? 0 : 1];
    for (AxisIndex open : open_) {
      if (given(open)) {
        other->cuts[open] = kNoFactor;
      } else if (mixed) {
        const FactorIndex wanted = result_.cuts[open];
        const FactorIndex contracted = side.cuts[open];
        other->cuts[open] = wanted != kNoFactor && IsIn(tensor, wanted) ? wanted
                            : CutOf(contracted) == Cut::kContracted     ? contracted
                                                                        : kNoFactor;
      }
    }
    return Give(result_, axes);
  }

  // `side` is cut along dimensions of this kind by just these axes.
  bool Matches(const Side& side, Cut cut, const AxisList& axes) const {
    return Axes(side, cut) == axes;
  }

  double HeldBytes(const Side& side) const {
    double pieces = 1;
    for (size_t a = 0; a < side.cuts.size(); ++a) {
      if (side.cuts[a] != kNoFactor) pieces *= static_cast<double>(mesh_.axes[a].size);
    }
    return side.bytes / pieces;
  }

  // The result is replicated: all axes along contracted dimensions of one operand only.
  void TakeLargerContraction() {
    for (const auto& [side, other] : {std::pair{&rhs_, &lhs_}, std::pair{&lhs_, &rhs_}}) {
      if (!All(*side, Cut::kContracted) || Count(*other) > 0 || side->bytes <= result_.bytes)
        continue;
      Take(*side, AxisList(open_));
      return;
    }
  }

  const Rule& rule_;
  const Mesh& mesh_;
  const Sharding& result_axes_;
  Side lhs_, rhs_, result_;
  AxisList open_;  // axes that are not given to a factor yet
  Factors strategy_;
};

std::optional<Strategy> ProductStrategy(const Graph& graph, const Op& op, const Rule& rule,
                                        const std::vector<const Sharding*>& operands,
                                        const Sharding& result, const Mesh& mesh) {
  const auto factors_of = [&](size_t i) {
    if (operands[i] == nullptr) return std::optional(Factors(mesh.rank(), kNoFactor));
    return FactorsOf(rule, rule.operands[i], *operands[i], mesh);
  };
  std::optional<Factors> lhs = factors_of(0), rhs = factors_of(1);
  std::optional<Factors> out = FactorsOf(rule, rule.results[0], result, mesh);
  if (!lhs || !rhs || !out) return std::nullopt;
  const auto bytes = [&](ValueId v) { return static_cast<double>(graph[v].shape.bytes()); };
  const Factors factors =
      Product(rule, *std::move(lhs), *std::move(rhs), *std::move(out), result,
              bytes(op.operands[0]), bytes(op.operands[1]), bytes(op.results[0]), mesh)
          .Run();
  // Where axes come in several orders, the result's is the one.
  Strategy strategy{absl::MakeConstSpan(factors)};
  for (size_t i : {0, 1}) {
    if (operands[i] != nullptr)
      strategy = OrderedAs(rule, rule.operands[i], *operands[i], std::move(strategy), mesh);
  }
  return OrderedAs(rule, rule.results[0], result, std::move(strategy), mesh);
}

}  // namespace

std::optional<Strategy> PartitionedStrategy(const Graph& graph, const Op& op, const Rule& rule,
                                            const std::vector<const Sharding*>& operands,
                                            const Sharding& result, const Mesh& mesh) {
  if (op.kind != OpKind::kInstruction || op.results.size() != 1) return std::nullopt;
  const Opcode opcode = op.instruction->opcode;
  if (opcode == Opcode::kDot) return ProductStrategy(graph, op, rule, operands, result, mesh);
  const bool by_operand = opcode == Opcode::kReduce || opcode == Opcode::kReshape;
  const bool by_result = IsElementwise(opcode) || opcode == Opcode::kBroadcast ||
                         opcode == Opcode::kTranspose || opcode == Opcode::kReshape ||
                         opcode == Opcode::kCopy;
  const auto as_cut = [&](const TensorFactors& tensor, const Sharding& sharding) {
    const std::optional<Factors> factors = FactorsOf(rule, tensor, sharding, mesh);
    if (!factors.has_value()) return std::optional<Strategy>();
    return std::optional(
        OrderedAs(rule, tensor, sharding, Strategy(absl::MakeConstSpan(*factors)), mesh));
  };
  std::optional<Strategy> strategy;
  if (IsElementwise(opcode)) {
    // Where all operands are alike, the result is moved instead of them.
    const Sharding* first = operands.size() > 1 ? operands[0] : nullptr;
    const bool alike = first != nullptr &&
                       std::all_of(operands.begin(), operands.end(), [&](const Sharding* operand) {
                         return operand != nullptr && *operand == *first;
                       });
    if (alike) strategy = as_cut(rule.operands[0], *first);
  }
  if (!strategy && by_result) strategy = as_cut(rule.results[0], result);
  if (!strategy && by_operand && operands[0] != nullptr)
    strategy = as_cut(rule.operands[0], *operands[0]);
  return strategy;
}

PartitionerModel::PartitionerModel(const CostModel& prices)
    : CostModel(prices.mesh()), prices_(prices) {}

Resharding PartitionerModel::Reshard(const Shape& shape, const Sharding& from,
                                     const Sharding& to) const {
  Resharding resharding = PartitionerReshard(shape, from, to, mesh());
  resharding.seconds = 0;
  for (const CollectiveStep& step : resharding.steps)
    resharding.seconds += CollectiveSeconds(step.kind, step.axes, step.bytes);
  return resharding;
}

std::vector<double> PartitionerModel::ReshardSeconds(const Shape& shape, const Sharding& from,
                                                     std::span<const Sharding> to) const {
  std::vector<double> seconds;
  for (const Sharding& end : to) {
    const Resharding resharding = Reshard(shape, from, end);
    seconds.push_back(resharding.possible ? resharding.seconds
                                          : std::numeric_limits<double>::infinity());
  }
  return seconds;
}

}  // namespace meshwright
