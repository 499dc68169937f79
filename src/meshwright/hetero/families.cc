#include "meshwright/hetero/families.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <set>

#include "meshwright/base/infinity.h"
#include "meshwright/degrees/space.h"

namespace meshwright::transformer::hetero {
namespace {

// The most that rounding adds to a bound.
constexpr double kFamilyRounding = 1e-12;
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

double LeastStageClassPrice(const NodeGroup& group, const StageDegrees& degrees) {
  return LeastStagePrice(group, degrees) / static_cast<double>(degrees.devices()) *
         static_cast<double>(Nodes(group, degrees, 1) * group.cluster.devices_per_node);
}

double LeastStagePrice(const NodeGroup& group, const StageDegrees& degrees) {
  const double price =
      std::min(group.on_demand_price.value_or(kInfinity), group.spot_price.value_or(kInfinity));
  return price < kInfinity ? price * static_cast<double>(degrees.devices()) : 0;
}

double MoreDollars(const std::vector<StageClass>& stage_classes, double cheapest) {
  std::vector<double> more;
  more.reserve(stage_classes.size());
  for (const StageClass& stage_class : stage_classes) {
    more.push_back(stage_class.layer_dollars - cheapest);
  }
  if (std::ssize(more) <= kStagesWithoutLayer) return 0;
  std::nth_element(more.begin(), more.end() - kStagesWithoutLayer, more.end());
  return std::accumulate(more.begin(), more.end() - kStagesWithoutLayer, 0.0);
}

FamilySpace::FamilySpace(const Problem& problem, Coster& coster)
    : problem_(problem), coster_(coster), layers_(problem.model.layers()) {
  const Fixes& fixes = problem.fixes;
  std::set<int64_t> degrees;
  for (const NodeGroup& group : problem.cluster.groups) {
    for (const int64_t tp : DivisorsOf(group.cluster.devices_per_node)) degrees.insert(tp);
  }
  for (const int64_t tp : degrees) {
    Fixes fixed;
    fixed.tp = tp;
    fixed.grid = false;  // tensors are cut in one dimension
    if (tp == 1 && fixes.sequence_parallel.value_or(false))
      continue;  // nothing to be parallel over
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

std::vector<StageDegrees> FamilySpace::Options(size_t group, int64_t together) const {
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
      if (Slots(nodes, degrees) > 0) options.push_back(degrees);
    }
  }
  return options;
}

bool FamilySpace::Takes(const StageDegrees& degrees, const Choice& choice) const {
  if (!problem_.takes) return true;
  Family family;
  family.zero = choice.zero;
  family.recompute = choice.recompute;
  return problem_.takes(StageConfiguration(problem_, degrees, family));
}

StageClass FamilySpace::StageClassOf(size_t group, const StageDegrees& degrees,
                                     const Choice& choice) {
  StageClass stage_class;
  stage_class.group = group;
  stage_class.degrees = degrees;
  const NodeGroup& nodes = problem_.cluster.groups[group];
  stage_class.slots = std::min(Slots(nodes, degrees), MostStages(layers_));
  const auto [known, is_new] =
      layer_bounds_.try_emplace({group, degrees, choice.zero, choice.recompute});
  if (is_new) {
    Family family;
    family.zero = choice.zero;
    family.recompute = choice.recompute;
    known->second = coster_.BoundLayers(group, family, degrees);
  }
  stage_class.layer_seconds = known->second.seconds;
  stage_class.forward_share = known->second.forward_share;
  stage_class.update_seconds = known->second.update;
  stage_class.fixed_seconds = known->second.fixed;
  stage_class.layer_dollars = stage_class.layer_seconds * LeastStagePrice(nodes, degrees) / 3600;
  stage_class.price_per_hour = LeastStageClassPrice(nodes, degrees);
  return stage_class;
}

// All layers on the fastest stages, and where they are cheapest.
void FamilySpace::Bound(const std::vector<StageClass>& stage_classes, FamilyRecord* record) const {
  double least_dollars = kInfinity, others = 0, rate = 0, sends = 0;
  for (const StageClass& stage_class : stage_classes)
    least_dollars = std::min(least_dollars, stage_class.layer_dollars);
  if (record->all_stage_classes) {
    // A stage's nodes are paid for the whole step.
    others = MoreDollars(stage_classes, least_dollars);
    for (const StageClass& stage_class : stage_classes) rate += stage_class.price_per_hour;
    // The pipeline goes from stage class to stage class at least once for each but the first.
    double least = kInfinity;
    for (size_t a = 0; a < stage_classes.size(); ++a) {
      for (size_t b = 0; b < a; ++b) {
        least =
            std::min(least, coster_.SendSeconds(stage_classes[a].group, stage_classes[a].degrees,
                                                stage_classes[b].group, stage_classes[b].degrees));
      }
    }
    if (stage_classes.size() > 1) sends = 2 * static_cast<double>(stage_classes.size() - 1) * least;
  }
  const int64_t micro_batches =
      problem_.workload.global_batch / stage_classes.front().degrees.together();
  record->seconds = LeastFamilySeconds(problem_.cluster.groups, stage_classes,
                                       {layers_, micro_batches, most_with_layer(), sends}) *
                    (1 - kFamilyRounding);
  const double all = static_cast<double>(layers_) * least_dollars + others;
  record->dollars = std::max(static_cast<double>(micro_batches) * all * (1 - kFamilyRounding),
                             record->seconds * rate / 3600);
}

Costs FamilySpace::CostsOfAny(const std::vector<StageClass>& stage_classes, const Choice& choice) {
  Family family;
  family.zero = choice.zero;
  family.recompute = choice.recompute;
  for (const StageClass& stage_class : stage_classes) {
    family.degrees.push_back(stage_class.degrees);
    family.groups.push_back(static_cast<int32_t>(stage_class.group));
  }
  return coster_.CostsOfAny(family);
}

std::optional<FamilyRecord> FamilySpace::Record(const std::vector<StageClass>& stage_classes,
                                                const Choice& choice) const {
  FamilyRecord record;
  record.all_stage_classes = true;
  record.family.zero = choice.zero;
  record.family.recompute = choice.recompute;
  bool replicas = false;
  for (const StageClass& stage_class : stage_classes) {
    record.family.degrees.push_back(stage_class.degrees);
    record.family.groups.push_back(static_cast<int32_t>(stage_class.group));
    replicas = replicas || stage_class.degrees.dp > 1;
  }
  if (choice.zero > 0 && !replicas) return std::nullopt;
  Bound(stage_classes, &record);
  return record;
}

std::vector<FamilyRecord> FamilySpace::Common() {
  const std::vector<NodeGroup>& groups = problem_.cluster.groups;
  // Groups whose nodes have equally many devices; where that does not matter, all.
  std::set<int64_t> sizes;
  for (const NodeGroup& group : groups) {
    sizes.insert(problem_.alike ? group.cluster.devices_per_node : 0);
  }
  std::vector<FamilyRecord> records;
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
        FamilyRecord record;
        record.family = {std::vector<StageDegrees>(groups.size()), choice.zero, choice.recompute};
        std::vector<StageClass> used;
        for (const size_t group : members) {
          const StageClass stage_class = StageClassOf(group, degrees, choice);
          record.family.degrees[group] = degrees;
          used.push_back(stage_class);
        }
        if (used.empty()) continue;
        Bound(used, &record);
        records.push_back(std::move(record));
      }
    }
  }
  return records;
}

}  // namespace meshwright::transformer::hetero
