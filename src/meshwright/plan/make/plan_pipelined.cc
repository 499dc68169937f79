#include "meshwright/plan/make/plan_pipelined.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "absl/strings/str_split.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/quantity_text.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/inter/slice/slice.h"
#include "meshwright/intra/cost_model_table.h"
#include "meshwright/plan/make/build_pipeline_plan.h"
#include "meshwright/plan/make/idle_devices.h"
#include "meshwright/plan/make/shortage.h"
#include "meshwright/plan/make/time_use.h"

namespace meshwright {
namespace {

using Clock = std::chrono::steady_clock;

absl::Status CheckCombination(const ProgramRequest& request) {
  if (!request.fixes.empty())
    return absl::InvalidArgumentError("shardings cannot be fixed with a pipeline");
  return absl::OkStatus();
}

double SecondsSinceStart(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

PipelineRequest ToPipelineRequest(const ProgramRequest& request, const CostModelRow& cost_model,
                                  const std::vector<Cluster>& clusters, Clock::time_point start) {
  PipelineRequest pipeline;
  pipeline.elapsed = [start] { return SecondsSinceStart(start); };
  pipeline.clusters = clusters;
  for (const Cluster& cluster : clusters)
    pipeline.memory_bytes.push_back(BudgetBytes(request.memory, cluster));
  pipeline.micro_batches = request.pipeline.micro_batches;
  pipeline.stages = request.pipeline.stages;
  if (request.mesh != "auto") pipeline.mesh = request.mesh;
  pipeline.schedule = request.pipeline.schedule;
  pipeline.recompute = request.pipeline.recompute;
  pipeline.data = request.pipeline.data;
  pipeline.rng = request.pipeline.rng;
  pipeline.layers.count = request.pipeline.layers;
  pipeline.cost_model = cost_model.make;
  pipeline.deadline_seconds = request.deadline_seconds;
  pipeline.threads = request.threads;
  pipeline.planner.space = cost_model.space;
  pipeline.planner.completion = request.completion;
  pipeline.planner.solver.seed = request.seed;
  pipeline.planner.solver.deadline_seconds = request.deadline_seconds;
  pipeline.planner.solver.stop = request.stop;
  if (request.progress) {
    pipeline.progress = [&request, start](const PipelineProgress& progress) {
      const std::string at = progress.micro_batches == 0
                                 ? std::string()
                                 : Counted(progress.micro_batches, "micro-batch", "micro-batches");
      const double seconds = SecondsSinceStart(start);
      ProgramProgress report{.seconds = seconds, .mesh = at, .phase = progress.phase};
      if (std::isfinite(request.deadline_seconds))
        report.left_seconds = std::max(0.0, request.deadline_seconds - seconds);
      if (progress.best_seconds > 0) report.best_seconds = progress.best_seconds;
      request.progress(report);
    };
  }
  return pipeline;
}

// Where a single stage would do as well, a program that cannot be cut is planned as one.
bool MayStayWhole(const ProgramRequest& request, const std::vector<Cluster>& clusters) {
  return request.pipeline.stages == 0 && request.pipeline.micro_batches <= 1 &&
         clusters.size() == 1;
}

absl::StatusOr<PipelinedProgram> PlanWhole(const ProgramRequest& request, std::string_view contents,
                                           const absl::Status& why, Clock::time_point start,
                                           PipelinedProgram planned) {
  ProgramRequest whole = request;
  whole.deadline_seconds = std::max(1e-3, request.deadline_seconds - SecondsSinceStart(start));
  whole.contents = contents;
  MW_ASSIGN_OR_RETURN(PlannedProgram program, PlanProgram(whole));
  if (!program.intra.fits) return absl::ResourceExhaustedError(ShortageText(program));
  planned.whole_because = FromAbsl(why.message());
  planned.plan = std::move(program.plan);
  planned.plan.warnings.insert(planned.plan.warnings.begin(),
                               StrCat("not cut into stages: ", planned.whole_because));
  return planned;
}

}  // namespace

absl::StatusOr<std::vector<Cluster>> ParseClusters(const std::string& text,
                                                   std::vector<InputFile>& inputs) {
  std::vector<Cluster> clusters;
  MW_ASSIGN_OR_RETURN(const std::vector<std::string> parts, SplitClusterParts(text));
  for (const std::string& part : parts) {
    MW_ASSIGN_OR_RETURN(Cluster cluster, ParseCluster(part));
    clusters.push_back(std::move(cluster));
    MW_RETURN_IF_ERROR(AddClusterInput(part, inputs));
  }
  return clusters;
}

absl::StatusOr<PipelinedProgram> PlanPipelinedProgram(const ProgramRequest& request) {
  const Clock::time_point start = Clock::now();
  MW_RETURN_IF_ERROR(CheckCombination(request));
  PipelinedProgram planned;
  std::vector<InputFile> cluster_inputs;
  MW_ASSIGN_OR_RETURN(planned.clusters, ParseClusters(request.cluster, cluster_inputs));
  MW_ASSIGN_OR_RETURN(const CostModelRow* const cost_model,
                      ChooseCostModel(request.cost_model, planned.clusters[0]));
  if (!cost_model->in_seconds) {
    return absl::InvalidArgumentError(StrCat("the cost model ", cost_model->name,
                                             " is unitless; a pipeline needs times, as those of "
                                             "roofline or calibrated"));
  }
  std::string contents;
  if (request.contents.has_value()) {
    contents = *request.contents;
  } else {
    MW_ASSIGN_OR_RETURN(contents, ReadInput(request.program));
  }
  MW_ASSIGN_OR_RETURN(planned.program,
                      ParseProgram(contents, request.program == "-" ? "<stdin>" : request.program));
  planned.program.input.path = request.program;
  MW_ASSIGN_OR_RETURN(Module module, ModuleToSlice(*planned.program.module, request.pipeline.data,
                                                   request.pipeline.rng));
  planned.module = std::make_unique<const Module>(std::move(module));
  MW_ASSIGN_OR_RETURN(Graph graph, BuildGraph(*planned.module));
  planned.graph = std::make_unique<const Graph>(std::move(graph));
  const PipelineRequest pipeline = ToPipelineRequest(request, *cost_model, planned.clusters, start);
  absl::StatusOr<PipelinePlan> cut = PlanPipeline(*planned.graph, pipeline);
  if (absl::IsFailedPrecondition(cut.status()) && MayStayWhole(request, planned.clusters))
    return PlanWhole(request, contents, cut.status(), start, std::move(planned));
  if (!cut.ok()) return cut.status();
  planned.pipeline = *std::move(cut);
  if (!planned.pipeline.fits) return planned;
  MW_ASSIGN_OR_RETURN(planned.plan, BuildPipelinePlan(planned.pipeline, *planned.graph,
                                                      planned.clusters, pipeline.memory_bytes));
  Plan& plan = planned.plan;
  plan.inputs = {planned.program.input};
  plan.inputs.insert(plan.inputs.end(), cluster_inputs.begin(), cluster_inputs.end());
  plan.options = ToPlanOptions(request, *cost_model);
  std::vector<DeviceType> devices;
  for (const Cluster& cluster : planned.clusters) {
    devices.push_back(cluster.device);
    if (auto warning = CalibrationWarning(*cost_model, cluster))
      plan.warnings.push_back(*std::move(warning));
  }
  if (cost_model->in_seconds) SetUse(UseOfStep(planned.pipeline), cost_model->name, devices, &plan);
  if (request.completion != Completion::kPropagate) {
    std::string idle = IdleStagesText(planned.pipeline);
    if (!idle.empty()) plan.warnings.push_back(std::move(idle));
  }
  plan.planning_seconds = SecondsSinceStart(start);
  return planned;
}

std::string PipelineShortageText(const PipelinedProgram& planned) {
  const int64_t bytes = planned.pipeline.smallest_bytes;
  return StrCat("nothing fits: no way was found to cut the program into stages for these devices; ",
                bytes == 0 ? std::string("it takes more memory, or more devices")
                           : StrCat("with ", BytesText(bytes), " a device (--memory ", bytes,
                                    ") or more devices there is one"));
}

}  // namespace meshwright
