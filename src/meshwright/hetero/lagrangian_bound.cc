// A step of less than T leaves a stage with w stages behind it, of p in all, slack for n(i, w)
// layers if it has the degrees i (places.cc). A stage of these takes c(i) nodes of its group,
// of which there are N. A plan takes one i for each w such that the nodes suffice and the layers
// are all held; so for any Lagrange multipliers of nodes q >= 0
//
//   L <= sum over groups q N + sum over w of the most of n(i, w) - q c(i)
//
// If some multipliers make the right side less than L there is no such plan, whatever degrees its
// stages have. Multipliers are found by subgradients with steps towards L (Polyak 1969).
//
// n(i, w) follow from the least work of a micro-batch, for which the same nodes have to suffice:
// with t(i) the seconds of a layer, a multiplier r of a layer and multipliers q of nodes
//
//   W >= r L - sum over groups q N - sum over w of the most of (r - t(i)) n - q c(i)
//
// over degrees i and n <= n(i, w), at least 1 but at the ends. More work leaves stages less time,
// and so less slack.

#include "meshwright/hetero/lagrangian_bound.h"

#include <algorithm>
#include <numeric>

#include "meshwright/base/infinity.h"
#include "meshwright/hetero/archive.h"

namespace meshwright::transformer::hetero {
namespace {

constexpr int kFirstRounds = 60;   // of multipliers, for all stage classes
constexpr int kFamilyRounds = 12;  // ... for those of a family
constexpr int kWorkRounds = 60;    // ... for the work of a micro-batch
constexpr int kFillRounds = 4;     // of layers by place and the work that follows from them
constexpr double kWorthAnotherFill = 1.001;
constexpr double kFirstAim = 0.2;    // of the least work, that multipliers first aim beyond
constexpr int kAimRounds = 5;        // without a quarter of that
constexpr int kRoomHalvings = 12;    // to find the least seconds
constexpr double kRoomSlack = 1e-6;  // of a layer, what rounding may lack

}  // namespace

LagrangianBound::LagrangianBound(const std::vector<NodeGroup>& groups, const Costs& costs,
                                 int64_t least_stages, int64_t most_stages)
    : groups_(groups),
      costs_(costs),
      bounds_(costs),
      all_(costs.stage_classes()),
      least_stages_(least_stages),
      most_stages_(most_stages) {
  std::iota(all_.begin(), all_.end(), size_t{0});
  for (const size_t stage_class : all_) {
    nodes_.push_back(
        costs.slots(stage_class) == 0
            ? kInfinity
            : static_cast<double>(costs.Nodes(stage_class, costs.stages_per_node(stage_class))) /
                  static_cast<double>(costs.stages_per_node(stage_class)));
  }
}

bool LagrangianBound::AdjustMultipliers(const Pipeline& pipeline,
                                        const std::vector<size_t>& stage_classes, int rounds,
                                        std::vector<double>* multipliers) const {
  const double layers = static_cast<double>(costs_.layers());
  std::vector<double> left(groups_.size()), best_prices = *multipliers;
  double best = kInfinity;
  for (int round = 0; round < rounds; ++round) {
    for (size_t group = 0; group < groups_.size(); ++group) left[group] = 0;
    for (const size_t stage_class : stage_classes) {
      const size_t group = costs_.Group(stage_class);
      left[group] = static_cast<double>(costs_.GroupNodes(group));
    }
    double held = 0;
    for (size_t group = 0; group < groups_.size(); ++group)
      held += (*multipliers)[group] * left[group];
    for (int64_t place = 0; place < pipeline.stages; ++place) {
      double most = -kInfinity;
      size_t taken = 0;
      for (const size_t stage_class : stage_classes) {
        const int32_t n = pipeline.most[stage_class][place];
        if (n < LeastLayers(pipeline.stages - 1 - place, place)) continue;
        const double worth = n - (*multipliers)[costs_.Group(stage_class)] * nodes_[stage_class];
        if (worth > most) {
          most = worth;
          taken = stage_class;
        }
      }
      if (most == -kInfinity) return false;
      held += most;
      left[costs_.Group(taken)] -= nodes_[taken];
    }
    if (held < layers - kRoomSlack) return false;
    if (held < best) {
      best = held;
      best_prices = *multipliers;
    }
    double square = 0;
    for (size_t group = 0; group < groups_.size(); ++group) {
      // Multipliers do not fall below none.
      if (left[group] > 0 && (*multipliers)[group] == 0) left[group] = 0;
      square += left[group] * left[group];
    }
    if (square == 0) break;
    const double step = (held - layers + 1) / square;
    for (size_t group = 0; group < groups_.size(); ++group) {
      (*multipliers)[group] = std::max(0.0, (*multipliers)[group] - step * left[group]);
    }
  }
  *multipliers = std::move(best_prices);
  return true;
}

double LagrangianBound::LeastPasses(const Pipeline& pipeline) const {
  const double layers = static_cast<double>(costs_.layers());
  const size_t count = groups_.size();
  double layer_price = kInfinity;
  for (const size_t stage_class : all_)
    layer_price = std::min(layer_price, bounds_.LeastLayer(stage_class));
  std::vector<double> multipliers(count), left(count);
  double best = 0, aim = kFirstAim * layer_price * layers;
  int since = 0;
  for (int round = 0; round < kWorkRounds; ++round) {
    for (size_t group = 0; group < count; ++group) {
      left[group] = static_cast<double>(groups_[group].cluster.nodes);
    }
    double passes = layer_price * layers, open = layers;
    for (size_t group = 0; group < count; ++group) passes -= multipliers[group] * left[group];
    for (int64_t place = 0; place < pipeline.stages; ++place) {
      double most = -kInfinity;
      size_t taken = 0;
      int32_t held = 0;
      for (const size_t stage_class : all_) {
        const int64_t least = LeastLayers(pipeline.stages - 1 - place, place);
        int32_t n = pipeline.most[stage_class][place];
        if (n < least) continue;
        const double each = layer_price - bounds_.LeastLayer(stage_class);
        if (each < 0) n = static_cast<int32_t>(least);
        const double worth =
            n * each - multipliers[costs_.Group(stage_class)] * nodes_[stage_class];
        if (worth > most) {
          most = worth;
          taken = stage_class;
          held = n;
        }
      }
      passes -= most;
      open -= held;
      left[costs_.Group(taken)] -= nodes_[taken];
    }
    if (passes > best) {
      if (passes > best + aim / 4) since = 0;
      best = passes;
    }
    if (++since > kAimRounds) {
      aim /= 2;
      since = 0;
    }
    // Multipliers of a share of all layers, or of all nodes, are what steps are taken of.
    double square = open * open / (layers * layers);
    for (size_t group = 0; group < count; ++group) {
      const double nodes = static_cast<double>(groups_[group].cluster.nodes);
      if (left[group] > 0 && multipliers[group] == 0) left[group] = 0;
      square += left[group] * left[group] / (nodes * nodes);
    }
    if (square == 0) break;
    const double step = (best + aim - passes) / square;
    layer_price += step * open / (layers * layers);
    for (size_t group = 0; group < count; ++group) {
      const double nodes = static_cast<double>(groups_[group].cluster.nodes);
      multipliers[group] = std::max(0.0, multipliers[group] - step * left[group] / (nodes * nodes));
    }
  }
  return best;
}

bool LagrangianBound::Fill(double cutoff, Pipeline* pipeline) const {
  double passes = 0;
  for (int round = 0; round < kFillRounds; ++round) {
    if (!bounds_.MostLayersByPlace(pipeline->stages, passes, cutoff, &pipeline->most)) return false;
    pipeline->multipliers.assign(groups_.size(), 0);
    if (!AdjustMultipliers(*pipeline, all_, kFirstRounds, &pipeline->multipliers)) return false;
    const double before = passes;
    passes = std::max(passes, LeastPasses(*pipeline) * (1 - kBoundRounding));
    if (passes < before * kWorthAnotherFill) break;
  }
  return true;
}

bool LagrangianBound::SetCutoff(double cutoff) {
  cutoff_ = cutoff;
  pipelines_.clear();
  for (int64_t stages = least_stages_; stages <= most_stages_; ++stages) {
    Pipeline pipeline;
    pipeline.stages = stages;
    if (!Fill(cutoff, &pipeline)) continue;
    pipeline.worth.resize(costs_.stage_classes());
    pipeline.best_from.assign(groups_.size() + 1, std::vector<double>(stages, -kInfinity));
    for (const size_t stage_class : all_) {
      const size_t group = costs_.Group(stage_class);
      for (int64_t place = 0; place < stages; ++place) {
        const int32_t n = pipeline.most[stage_class][place];
        const bool may_lie = n >= LeastLayers(stages - 1 - place, place);
        const double worth =
            may_lie ? n - pipeline.multipliers[group] * nodes_[stage_class] : -kInfinity;
        pipeline.worth[stage_class].push_back(worth);
        double& best = pipeline.best_from[group][place];
        best = std::max(best, worth);
      }
    }
    for (size_t group = groups_.size(); group-- > 0;) {
      for (int64_t place = 0; place < stages; ++place) {
        double& best = pipeline.best_from[group][place];
        best = std::max(best, pipeline.best_from[group + 1][place]);
      }
    }
    pipelines_.push_back(std::move(pipeline));
  }
  return !pipelines_.empty();
}

bool LagrangianBound::MayHold(const std::vector<size_t>& stage_classes, size_t group) {
  const double layers = static_cast<double>(costs_.layers());
  for (size_t i = 0; i < pipelines_.size(); ++i) {
    const Pipeline& pipeline = pipelines_[i];
    double held = 0;
    for (size_t other = 0; other < groups_.size(); ++other) {
      const bool used = other >= group || std::any_of(stage_classes.begin(), stage_classes.end(),
                                                      [&](size_t stage_class) {
                                                        return costs_.Group(stage_class) == other;
                                                      });
      if (used) held += pipeline.multipliers[other] * static_cast<double>(costs_.GroupNodes(other));
    }
    for (int64_t place = 0; place < pipeline.stages; ++place) {
      double most = pipeline.best_from[group][place];
      for (const size_t stage_class : stage_classes)
        most = std::max(most, pipeline.worth[stage_class][place]);
      held += most;
    }
    steps_ += pipeline.stages * static_cast<int64_t>(stage_classes.size() + 1);
    if (held < layers - kRoomSlack) continue;
    // Pipelines that had slack once often have it again.
    std::swap(pipelines_[i], pipelines_[i / 2]);
    return true;
  }
  return false;
}

bool LagrangianBound::MayHold(const std::vector<size_t>& stage_classes) {
  std::vector<double> multipliers;
  return std::any_of(pipelines_.begin(), pipelines_.end(), [&](const Pipeline& pipeline) {
    multipliers = pipeline.multipliers;
    return AdjustMultipliers(pipeline, stage_classes, kFamilyRounds, &multipliers);
  });
}

double LagrangianBound::LeastSeconds() {
  double least = cutoff_;
  for (const Pipeline& possible : pipelines_) {
    Pipeline pipeline;
    pipeline.stages = possible.stages;
    if (!Fill(least, &pipeline)) continue;
    double low = 0;
    for (int i = 0; i < kRoomHalvings; ++i) {
      const double middle = (low + least) / 2;
      (Fill(middle, &pipeline) ? least : low) = middle;
    }
    least = low;
  }
  return least;
}

}  // namespace meshwright::transformer::hetero
