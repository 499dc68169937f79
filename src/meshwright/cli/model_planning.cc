#include "meshwright/cli/model_planning.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/cli/fasop_planning.h"
#include "meshwright/cli/interruption.h"
#include "meshwright/cli/message.h"
#include "meshwright/cli/output.h"
#include "meshwright/cli/requested_model.h"
#include "meshwright/cli/sweep_planning.h"
#include "meshwright/cluster/mixed_cluster.h"
#include "meshwright/cluster/units.h"
#include "meshwright/export/launch_filter.h"
#include "meshwright/export/usual_choices.h"
#include "meshwright/model/builtin_models.h"
#include "meshwright/plan/document/plan_json.h"
#include "meshwright/plan/make/plan_model.h"
#include "meshwright/plan/make/plan_program.h"
#include "meshwright/plan/make/request_options.h"
#include "meshwright/plan/text/transformer_table.h"

namespace meshwright {
namespace {

// Sequences are this long where neither the user nor a shorter model says.
constexpr int64_t kTokensUnlessGiven = 4096;
constexpr int64_t kMostSequences = int64_t{1} << 30;
constexpr int64_t kMostAlternatives = 1000;
constexpr double kFusedLogitBytes = 4;  // StateOptions::logit_bytes
constexpr double kMostSeconds = 1e12;   // between failures, and to restart
constexpr double kSlowestCheckpoints = 1e3, kFastestCheckpoints = 1e15;  // bytes a second

constexpr std::initializer_list<const char*> kModelOptions = {
    "--global-batch", "--seq",   "--dtype",      "--top",  "--objective",
    "--tp",           "--grads", "--moments",    "--mtbf", "--checkpoint-bandwidth",
    "--restart",      "--sweep", "--fused-loss", "--weak", "--csv",
    "--for"};
constexpr std::initializer_list<const char*> kProgramOptions = {
    "--mesh",   "--db",   "--db-environment", "--pipeline", "--micro-batches", "--schedule",
    "--layers", "--data", "--emit",           "--fix-file", "--seed",          "--no-recompute"};

// The first of `options` that the user gave; null: none.
template <typename Options>
const char* FirstGiven(const CLI::App& app, const Options& options) {
  for (const char* const option : options) {
    if (app.get_option(option)->count() > 0) return option;
  }
  return nullptr;
}

bool BeginsWithBrace(const std::string& path) {
  std::ifstream file(path);
  char first = 0;
  return file >> std::ws && file.get(first) && first == '{';
}

absl::StatusOr<std::optional<int64_t>> Budget(const std::string& memory, const Cluster& cluster) {
  if (memory == "device") return std::optional<int64_t>(cluster.device.memory_bytes);
  if (memory == "unlimited") return std::optional<int64_t>();
  const absl::StatusOr<int64_t> bytes = ParseBytes(memory);
  if (bytes.ok()) return std::optional<int64_t>(*bytes);
  return absl::InvalidArgumentError(absl::StrCat("--memory: ", bytes.status().message()));
}

absl::StatusOr<ModelCost> ParseModelCost(const std::string& name) {
  if (name == "auto" || name == "calibrated") return ModelCost::kCalibrated;
  if (name == "nersc") return ModelCost::kNersc;
  return absl::InvalidArgumentError(
      absl::StrCat("--cost-model: found \"", name, "\"; models have calibrated, nersc and fasop"));
}

// Bytes of an element: f32 or bf16.
absl::StatusOr<double> ParseStateType(const char* option, const std::string& type) {
  if (type == "f32") return 4.0;
  if (type == "bf16") return 2.0;
  return absl::InvalidArgumentError(
      absl::StrCat(option, ": found \"", type, "\", expected f32 or bf16"));
}

// --tp, into fixes that --fix did not set.
absl::Status ApplyTensor(const std::string& tensor, transformer::Fixes& fixes) {
  const bool one = tensor == "1d" || tensor == "seqp";
  if (!one && tensor != "2d" && tensor != "auto") {
    return absl::InvalidArgumentError(
        absl::StrCat("--tp: found \"", tensor, "\", expected 1d, 2d, seqp or auto"));
  }
  // Rows and panels are a grid's.
  const bool grid = fixes.tp2.value_or(1) > 1 || fixes.panels.value_or(0) > 0;
  if (!fixes.grid.has_value() && tensor != "auto") fixes.grid = tensor == "2d" || grid;
  if (tensor != "seqp") return absl::OkStatus();
  constexpr auto gathered = transformer::ContextKind::kAllGather;
  if (fixes.context.value_or(gathered) != gathered) {
    return absl::InvalidArgumentError(
        StrCat("--tp seqp gathers keys (context=allgather), but --fix has context=",
               transformer::ContextKindName(*fixes.context)));
  }
  fixes.context = gathered;
  return absl::OkStatus();
}

absl::StatusOr<double> ParsePositiveDuration(const char* option, const std::string& text,
                                             bool or_zero) {
  const absl::StatusOr<double> seconds = ParseDuration(text);
  if (!seconds.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(option, ": ", seconds.status().message()));
  }
  if ((*seconds > 0 || or_zero) && *seconds <= kMostSeconds) return *seconds;
  return absl::InvalidArgumentError(absl::StrCat(option, ": found \"", text, "\"; it must be ",
                                                 or_zero ? "" : "more than 0 and ",
                                                 "at most 1e12 seconds"));
}

absl::StatusOr<std::optional<FailureRequest>> ParseFailures(const ModelPlanningOptions& options) {
  if (options.mtbf.empty()) return std::optional<FailureRequest>();
  FailureRequest failures;
  MW_ASSIGN_OR_RETURN(failures.gpu_mtbf_seconds,
                      ParsePositiveDuration("--mtbf", options.mtbf, /*or_zero=*/false));
  MW_ASSIGN_OR_RETURN(failures.restart_seconds,
                      ParsePositiveDuration("--restart", options.restart, /*or_zero=*/true));
  const absl::StatusOr<double> bandwidth = ParseBandwidth(options.checkpoint_bandwidth);
  if (!bandwidth.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--checkpoint-bandwidth: ", bandwidth.status().message()));
  }
  if (*bandwidth < kSlowestCheckpoints || *bandwidth > kFastestCheckpoints) {
    return absl::InvalidArgumentError(absl::StrCat("--checkpoint-bandwidth: found \"",
                                                   options.checkpoint_bandwidth,
                                                   "\", expected from 1kB/s to 1e6GB/s for a GPU"));
  }
  failures.checkpoint_bytes_per_second = *bandwidth;
  return std::optional<FailureRequest>(failures);
}

// Tokens of a sequence, where the user may have said how many.
int64_t SequenceOf(const transformer::Model& model, int64_t given) {
  if (given > 0) return given;
  const int64_t longest = model.max_sequence > 0 ? model.max_sequence : kTokensUnlessGiven;
  const bool image = model.embedding.patches.has_value();
  return image ? longest : std::min(longest, kTokensUnlessGiven);
}

absl::Status RunOverGroups(const PlanningOptions& options, const ModelPlanningOptions& model,
                           const CLI::App& app) {
  for (const char* const option :
       {"--sweep", "--top", "--tp", "--grads", "--moments", "--fused-loss", "--mtbf",
        "--cost-model", "--launchable", "--deadline"}) {
    if (app.get_option(option)->count() == 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(option, " does not go with groups of nodes or costs",
                     std::string_view(option) == "--launchable" ? "; --for megatron does" : ""));
  }
  if (model.mixed.pareto && app.get_option("--objective")->count() > 0) {
    return absl::InvalidArgumentError(
        "--pareto gives the plans of least time, of least cost and all between; leave --objective "
        "out, and choose one of them by --point");
  }
  MixedModelRequest request;
  request.launch_targets = model.launch_targets;
  request.objective = model.objective;
  request.csv_path = model.csv_path;
  request.workload.global_batch = model.global_batch;
  MW_ASSIGN_OR_RETURN(request.precision, transformer::ParsePrecision(model.dtype));
  MW_ASSIGN_OR_RETURN(request.model,
                      ReadRequestedModel(options.program, request.description, request.inputs));
  request.workload.sequence = SequenceOf(request.model, model.sequence);
  return RunMixedPlanning(options, model.mixed, std::move(request));
}

// Whether an option is of costs in dollars or of a whole run. --plot is of sweeps as well.
bool AsksForGroups(const ModelPlanningOptions& model, const CLI::App& app) {
  if (model.objective == "cost") return true;
  return std::any_of(MixedOptionNames().begin(), MixedOptionNames().end(), [&](const char* option) {
    return std::string_view(option) != "--plot" && app.get_option(option)->count() > 0;
  });
}

// --for, or --launchable.
absl::Status SetLaunchFilter(const ModelPlanningOptions& model, ModelRequest& request) {
  const bool any = model.launch_targets.empty();
  request.taken_by = any ? "--launchable" : absl::StrCat("--for ", model.launch_targets);
  if (request.cost == ModelCost::kNersc) {
    return absl::InvalidArgumentError(
        absl::StrCat(any ? "--launchable" : "--for",
                     " does not go with --cost-model nersc, whose plans are not launched"));
  }
  if (request.state != transformer::StateOptions()) {
    return absl::InvalidArgumentError(
        StrCat("no plan is for ", request.taken_by, ": ", kOnlyUsualState));
  }
  ModelLaunch launch;
  launch.model = request.model;
  launch.SetDescription(request.description);
  launch.workload = request.workload;
  launch.ranks.kinds = {{request.cluster.device.name, request.cluster.device.name}};
  if (any) {
    request.takes = AnyLaunchFilter(std::move(launch));
    return absl::OkStatus();
  }
  MW_ASSIGN_OR_RETURN(const std::vector<const ExportTarget*> targets,
                      ParseLaunchTargets(model.launch_targets));
  MW_ASSIGN_OR_RETURN(request.takes, LaunchFilter(targets, std::move(launch)));
  return absl::OkStatus();
}

absl::Status PlanAsFasop(const PlanningOptions& options, const ModelPlanningOptions& model,
                         const CLI::App& app) {
  for (const char* const option :
       {"--global-batch", "--seq",      "--dtype",      "--objective",  "--sweep",
        "--fix",          "--memory",   "-o",           "--json",       "--explain",
        "--max-cost",     "--max-time", "--tokens",     "--steps",      "--profile",
        "--plot",         "--point",    "--for",        "--launchable", "--tp",
        "--grads",        "--moments",  "--fused-loss", "--mtbf",       "--deadline"}) {
    if (app.get_option(option)->count() == 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(option,
                     " does not go with --cost-model fasop, which is as published: only "
                     "--cluster, --top, --pareto and --csv do"));
  }
  return RunFasopPlanning({.model = options.program,
                           .cluster = options.search.cluster,
                           .top = model.top,
                           .pareto = model.mixed.pareto,
                           .csv_path = model.csv_path});
}

}  // namespace

