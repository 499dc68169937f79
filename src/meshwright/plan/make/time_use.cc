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
                PlanTimeUse* use) {
  double at_peak = 0, matmuls = 0;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    const PlannedOp& planned = intra.ops[i];
    const double seconds = planned.compute_seconds * op.multiplicity;
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

// `share`: of all devices, those of the stage.
void AddStage(const PipelineStage& stage, double micro_batches, double share, PlanTimeUse* all) {
  const ProgramSlice& slice = *stage.slice;
  const double before = KernelSeconds(*all);
  AddKernels(slice.graph, stage.mesh, *stage.plan, share * micro_batches, all);
  for (size_t i = 0; stage.recompute && i < slice.graph.ops.size(); ++i) {
    if (slice.phase[i] != Phase::kForward) continue;
    all->recomputation += share * micro_batches * stage.plan->ops[i].compute_seconds *
                          slice.graph.ops[i].multiplicity;
  }
  const double busy = micro_batches * (stage.overlapped.forward + stage.overlapped.backward) +
                      stage.overlapped.update;
  all->exposed_communication += std::max(0.0, share * busy - (KernelSeconds(*all) - before));
}

}  // namespace

PlanTimeUse TimeUse(const Graph& graph, const Mesh& mesh, const IntraPlan& intra) {
  PlanTimeUse use;
  AddKernels(graph, mesh, intra, 1, &use);
  use.launch_overhead = intra.launch_seconds;
  use.exposed_communication =
      std::max(0.0, intra.step_seconds - intra.launch_seconds - KernelSeconds(use));
  return use;
}

PlanTimeUse TimeUse(const PipelinePlan& pipeline) {
  const auto devices_of = [](const PipelineStage& stage) {
    return static_cast<double>(stage.mesh.devices());
  };
  double devices = 0;
  for (int64_t g = 0; g < pipeline.shape.groups; ++g)
    devices += devices_of(pipeline.stages[static_cast<size_t>(g)]);
  PlanTimeUse use;
  for (const PipelineStage& stage : pipeline.stages) {
    AddStage(stage, static_cast<double>(pipeline.shape.micro_batches), devices_of(stage) / devices,
             &use);
  }
  use.launch_overhead = pipeline.launch_seconds;
  use.bubble = std::max(0.0, pipeline.step_seconds - pipeline.launch_seconds - KernelSeconds(use) -
                                 use.exposed_communication);
  return use;
}

}  // namespace meshwright
