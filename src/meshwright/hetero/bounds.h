#ifndef MESHWRIGHT_HETERO_BOUNDS_H_
#define MESHWRIGHT_HETERO_BOUNDS_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "meshwright/hetero/costs.h"
#include "meshwright/hetero/schedule.h"

namespace meshwright::transformer::hetero {

// Stages on each stage class; 0 beyond those of the family.
using StageCounts = std::array<int32_t, kMostStageClasses>;

// Limits of a place in the pipeline on a stage that takes t for both passes and u to update: t at
// most `both`, and factor t + u at most `limit` for each of `whole`.
struct Place {
  struct Whole {
    double factor, limit;
  };
  double both = 0;
  std::array<Whole, 3> whole = {};
  int64_t most_layers = 0;  // of a stage of any stage class that is open

  bool Takes(double seconds, double update) const {
    return seconds <= both && std::all_of(whole.begin(), whole.end(), [&](const Whole& one) {
             return one.factor * seconds + update <= one.limit;
           });
  }
  bool Takes(const Cell& cell) const { return Takes(cell.both(), cell.update); }
};

// Lower bounds on plans of one family, by how many stages lie on each stage class.
class Bounds {
 public:
  // `costs` must outlive it.
  explicit Bounds(const Costs& costs);

  // A bound of plans with exactly `stages` stages on each stage class; infinite if there are none.
  double Seconds(const StageCounts& stages) const {
    return Seconds(stages, costs_.layers(), PipelineBound(costs_.micro_batches()));
  }
  // ... whose first `layers` layers lie on `stages` stages that are not decided, before those of
  // `behind`.
  double Seconds(const StageCounts& stages, int64_t layers, const PipelineBound& behind) const;
  // Whether such plans may take less than `cutoff`: what Seconds says, and whether stages can hold
  // all layers if each is held to what its place in the pipeline leaves it. Slower than Seconds.
  bool MayBeat(const StageCounts& stages, int64_t layers, const PipelineBound& behind,
               double cutoff) const;
  // By number of stages behind, what places leave in plans with exactly `stages` stages that take
  // less than `cutoff`, a finite number; null if there are none.
  const std::vector<Place>* Places(const StageCounts& stages, double cutoff) const {
    const PipelineBound none(costs_.micro_batches());
    return MayBeat(stages, costs_.layers(), none, cutoff) ? &places_ : nullptr;
  }
  // The least that plans with exactly `stages` stages take, up to `most`, by that.
  double Tightened(const StageCounts& stages, double most) const;
  // By stage class and number of stages behind: layers that a stage has at most, in a pipeline of
  // `stages` stages of any stage classes that takes less than `cutoff`, both passes of a
  // micro-batch taking `passes` or more on all of them. False if there is none.
  using LayersByPlace = std::vector<std::vector<int32_t>>;
  bool MostLayersByPlace(int64_t stages, double passes, double cutoff, LayersByPlace* most) const;
  // About what such a plan takes; the smallest is the most promising.
  double Estimate(const StageCounts& stages) const;

  // Seconds of both passes that a stage can have, ascending.
  const std::vector<double>& values() const { return values_; }
  // Position among `values` of the least slowest stage; values().size() if there is none.
  size_t LeastSlowest(const StageCounts& stages, int64_t layers) const {
    return LeastEnough(stages, layers, values_.size(), most_layers_);
  }
  // Whether memory may suffice for `layers` layers on that many open stages before `behind` others.
  bool MayFit(const StageCounts& stages, int64_t layers, int64_t behind) const;
  // The largest share of a stage's time that its forward pass takes.
  double forward_share() const { return forward_share_; }
  // Seconds of both passes of any layer; infinite where the stage class cannot be used.
  double LeastLayer(size_t stage_class) const { return least_layer_[stage_class]; }

 private:
  // By number of layers: the least of a stage of a stage class, wherever it begins; not falling.
  struct LeastStage {
    std::vector<double> both, update;
    std::vector<double> whole;  // both passes of all micro-batches, and the update
  };

  void ReadCells(std::vector<std::vector<int64_t>>* most_held, std::vector<double>* alone);
  void MakeHeld(std::vector<std::vector<int64_t>>* most_held);

  // The least of `values` that lets stages hold all layers, if a stage may take as much;
  // values.size() if none does.
  size_t LeastEnough(const StageCounts& stages, int64_t layers, size_t values,
                     const std::vector<std::vector<int32_t>>& most_layers) const;
  // ... of passes of all micro-batches and the update.
  size_t LeastLongest(const StageCounts& stages, int64_t layers) const {
    return LeastEnough(stages, layers, wholes_.size(), most_of_whole_);
  }
  // Least sum of both passes of `layers` layers on `stages` stages before `behind` others, none
  // longer than the value.
  double LeastSum(const StageCounts& stages, int64_t layers, int64_t behind, size_t value) const;
  // Both passes of all that stages with so many first layers have, with `behind` stages behind.
  double LeastWork(int64_t layers, int64_t behind) const {
    return layer_work_[layers] + least_embedding_ + (behind == 0 ? least_head_ : 0);
  }
  // Seconds of sends between `open` open stages, and to the first of `decided` others.
  double LeastSends(const StageCounts& stages, int64_t open, bool decided) const;

  // The places of open stages, the last first, for a step of less than `cutoff`; `work` is of a
  // micro-batch. Earlier values of `places_` say how many layers lie before and behind at least.
  void SetPlaces(int64_t layers, const PipelineBound& behind, double work, double cutoff) const;
  // Whether open stages at these places, before `behind` decided stages, can hold so many layers.
  bool HaveSlack(const StageCounts& stages, int64_t layers, int64_t behind) const;
  // Layers of a stage of the stage class that a place can hold, `behind` stages being behind it.
  int64_t MostLayers(size_t stage_class, const Place& place, int64_t behind) const;
  int64_t MostLayersAtEnds(size_t stage_class, int64_t i, int64_t most, int64_t layers,
                           int64_t behind) const;
  void FindSlack(size_t stage_class, int64_t layers, int64_t behind) const;

  const Costs& costs_;
  std::vector<LeastStage> least_;        // by stage class
  std::vector<double> values_, wholes_;  // of LeastStage::both and LeastStage::whole, ascending
  // By stage class, then value: the most layers of a stage that takes no longer.
  std::vector<std::vector<int32_t>> most_layers_, most_of_whole_;
  // By stage class, then stages behind: layers that stages with up to so many behind them hold in
  // all; the last is of the best stage class for each.
  std::vector<std::vector<int64_t>> held_;
  // Both passes of so many first layers, wherever they lie; and of the embedding and the head.
  std::vector<double> layer_work_;
  double least_embedding_ = 0, least_head_ = 0;
  std::vector<double> least_layer_;
  std::vector<size_t> fastest_;  // stage classes that can be used, by least_layer_
  double forward_share_ = 0, least_forward_share_ = 1, least_update_ = 0;
  mutable std::vector<Place> places_;  // of HaveSlack's caller
  mutable std::vector<int64_t> slack_;
  mutable std::vector<double> longest_;
};

}  // namespace meshwright::transformer::hetero

#endif  // MESHWRIGHT_HETERO_BOUNDS_H_
