#include <algorithm>
#include <utility>

#include "meshwright/base/status.h"
#include "meshwright/published/nersc/candidates.h"
#include "meshwright/published/nersc/check.h"
#include "meshwright/published/nersc/nersc.h"
#include "meshwright/published/nersc/step.h"

// The exhaustive search. A candidate's cost has three parts that depend on ever more of it, and
// each is made once for all candidates that share it:
//
//   operators      tp1, tp2, micro-batch, panels
//   memory         ... and pp, dp: where it is too much, no time is needed
//   layer's time   operators, and what of tp1 and tp2 lies in a domain
//   step's time    all; closed form from the layer's

namespace meshwright::transformer::nersc {
namespace {

// The `size` fastest, the first found of equals.
class Fastest {
 public:
  explicit Fastest(int64_t size) : size_(static_cast<size_t>(size)) {}

  void Add(double throughput, const Config& config) {
    if (size_ == 0) return;
    if (found_.size() == size_) {
      if (throughput <= found_.front().throughput) return;
      std::pop_heap(found_.begin(), found_.end(), Before);
      found_.pop_back();
    }
    found_.push_back({throughput, number_++, config});
    std::push_heap(found_.begin(), found_.end(), Before);
  }

  std::vector<Config> Take() {
    std::sort(found_.begin(), found_.end(), Before);
    std::vector<Config> configs;
    configs.reserve(found_.size());
    for (const Found& one : found_) configs.push_back(one.config);
    return configs;
  }

 private:
  struct Found {
    double throughput;
    int64_t number;  // of those that were added
    Config config;
  };
  static bool Before(const Found& a, const Found& b) {
    return std::pair(-a.throughput, a.number) < std::pair(-b.throughput, b.number);
  }

  size_t size_;
  int64_t number_ = 0;
  std::vector<Found> found_;  // a heap, the slowest on top
};

class Searcher {
 public:
  Searcher(const Model& model, const System& system, Strategy strategy,
           const SearchOptions& options, const CandidateSpace& space)
      : model_(model),
        system_(system),
        strategy_(strategy),
        options_(options),
        space_(space),
        fastest_(options.top) {}

  SearchResult Run() {
    for (const CandidateSpace::Pair& pair : space_.Pairs()) {
      const TensorDegrees degrees = space_.Degrees(pair);
      for (const int64_t micro_batch : degrees.micro_batches) {
        for (const int64_t panels : degrees.panels) VisitLayer(degrees, micro_batch, panels);
      }
    }
    for (const Config& config : fastest_.Take()) {
      result_.top.push_back(
          EvaluateInDetail(model_, system_, strategy_, config, options_.global_batch).evaluation);
    }
    return std::move(result_);
  }

 private:
  void VisitLayer(const TensorDegrees& degrees, int64_t micro_batch, int64_t panels) {
    const Layer layer =
        MakeLayer(model_, system_, strategy_, degrees.tp1, degrees.tp2, micro_batch, panels);
    seconds_.assign(degrees.groups.size(), {kUnknown, kUnknown});
    for (const Pipeline& pipeline : degrees.pipelines) {
      if (!space_.Fits(micro_batch, pipeline)) continue;
      Config config{.dp = pipeline.dp,
                    .tp1 = degrees.tp1,
                    .tp2 = degrees.tp2,
                    .pp = pipeline.pp,
                    .micro_batch = micro_batch,
                    .panels = panels};
      const auto placements = static_cast<int64_t>(pipeline.placements.size());
      result_.candidates += placements;
      const Memory memory = StepMemory(model_, strategy_, config, options_.global_batch, layer);
      if (memory.total_gb > system_.hbm_gb) continue;
      result_.feasible += placements;
      for (const Placement& placement : pipeline.placements) {
        const Groups& groups = degrees.groups[placement.groups];
        LayerSeconds& seconds = seconds_[placement.groups];
        if (seconds.forward == kUnknown) seconds = TimeLayer(system_, layer, groups);
        config.nv_dp = placement.nv_dp;
        config.nv_pp = placement.nv_pp;
        config.nv_tp1 = groups.tp1.in_domain;
        config.nv_tp2 = groups.tp2.in_domain;
        const Step step =
            TimeStep(model_, system_, strategy_, config, options_.global_batch, layer, seconds);
        const double throughput = static_cast<double>(options_.global_batch) / step.seconds;
        result_.throughput_sum += throughput;
        result_.memory_sum += memory.total_gb;
        fastest_.Add(throughput, config);
      }
    }
  }

  static constexpr double kUnknown = -1;

  const Model& model_;
  const System& system_;
  Strategy strategy_;
  const SearchOptions& options_;
  const CandidateSpace& space_;
  Fastest fastest_;
  std::vector<LayerSeconds> seconds_;  // by TensorDegrees::groups
  SearchResult result_;
};

}  // namespace

absl::StatusOr<SearchResult> Search(const Model& model, const System& system, Strategy strategy,
                                    const SearchOptions& options) {
  MW_RETURN_IF_ERROR(CheckModel(model));
  MW_RETURN_IF_ERROR(CheckSystem(system));
  MW_RETURN_IF_ERROR(CheckInteger("the number of GPUs", options.gpus, 1, kMostSize));
  MW_RETURN_IF_ERROR(CheckInteger("the global batch", options.global_batch, 1, kMostSize));
  MW_RETURN_IF_ERROR(CheckInteger("top", options.top, 0, kMostCandidates));
  const CandidateSpace space(model, system, strategy, options.gpus, options.global_batch);
  MW_RETURN_IF_ERROR(space.Count().status());
  return Searcher(model, system, strategy, options, space).Run();
}

}  // namespace meshwright::transformer::nersc
