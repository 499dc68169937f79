// Families with differing degrees are found group by group: groups are given degrees, or none, or
// two of them, as long as the fastest degrees of the groups that are left make a useful bound
// possible.

#include "meshwright/transformer/mixed_families.h"

#include <algorithm>
#include <limits>
#include <set>

#include "meshwright/base/infinity.h"
#include "meshwright/transformer/space.h"

namespace meshwright::transformer {
namespace {

// Of a family's bound, in partial families.
constexpr int64_t kBoundEffort = 10;
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

double LeastLanePrice(const NodeGroup& group, const StageDegrees& degrees) {
  return LeastStagePrice(group, degrees) / static_cast<double>(degrees.devices()) *
         static_cast<double>(MixedNodes(group, degrees, 1) * group.cluster.devices_per_node);
}

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

MixedLane MixedFamilySpace::Cost(size_t group, const StageDegrees& degrees, const Choice& choice) {
  MixedLane lane;
  lane.group = group;
  lane.degrees = degrees;
  const NodeGroup& nodes = problem_.cluster.groups[group];
  lane.slots = std::min(MixedSlots(nodes, degrees), layers_);
  const auto [known, is_new] = layer_bounds_.try_emplace({group, degrees, choice.zero, choice.recompute});
  if (is_new) {
    MixedFamily family;
    family.zero = choice.zero;
    family.recompute = choice.recompute;
    known->second = coster_.BoundLayers(group, family, degrees);
  }
  lane.layer_seconds = known->second.seconds;
  lane.forward_share = known->second.forward_share;
  lane.update_seconds = known->second.update;
  lane.fixed_seconds = known->second.fixed;
  lane.layer_dollars = lane.layer_seconds * LeastStagePrice(nodes, degrees) / 3600;
  return lane;
}

// All layers on the fastest stages, and where they are cheapest.
void MixedFamilySpace::Bound(const std::vector<MixedLane>& lanes, MixedFamilyRecord* record) const {
  double least_dollars = kInfinity, others = 0, rate = 0, sends = 0;
  for (const MixedLane& lane : lanes) least_dollars = std::min(least_dollars, lane.layer_dollars);
  if (record->all_lanes) {
    // A layer at least lies on each lane, and a stage's nodes are paid for the whole step.
    for (const MixedLane& lane : lanes) {
      others += lane.layer_dollars - least_dollars;
      rate += LeastLanePrice(problem_.cluster.groups[lane.group], lane.degrees);
    }
    // The pipeline goes from lane to lane at least once for each but the first.
    double least = kInfinity;
    for (size_t a = 0; a < lanes.size(); ++a) {
      for (size_t b = 0; b < a; ++b) {
        least = std::min(least, coster_.SendSeconds(lanes[a].group, lanes[a].degrees,
                                                    lanes[b].group, lanes[b].degrees));
      }
    }
    if (lanes.size() > 1) sends = 2 * static_cast<double>(lanes.size() - 1) * least;
  }
  const int64_t micro_batches = problem_.workload.global_batch / lanes.front().degrees.together();
  const int64_t most = std::min(layers_, problem_.fixes.pp.value_or(layers_));
  record->seconds =
      LeastFamilySeconds(problem_.cluster.groups, lanes,
                         {layers_, micro_batches, most, sends}) *
      (1 - kFamilyRounding);
  const double all = static_cast<double>(layers_) * least_dollars + others;
  record->dollars = std::max(static_cast<double>(micro_batches) * all * (1 - kFamilyRounding),
                             record->seconds * rate / 3600);
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
        std::vector<MixedLane> used;
        for (const size_t group : members) {
          const MixedLane lane = Cost(group, degrees, choice);
          if (lane.layer_seconds == kInfinity) continue;
          record.family.degrees[group] = degrees;
          used.push_back(lane);
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
  Chooser(MixedFamilySpace& space, const Sinks& sinks, Kind kind, int64_t together,
          const Choice& choice)
      : space_(space),
        sinks_(sinks),
        kind_(kind),
        choice_(choice),
        micro_batches_(space.problem_.workload.global_batch / together),
        work_(static_cast<double>(space.layers_ * micro_batches_)),
        count_(space.problem_.cluster.groups.size()),
        most_stages_(std::min(space.layers_, space.problem_.fixes.pp.value_or(space.layers_))),
        options_(count_),
        least_layer_(count_, kInfinity),
        least_update_(count_, kInfinity),
        chosen_(count_),
        fastest_(count_ + 1),
        cheapest_(count_ + 1, kInfinity) {
    for (size_t group = count_; group-- > 0;) {
      ListOptions(group, together);
      fastest_[group] = fastest_[group + 1];
      cheapest_[group] = cheapest_[group + 1];
      // Where the effort does not suffice, the fastest have been gone through.
      std::stable_sort(options_[group].begin(), options_[group].end(),
                       [](const Option& a, const Option& b) { return a.speed > b.speed; });
      if (!options_[group].empty()) fastest_[group] += options_[group].front().speed;
      for (const Option& option : options_[group]) {
        cheapest_[group] = std::min(cheapest_[group], option.dollars);
      }
    }
  }

  void Run(int64_t* effort) { Decide(0, 0, kInfinity, effort); }

 private:
  // The lanes that a group may have: one, or two that share its nodes.
  struct Option {
    std::vector<MixedLane> lanes;
    double speed = 0;          // layers in a second, of all its nodes
    double dollars = 0;        // of a layer at least
    double layer_seconds = 0;  // of the fastest stage
  };

  void ListOptions(size_t group, int64_t together) {
    const NodeGroup& nodes = space_.problem_.cluster.groups[group];
    std::vector<MixedLane> lanes;
    for (const StageDegrees& degrees : space_.Options(group, together)) {
      const MixedLane lane = space_.Cost(group, degrees, choice_);
      if (lane.layer_seconds == kInfinity) continue;
      lanes.push_back(lane);
      least_layer_[group] = std::min(least_layer_[group], lane.layer_seconds);
      least_update_[group] = std::min(least_update_[group], lane.update_seconds);
      share_ = std::max(share_, lane.forward_share);
    }
    std::vector<Option>& options = options_[group];
    for (const MixedLane& lane : lanes) {
      options.push_back({{lane}, lane.speed(), lane.layer_dollars, lane.layer_seconds});
    }
    if (kind_ == Kind::kByGroup) return;
    for (size_t a = 0; a < lanes.size(); ++a) {
      for (size_t b = a + 1; b < lanes.size(); ++b) {
        const double speed = MostSharedSpeed(nodes, lanes[a], lanes[b], space_.layers_);
        if (speed == 0) continue;  // there are too few nodes for both
        options.push_back({{lanes[a], lanes[b]},
                           speed,
                           std::min(lanes[a].layer_dollars, lanes[b].layer_dollars),
                           std::min(lanes[a].layer_seconds, lanes[b].layer_seconds)});
      }
    }
  }

  // Groups before `group` are decided: their stages deal with so many layers in a second, and the
  // cheapest of them with one for so many dollars.
  void Decide(size_t group, double speed, double dollars, int64_t* effort) {
    constexpr double kRounding = 1 - kFamilyRounding;
    const double all = speed + fastest_[group];
    if (all <= 0) return;
    double least_seconds = work_ / all * kRounding;
    const double cheapest = std::min(dollars, cheapest_[group]);
    double others = 0, rate = 0;  // as in Bound
    for (const MixedLane& lane : lanes_) {
      others += lane.layer_dollars - cheapest;
      rate += LeastLanePrice(space_.problem_.cluster.groups[lane.group], lane.degrees);
    }
    double least_dollars =
        (work_ * cheapest + static_cast<double>(micro_batches_) * others) * kRounding;
    if (!sinks_.useful(least_seconds, least_dollars)) return;
    least_seconds = std::max(least_seconds, LeastFrom(group) * kRounding);
    least_dollars = std::max(least_dollars, least_seconds * rate / 3600);
    if (!sinks_.useful(least_seconds, least_dollars)) return;
    if (--*effort < 0) return sinks_.left_out(least_seconds, least_dollars);
    if (group == count_) return Keep(effort);
    for (const Option& option : options_[group]) {
      chosen_[group] = &option;
      lanes_.insert(lanes_.end(), option.lanes.begin(), option.lanes.end());
      Decide(group + 1, speed + option.speed, std::min(dollars, option.dollars), effort);
      lanes_.resize(lanes_.size() - option.lanes.size());
    }
    chosen_[group] = nullptr;
    Decide(group + 1, speed, dollars, effort);
  }

  // Of pipelines on the decided lanes and on what there may be on the groups from `group` on.
  double LeastFrom(size_t group) {
    pools_.clear();
    double update = kInfinity, fixed = 0;
    for (size_t decided = 0; decided < group; ++decided) {
      if (chosen_[decided] == nullptr) continue;
      for (const MixedLane& lane : chosen_[decided]->lanes) {
        update = std::min(update, lane.update_seconds);
        fixed = std::max(fixed, lane.fixed_seconds);
      }
      pools_.push_back({chosen_[decided]->layer_seconds, chosen_[decided]->speed});
    }
    for (size_t open = group; open < count_; ++open) {
      if (options_[open].empty()) continue;
      pools_.push_back({least_layer_[open], options_[open].front().speed});
      update = std::min(update, least_update_[open]);
    }
    std::sort(pools_.begin(), pools_.end(), [](const StagePool& a, const StagePool& b) {
      return a.layer_seconds < b.layer_seconds;
    });
    return LeastPooledSeconds(pools_, {space_.layers_, micro_batches_, most_stages_}, share_) +
           update + fixed;
  }

  void Keep(int64_t* effort) {
    if (lanes_.size() < 2) return;
    MixedFamilyRecord record;
    record.all_lanes = true;
    MixedFamily& family = record.family;
    family.zero = choice_.zero;
    family.recompute = choice_.recompute;
    bool replicas = false;
    for (const MixedLane& lane : lanes_) {
      family.degrees.push_back(lane.degrees);
      family.groups.push_back(static_cast<int32_t>(lane.group));
      replicas = replicas || lane.degrees.dp > 1;
    }
    // Where no stage has replicas ZeRO changes nothing.
    if (family.zero > 0 && !replicas) return;
    const bool mine = kind_ == Kind::kByStage ? family.ByStage() : !family.Common().has_value();
    if (!mine) return;
    *effort -= kBoundEffort;
    space_.Bound(lanes_, &record);
    if (sinks_.useful(record.seconds, record.dollars)) sinks_.keep(record);
  }

  MixedFamilySpace& space_;
  const Sinks& sinks_;
  const Kind kind_;
  const Choice choice_;
  const int64_t micro_batches_;
  const double work_;
  double share_ = 0;  // of all options
  const size_t count_;
  const int64_t most_stages_;
  std::vector<std::vector<Option>> options_;  // by group
  std::vector<double> least_layer_, least_update_;
  std::vector<const Option*> chosen_;  // of decided groups; null: none
  std::vector<StagePool> pools_;
  std::vector<double> fastest_, cheapest_;    // of groups from here on
  std::vector<MixedLane> lanes_;              // of the groups that are decided
};

void MixedFamilySpace::Differing(Kind kind, int64_t effort, const Sinks& sinks) {
  if (problem_.alike || (kind == Kind::kByGroup && problem_.cluster.groups.size() == 1)) return;
  // Each has its part, and what those before it left.
  int64_t parts = static_cast<int64_t>(together_.size() * choices_.size());
  for (const int64_t together : together_) {
    for (const Choice& choice : choices_) {
      int64_t part = effort / parts--;
      effort -= part;
      Chooser(*this, sinks, kind, together, choice).Run(&part);
      effort += std::max<int64_t>(0, part);
    }
  }
}

}  // namespace meshwright::transformer
