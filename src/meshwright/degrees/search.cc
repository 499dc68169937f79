#include "meshwright/degrees/search.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "meshwright/base/parallel.h"
#include "meshwright/degrees/degrees_search.h"

// All degrees get a bound first and are searched from the least on, so that what is found early
// leaves out most of the others, and whatever a search that is stopped has not come to has a bound.
//
// They are searched in rounds: within a round every degree's search prunes by what earlier rounds
// found, so that neither the result nor the counts depend on which thread was faster. The first
// rounds, before anything is found to prune by, are short.

namespace meshwright::transformer {
namespace {

// The most degrees that are searched in parallel.
constexpr size_t kLongestRound = 16;

}  // namespace

bool RanksBefore(Ranking ranking, const RankedConfiguration& a, const RankedConfiguration& b) {
  if (ranking == Ranking::kTime) {
    if (a.seconds != b.seconds) return a.seconds < b.seconds;
    if (a.peak_bytes != b.peak_bytes) return a.peak_bytes < b.peak_bytes;
  } else {
    if (a.peak_bytes != b.peak_bytes) return a.peak_bytes < b.peak_bytes;
    if (a.seconds != b.seconds) return a.seconds < b.seconds;
  }
  return ConfigurationBefore(a.configuration, b.configuration);
}

CostFunctions CalibratedCosts(const Model& model, const Workload& workload, const Cluster& cluster,
                              const ChosenFramework& framework) {
  auto coster =
      std::make_shared<StepCoster>(model, workload, cluster, BuiltinCostParameters(), framework);
  return {[coster](const Configuration& c) { return coster->Figures(c); },
          [coster](const Configuration& c) { return coster->Least(c); },
          [coster](const Configuration& c) { return coster->LeastOfUnits(c); },
          [coster](const Configuration& c) { return coster->LeastOfRanges(c); },
          [coster](const Configuration& c) { return coster->LeastSecondsOfFamily(c); }};
}

SearchResult Search(const Space& space, const std::function<CostFunctions()>& make_costs,
                    const SearchOptions& options) {
  struct Task {
    Space::Degrees degrees;
    DegreesSummary summary;
    bool known = false, searched = false;
    int64_t settled = 0;  // configurations that were costed or left out
  };
  std::vector<Task> tasks;
  for (const Space::Degrees& degrees : space.AllDegrees()) tasks.push_back({degrees, {}});
  const size_t threads = std::clamp<size_t>(static_cast<size_t>(options.threads), 1,
                                            std::max<size_t>(tasks.size(), 1));
  std::vector<CostFunctions> costs;
  for (size_t t = 0; t < threads; ++t) costs.push_back(make_costs());
  BestConfigurations best(options.ranking, options.top);
  const auto stopped = [&] { return options.stop && options.stop(); };

  const DegreesSearch unsearched(space, options, best);
  ForEachOnThreads(tasks.size(), threads, [&](size_t thread, size_t i) {
    if (stopped()) return;
    tasks[i].summary = unsearched.Summary(tasks[i].degrees, costs[thread]);
    tasks[i].known = true;
  });
  SearchResult result;
  for (Task& task : tasks) {
    result.counts.legal += task.summary.legal;
    if (!task.known) task.summary.least = {};
  }
  std::stable_sort(tasks.begin(), tasks.end(), [&](const Task& a, const Task& b) {
    const StepBound &left = a.summary.least, &right = b.summary.least;
    return options.ranking == Ranking::kTime ? left.seconds < right.seconds
                                             : left.bytes < right.bytes;
  });

  for (size_t first = 0, round = 1; first < tasks.size() && !stopped();) {
    const size_t end = std::min(first + round, tasks.size());
    std::vector<DegreesSearch> searches(end - first, DegreesSearch(space, options, best));
    ForEachOnThreads(searches.size(), threads, [&](size_t thread, size_t i) {
      Task& task = tasks[first + i];
      if (searches[i].Excludes(task.summary.least)) return;
      task.searched = searches[i].Run(task.degrees, costs[thread]);
    });
    for (size_t i = first; i < end; ++i) {
      const DegreesSearch& search = searches[i - first];
      tasks[i].settled = search.counts().evaluated + search.counts().pruned;
      for (const RankedConfiguration& one : search.best().found()) best.Add(one);
      result.counts.evaluated += search.counts().evaluated;
      result.counts.fitting += search.counts().fitting;
      result.counts.pruned += search.counts().pruned;
    }
    first = end;
    round = std::min(2 * round, kLongestRound);
  }
  // Degrees that were not searched, or in part, may still be left out by what was found since.
  const DegreesSearch last(space, options, best);
  for (const Task& task : tasks) {
    if (task.searched) continue;
    if (last.Excludes(task.summary.least)) {
      result.counts.pruned += task.summary.legal - task.settled;
      continue;
    }
    result.complete = false;
    result.unsearched.seconds =
        std::min(result.unsearched.seconds, task.summary.least.seconds * kBoundRounding);
    result.unsearched.bytes = std::min(result.unsearched.bytes, task.summary.least.bytes);
  }
  result.best = best.found();
  return result;
}

}  // namespace meshwright::transformer
