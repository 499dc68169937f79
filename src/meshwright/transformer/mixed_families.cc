// A family with differing degrees is found group by group: groups are given degrees, or none, as
// long as the fastest degrees of the groups that are left make a useful bound possible.

#include "meshwright/transformer/mixed_families.h"

#include <algorithm>
#include <limits>
#include <set>

#include "meshwright/transformer/space.h"

namespace meshwright::transformer {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();
// What rounding may add to a bound.
constexpr double kFamilyRounding = 1e-12;
// A micro-batch of more sequences gains nothing that fewer do not have.
constexpr int64_t kMostMicroBatch = 64;
// In a step: more are not simulated.
constexpr int64_t kMostMicroBatches = int64_t{1} << 14;

std::vector<int64_t> DivisorsOf(int64_t number) {
  std::vector<int64_t> low, high;
  for (int64_t i = 1; i * i <= number; ++i) {
    if (number % i != 0) continue;
    low.push_back(i);
    if (i != number / i) high.push_back(number / i);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

bool Allows(const std::optional<int64_t>& fix, int64_t value) {
  return !fix.has_value() || *fix == value;
}

}  // namespace

double LeastStagePrice(const NodeGroup& group, const StageDegrees& degrees) {
  const double price =
      std::min(group.on_demand_price.value_or(kUnbounded), group.spot_price.value_or(kUnbounded));
  return price < kUnbounded ? price * static_cast<double>(degrees.devices()) : 0;
}

MixedFamilySpace::MixedFamilySpace(const MixedProblem& problem, MixedCoster& coster)
    : problem_(problem), coster_(coster), layers_(problem.model.layers()) {
  const Fixes& fixes = problem.fixes;
  std::set<int64_t> degrees;
  for (const NodeGroup& group : problem.cluster.groups) {
    for (const int64_t tp : DivisorsOf(group.cluster.devices_per_node)) degrees.insert(tp);
  }
  for (const int64_t tp : degrees) {
    Fixes fixed;
    fixed.tp = tp;
    if (Allows(fixes.tp, tp) &&
        !Space(problem.model, problem.workload, tp, fixed, problem.precision)
             .AllDegrees()
             .empty()) {
      tensor_degrees_.push_back(tp);
    }
  }
  const int64_t batch = problem.workload.global_batch;
  for (const int64_t together : DivisorsOf(batch)) {
    if (batch / together <= kMostMicroBatches) together_.push_back(together);
  }
  for (const int zero : {0, 1}) {
    if (!Allows(fixes.zero, zero)) continue;
    for (int i = 0; i < kRecomputeKinds; ++i) {
      const Recompute recompute = static_cast<Recompute>(i);
      if (fixes.recompute.value_or(recompute) == recompute) choices_.push_back({zero, recompute});
    }
  }
}

std::vector<StageDegrees> MixedFamilySpace::Options(size_t group, int64_t together) const {
  const NodeGroup& nodes = problem_.cluster.groups[group];
  std::vector<StageDegrees> options;
  for (const int64_t tp : tensor_degrees_) {
    for (const int64_t dp : DivisorsOf(together)) {
      const StageDegrees degrees = {tp, dp, together / dp};
      if (!Allows(problem_.fixes.dp, dp) ||
          !Allows(problem_.fixes.micro_batch, degrees.micro_batch) ||
          degrees.micro_batch > kMostMicroBatch) {
        continue;
      }
      if (problem_.alike && degrees.devices() % nodes.cluster.devices_per_node != 0) continue;
      if (MixedSlots(nodes, degrees) > 0) options.push_back(degrees);
    }
  }
  return options;
}

bool MixedFamilySpace::Takes(const StageDegrees& degrees, const Choice& choice) const {
  if (!problem_.takes) return true;
  MixedFamily family;
  family.zero = choice.zero;
  family.recompute = choice.recompute;
  return problem_.takes(StageConfiguration(degrees, family, problem_.precision));
}

MixedFamilySpace::Option MixedFamilySpace::Cost(size_t group, const MixedFamily& family) {
  Option option;
  option.degrees = family.degrees[group];
  const NodeGroup& nodes = problem_.cluster.groups[group];
  option.slots = std::min(MixedSlots(nodes, option.degrees), layers_);
  const auto [known, is_new] =
      layer_seconds_.try_emplace({group, option.degrees, family.recompute}, 0.0);
  if (is_new) known->second = coster_.LeastLayerSeconds(group, family);
  option.layer_seconds = known->second;
  option.layer_dollars = option.layer_seconds * LeastStagePrice(nodes, option.degrees) / 3600;
  return option;
}

// All stages that there are, perfectly balanced; and all layers where they are cheapest.
void MixedFamilySpace::Bound(const std::vector<Option>& used, MixedFamilyRecord* record) const {
  std::vector<const Option*> fastest;
  double least_dollars = kUnbounded;
  for (const Option& option : used) {
    fastest.push_back(&option);
    least_dollars = std::min(least_dollars, option.layer_dollars);
  }
  std::sort(fastest.begin(), fastest.end(),
            [](const Option* a, const Option* b) { return a->layer_seconds < b->layer_seconds; });
  int64_t open = std::min(layers_, problem_.fixes.pp.value_or(layers_));
  double speed = 0;
  for (const Option* option : fastest) {
    const int64_t taken = std::min(open, option->slots);
    open -= taken;
    speed += static_cast<double>(taken) / option->layer_seconds;
  }
  const double work =
      static_cast<double>(layers_ * (problem_.workload.global_batch / record->family.together()));
  record->seconds = work / speed * (1 - kFamilyRounding);
  record->dollars = work * least_dollars * (1 - kFamilyRounding);
}

std::vector<MixedFamilyRecord> MixedFamilySpace::Common() {
  const std::vector<NodeGroup>& groups = problem_.cluster.groups;
  // Groups whose nodes have equally many devices; where that does not matter, all.
  std::set<int64_t> sizes;
  for (const NodeGroup& group : groups) {
    sizes.insert(problem_.alike ? group.cluster.devices_per_node : 0);
  }
  std::vector<MixedFamilyRecord> records;
  for (const int64_t together : together_) {
    // By degrees: the groups that can have them.
    std::map<std::pair<int64_t, StageDegrees>, std::vector<size_t>> able;
    for (size_t group = 0; group < groups.size(); ++group) {
      const int64_t size = problem_.alike ? groups[group].cluster.devices_per_node : 0;
      for (const StageDegrees& degrees : Options(group, together)) {
        able[{size, degrees}].push_back(group);
      }
    }
    for (const auto& [key, members] : able) {
      for (const Choice& choice : choices_) {
        const StageDegrees& degrees = key.second;
        if ((choice.zero > 0 && degrees.dp == 1) || !Takes(degrees, choice)) continue;
        MixedFamilyRecord record;
        record.family = {std::vector<StageDegrees>(groups.size()), choice.zero, choice.recompute};
        std::vector<Option> used;
        for (const size_t group : members) {
          record.family.degrees[group] = degrees;
          const Option option = Cost(group, record.family);
          if (option.layer_seconds < kUnbounded) {
            used.push_back(option);
          } else {
            record.family.degrees[group] = {};
          }
        }
        if (used.empty()) continue;
        Bound(used, &record);
        records.push_back(std::move(record));
      }
    }
  }
  return records;
}

std::vector<MixedFamilyRecord> MixedFamilySpace::Differing(
    size_t most, bool by_cost, const std::function<bool(double seconds, double dollars)>& useful,
    const std::function<void(double seconds, double dollars)>& left_out) {
  std::vector<MixedFamilyRecord> records;
  const size_t count = problem_.cluster.groups.size();
  if (problem_.alike || count == 1) return records;
  // Those with the least bounds are kept.
  const auto later = [&](const MixedFamilyRecord& a, const MixedFamilyRecord& b) {
    return by_cost ? a.dollars < b.dollars : a.seconds < b.seconds;
  };
  const auto keep = [&](MixedFamilyRecord record) {
    records.push_back(std::move(record));
    std::push_heap(records.begin(), records.end(), later);
    if (records.size() <= most) return;
    std::pop_heap(records.begin(), records.end(), later);
    left_out(records.back().seconds, records.back().dollars);
    records.pop_back();
  };
  for (const int64_t together : together_) {
    const double work = static_cast<double>(layers_ * (problem_.workload.global_batch / together));
    for (const Choice& choice : choices_) {
      std::vector<std::vector<Option>> options(count);
      std::vector<double> fastest(count + 1),
          cheapest(count + 1, kUnbounded);  // of groups from i on
      for (size_t group = count; group-- > 0;) {
        double speed = 0;
        cheapest[group] = cheapest[group + 1];
        for (const StageDegrees& degrees : Options(group, together)) {
          MixedFamily family = {std::vector<StageDegrees>(count), choice.zero, choice.recompute};
          family.degrees[group] = degrees;
          const Option option = Cost(group, family);
          if (option.layer_seconds == kUnbounded) continue;
          options[group].push_back(option);
          speed = std::max(speed, option.speed());
          cheapest[group] = std::min(cheapest[group], option.layer_dollars);
        }
        fastest[group] = fastest[group + 1] + speed;
      }
      std::vector<Option> used;
      MixedFamilyRecord record;
      record.family = {std::vector<StageDegrees>(count), choice.zero, choice.recompute};
      record.all_groups = true;
      const std::function<void(size_t, double, double)> decide = [&](size_t group, double speed,
                                                                     double dollars) {
        const double rounding = 1 - kFamilyRounding;
        if (speed + fastest[group] <= 0 ||
            !useful(work / (speed + fastest[group]) * rounding,
                    work * std::min(dollars, cheapest[group]) * rounding)) {
          return;
        }
        if (group == count) {
          if (used.size() < 2 || record.family.Common().has_value()) return;
          // Where no stage has replicas ZeRO changes nothing.
          if (choice.zero > 0 && std::all_of(used.begin(), used.end(), [](const Option& option) {
                return option.degrees.dp == 1;
              })) {
            return;
          }
          Bound(used, &record);
          if (useful(record.seconds, record.dollars)) keep(record);
          return;
        }
        decide(group + 1, speed, dollars);
        for (const Option& option : options[group]) {
          record.family.degrees[group] = option.degrees;
          used.push_back(option);
          decide(group + 1, speed + option.speed(), std::min(dollars, option.layer_dollars));
          used.pop_back();
        }
        record.family.degrees[group] = {};
      };
      decide(0, 0, kUnbounded);
    }
  }
  return records;
}

}  // namespace meshwright::transformer
