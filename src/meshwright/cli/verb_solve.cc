#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "meshwright/answer/solve_request.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status.h"
#include "meshwright/cli/add_options.h"
#include "meshwright/cli/interruption.h"
#include "meshwright/cli/output.h"
#include "meshwright/cli/verb.h"
#include "meshwright/hlo/program/program.h"
#include "meshwright/solve/iopddl_json.h"
#include "meshwright/solve/solution_json.h"

namespace meshwright {
namespace {

struct SolveCommand {
  std::string problem;
  SolveAsked asked;
  bool quiet = false;
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

absl::StatusOr<solve::Problem> ReadProblem(const std::string& path) {
  if (path != "-") return solve::ReadIopddl(path);
  MW_ASSIGN_OR_RETURN(std::string text, ReadInput(path));
  MW_ASSIGN_OR_RETURN(text, MaybeGunzip(std::move(text), "standard input"));
  return solve::ParseIopddl(std::move(text), "standard input");
}

absl::Status RunSolve(const SolveCommand& command) {
  MW_ASSIGN_OR_RETURN(solve::SolverOptions options, ToSolverOptions(command.asked));
  const OutputFile output = {"-o", command.asked.output};
  MW_RETURN_IF_ERROR(CheckOutputs({output}, {command.problem}));
  MW_ASSIGN_OR_RETURN(const solve::Problem problem, ReadProblem(command.problem));
  Interruption interruption;
  interruption.Await();
  if (!command.quiet) options.progress = ShowProgress;
  options.stop = [&interruption] { return interruption.Requested(); };
  const absl::StatusOr<SolveAnswer> answer = SolveProblem(problem, options);
  if (absl::IsResourceExhausted(answer.status())) MW_RETURN_IF_ERROR(PrintOutput("[]\n"));
  MW_RETURN_IF_ERROR(answer.status());
  if (interruption.Requested() && answer->outcome == solve::Outcome::kFeasible)
    std::fputs("meshwright: interrupted; this is the best answer found so far\n", stderr);
  if (!output.path.empty()) MW_RETURN_IF_ERROR(WriteOutput(output, answer->json));
  return PrintOutput(answer->text);
}

}  // namespace

Action AddSolveVerb(CLI::App& app) {
  const auto command = std::make_shared<SolveCommand>();
  app.add_option(
         "PROBLEM", command->problem,
         "assignment problem in the IOPDDL contest's JSON, gzip or plain, where a usage_limit of "
         "9223372036854775807 is none; - for standard input")
      ->required();
  AddOptions(app, SolveOptionRows(command->asked));
  app.add_flag("--quiet", command->quiet, "no progress on standard error");
  return [command] { return RunSolve(*command); };
}

}  // namespace meshwright
