#include "meshwright/cli/planning_command.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/cli/fix_option.h"
#include "meshwright/cli/output.h"
#include "meshwright/cli/progress.h"
#include "meshwright/cluster/units.h"
#include "meshwright/plan/cost_model_table.h"
#include "meshwright/plan/plan_json.h"
#include "meshwright/plan/plan_program.h"
#include "meshwright/plan/plan_table.h"
#include "meshwright/plan/sha256.h"
#include "meshwright/plan/shortage.h"

namespace meshwright {
namespace {

constexpr int kMaxThreads = 1024;

// Prefixes an error with the option whose value is at fault.
absl::Status AtOption(absl::string_view option, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(option, ": ", status.message()));
}

absl::StatusOr<MemoryBudget> ParseMemory(const std::string& text) {
  if (text == "device") return MemoryBudget{MemoryBudget::Kind::kDevice};
  if (text == "unlimited") return MemoryBudget{MemoryBudget::Kind::kUnlimited};
  const absl::StatusOr<int64_t> bytes = ParseBytes(text);
  if (!bytes.ok()) return AtOption("--memory", bytes.status());
  return MemoryBudget{MemoryBudget::Kind::kBytes, *bytes};
}

absl::StatusOr<double> ParseDeadline(const std::string& text) {
  const absl::StatusOr<double> seconds = ParseDuration(text);
  if (!seconds.ok()) return AtOption("--deadline", seconds.status());
  if (*seconds <= 0) return absl::InvalidArgumentError("--deadline: must be more than 0 seconds");
  return *seconds;
}

absl::Status AddFixes(const PlanningOptions& options, ProgramRequest& request) {
  for (const std::string& path : options.fix_files) {
    MW_ASSIGN_OR_RETURN(const std::string text, ReadInput(path));
    request.more_inputs.push_back({path, "fixes", Sha256Hex(text)});
    MW_ASSIGN_OR_RETURN(const std::vector<Fix> fixes, ParseFixFile(text, path));
    request.fixes.insert(request.fixes.end(), fixes.begin(), fixes.end());
  }
  for (size_t i = 0; i < options.fixes.size(); ++i) {
    MW_ASSIGN_OR_RETURN(Fix fix, ParseFix(options.fixes[i], absl::StrCat("--fix #", i + 1)));
    request.fixes.push_back(std::move(fix));
  }
  return absl::OkStatus();
}

absl::StatusOr<ProgramRequest> ToRequest(const PlanningOptions& options) {
  ProgramRequest request;
  request.program = options.program;
  request.cluster = options.cluster;
  request.mesh = options.mesh;
  request.cost_model = options.cost_model;
  request.completion =
      options.completion == "xla" ? Completion::kPropagate : Completion::kLeastCost;
  request.threads = options.threads;
  request.seed = options.seed;
  MW_ASSIGN_OR_RETURN(request.memory, ParseMemory(options.memory));
  MW_ASSIGN_OR_RETURN(request.deadline_seconds, ParseDeadline(options.deadline));
  MW_RETURN_IF_ERROR(AddFixes(options, request));
  return request;
}

absl::StatusOr<PlannedProgram> PlanWithProgress(const PlanningOptions& options,
                                                ProgramRequest request) {
  const bool show = options.progress || (!options.quiet && isatty(STDERR_FILENO) != 0);
  std::optional<ProgressLine> line;
  if (show) {
    line.emplace();
    request.progress = [&line](const ProgramProgress& progress) { line->Show(progress); };
  }
  return PlanProgram(request);
}

std::string CostModelNames() {
  return absl::StrCat(
      absl::StrJoin(CostModelTable(), ", ",
                    [](std::string* out, const CostModelRow& row) {
                      StrAppend(out, row.name, " (", row.summary, ")");
                    }),
      ", or auto (what the cluster's file says, else calibrated where the device is)");
}

}  // namespace

std::shared_ptr<PlanningOptions> AddPlanningOptions(CLI::App& app) {
  auto options = std::make_shared<PlanningOptions>();
  options->cost_model = "auto";
  app.add_option("PROGRAM", options->program,
                 "HLO text, HloModuleProto or StableHLO text, gzipped or not; - for standard input")
      ->required();
  app.add_option("--cluster", options->cluster,
                 "NxDEVICE, NODESxNxDEVICE or a YAML file; `meshwright clusters` lists devices")
      ->required();
  app.add_option("--cost-model", options->cost_model, CostModelNames())->capture_default_str();
  app.add_option("--deadline", options->deadline, "time for the search, like 30s or 5min")
      ->capture_default_str();
  // Each --fix takes one value: a name may well begin with a bracket, which CLI11 would take for a
  // list.
  app.add_option("--fix", options->fixes,
                 "NAME=SPEC: shard the parameter, output or instruction NAME (* and ? match any "
                 "characters) like SPEC, say [x,_]; repeatable")
      ->allow_extra_args(false);
  app.add_option("--fix-file", options->fix_files,
                 "file with one NAME=SPEC a line, # comments; repeatable")
      ->allow_extra_args(false);
  app.add_option("--threads", options->threads, "threads of the search")
      ->check(CLI::Range(1, kMaxThreads))
      ->capture_default_str();
  app.add_option("--seed", options->seed, "equal seeds give equal plans")->capture_default_str();
  app.add_option("-o,--output", options->plan_path,
                 "write the plan (JSON, docs/plan-schema.md) here");
  app.add_option("--emit", options->emit_path, "write the program with sharding annotations here");
  app.add_flag("--json", options->json, "print the plan instead of a table");
  CLI::Option* const progress = app.add_flag("--progress", options->progress,
                                             "show progress even if standard error is no terminal");
  app.add_flag("--quiet", options->quiet, "show no progress")->excludes(progress);
  return options;
}

absl::Status RunPlanning(const PlanningOptions& options) {
  const OutputFile plan_file = {"-o", options.plan_path};
  const OutputFile emit_file = {"--emit", options.emit_path};
  std::vector<std::string> inputs = {options.program, options.cluster};
  inputs.insert(inputs.end(), options.fix_files.begin(), options.fix_files.end());
  MW_RETURN_IF_ERROR(CheckOutputs({plan_file, emit_file}, inputs));

  MW_ASSIGN_OR_RETURN(ProgramRequest request, ToRequest(options));
  MW_ASSIGN_OR_RETURN(const PlannedProgram planned, PlanWithProgress(options, std::move(request)));
  if (!planned.intra.fits) return absl::ResourceExhaustedError(ShortageText(planned));

  const bool want_json = options.json || !plan_file.path.empty();
  const std::string json = want_json ? PlanToJson(planned.plan) : std::string();
  if (!emit_file.path.empty()) MW_RETURN_IF_ERROR(WriteOutput(emit_file, AnnotatedText(planned)));
  if (!plan_file.path.empty()) MW_RETURN_IF_ERROR(WriteOutput(plan_file, json));
  return PrintOutput(options.json ? json : PlanTable(planned.plan));
}

}  // namespace meshwright
