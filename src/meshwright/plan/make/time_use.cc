#include "meshwright/plan/make/time_use.h"

#include <algorithm>
#include <string>

#include "meshwright/hlo/shape.h"
#include "meshwright/inter/layers/phase.h"

namespace meshwright {
namespace {

bool IsMatmul(const Op& op, const Rule& rule) {
  if (op.kind != OpKind::kInstruction) return false;
  const Opcode opcode = op.instruction->opcode;
  return opcode == Opcode::kDot || opcode == Opcode::kRaggedDot || opcode == Opcode::kConvolution ||
         IsProduct(rule.kernel);
}

// Adds what the kernels of one execution of `graph` take. Devices that repeat the work of others
// do flops that the program has only once: these are no part of what is useful.
void AddKernels(const Graph& graph, const Mesh& mesh, const IntraPlan& intra, double times,
                StepUse* step) {
  PlanTimeUse* const use = &step->use;
  double at_peak = 0, matmuls = 0;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    const PlannedOp& planned = intra.ops[i];
    const double seconds = planned.compute_seconds * op.multiplicity;
    step->classes[static_cast<size_t>(ClassOf(op, planned.rule))] += times * seconds;
    if (!IsMatmul(op, planned.rule) || op.operands.empty()) {
      use->other_kernels += times * seconds;
      continue;
    }
    const std::string type(ElementTypeName(graph[op.operands[0]].shape.type));
    at_peak += planned.rule.flops * op.multiplicity /
               (mesh.cluster.device.PeakFlops(type) * static_cast<double>(mesh.devices()));
    matmuls += seconds;
  }
  // A matmul inside another's kernel has no time of its own.
  at_peak = std::min(at_peak, matmuls);
  use->matmuls_at_peak += times * at_peak;
  use->matmuls_below_peak += times * (matmuls - at_peak);
}

double KernelSeconds(const PlanTimeUse& use) {
  return use.matmuls_at_peak + use.matmuls_below_peak + use.other_kernels + use.recomputation;
}

// What is no kernel's.
void SetRest(StepUse* step) {
  step->classes[static_cast<size_t>(TimeClass::kCommunication)] = step->use.exposed_communication;
  step->classes[static_cast<size_t>(TimeClass::kLaunch)] = step->use.launch_overhead;
}

// `share`: of all devices, those of the stage.
void AddStage(const PipelineStage& stage, double micro_batches, double share, StepUse* step) {
  const ProgramSlice& slice = *stage.slice;
  PlanTimeUse* const all = &step->use;
  const double before = KernelSeconds(*all);
  AddKernels(slice.graph, stage.mesh, *stage.plan, share * micro_batches, step);
  for (size_t i = 0; stage.recompute && i < slice.graph.ops.size(); ++i) {
    if (slice.phase[i] != Phase::kForward) continue;
    const PlannedOp& planned = stage.plan->ops[i];
    const double seconds =
        share * micro_batches * planned.compute_seconds * slice.graph.ops[i].multiplicity;
    all->recomputation += seconds;
    step->classes[static_cast<size_t>(ClassOf(slice.graph.ops[i], planned.rule))] += seconds;
  }
  const double busy = micro_batches * (stage.overlapped.forward + stage.overlapped.backward) +
                      stage.overlapped.update;
  all->exposed_communication += std::max(0.0, share * busy - (KernelSeconds(*all) - before));
}

}  // namespace

StepUse UseOfStep(const Graph& graph, const Mesh& mesh, const IntraPlan& intra) {
  StepUse step;
  PlanTimeUse& use = step.use;
  AddKernels(graph, mesh, intra, 1, &step);
  use.launch_overhead = intra.launch_seconds;
  use.exposed_communication =
      std::max(0.0, intra.step_seconds - intra.launch_seconds - KernelSeconds(use));
  SetRest(&step);
  return step;
}

StepUse UseOfStep(const PipelinePlan& pipeline) {
  const auto devices_of = [](const PipelineStage& stage) {
    return static_cast<double>(stage.mesh.devices());
  };
  double devices = 0;
  for (int64_t g = 0; g < pipeline.shape.groups; ++g)
    devices += devices_of(pipeline.stages[static_cast<size_t>(g)]);
  StepUse step;
  PlanTimeUse& use = step.use;
  for (const PipelineStage& stage : pipeline.stages) {
    AddStage(stage, static_cast<double>(pipeline.shape.micro_batches), devices_of(stage) / devices,
             &step);
  }
  use.launch_overhead = pipeline.launch_seconds;
  use.bubble = std::max(0.0, pipeline.step_seconds - pipeline.launch_seconds - KernelSeconds(use) -
                                 use.exposed_communication);
  SetRest(&step);
  return step;
}

void SetUse(const StepUse& step, std::string_view cost_model,
            const std::vector<DeviceType>& devices, Plan* plan) {
  plan->time_use = step.use;
  const TimeByClass& classes = step.classes;
  const DeviceType& device = *std::max_element(
      devices.begin(), devices.end(), [&](const DeviceType& a, const DeviceType& b) {
        return ErrorOfStep(classes, cost_model, a) < ErrorOfStep(classes, cost_model, b);
      });
  plan->time_error = ErrorOfStep(classes, cost_model, device);
  plan->time_classes.clear();
  for (size_t c = 0; c < kTimeClasses; ++c) {
    if (classes[c] <= 0) continue;
    const auto one = static_cast<TimeClass>(c);
    const ClassError off = ErrorOf(one, cost_model, device);
    plan->time_classes.push_back({one, classes[c], off.error, off.measured});
  }
  std::stable_sort(plan->time_classes.begin(), plan->time_classes.end(),
                   [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  int64_t working = plan->peak_bytes;
  for (const MemoryCategory known :
       {MemoryCategory::kParameters, MemoryCategory::kOptimizerState, MemoryCategory::kInputs})
    working -= plan->memory_by_category[static_cast<size_t>(known)];
  plan->memory_error = plan->peak_bytes > 0 ? kWorkingMemoryError * static_cast<double>(working) /
                                                  static_cast<double>(plan->peak_bytes)
                                            : 0;
}

void SetModelErrors(const ClassError& off, Plan* plan) {
  plan->time_error = off.error;
  plan->time_classes = {{TimeClass::kModel, plan->step_seconds, off.error, off.measured}};
  plan->memory_error = kModelMemoryError;
}

}  // namespace meshwright
