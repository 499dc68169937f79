#ifndef MESHWRIGHT_INTRA_PLANNER_H_
#define MESHWRIGHT_INTRA_PLANNER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/cost/cost_model.h"
#include "meshwright/cost/liveness.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/intra/completion.h"
#include "meshwright/sharding/rule.h"
#include "meshwright/sharding/sharding.h"
#include "meshwright/solve/solver.h"

// The intra-operator planner: how every tensor of a program is sharded over a mesh. It turns the
// graph into an assignment problem (intra/problem_builder.h), solves it, and reads the answer back
// as shardings, collectives, seconds and bytes.

namespace meshwright {

// A sharding the user insists on. `pattern` is matched against the names of entry parameters
// (metadata op_name such as "state[0]['layer0']['wq']", else the instruction's name), of outputs
// ("output[3]", "output[0][2]"), and of instructions; `*` stands for any characters, `?` for
// one and "{0..3,7}" for these numbers, see GlobMatch; everything else is literal.
struct Fix {
  std::string pattern;
  std::string spec;    // see ParseSharding
  std::string origin;  // for messages: "--fix #2", "fixes.txt:3"
};

// Which strategies an operator may take.
enum class StrategySpace {
  kFull,  // everything the rule and the mesh allow
  kAlpa,  // Alpa's playground: see FORMULAS of its solver; at most one axis a dimension, both axes
          // used by a product, elementwise operators follow their deepest operand, all-reduce at
          // once
};

struct PlannerOptions {
  int64_t budget_bytes = solve::kUnlimited;  // device memory a device may use
  StrategySpace space = StrategySpace::kFull;
  Completion completion = Completion::kLeastCost;
  std::vector<Fix> fixes;
  // Outputs that are the next step's inputs must have their sharding. Donated buffers always are;
  // with this also the longest prefix of outputs whose shapes equal those of the first parameters,
  // if the program donates nothing.
  bool tie_outputs_by_position = true;
  // Shardings that are given by position in Graph::parameters and Graph::outputs.
  std::vector<std::pair<int32_t, Sharding>> given_parameters, given_outputs;
  // How operators must work and values be kept. An operator or value that takes no decision of its
  // own (it follows another, or is made wherever it is needed) is left alone, and so is one without
  // such a strategy.
  std::vector<std::pair<OpId, Strategy>> given_strategies;
  std::vector<std::pair<ValueId, Sharding>> given_values;
  // Further ties: (output, parameter), by position in Graph::outputs and Graph::parameters.
  std::vector<std::pair<int32_t, int32_t>> ties;
  // A search with little of the counted work, which tells meshes apart.
  bool first_look = false;
  // No answer is needed: once solver.stop says true there is an error, and not what takes some time
  // even so.
  bool optional = false;
  // A plan within a thousandth of the optimum is as good as the prices it is made from; the search
  // for more ends after some seconds of work, the same work on every machine.
  solve::SolverOptions solver = [] {
    solve::SolverOptions defaults;
    defaults.max_search_steps = 3'000'000'000;
    defaults.target_gap = 1e-3;
    return defaults;
  }();
};

// A collective that the plan executes.
struct PlannedCollective {
  CollectiveStep step;
  double seconds = 0;  // of one execution
  // Seconds of kernels that put its buffers into the order that it needs; they are part of the
  // step, not of the objective.
  double rearrange_seconds = 0;
  double multiplicity = 1;  // executions a step
  ValueId value;            // what is moved
  OpId user;  // operator that needs it; the producer itself if it is shared by several users
};

// A value that collectives take from how it is kept, or computed, to how it is needed.
struct PlannedMove {
  ValueId value;
  OpId user;  // as in PlannedCollective
  Sharding from, to;
  // Between those, where it takes several steps, slices among them: how it is kept after each but
  // the last.
  std::vector<Sharding> through;
};

// What was decided for one operator.
struct PlannedOp {
  Rule rule;
  Strategy strategy;
  bool free = false;           // recomputed wherever needed (constants, iota, ...): has no strategy
  double compute_seconds = 0;  // of one execution, on one device
};

struct IntraPlan {
  bool fits = true;  // false: nothing found within the budget; the plan is the one of least memory
  // The objective of the assignment problem: the sum of compute and communication over one step, in
  // the cost model's unit, and its bound over all plans.
  double objective = 0, bound = 0, gap = 0;
  double compute = 0, communication = 0;
  // Time of one step, with collectives overlapped (timeline.h), and the objective
  // where the cost model has no overlap: what a plan is chosen by. No plan that fits takes less
  // than `step_bound`; step_gap = (step_seconds - step_bound) / step_seconds.
  double step_seconds = 0, step_bound = 0, step_gap = 0;
  double launch_seconds = 0;   // of the step (Overlap::LaunchSeconds)
  std::vector<PlannedOp> ops;  // by OpId
  // By ValueId: how the value is kept once partial sums are combined; for free values and fused
  // ones what their first user sees.
  std::vector<Sharding> shardings;
  std::vector<PlannedCollective> collectives;  // in execution order of their users
  std::vector<PlannedMove> moves;              // what the collectives do
  // By output: the parameter that it replaces and is sharded like, or -1. TiedParameters, but for
  // ties that fixes cut.
  std::vector<int32_t> tied;
  // Memory of one device, judged over `schedule` with donation, fusion and the buffers of
  // reshardings.
  Schedule schedule;
  std::vector<Interval> intervals;                    // by ValueId
  std::vector<int64_t> bytes;                         // by ValueId, on one device
  std::vector<std::pair<Interval, int64_t>> buffers;  // of reshardings: when, and bytes
  PeakMemory peak;
  int64_t smallest_budget = 0;  // if !fits: the smallest budget a plan was found for (= peak.bytes)
  bool limited = false;         // more counted work might find a better one
  bool cut = false;             // by the deadline or an interrupt, as one of the warnings says
  std::vector<std::string> warnings;
  // The assignment problem and its solution, for statistics.
  int64_t nodes = 0, edges = 0, reduced_nodes = 0;
};

// Name by which users and plans know an entry parameter leaf: metadata op_name if there is one,
// else the instruction's name, with the leaf's index path appended for tuples.
std::string ParameterName(const Graph& graph, OpId parameter);
// "output[i]" / "output[i][j]"; "output" if the program returns one array.
std::string OutputName(const Graph& graph, OpId output);

// Plans `graph` on cost_model.mesh(). Errors: a fix that matches nothing (names the nearest), that
// does not parse, or that no strategy of its instruction can satisfy (says why); two fixes that
// contradict.
absl::StatusOr<IntraPlan> PlanIntra(const Graph& graph, const CostModel& cost_model,
                                    const PlannerOptions& options);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTRA_PLANNER_H_
