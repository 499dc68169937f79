// With t the slowest stage's time for both passes, p stages, M micro-batches and W the work of one
// of these, a pipeline takes W + (M - 1) t - u F at least (schedule.h), u = min(p, M) - 1, F
// at most a share f of t; so c t + W, c = M - 1 - f u. A larger t lets more layers lie on fast
// stages, so that W falls, and c t + W is convex in t and piecewise linear: the least is at its
// corners.
//
// The p stages are those with a layer; one without may follow, whose forward passes are in F too,
// so that u is min(p + 1, M) - 1.
//
// Only the sum v of the pools' speeds is known. Stage i takes t_i <= t and has a layer at least, so
// its speed r_i is 1 / t_i or more; the speed that is not used is the sum of (t - t_i) r_i = v t -
// L, L being the layers. Then with g_i = t - t_i the sum of g_i / (t - g_i) is at most v t - L, and
// as g is concave in that the sum of g_i is largest if all are equal. So with x = p + v t - L
//
//   W = p t - sum of g_i >= p^2 t / x,   c t + W >= (p^2 + p^2 (L - p) / x + c x + c (L - p)) / v,
//
// which is least for x = p sqrt((L - p) / c), and x is p or more.
//
// Where two stage classes share a group's nodes, each way to divide these has a bound. Of many
// nodes the ways are taken in ranges: of each range one stage class has the most nodes, and the
// other what the least of these leave.

#include "meshwright/hetero/family_bound.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "meshwright/base/infinity.h"

namespace meshwright::transformer::hetero {
namespace {

constexpr int64_t kMostRanges = 8;  // of ways to divide nodes, of all groups together

// The most that rounding takes off the parts of a closed form.
constexpr double kTableRounding = 1 - 1e-9;

// The least seconds from `least` on in which so many of the fastest stages can take all layers,
// each a whole number of them.
double WholeLayers(const std::vector<StageClass>& fastest, int64_t stages, int64_t layers,
                   double least) {
  constexpr double kAlmostNone = 1e-9;  // of a layer, that rounding may lack
  while (true) {
    int64_t taken = 0, open = stages;
    double next = kInfinity;
    for (const StageClass& stage_class : fastest) {
      const int64_t each = static_cast<int64_t>(least / stage_class.layer_seconds + kAlmostNone);
      const int64_t count = std::min(open, stage_class.slots);
      open -= count;
      taken += count * each;
      if (count > 0)
        next = std::min(next, static_cast<double>(each + 1) * stage_class.layer_seconds);
    }
    if (taken >= layers) return least;
    least = next;
  }
}

// c of so many stages with a layer.
double Factor(int64_t micro_batches, int64_t stages, double share) {
  return static_cast<double>(micro_batches - 1) -
         share * static_cast<double>(std::min(micro_batches - 1, stages));
}

// Layers go to the fastest first: up to rate t - taken on each, which are in ascending order of
// seconds a layer.
struct Taker {
  double layer_seconds = 0, rate = 0, taken = 0;
};
using Takers = absl::InlinedVector<Taker, kMostNodeGroups>;

// The time with all work, c t + work of all layers, whatever c: its corners are where takers have
// all layers between them.
class WorkCorners {
 public:
  WorkCorners(Takers takers, double layers) : takers_(std::move(takers)), layers_(layers) {
    double rate = 0, taken = 0;
    for (const Taker& taker : takers_) {
      rate += taker.rate;
      taken += taker.taken;
      corners_.push_back({(layers + taken) / rate});
    }
  }

  // The least for t from `least` on.
  double Least(double c, double least) {
    Corner first{least};
    double best = Value(c, first);
    for (Corner& corner : corners_) {
      if (corner.t > least) best = std::min(best, Value(c, corner));
    }
    return best;
  }

 private:
  struct Corner {
    double t = 0;
    double work = -1, rest = 0;  // of what is given out, and of the rest on the slowest; -1: open
  };
  double Value(double c, Corner& at) const {
    if (at.work < 0) {
      double open = layers_, work = 0;
      for (const Taker& taker : takers_) {
        const double here = std::min(open, std::max(0.0, taker.rate * at.t - taker.taken));
        work += here * taker.layer_seconds;
        open -= here;
      }
      at.work = work;
      at.rest = open * takers_.back().layer_seconds;
    }
    return c * at.t + at.work + at.rest;
  }

