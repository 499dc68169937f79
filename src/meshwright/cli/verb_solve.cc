#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/cli/interruption.h"
#include "meshwright/cli/option_checks.h"
#include "meshwright/cli/output.h"
#include "meshwright/cli/verb.h"
#include "meshwright/cluster/units.h"
#include "meshwright/hlo/program/program.h"
#include "meshwright/solve/iopddl_json.h"
#include "meshwright/solve/solution_json.h"
#include "meshwright/solve/solver.h"

namespace meshwright {
namespace {

struct SolveCommand {
  std::string problem;
  std::string deadline = "60s";
  int threads = 2;
  uint64_t seed = 1;
  bool quiet = false;
  OutputFile output{"-o", ""};
};

void ShowProgress(const solve::Progress& progress) {
  std::string line = absl::StrFormat("[%7.2f s] %-10s", progress.seconds, progress.phase);
  if (progress.has_incumbent) {
    absl::StrAppendFormat(&line, "  cost %s", solve::Int128Text(progress.cost));
  }
  if (progress.bound > 0) {
    absl::StrAppendFormat(&line, "  bound %s", solve::Int128Text(progress.bound));
    if (progress.has_incumbent && progress.cost > 0) {
      absl::StrAppendFormat(&line, "  gap %.3f %%",
                            100 * static_cast<double>(progress.cost - progress.bound) /
                                static_cast<double>(progress.cost));
    }
  }
  std::fprintf(stderr, "%s\n", line.c_str());
}

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
  MW_RETURN_IF_ERROR(PrintOutput("[]\n"));
  if (solution.outcome == solve::Outcome::kUnknown && interrupted) {
    return absl::ResourceExhaustedError("interrupted before a feasible assignment was found");
  }
  if (solution.outcome == solve::Outcome::kUnknown) {
    return absl::ResourceExhaustedError(
        "no feasible assignment found before the deadline; --deadline gives it more time");
  }
  return absl::ResourceExhaustedError(StrCat("infeasible: ", WhyInfeasible(problem, solution)));
}

absl::StatusOr<solve::Problem> ReadProblem(const std::string& path) {
  if (path != "-") return solve::ReadIopddl(path);
  MW_ASSIGN_OR_RETURN(std::string text, ReadInput(path));
  MW_ASSIGN_OR_RETURN(text, MaybeGunzip(std::move(text), "standard input"));
  return solve::ParseIopddl(std::move(text), "standard input");
}

absl::Status RunSolve(const SolveCommand& command) {
  const absl::StatusOr<double> deadline = ParseDuration(command.deadline);
  if (!deadline.ok()) {
    return absl::Status(deadline.status().code(),
                        StrCat("--deadline: ", std::string(deadline.status().message())));
  }
  if (*deadline <= 0) return absl::InvalidArgumentError("--deadline: must be more than 0 seconds");
  MW_RETURN_IF_ERROR(CheckOutputs({command.output}, {command.problem}));
  const Interruption interruption;
  MW_ASSIGN_OR_RETURN(const solve::Problem problem, ReadProblem(command.problem));
  solve::SolverOptions options;
  options.deadline_seconds = *deadline;
  options.threads = command.threads;
  options.seed = command.seed;
  if (!command.quiet) options.progress = ShowProgress;
  options.stop = [&interruption] { return interruption.Requested(); };
  solve::Solution solution;
  if (!interruption.Requested()) {
    MW_ASSIGN_OR_RETURN(solution, solve::Solve(problem, options));
  }
  if (solution.choice.empty() &&
      !(problem.nodes.empty() && solution.outcome == solve::Outcome::kOptimal))
    return NoAnswer(problem, solution, interruption.Requested());
  MW_RETURN_IF_ERROR(CheckAnswer(problem, solution));
  if (interruption.Requested() && solution.outcome == solve::Outcome::kFeasible)
    std::fputs("meshwright: interrupted; this is the best answer found so far\n", stderr);
  if (!command.output.path.empty()) {
    MW_RETURN_IF_ERROR(WriteOutput(command.output, solve::SolutionToJson(problem, solution)));
  }
  return PrintOutput(StrCat(
      solve::OutcomeName(solution.outcome), ": cost ", solve::Int128Text(solution.cost), ", bound ",
      solve::Int128Text(solution.bound), ", gap ", absl::StrFormat("%.4f %%", 100 * solution.gap),
      ", peak usage ", solve::Int128Text(solution.peak), "\n", solve::ChoiceText(solution), "\n"));
}

}  // namespace

Action AddSolveVerb(CLI::App& app) {
  const auto command = std::make_shared<SolveCommand>();
  app.add_option(
         "PROBLEM", command->problem,
         "assignment problem in the IOPDDL contest's JSON, gzip or plain, where a usage_limit of "
         "9223372036854775807 is none; - for standard input")
      ->required();
  app.add_option("--deadline", command->deadline,
                 "time for the search, like 60s. At its end, and after an interrupt (Ctrl-C, "
                 "SIGTERM), the best answer so far is printed and written: exit code 0, or 3 if "
                 "none was found. A second interrupt ends the program at once")
      ->capture_default_str();
  app.add_option("--threads", command->threads, "threads of the search")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--seed", command->seed, "equal seeds give equal answers")
      ->check(IsSeed())
      ->capture_default_str();
  AddOutputOption(app, "-o,--output", command->output.path,
                  "write cost, bound, gap, choice and history as JSON");
  app.add_flag("--quiet", command->quiet, "no progress on standard error");
  return [command] { return RunSolve(*command); };
}

}  // namespace meshwright
