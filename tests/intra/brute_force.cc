#include "tests/intra/brute_force.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "meshwright/cost/kernel_rates.h"
#include "meshwright/hlo/element_value.h"
#include "meshwright/intra/candidates.h"
#include "meshwright/sharding/rule.h"

namespace meshwright {
namespace {

class Search {
 public:
  Search(const Graph& graph, const CostModel& cost_model, const FusionInfo& fusion,
         const std::vector<Interval>& intervals, int64_t budget,
         const std::map<size_t, Sharding>& given, const std::map<size_t, Sharding>& given_outputs,
         const GivenCuts& cuts)
      : graph_(graph),
        cost_(cost_model),
        fusion_(fusion),
        intervals_(intervals),
        budget_(budget),
        cuts_(cuts) {
    for (const auto& [parameter, sharding] : given) given_[graph.parameters[parameter]] = sharding;
    for (const auto& [output, sharding] : given_outputs) given_[graph.outputs[output]] = sharding;
    int32_t end = 0;
    for (const Interval& i : intervals) end = std::max(end, i.end);
    usage_.assign(end, 0);
    seen_.resize(graph.values.size());
    for (size_t i = 0; i < graph.ops.size(); ++i) {
      rules_.push_back(RuleFor(graph, graph.ops[i]));
      if (graph.ops[i].kind != OpKind::kOutput) cuts_.Allow(&rules_[i]);
      strategies_.push_back(EnumerateStrategies(rules_[i], cost_.mesh(), cuts_.orders));
    }
  }

  std::optional<double> Run() {
    DecideOp(0, 0);
    if (best_ == std::numeric_limits<double>::infinity()) return std::nullopt;
    return best_;
  }

 private:
  const Mesh& mesh() const { return cost_.mesh(); }

  double Price(const Shape& shape, const Sharding& from, const Sharding& to) {
    if (from == to) return 0;
    const auto key = std::make_tuple(shape.dims, from, to);
    auto [it, inserted] = prices_.try_emplace(key, 0);
    if (inserted) {
      const Resharding r = cost_.Reshard(shape, from, to);
      it->second = r.possible ? r.seconds : std::numeric_limits<double>::infinity();
    }
    return it->second;
  }

  // Occupies memory for `v`; false if that bursts the budget.
  bool Occupy(ValueId v, const Sharding& sharding, int64_t sign) {
    const Interval& live = intervals_[v.index()];
    const int64_t bytes = BytesPerDevice(graph_[v].shape, sharding, mesh());
    bool fits = true;
    for (int32_t t = live.begin; t < live.end; ++t) {
      usage_[t] += sign * bytes;
      fits = fits && usage_[t] <= budget_;
    }
    return fits;
  }

  void DecideOp(size_t i, double cost) {
    if (cost >= best_) return;
    if (i == graph_.ops.size()) {
      best_ = cost;
      return;
    }
    const Op& op = graph_.ops[i];
    const bool free = !op.results.empty() && fusion_.free[op.results[0].index()];
    if (free) return DecideOp(i + 1, cost);
    if (op.parameter >= 0) return DecideParameter(i, cost);
    const auto given = given_.find(OpId(i));
    for (const Strategy& strategy : strategies_[i]) {
      if (given != given_.end() &&
          *OperandSharding(rules_[i], strategy, 0, mesh()) != given->second)
        continue;
      double c = cost + Compute(i, strategy);
      bool pending = false;
      for (FactorIndex f : strategy)
        pending |= f != kNoFactor && rules_[i].factors[f].kind == FactorKind::kPending;
      for (size_t j = 0; j < op.operands.size(); ++j) {
        const ValueId v = op.operands[j];
        const Sharding wanted = *OperandSharding(rules_[i], strategy, j, mesh());
        if (fusion_.free[v.index()]) {
          if (pending) c = std::numeric_limits<double>::infinity();  // a constant is no partial sum
          continue;
        }
        if (j > 0 && v == op.operands[0] &&
            wanted == *OperandSharding(rules_[i], strategy, 0, mesh()))
          continue;
        c += Price(graph_[v].shape, seen_[v.index()], wanted);
      }
      if (c < best_) DecideResult(i, strategy, c);
    }
  }

  // A device's part of what moves `total` bytes unsharded, padding included.
  double DeviceShare(double total, const Shape& shape, const Sharding& sharding) const {
    const double whole = static_cast<double>(shape.bytes());
    return whole == 0
               ? 0
               : total * static_cast<double>(BytesPerDevice(shape, sharding, mesh())) / whole;
  }

