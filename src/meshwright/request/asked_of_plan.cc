#include "meshwright/request/asked_of_plan.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/sha256.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/model/model_reader.h"
#include "meshwright/plan/document/spec_text.h"
#include "meshwright/request/asked_framework.h"
#include "meshwright/request/groups_request.h"
#include "meshwright/request/model_request.h"
#include "meshwright/request/program_request.h"

namespace meshwright {
namespace {

constexpr char kClusterFile[] = "cluster_yaml";

// nullptr: the plan was made from no file of this kind.
const InputFile* InputOf(const Plan& plan, std::string_view kind) {
  const auto found = std::find_if(plan.inputs.begin(), plan.inputs.end(),
                                  [&](const InputFile& input) { return input.kind == kind; });
  return found == plan.inputs.end() ? nullptr : &*found;
}

// A duration with as many digits as it takes to read the same one back.
std::string DurationWord(double seconds) {
  const std::string number = Json(seconds).dump();  // 30.0
  return StrCat(absl::StripSuffix(number, ".0"), "s");
}

// Plans hold the kind of tensor parallelism as a fix.
void TakeTensorOfFixes(AskedOptions& asked) {
  asked.tensor = "auto";
  for (const char* const kind : {"1d", "2d"}) {
    if (std::erase(asked.fixes, StrCat("tensor=", kind)) > 0) asked.tensor = kind;
  }
}

// What programs on one mesh and pipelines were asked alike.
void AskOfAnyProgram(const Plan& plan, AskedOptions& asked) {
  const PlanOptions& options = plan.options;
  asked.cost_model = options.cost_model;
  asked.completion = Word(options.rest);
  for (const InputFile& input : plan.inputs) {
    if (input.kind == kCallRulesFile) asked.rule_files.push_back(input.path);
  }
  asked.threads = std::clamp<int64_t>(options.threads, 1, kMaxThreads);
  asked.seed = options.seed;
}

void AskOfProgram(const Plan& plan, AskedOptions& asked) {
  AskOfAnyProgram(plan, asked);
  asked.mesh = plan.mesh.empty() ? "1" : MeshText(plan.mesh);
}

void AskOfPipeline(const Plan& plan, AskedOptions& asked) {
  AskOfAnyProgram(plan, asked);
  const PlanOptions& options = plan.options;
  asked.mesh = options.mesh;
  asked.pipeline = options.pipeline;
  asked.micro_batches = options.micro_batches;
  asked.micro_batch_rng = Word(options.micro_batch_rng.value_or(MicroBatchRng::kExact));
  asked.schedule = options.schedule;
  asked.layers = options.layers;
  asked.no_recompute = !options.recompute;
  asked.data = options.data;
}

// Plans of published models have no framework.
void AskFrameworkOf(const PlanTransformer& part, AskedOptions& asked) {
  const transformer::Framework* const framework = transformer::FindFramework(part.framework);
  if (framework == nullptr) return;
  if (part.mtp.has_value()) asked.mtp = *part.mtp;
  const transformer::ChosenFramework chosen = {
      .framework = framework,
      .release = part.release,
      .attention = FromWord<transformer::AttentionKernel>(part.attention),
      .state = {.gradient_bytes = static_cast<double>(part.state.gradient_bytes),
                .moment_bytes = static_cast<double>(part.state.moment_bytes),
                .logit_bytes = part.state.logit_bytes}};
  // Whoever reads the description for more than that learns what is wrong with it.
  const absl::StatusOr<transformer::Model> model =
      transformer::ParseModel(part.description, part.model);
  AskFramework(chosen, model.value_or(transformer::Model()), asked);
}

// What models on one kind of device and over groups of nodes were asked alike.
void AskOfAnyModel(const Plan& plan, AskedOptions& asked) {
  const PlanTransformer& part = *plan.model;
  asked.global_batch = part.global_batch;
  asked.sequence = part.sequence;
  asked.dtype = std::string(transformer::PrecisionName(part.configuration.precision));
  if (plan.options.cost_model == kNerscCostModel) asked.cost_model = kNerscCostModel;
  if (part.objective == ModelObjective::kMemory || part.objective == ModelObjective::kCost)
    asked.objective = Word(part.objective);
  AskFrameworkOf(part, asked);
  asked.network = plan.options.network.value_or("");
}

void AskOfGroups(const Plan& plan, AskedOptions& asked) {
  AskOfAnyModel(plan, asked);
  const PlanOverGroups& over = *plan.groups;
  if (const InputFile* const profile = InputOf(plan, "layer_profile"); profile != nullptr)
    asked.profile = profile->path;
  if (over.steps.has_value()) asked.steps = static_cast<int64_t>(*over.steps);
  if (over.most_seconds.has_value()) asked.max_time = DurationWord(*over.most_seconds);
  if (over.most_dollars.has_value()) asked.max_cost = *over.most_dollars;
}

void AskOfModel(const Plan& plan, AskedOptions& asked) {
  AskOfAnyModel(plan, asked);
  TakeTensorOfFixes(asked);
  asked.threads = std::clamp<int64_t>(plan.options.threads, 1, kMaxThreads);
  if (asked.memory == absl::StrCat(plan.cluster.parts[0].device_memory_bytes)) {
    asked.memory = "device";
  }
}

// Files that the plan was made from beside its program and its model.
absl::Status CheckFiles(const Plan& plan) {
  const bool groups = plan.groups.has_value();
  const auto clusters =
      std::count_if(plan.inputs.begin(), plan.inputs.end(),
                    [](const InputFile& input) { return input.kind == kClusterFile; });
  for (const InputFile& input : plan.inputs) {
    if (input.kind == "layer_profile" || input.kind == kCallRulesFile) {
      if (input.path == "-") {
        return absl::InvalidArgumentError(
            "--why-not needs the rules of the plan's calls in a file; they came from standard "
            "input");
      }
      MW_RETURN_IF_ERROR(ReadSame(input.path, input, "file").status());
    }
    if (input.kind != kClusterFile) continue;
    MW_RETURN_IF_ERROR(ReadSame(input.path, input, "cluster's file").status());
    // The plan has the name in the file; of several, joined by `+`, it is not told which is whose.
    // Groups of nodes are of one file.
    if (clusters > 1 || (!groups && plan.cluster.name.find('+') != std::string::npos)) {
      return absl::InvalidArgumentError(
          "--why-not needs a cluster of one file, or of device types by name");
    }
  }
  return absl::OkStatus();
}

absl::Status OfPlan(const absl::Status& status) {
  return absl::Status(status.code(), StrCat("options of the plan: ", status.message()));
}

absl::StatusOr<PlanningRequest> GroupsRequestOf(const Plan& plan, const AskedOptions& asked) {
  MW_ASSIGN_OR_RETURN(GroupsRequest request, ToGroupsRequest(SubjectOf(plan), asked));
  request.problem.model.name = plan.model->model;
  request.inputs = plan.inputs;
  return request;
}

absl::StatusOr<PlanningRequest> ModelRequestOf(const Plan& plan, const AskedOptions& asked) {
  MW_ASSIGN_OR_RETURN(ModelRequest request, ToModelRequest(SubjectOf(plan), asked));
  request.model.name = plan.model->model;
  request.inputs = plan.inputs;
  // Who asks planners directly may have set no limit.
  if (plan.options.deadline_seconds <= 0)
    request.deadline_seconds = std::numeric_limits<double>::infinity();
  request.cluster.nodes = plan.cluster.parts[0].nodes;
  request.cluster.devices_per_node = plan.cluster.parts[0].devices_per_node;
  return request;
}

absl::StatusOr<PlanningRequest> ProgramRequestOf(const Plan& plan, const AskedOptions& asked) {
  MW_ASSIGN_OR_RETURN(ProgramRequest request, ToProgramRequest(SubjectOf(plan), asked));
  return request;
}

// How each kind of plan is asked for again, in the order of PlanKind.
struct AskingKind {
  void (*ask)(const Plan& plan, AskedOptions& asked);
  absl::StatusOr<PlanningRequest> (*request)(const Plan& plan, const AskedOptions& asked);
};
constexpr AskingKind kAskingKinds[] = {{&AskOfProgram, &ProgramRequestOf},
                                       {&AskOfPipeline, &ProgramRequestOf},
                                       {&AskOfModel, &ModelRequestOf},
                                       {&AskOfGroups, &GroupsRequestOf}};

const AskingKind& KindOf(const Plan& plan) {
  return kAskingKinds[static_cast<size_t>(plan.kind())];
}

}  // namespace

Subject SubjectOf(const Plan& plan) {
  if (plan.of_model()) {
    const InputFile* const file = InputOf(plan, "model");
    return {file == nullptr ? plan.model->model : file->path, plan.model->description};
  }
  const InputFile* const program = plan.program_file();
  return {program == nullptr ? "" : program->path};
}

AskedOptions AskedOf(const Plan& plan) {
  AskedOptions asked;
  const InputFile* const cluster = InputOf(plan, kClusterFile);
  asked.cluster = cluster == nullptr ? plan.cluster.name : cluster->path;
  asked.memory = plan.options.memory;
  asked.fixes = plan.options.fixes;
  if (plan.options.deadline_seconds > 0)
    asked.deadline = DurationWord(plan.options.deadline_seconds);
  KindOf(plan).ask(plan, asked);
  return asked;
}

absl::StatusOr<PlanningRequest> RequestOf(const Plan& plan, const AskedOptions& asked) {
  MW_RETURN_IF_ERROR(CheckFiles(plan));
  absl::StatusOr<PlanningRequest> request = KindOf(plan).request(plan, asked);
  if (!request.ok()) return OfPlan(request.status());
  return request;
}

absl::Status CheckSame(std::string_view contents, const std::string& path, const InputFile& input,
                       std::string_view what) {
  if (Sha256Hex(contents) == input.sha256) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat(path, ": is not the ", what,
                                           " that the plan was made from (", input.path,
                                           ", sha256 ", input.sha256.substr(0, 12), "...)"));
}

absl::StatusOr<std::string> ReadSame(const std::string& path, const InputFile& input,
                                     std::string_view what) {
  MW_ASSIGN_OR_RETURN(std::string contents, ReadInput(path));
  MW_RETURN_IF_ERROR(CheckSame(contents, path, input, what));
  return contents;
}

}  // namespace meshwright
