#ifndef TESTS_INTRA_BRUTE_FORCE_H_
#define TESTS_INTRA_BRUTE_FORCE_H_

#include <cstdint>
#include <map>
#include <optional>

#include "meshwright/cost/cost_model.h"
#include "meshwright/cost/fusion.h"
#include "meshwright/cost/liveness.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/intra/given_cuts.h"
#include "meshwright/sharding/sharding.h"

namespace meshwright {

// The least cost of running `graph` within `budget_bytes`, by trying every strategy of every
// operator, every sharding of every value that several operators use, and every storage of every
// parameter. Shares with the planner the rules, the prices, fusion and liveness, but neither its
// grouping of operators nor its problem. nullopt if nothing fits. Only for tiny programs without
// loops. `given`: how parameters (by position in graph.parameters) have to be stored, and
// `given_outputs` how outputs (by position in graph.outputs) have to leave. `cuts`: what else
// dimensions may be cut by.
std::optional<double> BruteForce(const Graph& graph, const CostModel& cost_model,
                                 const FusionInfo& fusion, const std::vector<Interval>& intervals,
                                 int64_t budget_bytes, const std::map<size_t, Sharding>& given = {},
                                 const std::map<size_t, Sharding>& given_outputs = {},
                                 const GivenCuts& cuts = {});

}  // namespace meshwright

#endif  // TESTS_INTRA_BRUTE_FORCE_H_