  double Compute(size_t i, const Strategy& strategy) {
    const Op& op = graph_.ops[i];
    if (op.kind != OpKind::kInstruction) return 0;
    const FusionInfo::Traffic& traffic = fusion_.traffic[i];
    Work work;
    work.opcode = op.instruction->opcode;
    work.element_type = ElementType::kF32;
    work.kernels = fusion_.kernel[i] ? 1 : 0;
    work.in_loop = op.multiplicity > 1;
    const bool product = work.opcode == Opcode::kDot;
    const bool loop = !product && !HasUnitRate(rules_[i].kernel);
    const double flops = rules_[i].flops + (loop ? kRepeatedFlops * traffic.repeated : 0);
    work.flops = flops / static_cast<double>(ComputeShards(rules_[i], strategy, mesh()));
    for (const Factor& factor : rules_[i].factors) {
      int64_t pieces = 1;
      for (size_t a = 0; a < strategy.size(); ++a) {
        if (strategy[a] == &factor - rules_[i].factors.data()) pieces *= mesh().axes[a].size;
      }
      if (factor.kind != FactorKind::kPending && factor.size % pieces != 0)
        work.flops *= static_cast<double>((factor.size / pieces + 1) * pieces) /
                      static_cast<double>(factor.size);
    }
    for (size_t j = 0; j < op.operands.size(); ++j) {
      work.bytes += DeviceShare(traffic.operand_bytes[j], graph_[op.operands[j]].shape,
                                *OperandSharding(rules_[i], strategy, j, mesh()));
    }
    for (size_t j = 0; j < op.results.size(); ++j) {
      const double width = ElementBytes(graph_[op.results[j]].shape.type);
      const double more = loop && work.opcode != Opcode::kReduce
                              ? std::max(0.0, kWrittenBytes - 2 * width) / width
                              : 0;
      work.bytes += DeviceShare(traffic.result_bytes[j] * (1 + more), graph_[op.results[j]].shape,
                                *ResultSharding(rules_[i], strategy, j, mesh()));
    }
    if (product) {
      SetContractionSizes(rules_[i], strategy, mesh(), &work);
    } else if (work.bytes == 0) {
      return 0;
    }
    return cost_.ComputeSeconds(work);
  }

  // One result at most in these programs. Kept as produced, or for several users in one agreed way.
  void DecideResult(size_t i, const Strategy& strategy, double cost) {
    const Op& op = graph_.ops[i];
    if (op.results.empty()) return DecideOp(i + 1, cost);
    const ValueId v = op.results[0];
    const Sharding produced = *ResultSharding(rules_[i], strategy, 0, mesh());
    const bool shared = graph_[v].users.size() > 1 && fusion_.materialized[v.index()];
    for (const Sharding& kept : shared ? AllShardings(v) : std::vector<Sharding>{produced}) {
      seen_[v.index()] = kept;
      if (Occupy(v, kept, 1)) DecideOp(i + 1, cost + Price(graph_[v].shape, produced, kept));
      Occupy(v, kept, -1);
    }
  }

  void DecideParameter(size_t i, double cost) {
    const ValueId v = graph_.ops[i].results[0];
    const Shape& shape = graph_[v].shape;
    const auto given = given_.find(OpId(i));
    for (const Sharding& stored : AllShardings(v)) {
      if (!DividesEvenly(shape, stored, mesh())) continue;
      if (given != given_.end() && stored != given->second) continue;
      const bool gathers = graph_[v].users.size() > 1;
      for (const Sharding& seen : gathers ? AllShardings(v) : std::vector<Sharding>{stored}) {
        if (!KeepsAxesOf(seen, stored)) continue;
        seen_[v.index()] = seen;
        bool fits = Occupy(v, stored, 1);
        if (seen != stored) fits = Occupy(v, seen, 1) && fits;
        if (fits)
          DecideOp(i + 1,
                   cost + Price(shape, stored, seen) + cost_.ParameterSeconds(shape, stored));
        if (seen != stored) Occupy(v, seen, -1);
        Occupy(v, stored, -1);
      }
    }
  }

  static bool KeepsAxesOf(const Sharding& seen, const Sharding& stored) {
    for (size_t d = 0; d < seen.dims.size(); ++d) {
      if (seen.dims[d].size() > stored.dims[d].size()) return false;
      if (!std::equal(seen.dims[d].begin(), seen.dims[d].end(), stored.dims[d].begin()))
        return false;
    }
    return true;
  }

  std::vector<Sharding> AllShardings(ValueId v) const {
    Rule rule = ValueRule(graph_[v].shape);
    cuts_.Allow(&rule);
    std::vector<Sharding> shardings;
    for (const Strategy& s : EnumerateStrategies(rule, mesh(), cuts_.orders))
      shardings.push_back(*ResultSharding(rule, s, 0, mesh()));
    return shardings;
  }

  const Graph& graph_;
  const CostModel& cost_;
  const FusionInfo& fusion_;
  const std::vector<Interval>& intervals_;
  const int64_t budget_;
  const GivenCuts& cuts_;
  std::map<OpId, Sharding> given_;
  std::vector<Rule> rules_;
  std::vector<std::vector<Strategy>> strategies_;
  std::vector<Sharding> seen_;  // by value: what its users see
  std::vector<int64_t> usage_;  // by time
  absl::flat_hash_map<std::tuple<std::vector<int64_t>, Sharding, Sharding>, double> prices_;
  double best_ = std::numeric_limits<double>::infinity();
};

}  // namespace

std::optional<double> BruteForce(const Graph& graph, const CostModel& cost_model,
                                 const FusionInfo& fusion, const std::vector<Interval>& intervals,
                                 int64_t budget_bytes, const std::map<size_t, Sharding>& given,
                                 const std::map<size_t, Sharding>& given_outputs,
                                 const GivenCuts& cuts) {
  return Search(graph, cost_model, fusion, intervals, budget_bytes, given, given_outputs, cuts)
      .Run();
}

}  // namespace meshwright