  Takers takers_;
  double layers_;
  absl::InlinedVector<Corner, kMostNodeGroups> corners_;
};

// A bound of stage classes that have their slots whatever the others have; at most `least`.
double LeastOfSlots(std::vector<StageClass> fastest, const Pipelines& pipelines, double least) {
  std::sort(fastest.begin(), fastest.end(), [](const StageClass& a, const StageClass& b) {
    return a.layer_seconds < b.layer_seconds;
  });
  const double layers = static_cast<double>(pipelines.layers);
  const double micro_batches = static_cast<double>(pipelines.micro_batches);
  double share = 0;
  for (const StageClass& stage_class : fastest) share = std::max(share, stage_class.forward_share);
  double speed = 0, first_layers = pipelines.sends;
  int64_t stages = 0;
  Takers takers;
  for (const StageClass& stage_class : fastest) {
    takers.push_back({stage_class.layer_seconds, 0, 0});
    for (int64_t i = 0; i < stage_class.slots && stages < pipelines.most_stages; ++i) {
      ++stages;
      speed += 1 / stage_class.layer_seconds;
      first_layers += stage_class.layer_seconds;
      takers.back().rate += 1 / stage_class.layer_seconds;
      takers.back().taken += 1;
      const double others = layers - static_cast<double>(stages);
      const double c = Factor(pipelines.micro_batches, stages, share);
      const auto no_better = [&](double slowest) {
        return micro_batches * slowest >= least ||
               first_layers + others * fastest.front().layer_seconds + c * slowest >= least;
      };
      double slowest = std::max(stage_class.layer_seconds, layers / speed);
      if (no_better(slowest)) continue;
      slowest = WholeLayers(fastest, stages, pipelines.layers, slowest);
      if (no_better(slowest)) continue;
      const double all = first_layers + WorkCorners(takers, others).Least(c, slowest);
      least = std::min(least, std::max(micro_batches * slowest, all));
    }
  }
  return least;
}

class NodeDivider {
 public:
  NodeDivider(const std::vector<NodeGroup>& groups, std::vector<StageClass> stage_classes,
              const Pipelines& pipelines)
      : groups_(groups), stage_classes_(std::move(stage_classes)), pipelines_(pipelines) {
    const int64_t shared = Shared();
    while (Power(ranges_, shared) > kMostRanges) --ranges_;
  }

  // A bound of the stage classes from `stage_class` on; at most `least`.
  double Least(size_t stage_class, double least) {
    if (stage_class == stage_classes_.size())
      return LeastOfSlots(stage_classes_, pipelines_, least);
    if (!SharesWithNext(stage_class)) return Least(stage_class + 1, least);
    StageClass &a = stage_classes_[stage_class], &b = stage_classes_[stage_class + 1];
    const NodeGroup& group = groups_[a.group];
    const int64_t first = Nodes(group, a.degrees, 1);
    const int64_t last = group.cluster.nodes - Nodes(group, b.degrees, 1);
    const int64_t ways = last - first + 1, ranges = std::min(ranges_, ways);
    for (int64_t i = 0; i < ranges; ++i) {
      const int64_t from = first + ways * i / ranges, to = first + ways * (i + 1) / ranges - 1;
      a.slots = std::min(pipelines_.layers, Slots(group, a.degrees, to));
      b.slots = std::min(pipelines_.layers, Slots(group, b.degrees, group.cluster.nodes - from));
      least = Least(stage_class + 2, least);
    }
    return least;
  }

 private:
  static int64_t Power(int64_t base, int64_t exponent) {
    int64_t power = 1;
    for (; exponent > 0; --exponent) power *= base;
    return power;
  }
  bool SharesWithNext(size_t stage_class) const {
    return stage_class + 1 < stage_classes_.size() &&
           stage_classes_[stage_class].group == stage_classes_[stage_class + 1].group;
  }
  int64_t Shared() const {
    int64_t shared = 0;
    for (size_t stage_class = 0; stage_class < stage_classes_.size(); ++stage_class)
      shared += SharesWithNext(stage_class) ? 1 : 0;
    return shared;
  }

