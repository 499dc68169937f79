#include "meshwright/answer/solve_request.h"

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/cluster/units.h"
#include "meshwright/request/plan_options.h"
#include "meshwright/solve/solution_json.h"

namespace meshwright {
namespace {

// The answer is judged once more from the problem alone, by code that the solver does not use to
// find it.
absl::Status CheckAnswer(const solve::Problem& problem, const solve::Solution& solution) {
  const solve::Evaluation judged = solve::Evaluate(problem, solution.choice);
  if (judged.feasible() && judged.cost == solution.cost && solution.bound <= judged.cost) {
    return absl::OkStatus();
  }
  return absl::InternalError(StrCat(
      "the solver's answer does not stand: cost ", solve::Int128Text(judged.cost), " instead of ",
      solve::Int128Text(solution.cost), ", feasible: ", judged.feasible() ? "yes" : "no"));
}

// Names the node, edge or time that shows it, where reductions found one.
std::string WhyInfeasible(const solve::Problem& problem, const solve::Solution& solution) {
  if (solution.infeasible_time >= 0) {
    return StrCat("at time ", solution.infeasible_time,
                  " even the smallest usages exceed the limit of ", problem.usage_limit);
  }
  if (const int32_t e = solution.infeasible_edge; e >= 0) {
    return StrCat("every entry of edge ", e, " (nodes ", problem.edges[e].a.value, ", ",
                  problem.edges[e].b.value, ") is forbidden");
  }
  if (const int32_t v = solution.infeasible_node; v >= 0) {
    return StrCat("node ", v,
                  " has no strategy that neither forbidden costs nor the usage limit exclude");
  }
  if (solution.crowded_time >= 0) {
    return StrCat("at time ", solution.crowded_time, " usage exceeds the limit of ",
                  problem.usage_limit,
                  " whatever is chosen of what forbidden costs and other times leave");
  }
  return "proven by search; no single time, node or edge shows it";
}

absl::Status NoAnswer(const solve::Problem& problem, const solve::Solution& solution,
                      bool interrupted) {
  if (solution.outcome == solve::Outcome::kUnknown && interrupted) {
    return absl::ResourceExhaustedError("interrupted before a feasible assignment was found");
  }
  if (solution.outcome == solve::Outcome::kUnknown) {
    return absl::ResourceExhaustedError(
        "no feasible assignment found before the deadline; --deadline gives it more time");
  }
  return absl::ResourceExhaustedError(StrCat("infeasible: ", WhyInfeasible(problem, solution)));
}

}  // namespace

Options SolveOptionRows(SolveAsked& asked) {
  return {
      {"deadline",
       &asked.deadline,
       "time for the search, like 60s. At its end, and after an interrupt (Ctrl-C, SIGTERM), the "
       "best answer so far is printed and written: exit code 0, or 3 if none was found. A second "
       "interrupt ends the program at once",
       {.unit = "seconds"}},
      {"threads", &asked.threads, "threads of the search", {.least = 1, .most = kMaxThreads}},
      {"seed", &asked.seed, "equal seeds give equal answers"},
      {"output",
       &asked.output,
       "write cost, bound, gap, choice and history as JSON",
       {.output = true, .letter = "o"}},
  };
}

absl::StatusOr<solve::SolverOptions> ToSolverOptions(const SolveAsked& asked) {
  const absl::StatusOr<double> deadline = ParseDuration(asked.deadline);
  if (!deadline.ok()) {
    return absl::Status(deadline.status().code(),
                        StrCat("--deadline: ", std::string(deadline.status().message())));
  }
  if (*deadline <= 0) return absl::InvalidArgumentError("--deadline: must be more than 0 seconds");
  solve::SolverOptions options;
  options.deadline_seconds = *deadline;
  options.threads = static_cast<int>(asked.threads);
  options.seed = asked.seed;
  return options;
}

absl::StatusOr<SolveAnswer> SolveProblem(const solve::Problem& problem,
                                         const solve::SolverOptions& options) {
  const auto stopped = [&options] { return options.stop && options.stop(); };
  solve::Solution solution;
  if (!stopped()) {
    MW_ASSIGN_OR_RETURN(solution, solve::Solve(problem, options));
  }
  if (solution.choice.empty() &&
      !(problem.nodes.empty() && solution.outcome == solve::Outcome::kOptimal))
    return NoAnswer(problem, solution, stopped());
  MW_RETURN_IF_ERROR(CheckAnswer(problem, solution));
  return SolveAnswer{
      solution.outcome,
      StrCat(solve::OutcomeName(solution.outcome), ": cost ", solve::Int128Text(solution.cost),
             ", bound ", solve::Int128Text(solution.bound), ", gap ",
             absl::StrFormat("%.4f %%", 100 * solution.gap), ", peak usage ",
             solve::Int128Text(solution.peak), "\n", solve::ChoiceText(solution), "\n"),
      solve::SolutionToJson(problem, solution)};
}

}  // namespace meshwright
