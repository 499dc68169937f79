#include "meshwright/export/usual_choices.h"

#include "meshwright/degrees/fixes.h"
#include "meshwright/degrees/framework.h"
#include "meshwright/degrees/rank_order.h"

namespace meshwright {

void RequireState(const transformer::StateOptions& state, bool writes_state, Findings& findings) {
  if (writes_state) {
    findings.Require(transformer::LossOf(state.logit_bytes) != transformer::Loss::kChunked,
                     "state: the loss of some tokens at once (--loss chunked) is written for no "
                     "framework");
    return;
  }
  findings.Require(state == transformer::StateOptions(),
                   "state: gradients and moments of 16 bits and any loss but that in f32 (--grads, "
                   "--moments, --loss) are written for Megatron-LM and NeMo only");
}

void RequireUsualChoices(const transformer::Configuration& c, Findings& findings) {
  findings.Require(c.tp2 == 1,
                   "tensor parallelism: no framework splits matmuls over a grid, so tp2 ", c.tp2,
                   " must be 1");
  findings.Require(c.recompute != transformer::Recompute::kModules,
                   "recomputation: that of single modules is written for no framework");
  findings.Require(c.recompute_stages == 0, "recomputation: in the first ", c.recompute_stages,
                   " pipeline groups alone is written for no framework");
  findings.Require(!c.ends_as_layers,
                   "stages: embedding and head are counted as layers for no framework");
}

void RequireUsualRanks(const transformer::Configuration& c, Findings& findings) {
  findings.Require(RankOrderOf(c) == transformer::RankOrder::kDataThenPipeline,
                   "ranks: launches number GPUs in order, so place must be order");
}

void RequireNoOffload(const transformer::Configuration& c, Findings& findings) {
  findings.Require(!c.offload_optimizer && !c.offload_activations,
                   "offloading to the host is written for Megatron-LM and NeMo only");
}

void RequireEveryLayer(const transformer::Configuration& c, Findings& findings) {
  findings.Require(c.recompute_layers == 0, "recomputation: of ", c.recompute_layers,
                   " layers of each stage is written for Megatron-LM and NeMo only");
}

void RequireRing(const transformer::Configuration& c, Findings& findings) {
  findings.Require(c.cp == 1 || c.context == transformer::ContextKind::kRing,
                   "context parallel: keys and values go around a ring, not by context=",
                   ContextKindName(c.context));
}

}  // namespace meshwright