std::shared_ptr<ModelPlanningOptions> AddModelPlanningOptions(CLI::App& app) {
  auto options = std::make_shared<ModelPlanningOptions>();
  app.add_option("--global-batch", options->global_batch, "sequences of a step; models need it")
      ->check(CLI::Range(int64_t{1}, kMostSequences));
  app.add_option("--seq", options->sequence,
                 "tokens per sequence; without it the model's longest, at most 4096")
      ->check(CLI::Range(int64_t{1}, transformer::kMaxSequence));
  app.add_option("--dtype", options->dtype,
                 "type of matrix products: bf16, fp16, fp8, mxfp8 or nvfp4")
      ->capture_default_str();
  app.add_option("--top", options->top, "how many of the best to list")
      ->check(CLI::Range(int64_t{1}, kMostAlternatives))
      ->capture_default_str();
  app.add_option("--objective", options->objective,
                 "what is best: the least time; gpus, the fewest that it fits on; memory; or, with "
                 "prices, cost")
      ->capture_default_str();
  app.add_option(
         "--tp", options->tensor,
         "kind of tensor parallelism; 1d: over outputs; 2d: SUMMA on a grid; seqp: heads over "
         "tp and the sequence over cp, with gathered keys; auto: any")
      ->capture_default_str();
  app.add_flag("--launchable", options->launchable,
               "only what `export` writes launches for, to one target at least: GPUs numbered in "
               "order, context parallelism by rings, nothing offloaded unless fixed, whole layers "
               "or attention recomputed");
  app.add_option("--for", options->launch_targets,
                 "models: only what `export` can write for each of these targets, like "
                 "megatron,nemo");
  app.add_option("--grads", options->gradients,
                 "type that gradients are kept and summed in: f32 or bf16")
      ->capture_default_str();
  app.add_option("--moments", options->moments, "type of Adam's moments: f32 or bf16")
      ->capture_default_str();
  app.add_flag("--fused-loss", options->fused_loss,
               "one kernel makes the gradient of the logits in place");
  CLI::Option* const mtbf = app.add_option(
      "--mtbf", options->mtbf,
      "mean time between failures of a GPU with its share of the node, like 50000h: what "
      "failures and checkpoints leave");
  app.add_option("--checkpoint-bandwidth", options->checkpoint_bandwidth,
                 "bandwidth at which a GPU writes checkpoints")
      ->capture_default_str()
      ->needs(mtbf);
  app.add_option("--restart", options->restart, "time from a failure until training goes on")
      ->capture_default_str()
      ->needs(mtbf);
  CLI::Option* const sweep =
      app.add_option("--sweep", options->sweep,
                     "gpus=64..4096: the best plan on 64, 128, ... GPUs in nodes like the "
                     "cluster's, also on more than it has; -o has the one on the most, and all in "
                     "short");
  app.add_flag("--weak", options->weak, "let the global batch grow with the GPUs of --sweep")
      ->needs(sweep);
  AddOutputOption(app, "--csv", options->csv_path, "write the table of --sweep or --pareto here");
  AddMixedPlanningOptions(app, options->mixed);
  return options;
}

