#ifndef MESHWRIGHT_HETERO_PLANNER_H_
#define MESHWRIGHT_HETERO_PLANNER_H_

#include <cstdint>
#include <map>
#include <vector>

#include "meshwright/hetero/archive.h"
#include "meshwright/hetero/family_cache.h"

namespace meshwright::transformer::hetero {

// Makes good plans of a state: for orders of the stage classes, the stages of each next to each
// other, layers are partitioned by dynamic programming (partition.h) within what a step of less and
// less time leaves each place, and the pipelines simulated.
class Planner {
 public:
  // Both must outlive it.
  Planner(const Problem& problem, Archive& archive) : problem_(problem), archive_(archive) {}

  // The stage classes in their order and its reverse, and where that is nearly of use in every one.
  void Plan(const FamilyCache& family, const State& state);
  // Simulates one plan of the state; returns its seconds.
  double Try(const FamilyCache& family, const State& state, const std::vector<Stage>& stages);

  int64_t effort() const { return effort_; }        // of partitions and simulations
  int64_t evaluated() const { return evaluated_; }  // plans that were simulated
  // By micro-batches of a step: the best plan of all that were simulated.
  const std::map<int64_t, Choice>& best() const { return best_; }

 private:
  // The stage classes of all stages: those of `order` one after the other, or as fixes have it.
  std::vector<int32_t> StageClasses(const State& state, const std::vector<int32_t>& order) const;
  double PlanOrder(const State& state, const std::vector<int32_t>& order);
  double Polish(const State& state, std::vector<Stage> stages, double seconds);
  bool Fits(const std::vector<Stage>& stages) const;

  const Problem& problem_;
  Archive& archive_;
  int64_t effort_ = 0, evaluated_ = 0;
  std::map<int64_t, Choice> best_;
  FamilyCache at_;
};

}  // namespace meshwright::transformer::hetero

#endif  // MESHWRIGHT_HETERO_PLANNER_H_
