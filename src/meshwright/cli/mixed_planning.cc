#include "meshwright/cli/mixed_planning.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/file.h"
#include "meshwright/base/sha256.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/cli/message.h"
#include "meshwright/cli/output.h"
#include "meshwright/cli/staged_outputs.h"
#include "meshwright/cluster/units.h"
#include "meshwright/explain/explain.h"
#include "meshwright/export/launch_filter.h"
#include "meshwright/plan/document/plan_json.h"
#include "meshwright/plan/make/build_mixed_plan.h"
#include "meshwright/plan/make/plan_mixed.h"
#include "meshwright/plan/make/plan_program.h"

namespace meshwright {
namespace {

constexpr int64_t kMostRunSteps = int64_t{1} << 40;
constexpr double kMostDollars = 1e15;
constexpr int64_t kLastPoint = 1'000'000;
constexpr int64_t kMostProfileBytes = int64_t{1} << 28;

// "300e9" or "15T": tokens of a whole run.
absl::StatusOr<double> ParseTokens(const std::string& text) {
  double value = 0, scale = 1;
  std::string number = text;
  constexpr std::pair<char, double> kSuffixes[] = {{'k', 1e3}, {'M', 1e6}, {'B', 1e9}, {'T', 1e12}};
  for (const auto& [suffix, factor] : kSuffixes) {
    if (number.empty() || number.back() != suffix) continue;
    number.pop_back();
    scale = factor;
    break;
  }
  if (!absl::SimpleAtod(number, &value) || !(value * scale >= 1 && value * scale <= 1e18)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--tokens: found \"", text, "\", expected tokens such as 300B or 3e11"));
  }
  return value * scale;
}

absl::Status SetLimits(const MixedPlanningOptions& mixed, const transformer::Workload& workload,
                       MixedRequest* request) {
  transformer::MixedSearchOptions& options = request->options;
  if (std::isnan(mixed.max_cost)) {
    return absl::InvalidArgumentError("--max-cost: found nan, expected dollars of a whole run");
  }
  if (mixed.steps > 0 && !mixed.tokens.empty()) {
    return absl::InvalidArgumentError("--steps and --tokens say the same; give one of them");
  }
  request->has_steps = mixed.steps > 0 || !mixed.tokens.empty();
  if (mixed.steps > 0) options.steps = static_cast<double>(mixed.steps);
  if (!mixed.tokens.empty()) {
    MW_ASSIGN_OR_RETURN(const double tokens, ParseTokens(mixed.tokens));
    options.steps =
        std::ceil(tokens / static_cast<double>(workload.global_batch * workload.sequence));
  }
  if (!request->has_steps && (mixed.max_cost > 0 || !mixed.max_time.empty())) {
    return absl::InvalidArgumentError(
        StrCat(mixed.max_cost > 0 ? "--max-cost" : "--max-time",
               " is of a whole run; give --tokens or --steps as well"));
  }
  if (mixed.max_cost > 0) options.most_dollars = mixed.max_cost;
  if (mixed.max_time.empty()) return absl::OkStatus();
  const absl::StatusOr<double> seconds = ParseDuration(mixed.max_time);
  if (!seconds.ok() || *seconds <= 0) {
    return absl::InvalidArgumentError(
        StrCat("--max-time: ", seconds.ok() ? "must be more than 0 seconds"
                                            : FromAbsl(seconds.status().message())));
  }
  options.most_seconds = *seconds;
  return absl::OkStatus();
}

// --for.
absl::Status SetLaunchTargets(const std::string& list, const std::string& description,
                              transformer::MixedProblem* problem) {
  MW_ASSIGN_OR_RETURN(const std::vector<const ExportTarget*> targets, ParseLaunchTargets(list));
  std::vector<const ExportTarget*> alike;
  for (const ExportTarget* const target : targets) {
    if (target->groups == TakesGroups::kNone) {
      return absl::InvalidArgumentError(
          StrCat("--for: ", target->name,
                 " has no launch over groups of nodes; megatron, nemo and slurm do"));
    }
    if (target->groups == TakesGroups::kAlike) alike.push_back(target);
  }
  ModelLaunch launch;
  launch.model = problem->model;
  launch.SetDescription(description);
  launch.workload = problem->workload;
  for (const NodeGroup& group : problem->cluster.groups) {
    launch.ranks.kinds.push_back({group.name, group.cluster.device.name});
  }
  problem->alike = !alike.empty();
  MW_ASSIGN_OR_RETURN(problem->takes, LaunchFilter(alike, std::move(launch)));
  return absl::OkStatus();
}

absl::Status SetBudgets(const std::string& memory, transformer::MixedProblem* problem) {
  if (memory == "device") return absl::OkStatus();
  std::optional<int64_t> budget;
  if (memory != "unlimited") {
    const absl::StatusOr<int64_t> bytes = ParseBytes(memory);
    if (!bytes.ok()) {
      return absl::InvalidArgumentError(StrCat("--memory: ", FromAbsl(bytes.status().message())));
    }
    budget = *bytes;
  }
  problem->budget_bytes.assign(problem->cluster.groups.size(), budget);
  return absl::OkStatus();
}

}  // namespace

const std::vector<const char*>& MixedOptionNames() {
  static const auto* const kNames =
      new std::vector<const char*>{"--max-cost", "--max-time", "--tokens",  "--steps",
                                   "--pareto",   "--point",    "--profile", "--plot"};
  return *kNames;
}