  const std::vector<NodeGroup>& groups_;
  std::vector<StageClass> stage_classes_;
  const Pipelines& pipelines_;
  int64_t ranges_ = kMostRanges;  // of a group's ways
};

}  // namespace

namespace {

// With T the seconds, stage i takes (T - W) c_i at most, c_i = 1 / (M - 1 - f u_i), u_i from p - 1
// of the first stage to 0. All the speed is in `fastest` stages at least, at best the first ones:
// the first stage's time over what it would be if all stages had as much, at least. As c_i is
// convex in u_i, their mean is at most that of the largest and the least.
double AheadOfEven(int64_t micro_batches, int64_t stages, double fastest, double share) {
  if (stages >= micro_batches) return 1;
  const double p = static_cast<double>(stages), with = std::clamp(fastest, 1.0, p);
  const double m = static_cast<double>(micro_batches - 1);
  return 2 / (1 + (m - share * (p - 1)) / (m - share * (p - with)));
}

}  // namespace

PooledBound::PooledBound(const Pipelines& pipelines, double forward_share)
    : layers_(static_cast<double>(pipelines.layers)),
      micro_batches_(pipelines.micro_batches),
      forward_share_(forward_share) {
  double fewest = kInfinity;
  for (int64_t stages = 1; stages <= pipelines.most_stages; ++stages) {
    Stages& one = stages_.emplace_back();
    one.c = Factor(micro_batches_, stages, forward_share);
    const double p = static_cast<double>(stages), others = layers_ - p;
    one.best_x = one.c > 0 ? p * std::sqrt(others / one.c) : kInfinity;
    // The least of what the closed form divides by the speed, whatever x.
    const double root = one.c > 0 ? std::sqrt(one.c * others) : 0;
    one.least = (one.c > 0 ? (p + root) * (p + root) : p * p + one.c * others) * kTableRounding;
    if (one.least < fewest) {
      fewest = one.least;
      best_ = stages;
    }
    // This holds of all numbers of stages up to twice as many.
    if (blocks_.empty() || stages > blocks_.back().last) {
      const int64_t last = std::min(2 * stages, pipelines.most_stages);
      blocks_.push_back({stages, last, Factor(micro_batches_, last, forward_share)});
    }
  }
}

// Every number of stages has its closed form, and its block's least time with all work; most of
// both are larger than the least so far whatever the pools, and are not computed.
double PooledBound::LeastSeconds(const std::vector<StagePool>& pools) const {
  double speed = 0;
  Takers takers;
  for (const StagePool& pool : pools) {
    speed += pool.speed;
    takers.push_back({pool.layer_seconds, pool.speed, 0});
  }
  WorkCorners work(std::move(takers), layers_);
  const double even = layers_ / speed;
  const double fastest = speed * pools.front().layer_seconds;  // as many stages have all the speed
  const auto slowest = [&](int64_t stages) {
    return even * AheadOfEven(micro_batches_, stages, fastest, forward_share_);
  };
  double least = kInfinity;
  const auto take = [&](int64_t stages, double with_work) {
    const Stages& of = stages_[stages - 1];
    const double p = static_cast<double>(stages), others = layers_ - p, c = of.c;
    const double least_x = p + speed * slowest(stages) - layers_;
    const double x = c > 0 ? std::max(least_x, of.best_x) : kInfinity;
    const double balanced = (p * p + p * p * others / x + (c > 0 ? c * x : 0) + c * others) / speed;
    least = std::min(least, std::max(balanced, with_work));
  };
  // The most promising first.
  const auto block_of_best = std::find_if(blocks_.begin(), blocks_.end(),
                                          [&](const Block& one) { return best_ <= one.last; });
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const size_t swapped = block_of_best - blocks_.begin();
    const Block& block = blocks_[i == 0 ? swapped : i == swapped ? 0 : i];
    double with_work = -1;  // not known
    const auto look_at = [&](int64_t stages) {
      if (stages_[stages - 1].least >= least * speed) return true;
      if (with_work < 0) with_work = work.Least(block.c, slowest(block.first));
      if (with_work >= least) return false;
      take(stages, with_work);
      return true;
    };
    if (i == 0 && !look_at(best_)) continue;
    for (int64_t stages = block.first; stages <= block.last; ++stages) {
      if (!look_at(stages)) break;
    }
  }
  return std::max(least, static_cast<double>(micro_batches_) * even);
}

double LeastFamilySeconds(const std::vector<NodeGroup>& groups,
                          std::vector<StageClass> stage_classes, const Pipelines& pipelines) {
  double update = kInfinity, fixed = 0;
  for (const StageClass& stage_class : stage_classes) {
    update = std::min(update, stage_class.update_seconds);
    fixed = std::max(fixed, stage_class.fixed_seconds);
  }
  return NodeDivider(groups, std::move(stage_classes), pipelines).Least(0, kInfinity) + update +
         fixed;
}

double MostSharedSpeed(const NodeGroup& group, const StageClass& a, const StageClass& b,
                       int64_t layers) {
  const int64_t nodes = group.cluster.nodes;
  double most = 0;
  for (int64_t n = Nodes(group, a.degrees, 1); n <= nodes - Nodes(group, b.degrees, 1); ++n) {
    const auto slots = [&](const StageClass& stage_class, int64_t on) {
      return static_cast<double>(std::min(layers, Slots(group, stage_class.degrees, on)));
    };
    most = std::max(most, slots(a, n) / a.layer_seconds + slots(b, nodes - n) / b.layer_seconds);
  }
  return most;
}

}  // namespace meshwright::transformer::hetero
