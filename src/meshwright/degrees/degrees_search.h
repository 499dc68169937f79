#ifndef MESHWRIGHT_DEGREES_DEGREES_SEARCH_H_
#define MESHWRIGHT_DEGREES_DEGREES_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "meshwright/degrees/configuration.h"
#include "meshwright/degrees/search.h"
#include "meshwright/degrees/space.h"

// The search through the configurations that have the same tp, cp, pp and dp.

namespace meshwright::transformer {

// Parts are added in another order than their sum was; bounds give way by more than that can make.
inline constexpr double kBoundRounding = 1 - 1e-9;

// The `size` that rank first.
class BestConfigurations {
 public:
  BestConfigurations(Ranking ranking, int64_t size)
      : ranking_(ranking), size_(static_cast<size_t>(size)) {}

  // Does nothing if it is there already, or a better one that differs in its recompute range only.
  void Add(const RankedConfiguration& one);

  Ranking ranking() const { return ranking_; }
  bool full() const { return found_.size() == size_; }
  // Configurations above cannot enter.
  double most_seconds() const {
    const bool bounded = ranking_ == Ranking::kTime && full();
    return bounded ? found_.back().seconds : std::numeric_limits<double>::infinity();
  }
  int64_t most_bytes() const {
    const bool bounded = ranking_ == Ranking::kMemory && full();
    return bounded ? found_.back().peak_bytes : std::numeric_limits<int64_t>::max();
  }
  const std::vector<RankedConfiguration>& found() const { return found_; }

 private:
  Ranking ranking_;
  size_t size_;
  std::vector<RankedConfiguration> found_;  // in order
};

// Facts of all configurations of some degrees before any is costed.
struct DegreesSummary {
  int64_t legal = 0;
  // None that fits takes less of what it is ranked by; infinite if none can.
  StepBound least{std::numeric_limits<double>::infinity(), std::numeric_limits<int64_t>::max()};
};

// `space` and `options` must outlive it.
class DegreesSearch {
 public:
  DegreesSearch(const Space& space, const SearchOptions& options, const BestConfigurations& best)
      : space_(space),
        options_(options),
        budget_(options.budget_bytes.value_or(std::numeric_limits<int64_t>::max())),
        host_(options.host_bytes.value_or(std::numeric_limits<int64_t>::max())),
        best_(best) {}

  DegreesSummary Summary(const Space::Degrees& degrees, const CostFunctions& costs) const;

  // Adds to best() what of these degrees belongs there. False: options.stop ended it before that.
  bool Run(const Space::Degrees& degrees, const CostFunctions& costs);

  // Whether none that takes at least this much fits and is among the best.
  bool Excludes(const StepBound& least) const {
    return least.bytes > std::min(budget_, best_.most_bytes()) ||
           least.seconds * kBoundRounding > best_.most_seconds();
  }

  const BestConfigurations& best() const { return best_; }
  const SearchCounts& counts() const { return counts_; }  // but `legal`

 private:
  class AmountsSearch;
  // Figures of one configuration with several layers offloaded.
  struct Costed {
    int64_t row = 0;  // that they are of
    StepFigures figures;
  };

  // Number of a family's configurations of one placement and sharding.
  int64_t CountOf(Configuration family) const;
  void RunRecomputeRanges(const std::vector<Space::Layout>& layouts,
                          const std::vector<Space::Sharding>& shardings,
                          const std::vector<Space::RecomputeRange>& ranges, Configuration member,
                          const CostFunctions& costs);
  bool RunPlacements(const std::vector<Space::Layout>& layouts,
                     const std::vector<Space::Sharding>& shardings, Configuration member,
                     const CostFunctions& costs);
  void RunShardings(const std::vector<Space::Sharding>& shardings, Configuration member,
                    const CostFunction& cost_of);
  bool Add(const Configuration& member, const StepFigures& cost);
  bool Stopped();

  const Space& space_;
  const SearchOptions& options_;
  int64_t budget_, host_;
  Space::Amounts amounts_;   // of what is searched
  std::vector<Costed> row_;  // by number of layers, of the percentage at hand
  int64_t rows_ = 0;         // so far
  BestConfigurations best_;
  SearchCounts counts_;
  bool stopped_ = false;
};

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_DEGREES_DEGREES_SEARCH_H_
