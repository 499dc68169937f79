#ifndef MESHWRIGHT_TRANSFORMER_SPACE_H_
#define MESHWRIGHT_TRANSFORMER_SPACE_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "meshwright/transformer/configuration.h"
#include "meshwright/transformer/fixes.h"
#include "meshwright/transformer/model.h"

// Every configuration that Megatron-class frameworks can train a model with on a number of GPUs.
//
// Rules (Megatron-LM's arguments.py, transformer_config.py and parallel_state.py):
//   tp      divides the heads and the inner sizes of MLPs; divides the heads of keys and values, or
//           is a multiple of them
//   sp      tp > 1, and tp cp divides the sequence; experts over ep > 1 need it where tp > 1
//   cp      2 cp divides the sequence
//   pp      at most the layers; stages need not be equal
//   vp      interleaved only: pp > 1, pp micro-batches at least, and pp vp divides the layers,
//   those
//           with the embedding, the head or both counted as layers
//   zero bubble needs pp > 1
//   dp mbs  divides the global batch
//   ep      divides the experts, etp their inner size; ep etp divides tp cp dp
//   shard   a divisor of dp cp; ZeRO needs dp cp > 1
// Of configurations that are the same only one is listed: without experts ep and etp are 1, without
// ZeRO and where it spans dp cp shard is 0.

namespace meshwright::transformer {

class Space {
 public:
  // `model` must have passed CheckModel, `workload` and `gpus` be positive.
  Space(const Model& model, const Workload& workload, int64_t gpus, const Fixes& fixes,
        Precision precision);

  struct Degrees {
    int64_t tp, cp, pp, dp;
  };
  // All that have a configuration or lack one only for its batch or experts, in ascending order.
  std::vector<Degrees> AllDegrees() const;

  // A family's members differ in recomputation and in how ZeRO shards, and are all legal: each of
  // Recomputes() with each of Shardings(). Its first member stands for it.
  std::vector<Configuration> Families(const Degrees& degrees) const;
  const std::vector<Recompute>& Recomputes() const { return recomputes_; }
  struct Sharding {
    int zero;
    int64_t shard;
  };
  std::vector<Sharding> Shardings(const Degrees& degrees) const;

  // All of them, one by one.
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (const Degrees& degrees : AllDegrees()) {
      const std::vector<Sharding> shardings = Shardings(degrees);
      for (Configuration configuration : Families(degrees)) {
        for (const Recompute recompute : recomputes_) {
          configuration.recompute = recompute;
          for (const Sharding& sharding : shardings) {
            configuration.zero = sharding.zero;
            configuration.shard = sharding.shard;
            visit(configuration);
          }
        }
      }
    }
  }
  int64_t Count() const;
  std::vector<Configuration> All() const;  // for what is small

  int64_t gpus() const { return gpus_; }

 private:
  bool TensorDegreeFits(int64_t tp) const;
  std::vector<int64_t> VirtualStages(const Degrees& degrees, int64_t micro_batches) const;
  std::vector<std::pair<int64_t, int64_t>> ExpertDegrees(const Degrees& degrees) const;

  Workload workload_;
  int64_t gpus_;
  Fixes fixes_;
  Precision precision_;
  std::vector<Recompute> recomputes_;
  int64_t layers_ = 0;
  // tp must divide each; of the heads of keys and values see TensorDegreeFits.
  std::vector<int64_t> tensor_sizes_, kv_heads_;
  std::vector<int64_t> experts_, expert_sizes_;  // that ep and etp must divide; empty: no experts
};

// An error if the space is empty: which fix no value of the others goes with, and what would be
// valid in its place.
absl::Status CheckSpace(const Model& model, const Workload& workload, int64_t gpus,
                        const Fixes& fixes, Precision precision);

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_TRANSFORMER_SPACE_H_
