// Families with differing degrees are found group by group: groups are given degrees, or none, as
// long as the fastest degrees of the groups that are left make a useful bound possible.

#include "meshwright/transformer/mixed_families.h"

#include <algorithm>
#include <limits>
#include <set>

#include "meshwright/base/infinity.h"
#include "meshwright/transformer/space.h"

namespace meshwright::transformer {
namespace {

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

// Seconds of a pipeline at least whose slowest stage takes as much for both passes, of which
// `share` is forward at most, and all stages `pass` (mixed_schedule.h).
double LeastPipeline(int64_t micro_batches, int64_t stages, double slowest, double pass,
                     double share) {
  const double m = static_cast<double>(micro_batches);
  const double fewer = static_cast<double>(std::min(micro_batches, stages) - 1) * share;
  return std::max(m * slowest, pass + (m - 1 - fewer) * slowest);
}

bool Allows(const std::optional<int64_t>& fix, int64_t value) {
  return !fix.has_value() || *fix == value;
}

}  // namespace

double LeastStagePrice(const NodeGroup& group, const StageDegrees& degrees) {
  const double price =
      std::min(group.on_demand_price.value_or(kInfinity), group.spot_price.value_or(kInfinity));
  return price < kInfinity ? price * static_cast<double>(degrees.devices()) : 0;
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
  divisors_ = DivisorsOf(batch);
  for (const int64_t together : divisors_) {
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
    for (const int64_t dp : divisors_) {
      if (together % dp != 0) continue;
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
  const auto [known, is_new] = layer_bounds_.try_emplace({group, option.degrees, family.recompute});
  if (is_new) known->second = coster_.BoundLayers(group, family);
  option.layer_seconds = known->second.seconds;
  option.forward_share = known->second.forward_share;
  option.layer_dollars = option.layer_seconds * LeastStagePrice(nodes, option.degrees) / 3600;
  return option;
}

// The least seconds from `least` on in which so many of the fastest stages can take all layers,
// each a whole number of them.
double MixedFamilySpace::WholeLayers(const std::vector<const Option*>& fastest, int64_t stages,
                                     int64_t layers, double least) {
  constexpr double kAlmostNone = 1e-9;  // of a layer, that rounding may lack
  while (true) {
    int64_t taken = 0, open = stages;
    double next = kInfinity;
    for (const Option* option : fastest) {
      const int64_t each = static_cast<int64_t>(least / option->layer_seconds + kAlmostNone);
      const int64_t count = std::min(open, option->slots);
      open -= count;
      taken += count * each;
      if (count > 0) {
        next = std::min(next, static_cast<double>(each + 1) * option->layer_seconds);
      }
    }
    if (taken >= layers) return least;
    least = next;
  }
}

// The fastest stages, perfectly balanced, as many as are best; and all layers where they are
// cheapest.
void MixedFamilySpace::Bound(const std::vector<Option>& used, MixedFamilyRecord* record) const {
  std::vector<const Option*> fastest;
  double least_dollars = kInfinity;
  for (const Option& option : used) {
    fastest.push_back(&option);
    least_dollars = std::min(least_dollars, option.layer_dollars);
  }
  std::sort(fastest.begin(), fastest.end(),
            [](const Option* a, const Option* b) { return a->layer_seconds < b->layer_seconds; });
  const int64_t micro_batches = problem_.workload.global_batch / record->family.together();
  const double layers = static_cast<double>(layers_);
  double share = 0;
  for (const Option& option : used) share = std::max(share, option.forward_share);
  const double pass = layers * fastest.front()->layer_seconds;  // of a micro-batch
  const int64_t most = std::min(layers_, problem_.fixes.pp.value_or(layers_));
  double speed = 0, least = kInfinity;
  int64_t stages = 0;
  for (const Option* option : fastest) {
    for (int64_t i = 0; i < option->slots && stages < most; ++i) {
      ++stages;
      speed += 1 / option->layer_seconds;
      least = std::min(
          least, LeastPipeline(micro_batches, stages,
                               WholeLayers(fastest, stages, layers_, layers / speed), pass, share));
    }
  }
  record->seconds = least * (1 - kFamilyRounding);
  record->dollars =
      layers * static_cast<double>(micro_batches) * least_dollars * (1 - kFamilyRounding);
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
          if (option.layer_seconds < kInfinity) {
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

// Goes through the families of one number of sequences and one choice of the rest.
class MixedFamilySpace::Chooser {
 public:
  Chooser(MixedFamilySpace& space, const DifferingSinks& sinks, int64_t together,
          const Choice& choice)
      : space_(space),
        sinks_(sinks),
        micro_batches_(space.problem_.workload.global_batch / together),
        work_(static_cast<double>(space.layers_ * micro_batches_)),
        count_(space.problem_.cluster.groups.size()),
        options_(count_),
        fastest_(count_ + 1),
        cheapest_(count_ + 1, kInfinity) {
    record_.family = {std::vector<StageDegrees>(count_), choice.zero, choice.recompute};
    record_.all_groups = true;
    for (size_t group = count_; group-- > 0;) {
      cheapest_[group] = cheapest_[group + 1];
      double speed = 0;
      for (const StageDegrees& degrees : space.Options(group, together)) {
        MixedFamily family = record_.family;
        family.degrees[group] = degrees;
        const Option option = space.Cost(group, family);
        if (option.layer_seconds == kInfinity) continue;
        options_[group].push_back(option);
        least_layer_ = std::min(least_layer_, option.layer_seconds);
        share_ = std::max(share_, option.forward_share);
        speed = std::max(speed, option.speed());
        cheapest_[group] = std::min(cheapest_[group], option.layer_dollars);
      }
      fastest_[group] = fastest_[group + 1] + speed;
      // Where the effort does not suffice, the fastest have been gone through.
      std::stable_sort(options_[group].begin(), options_[group].end(),
                       [](const Option& a, const Option& b) { return a.speed() > b.speed(); });
    }
  }

  // Groups before `group` are decided: their stages deal with so many layers in a second, and the
  // cheapest of them with one for so many dollars.
  void Decide(size_t group, double speed, double dollars, int64_t* effort) {
    constexpr double kRounding = 1 - kFamilyRounding;
    const double all = speed + fastest_[group];
    if (all <= 0) return;
    double least_seconds = work_ / all * kRounding;
    const double least_dollars = work_ * std::min(dollars, cheapest_[group]) * kRounding;
    if (!sinks_.useful(least_seconds, least_dollars)) return;
    least_seconds = std::max(least_seconds, LeastOfPipelines(all) * kRounding);
    if (!sinks_.useful(least_seconds, least_dollars)) return;
    if (--*effort < 0) return sinks_.left_out(least_seconds, least_dollars);
    if (group == count_) return Keep();
    for (const Option& option : options_[group]) {
      record_.family.degrees[group] = option.degrees;
      used_.push_back(option);
      Decide(group + 1, speed + option.speed(), std::min(dollars, option.layer_dollars), effort);
      used_.pop_back();
    }
    record_.family.degrees[group] = {};
    Decide(group + 1, speed, dollars, effort);
  }

 private:
  // Of pipelines with any number of stages that deal with so many layers in a second together.
  double LeastOfPipelines(double speed) const {
    const double layers = static_cast<double>(space_.layers_);
    double least = kInfinity;
    for (int64_t stages = 1; stages <= space_.layers_; ++stages) {
      const double slowest = layers / std::min(speed, static_cast<double>(stages) / least_layer_);
      least = std::min(
          least, LeastPipeline(micro_batches_, stages, slowest, layers * least_layer_, share_));
    }
    return least;
  }

  void Keep() {
    if (used_.size() < 2 || record_.family.Common().has_value()) return;
    // Where no stage has replicas ZeRO changes nothing.
    const bool replicas = std::any_of(used_.begin(), used_.end(),
                                      [](const Option& option) { return option.degrees.dp > 1; });
    if (record_.family.zero > 0 && !replicas) return;
    space_.Bound(used_, &record_);
    if (sinks_.useful(record_.seconds, record_.dollars)) sinks_.keep(record_);
  }

  MixedFamilySpace& space_;
  const DifferingSinks& sinks_;
  const int64_t micro_batches_;
  const double work_;
  double least_layer_ = kInfinity, share_ = 0;  // of all options
  const size_t count_;
  std::vector<std::vector<Option>> options_;  // by group
  std::vector<double> fastest_, cheapest_;    // of groups from here on
  std::vector<Option> used_;
  MixedFamilyRecord record_;
};

void MixedFamilySpace::Differing(int64_t effort, const DifferingSinks& sinks) {
  if (problem_.alike || problem_.cluster.groups.size() == 1) return;
  for (const int64_t together : together_) {
    for (const Choice& choice : choices_) {
      Chooser(*this, sinks, together, choice).Decide(0, 0, kInfinity, &effort);
    }
  }
}

}  // namespace meshwright::transformer
