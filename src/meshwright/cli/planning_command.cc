#include "meshwright/cli/planning_command.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/cli/message.h"
#include "meshwright/cli/option_checks.h"
#include "meshwright/cli/output.h"
#include "meshwright/cli/progress.h"
#include "meshwright/cli/stage_folder.h"
#include "meshwright/cli/staged_outputs.h"
#include "meshwright/explain/explain.h"
#include "meshwright/intra/cost_model_table.h"
#include "meshwright/plan/document/plan_json.h"
#include "meshwright/plan/make/plan_pipelined.h"
#include "meshwright/plan/make/plan_program.h"
#include "meshwright/plan/make/shortage.h"
#include "meshwright/plan/make/stage_modules.h"
#include "meshwright/plan/text/plan_table.h"
#include "meshwright/profile/plan_profiled.h"

namespace meshwright {
namespace {

// Runs `plan`, PlanProgram or PlanPipelinedProgram, with a line of progress where that is wanted.
template <typename Planned>
absl::StatusOr<Planned> PlanWithProgress(const PlanningOptions& options, ProgramRequest request,
                                         absl::StatusOr<Planned> (*plan)(const ProgramRequest&)) {
  const bool show = options.progress || (!options.quiet && isatty(STDERR_FILENO) != 0);
  std::optional<ProgressLine> line;
  if (show) {
    line.emplace();
    request.progress = [&line](const ProgramProgress& progress) { line->Show(progress); };
  }
  return plan(request);
}

std::vector<std::string> Inputs(const PlanningOptions& options) {
  std::vector<std::string> inputs = absl::StrSplit(options.search.cluster, '+');
  inputs.push_back(options.program);
  if (!options.search.db.empty()) inputs.push_back(options.search.db);
  inputs.insert(inputs.end(), options.search.fix_files.begin(), options.search.fix_files.end());
  return inputs;
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
  app.add_option("PROGRAM", options->program,
                 "HLO text, HloModuleProto, StableHLO text or bytecode, gzipped or not; - for "
                 "standard input")
      ->required();
  app.add_option("--cluster", options->search.cluster,
                 "NxDEVICE, NODESxNxDEVICE or a YAML file; `meshwright clusters` lists devices")
      ->required();
  app.add_option("--cost-model", options->search.cost_model, CostModelNames())
      ->capture_default_str();
  app.add_option("--deadline", options->search.deadline, "time for the search, like 30s or 5min")
      ->capture_default_str();
  // Each --fix takes one value: a name may well begin with a bracket, which CLI11 would take for a
  // list.
  app.add_option("--fix", options->search.fixes,
                 "NAME=SPEC: shard the parameter, output or instruction NAME (* and ? match any "
                 "characters) like SPEC, say [x,_]")
      ->allow_extra_args(false);
  app.add_option("--fix-file", options->search.fix_files,
                 "file with one NAME=SPEC a line, # comments")
      ->allow_extra_args(false);
  app.add_option("--threads", options->search.threads, "threads of the search")
      ->check(CLI::Range(1, kMaxThreads))
      ->capture_default_str();
  app.add_option("--seed", options->search.seed, "equal seeds give equal plans")
      ->check(IsSeed())
      ->capture_default_str();
  AddOutputOption(app, "-o,--output", options->plan_path,
                  "write the plan (JSON, docs/plan-schema.md) here");
  AddOutputOption(app, "--emit", options->emit_path,
                  "write the program with sharding annotations here");
  app.add_flag("--json", options->json, "print the plan instead of a table");
  CLI::Option* const progress = app.add_flag("--progress", options->progress,
                                             "show progress even if standard error is no terminal");
  app.add_flag("--quiet", options->quiet, "show no progress")->excludes(progress);
  return options;
}

absl::Status PrintPlan(const PlanningOptions& options, const Plan& plan, const std::string& json) {
  if (options.json) return PrintOutput(json);
  return PrintScreen(options.explain ? ExplainPlan(plan) : PlanTable(plan));
}

absl::Status RunPlanning(const PlanningOptions& options) {
  const OutputFile plan_file = {"-o", options.plan_path};
  const OutputFile emit_file = {"--emit", options.emit_path};
  MW_RETURN_IF_ERROR(CheckOutputs({plan_file, emit_file}, Inputs(options)));

  MW_ASSIGN_OR_RETURN(ProgramRequest request, ToProgramRequest(options.search, "--"));
  request.program = options.program;
  const auto plan = request.database.empty() ? &PlanProgram : &PlanProfiledProgram;
  MW_ASSIGN_OR_RETURN(const PlannedProgram planned,
                      PlanWithProgress(options, std::move(request), plan));
  if (!planned.intra.fits) return absl::ResourceExhaustedError(ShortageText(planned));

  const bool want_json = options.json || !plan_file.path.empty();
  const std::string json = want_json ? PlanToJson(planned.plan) : std::string();
  StagedOutputs outputs;
  if (!emit_file.path.empty()) MW_RETURN_IF_ERROR(outputs.Add(emit_file, AnnotatedText(planned)));
  MW_RETURN_IF_ERROR(outputs.Add(plan_file, json));
  MW_RETURN_IF_ERROR(outputs.Commit());
  return PrintPlan(options, planned.plan, json);
}

absl::Status RunPipelinePlanning(const PlanningOptions& options) {
  const OutputFile plan_file = {"-o", options.plan_path};
  const bool emits = !options.emit_path.empty();
  if (emits) {
    MW_RETURN_IF_ERROR(CheckStageFolder(options.emit_path, plan_file, Inputs(options)));
  }
  MW_RETURN_IF_ERROR(CheckOutputs({plan_file}, Inputs(options)));

  MW_ASSIGN_OR_RETURN(ProgramRequest request, ToProgramRequest(options.search, "--"));
  request.program = options.program;
  MW_ASSIGN_OR_RETURN(const PipelinedProgram planned,
                      PlanWithProgress(options, std::move(request), &PlanPipelinedProgram));
  if (!planned.pipeline.fits) return absl::ResourceExhaustedError(PipelineShortageText(planned));

  if (emits && !planned.whole_because.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--emit: there are no stages to write, as the program is not cut: ", planned.whole_because,
        "; without --pipeline it is written as one"));
  }
  const bool want_json = options.json || !plan_file.path.empty();
  const std::string json = want_json ? PlanToJson(planned.plan) : std::string();
  StagedOutputs outputs;
  MW_RETURN_IF_ERROR(outputs.Add(plan_file, json));
  if (emits) {
    MW_ASSIGN_OR_RETURN(const std::vector<StageFile> files, StageModules(planned));
    MW_RETURN_IF_ERROR(outputs.Commit([&] { return WriteStageFolder(options.emit_path, files); }));
  } else {
    MW_RETURN_IF_ERROR(outputs.Commit());
  }
  return PrintPlan(options, planned.plan, json);
}

}  // namespace meshwright
