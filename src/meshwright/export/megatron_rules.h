#ifndef MESHWRIGHT_EXPORT_MEGATRON_RULES_H_
#define MESHWRIGHT_EXPORT_MEGATRON_RULES_H_

#include <cstdint>

#include "meshwright/degrees/rank_order.h"
#include "meshwright/export/findings.h"
#include "meshwright/export/model_launch.h"

// What Megatron-Core can express, for Megatron-LM and for Megatron-Bridge (NeMo), which is built on
// it. Numbers of rules are those of docs/export.md.

namespace meshwright {

// Whether its GPT model can be given the sizes of `model` at all.
void CheckMegatronModel(const ModelLaunch& launch, Findings& findings);

// Whether `c` can be expressed for that model.
void CheckMegatronConfiguration(const ModelLaunch& launch, const transformer::Configuration& c,
                                Findings& findings);

// --cp-comm-type: how context parallelism communicates.
inline const char* ContextCommunication(transformer::ContextKind kind) {
  switch (kind) {
    case transformer::ContextKind::kRing:
      return "p2p";
    case transformer::ContextKind::kAllGather:
      return "all_gather";
    case transformer::ContextKind::kUlysses:
      break;
  }
  return "a2a";
}

// Gradients or weights are sharded by Megatron-FSDP; optimizer state alone by the distributed
// optimizer.
inline bool NeedsMegatronFsdp(const transformer::Configuration& c) { return c.zero >= 2; }

// GPUs are numbered along the pipeline before replicas (--use-tp-pp-dp-mapping).
inline bool NumbersPipelineFirst(const transformer::Configuration& c) {
  return RankOrderOf(c) == transformer::RankOrder::kPipelineThenData;
}

// Copies of a sharded optimizer: groups of `shard` out of dp x cp.
inline int64_t OptimizerInstances(const transformer::Configuration& c) {
  return c.zero == 0 || c.shard == 0 ? 1 : c.dp * c.cp / c.shard;
}

// Micro-batches that a virtual stage runs before the next one of its group
// (--microbatch-group-size-per-virtual-pipeline-stage): at least pp, and what is left over at the
// end none or at least pp (core/pipeline_parallel/schedules.py). The smallest of these, usually pp.
int64_t MicroBatchGroup(int64_t pp, int64_t micro_batches);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPORT_MEGATRON_RULES_H_