void AddMixedPlanningOptions(CLI::App& app, MixedPlanningOptions& options) {
  app.add_option("--max-cost", options.max_cost, "dollars that a whole run may cost")
      ->check(CLI::Range(1e-6, kMostDollars));
  app.add_option("--max-time", options.max_time, "time that a whole run may take, like 10d");
  app.add_option("--tokens", options.tokens, "tokens of a whole run, like 300B");
  app.add_option("--steps", options.steps, "steps of a whole run")
      ->check(CLI::Range(int64_t{1}, kMostRunSteps));
  CLI::Option* const pareto = app.add_flag("--pareto", options.pareto,
                                           "every plan than which none is both faster and cheaper");
  app.add_option("--point", options.point,
                 "the plan of the front that -o, --json and --explain give; 0: the fastest")
      ->check(CLI::Range(int64_t{0}, kLastPoint))
      ->capture_default_str()
      ->needs(pareto);
  app.add_option("--profile", options.profile,
                 "measured layer times as CSV (gpu, tp, layer_id, forward_seconds), in "
                 "place of the model's");
  AddOutputOption(app, "--plot", options.plot_path,
                  "write a Vega-Lite chart here: of --pareto time and cost of all choices of "
                  "nodes, of --sweep tokens a second by GPUs");
}

absl::Status RunMixedPlanning(const PlanningOptions& options, const MixedPlanningOptions& mixed,
                              MixedModelRequest model) {
  using transformer::MixedObjective;
  MixedRequest request;
  if (mixed.pareto) {
    request.options.objective = MixedObjective::kPareto;
  } else if (model.objective == "cost") {
    request.options.objective = MixedObjective::kCost;
  } else if (model.objective != "time") {
    return absl::InvalidArgumentError(StrCat("--objective: found \"", model.objective,
                                             "\", expected time or cost over groups of nodes"));
  }
  if (!mixed.pareto && !(model.csv_path.empty() && mixed.plot_path.empty())) {
    return absl::InvalidArgumentError(
        "over groups of nodes --csv and --plot write what --pareto finds; give that as well");
  }
  const OutputFile plan_file = {"-o", options.plan_path}, csv_file = {"--csv", model.csv_path},
                   plot_file = {"--plot", mixed.plot_path};
  MW_RETURN_IF_ERROR(CheckOutputs({plan_file, csv_file, plot_file},
                                  {options.program, options.search.cluster, mixed.profile}));
  transformer::MixedProblem& problem = request.problem;
  MW_ASSIGN_OR_RETURN(problem.fixes, transformer::ParseFixes(options.search.fixes));
  MW_ASSIGN_OR_RETURN(problem.cluster, ParseMixedCluster(options.search.cluster));
  request.description = std::move(model.description);
  request.inputs = std::move(model.inputs);
  MW_RETURN_IF_ERROR(AddClusterInput(options.search.cluster, request.inputs));
  problem.model = std::move(model.model);
  problem.workload = model.workload;
  problem.precision = model.precision;
  if (!model.launch_targets.empty()) {
    MW_RETURN_IF_ERROR(SetLaunchTargets(model.launch_targets, request.description, &problem));
  }
  request.memory = options.search.memory;
  MW_RETURN_IF_ERROR(SetBudgets(options.search.memory, &problem));
  MW_RETURN_IF_ERROR(SetLimits(mixed, problem.workload, &request));
  if (!mixed.profile.empty()) {
    MW_ASSIGN_OR_RETURN(const std::string text,
                        ReadFileMaybeGzip(mixed.profile, kMostProfileBytes));
    MW_ASSIGN_OR_RETURN(const std::string stored, ReadFile(mixed.profile));
    request.inputs.push_back({mixed.profile, "layer_profile", Sha256Hex(stored)});
    MW_ASSIGN_OR_RETURN(problem.profile, transformer::LayerProfile::Parse(
                                             text, mixed.profile,
                                             {.model = problem.model.name,
                                              .sequence = problem.workload.sequence,
                                              .dtype = PrecisionName(problem.precision)}));
  }
  MW_ASSIGN_OR_RETURN(MixedAnswer answer, PlanMixed(request));
  const auto points = static_cast<int64_t>(answer.result.front.size());
  if (mixed.point >= points) {
    return absl::InvalidArgumentError(StrCat("--point: found ", mixed.point, ", but the front has ",
                                             Counted(points, "plan"), ", 0 to ", points - 1));
  }
  answer.chosen = static_cast<size_t>(mixed.point);
  StagedOutputs outputs;
  if (!csv_file.path.empty()) MW_RETURN_IF_ERROR(outputs.Add(csv_file, MixedCsv(request, answer)));
  if (!plot_file.path.empty()) {
    MW_RETURN_IF_ERROR(outputs.Add(plot_file, MixedPlot(request, answer)));
  }
  const bool want_json = options.json || !plan_file.path.empty();
  const std::string json = want_json ? PlanToJson(BuildMixedPlan(request, answer)) : std::string();
  MW_RETURN_IF_ERROR(outputs.Add(plan_file, json));
  MW_RETURN_IF_ERROR(outputs.Commit());
  if (options.explain) return PrintScreen(ExplainPlan(BuildMixedPlan(request, answer)));
  return options.json ? PrintOutput(json) : PrintScreen(MixedTable(request, answer));
}

}  // namespace meshwright
