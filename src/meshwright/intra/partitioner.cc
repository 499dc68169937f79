// How XLA's partitioner (xla/service/spmd) computes operators:
//
//  * Elementwise operators, broadcasts, transposes and reshapes are computed in the sharding of
//    their result, to which operands are resharded first; a reshape whose result's axes have no
//    place in its operand in that of its operand.
//  * Reductions are computed where their operand lies; partial results are combined at once, and
//    what comes out is resharded.
//  * Matrix products (dot_handler.cc, PartitionDot): mesh axes are given to dimensions in turn, as
//    many at once as agree. If all that are left cut one kind of dimension alike in two of left
//    operand, right operand and result (batch: any two; contracted: both operands; rows: left
//    operand and result; columns: right operand and result), it is cut there. Else the axes that
//    cut batch dimensions of the result and of an operand alike are given away, then those of
//    rows or columns (the ones that leave less of the other operand to be gathered), then those of
//    contracted dimensions, and so on with the axes that are left. Where nothing agrees the result
//    decides; a replicated result leaves a contraction that one operand is cut along only where
//    that operand is larger than the result.
//
// Left out: windowed products (loops of permutes, for operands beyond a threshold that GPUs do not
// reach), groups of devices that agree in number only, convolutions, and operators that move data
// by indices; PartitionedStrategy knows nothing about those.

#include "meshwright/intra/partitioner.h"

#include <algorithm>
#include <limits>
#include <utility>

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
      if (rest % size != 0) return std::nullopt;
      const FactorIndex factor = tensor.dims[d][at];
      if (rule.factors[factor].kind == FactorKind::kWhole) return std::nullopt;
      factors[axis] = factor;
      rest /= size;
    }
  }
  return factors;
}

enum class Cut : uint8_t { kNone, kBatch, kRows, kColumns, kContracted };

// The axes of a matrix product, given to its factors one after the other.
class Product {
 public:
  Product(const Rule& rule, Factors lhs, Factors rhs, Factors result, double lhs_bytes,
          double rhs_bytes, double result_bytes, const Mesh& mesh)
      : rule_(rule),
        mesh_(mesh),
        lhs_{std::move(lhs), lhs_bytes},
        rhs_{std::move(rhs), rhs_bytes},
        result_{std::move(result), result_bytes},
        strategy_(mesh.rank(), kNoFactor) {
    for (size_t a = 0; a < mesh.rank(); ++a) {
      if (lhs_.cuts[a] != kNoFactor || rhs_.cuts[a] != kNoFactor || result_.cuts[a] != kNoFactor)
        open_.push_back(static_cast<AxisIndex>(a));
    }
  }

  Strategy Run() {
    while (!open_.empty()) {
      const bool replicated = Count(result_) == 0;
      // An axis that cuts the operands only keeps the rest from being settled at once.
      const bool partial = !replicated && Count(result_) < open_.size();
      if (!partial && AllAtOnce()) break;
      if (Group()) continue;
      if (partial && Count(lhs_) + Count(rhs_) > 0) {
        // Nothing agrees: the result decides, contractions are gathered.
        Take(result_, Axes(result_));
        break;
      }
      if (!replicated) {
        Take(result_, open_);
        break;
      }
      TakeLargerContraction();
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

  void Take(const Side& side, AxisList axes) {
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
      Take(*pair.a, open_);
      return true;
    }
    return false;
  }

  // Some axes agree; those are given away.
  bool Group() {
    const AxisList batch = Axes(result_, Cut::kBatch);
    if (!batch.empty() && (Matches(lhs_, Cut::kBatch, batch) || Matches(rhs_, Cut::kBatch, batch)))
      return Give(result_, batch);
    const AxisList rows = Axes(lhs_, Cut::kRows), columns = Axes(rhs_, Cut::kColumns);
    const bool by_rows = !rows.empty() && Matches(result_, Cut::kRows, rows);
    const bool by_columns = !columns.empty() && Matches(result_, Cut::kColumns, columns);
    if (by_rows && (!by_columns || static_cast<double>(mesh_.Size(rows)) * HeldBytes(rhs_) <
                                       static_cast<double>(mesh_.Size(columns)) * HeldBytes(lhs_)))
      return Give(lhs_, rows);
    if (by_columns) return Give(rhs_, columns);
    for (const auto& [side, axes] : {std::pair{&lhs_, &rows}, std::pair{&rhs_, &columns}}) {
      AxisList some;
      for (AxisIndex axis : *axes) {
        if (result_.cuts[axis] == side->cuts[axis]) some.push_back(axis);
      }
      if (!some.empty()) return Give(*side, some);
    }
    const AxisList contracted = Axes(lhs_, Cut::kContracted);
    if (!contracted.empty() && Matches(rhs_, Cut::kContracted, contracted))
      return Give(lhs_, contracted);
    AxisList some;
    for (AxisIndex axis : contracted) {
      if (rhs_.cuts[axis] == lhs_.cuts[axis]) some.push_back(axis);
    }
    return !some.empty() && Give(lhs_, some);
  }

  bool Give(const Side& side, const AxisList& axes) {
    Take(side, axes);
    return true;
  }

  // `side` is cut along dimensions of this kind by just these axes, each along the factor that the
  // other array has there.
  bool Matches(const Side& side, Cut cut, const AxisList& axes) const {
    return Axes(side, cut) == axes && (Agree(side, result_, axes) || Agree(lhs_, rhs_, axes));
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
      Take(*side, open_);
      return;
    }
  }

  const Rule& rule_;
  const Mesh& mesh_;
  Side lhs_, rhs_, result_;
  AxisList open_;  // axes that are not given to a factor yet
  Strategy strategy_;
};

Strategy ToStrategy(const Factors& factors) { return Strategy(factors.begin(), factors.end()); }

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
  return Product(rule, *std::move(lhs), *std::move(rhs), *std::move(out), bytes(op.operands[0]),
                 bytes(op.operands[1]), bytes(op.results[0]), mesh)
      .Run();
}

// Bytes that leave a device, as good a price as any where only bytes count.
double BytesMoved(const Mesh& mesh, CollectiveKind kind, const AxisList& axes, int64_t bytes) {
  const auto n = static_cast<double>(mesh.Size(axes));
  const double once = static_cast<double>(bytes) * (n - 1) / n;
  constexpr double kStep = 1e-3;  // of paths that move as much, the one of fewer steps
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return 2 * once + kStep;
    case CollectiveKind::kCollectivePermute:
      return static_cast<double>(bytes) + kStep;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
      break;
  }
  return once + kStep;
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
  std::optional<Factors> factors;
  if (by_result) factors = FactorsOf(rule, rule.results[0], result, mesh);
  if (!factors && by_operand && operands[0] != nullptr)
    factors = FactorsOf(rule, rule.operands[0], *operands[0], mesh);
  if (!factors) return std::nullopt;
  return ToStrategy(*factors);
}

PartitionerModel::PartitionerModel(const CostModel& prices)
    : CostModel(prices.mesh()), prices_(prices) {}

Resharding PartitionerModel::Reshard(const Shape& shape, const Sharding& from,
                                     const Sharding& to) const {
  Resharding resharding = PlanResharding(
      shape, from, to, mesh(), [this](CollectiveKind kind, const AxisList& axes, int64_t bytes) {
        return BytesMoved(mesh(), kind, axes, bytes);
      });
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