bool IsModel(const std::string& argument, const CLI::App& app) {
  std::error_code error;
  const bool asked =
      FirstGiven(app, kModelOptions) != nullptr || FirstGiven(app, MixedOptionNames()) != nullptr;
  const bool is_file = std::filesystem::is_regular_file(argument, error);
  const bool holds_something = is_file && std::filesystem::file_size(argument, error) > 0;
  // What is no file with something in it cannot be looked at: a pipe would lose what is read.
  if (argument == "-" || (std::filesystem::exists(argument, error) && !holds_something)) {
    return asked || std::filesystem::exists(argument + "/config.json", error);
  }
  if (!std::filesystem::exists(argument, error)) {
    return asked || transformer::FindBuiltinModel(argument) != nullptr;
  }
  return std::filesystem::exists(argument + "/config.json", error) ||
         absl::EndsWith(argument, ".yaml") || absl::EndsWith(argument, ".yml") ||
         BeginsWithBrace(argument);
}

absl::Status CheckNoModelOptions(const CLI::App& app) {
  const char* option = FirstGiven(app, kModelOptions);
  if (option == nullptr) option = FirstGiven(app, MixedOptionNames());
  if (option == nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      option,
      " is for models, but this is a program; a model is a name that `meshwright model "
      "--list` shows, a config.json or a YAML file"));
}

absl::Status RunModelPlanning(const PlanningOptions& options, const ModelPlanningOptions& model,
                              const CLI::App& app) {
  const char* const wrong = FirstGiven(app, kProgramOptions);
  if (wrong != nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        wrong, " is for programs, but ", options.program,
        " is a model; its degrees are searched, and --fix tp=8,pp=4 fixes some of them"));
  }
  if (options.search.cost_model == "fasop") return PlanAsFasop(options, model, app);
  if (model.global_batch == 0) {
    return absl::InvalidArgumentError("--global-batch is required: sequences of a step");
  }
  if (IsMixedCluster(options.search.cluster) || AsksForGroups(model, app)) {
    return RunOverGroups(options, model, app);
  }
  for (const char* const option : {"--csv", "--plot"}) {
    if (app.get_option(option)->count() == 0 || !model.sweep.empty()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(option, " writes what --sweep or --pareto finds; give one"));
  }
  const std::optional<ModelObjective> objective = FindModelObjective(model.objective);
  if (!objective.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("--objective: found \"", model.objective,
                                                   "\", expected time, gpus, memory or cost"));
  }
  const OutputFile plan_file = {"-o", options.plan_path}, csv_file = {"--csv", model.csv_path},
                   plot_file = {"--plot", model.mixed.plot_path};
  MW_RETURN_IF_ERROR(
      CheckOutputs({plan_file, csv_file, plot_file}, {options.program, options.search.cluster}));

  ModelRequest request;
  MW_ASSIGN_OR_RETURN(request.cost, ParseModelCost(options.search.cost_model));
  MW_ASSIGN_OR_RETURN(request.state.gradient_bytes, ParseStateType("--grads", model.gradients));
  MW_ASSIGN_OR_RETURN(request.state.moment_bytes, ParseStateType("--moments", model.moments));
  if (model.fused_loss) request.state.logit_bytes = kFusedLogitBytes;
  MW_ASSIGN_OR_RETURN(request.failures, ParseFailures(model));
  if (request.cost == ModelCost::kCalibrated) {
    MW_ASSIGN_OR_RETURN(request.deadline_seconds,
                        ParseDeadline(options.search.deadline, "--deadline"));
  } else if (app.get_option("--deadline")->count() > 0) {
    return absl::InvalidArgumentError(
        "--deadline does not go with --cost-model nersc, whose searches are as published");
  }
  request.objective = *objective;
  request.top = model.top;
  request.threads = options.search.threads;
  request.workload.global_batch = model.global_batch;
  MW_ASSIGN_OR_RETURN(request.precision, transformer::ParsePrecision(model.dtype));
  MW_ASSIGN_OR_RETURN(request.fixes, transformer::ParseFixes(options.search.fixes));
  MW_RETURN_IF_ERROR(ApplyTensor(model.tensor, request.fixes));
  const bool launched = model.launchable || !model.launch_targets.empty();
  if (launched) request.fixes = transformer::LaunchableFixes(request.fixes);
  MW_ASSIGN_OR_RETURN(request.cluster, ParseCluster(options.search.cluster));
  MW_ASSIGN_OR_RETURN(request.budget_bytes, Budget(options.search.memory, request.cluster));
  MW_ASSIGN_OR_RETURN(request.model,
                      ReadRequestedModel(options.program, request.description, request.inputs));
  MW_RETURN_IF_ERROR(AddClusterInput(options.search.cluster, request.inputs));
  request.workload.sequence = SequenceOf(request.model, model.sequence);
  if (launched) MW_RETURN_IF_ERROR(SetLaunchFilter(model, request));
  const Interruption interruption;
  request.stop = [&interruption] { return interruption.Requested(); };
  if (!model.sweep.empty()) return RunSweepPlanning(options, model, request);
  MW_ASSIGN_OR_RETURN(const Plan plan, PlanModel(request));
  if (interruption.Requested() && SearchWasEnded(plan)) {
    std::fputs("meshwright: interrupted; this is the best plan found so far\n", stderr);
  }
  const bool want_json = options.json || !plan_file.path.empty();
  const std::string json = want_json ? PlanToJson(plan) : std::string();
  if (!plan_file.path.empty()) MW_RETURN_IF_ERROR(WriteOutput(plan_file, json));
  return PrintPlan(options, plan, json);
}

}  // namespace meshwright
