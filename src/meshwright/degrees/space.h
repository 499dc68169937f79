#ifndef MESHWRIGHT_DEGREES_SPACE_H_
#define MESHWRIGHT_DEGREES_SPACE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "meshwright/degrees/configuration.h"
#include "meshwright/degrees/fixes.h"
#include "meshwright/model/model.h"

// Every configuration that Megatron-class frameworks can train a model with on a number of GPUs.
//
// Rules (Megatron-LM's arguments.py, transformer_config.py and parallel_state.py):
//   tp      divides the heads and the inner sizes of MLPs; divides the heads of keys and values, or
//           is a multiple of them
//   tp2     a divisor of tp; columns divide what tp divides otherwise, and rows and columns every
//           matmul's inner size; 2 tp2 cp divides the sequence; sp; attention of plain heads and
//           MLPs only. panels: a multiple of rows and columns that divides every inner size, with
//           panels of 128 or more where there are several numbers
//   context ring; gathered keys and values; Ulysses where tp cp divides all heads, those of keys
//   and
//           values too
//   sp      tp > 1, and tp cp divides the sequence; experts over ep > 1 need it where tp > 1
//   cp      2 cp divides the sequence
//   pp      at most the layers; stages need not be equal
//   vp      interleaved only: pp > 1, pp micro-batches at least, and pp vp divides the layers,
//   those
//           with the embedding, the head or both counted as layers
//   zero bubble needs pp > 1
//   dp mbs  divides the global batch
//   ep      divides the experts, etp their inner size; ep etp divides tp cp dp
//   ends    pp > 1, and layers are partitioned differently than without it; interleaved: pp vp
//   divides
//           the layers and two more
//   recompute_layers  with recompute=full: fewer than the largest stage has
//   recompute_stages  with any recomputation: fewer than pp
//   shard   a divisor of dp cp; ZeRO needs dp cp > 1
//   inside  of several nodes: divisors of tp, cp, dp and pp, together the GPUs of a node; experts'
//           groups lie in each stage's part of a node, first etp, then ep. Ranks in order are one
//           of these where node ends fall between groups, and else listed beside them
//   unit    where the fabric has several, of placed GPUs: divisors of what is left of tp, cp, dp
//           and pp, together the nodes of a unit. Every order of these over the nodes is among them
//           but those in which units end within groups, which leave no two nodes of any in a unit
//   offload_percent, offload_layers  of what is offloaded: multiples of kOffloadStep below 100;
//           fewer than the largest stage has
// Only one of several spellings of a configuration is listed: without experts ep and etp are 1,
// without ZeRO and where it spans dp cp shard is 0, on one node ranks are in order, in one unit and
// of ranks in order unit is absent.

namespace meshwright::transformer {

class Space {
 public:
  // `model` must have passed CheckModel, `workload` and `gpus` be positive. `node` GPUs share a
  // node; without it all do.
  // `unit` nodes share a unit of the fabric; without it, or where it is no divisor of
  // all, units are not told apart.
  Space(const Model& model, const Workload& workload, int64_t gpus, const Fixes& fixes,
        Precision precision, std::optional<int64_t> node = std::nullopt,
        std::optional<int64_t> unit = std::nullopt);

  struct Degrees {
    int64_t tp, cp, pp, dp;
  };
  // All that have a configuration or lack one only for its batch or experts, in ascending order.
  std::vector<Degrees> AllDegrees() const;

  // A family's members differ in placement, in recomputation, in what is offloaded and in how ZeRO
  // shards, and are all legal: each of Placements() with each of Recomputes() and its
  // RecomputeRanges(), of Offloads() and its Amounts(), and of Shardings(). Its first member stands
  // for it. Those of equal tp2 come in a row.
  std::vector<Configuration> Families(const Degrees& degrees) const;
  struct Layout {
    Placement inside, unit;
    friend bool operator==(const Layout&, const Layout&) = default;
  };
  // Those of equal `inside` come in a row.
  std::vector<Layout> Placements(const Degrees& degrees, int64_t tp2 = 1) const;
  const std::vector<Recompute>& Recomputes() const { return recomputes_; }
  // Recomputation of some layers, and in some pipeline groups; more of both as they go on, all
  // layers and groups first.
  struct RecomputeRange {
    int64_t layers, stages;
  };
  std::vector<RecomputeRange> RecomputeRanges(const Configuration& family,
                                              Recompute recompute) const;
  struct Offload {
    bool optimizer, activations;
  };
  const std::vector<Offload>& Offloads() const { return offloads_; }
  // More and more is offloaded: each percentage with each number of layers, 0, which is all, last.
  struct Amounts {
    std::vector<int64_t> percents, layers;
    int64_t count() const { return std::ssize(percents) * std::ssize(layers); }
  };
  Amounts AmountsOf(const Configuration& family, const Offload& offload) const;
  struct Sharding {
    int zero;
    int64_t shard;
  };
  std::vector<Sharding> Shardings(const Degrees& degrees) const;

  // All of them, in turn.
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (const Degrees& degrees : AllDegrees()) {
      const std::vector<Sharding> shardings = Shardings(degrees);
      for (Configuration configuration : Families(degrees)) {
        for (const Layout& layout : Placements(degrees, configuration.tp2)) {
          configuration.inside = layout.inside;
          configuration.unit = layout.unit;
          for (const Recompute recompute : recomputes_) {
            configuration.recompute = recompute;
            for (const RecomputeRange& range : RecomputeRanges(configuration, recompute)) {
              configuration.recompute_layers = range.layers;
              configuration.recompute_stages = range.stages;
              ForEachShard(shardings, configuration, visit);
            }
          }
        }
      }
    }
  }
  int64_t Count() const;
  std::vector<Configuration> All() const;  // for what is small

  int64_t gpus() const { return gpus_; }

 private:
  template <typename Visit>
  void ForEachShard(const std::vector<Sharding>& shardings, Configuration configuration,
                    const Visit& visit) const {
    for (const Offload& offload : offloads_) {
      configuration.offload_optimizer = offload.optimizer;
      configuration.offload_activations = offload.activations;
      const Amounts amounts = AmountsOf(configuration, offload);
      for (const int64_t percent : amounts.percents) {
        configuration.offload_percent = percent;
        for (const int64_t layers : amounts.layers) {
          configuration.offload_layers = layers;
          for (const Sharding& sharding : shardings) {
            configuration.zero = sharding.zero;
            configuration.shard = sharding.shard;
            visit(configuration);
          }
        }
      }
    }
  }
  // Whether tensor parallelism of `tp` splits every head and inner size. Grouped-query attention
  // (GQA): key and value heads are split, or, where there are fewer, each is on as many GPUs.
  bool TensorDegreeFits(int64_t tp) const;
  // The most layers of a stage of `family`.
  int64_t LargestStage(const Configuration& family) const;
  // GPUs numbered along the pipeline before replicas, if that is another placement.
  void AddOtherOrder(const Degrees& degrees, int64_t tp2, std::vector<Layout>& all) const;
  // Every way to compose a unit's nodes of what `inside` leaves over of the degrees.
  void AddUnits(const Degrees& degrees, int64_t tp2, const Placement& inside,
                std::vector<Layout>& all) const;
  // Grids of tp GPUs: rows and panels. One row without panels is no grid.
  struct Grid {
    int64_t tp2, panels;
  };
  std::vector<Grid> Grids(int64_t tp, int64_t cp) const;
  std::vector<ContextKind> Contexts(const Degrees& degrees, int64_t tp2) const;
  void AddExpertsAndSchedules(const Degrees& degrees, Configuration family,
                              std::vector<Configuration>& families) const;
  void AddSchedules(const std::vector<std::pair<PipelineKind, int64_t>>& schedules,
                    Configuration family, std::vector<Configuration>& families) const;
  // Gives a family the first recomputation and range that fixes leave; false if there is none.
  bool TakeRecomputeRange(Configuration& family) const;
  // The same of what is offloaded, and how much of it.
  bool TakeOffload(Configuration& family) const;
  std::vector<int64_t> VirtualStages(const Degrees& degrees, int64_t micro_batches) const;
  std::vector<std::pair<int64_t, int64_t>> ExpertDegrees(const Degrees& degrees) const;

  Workload workload_;
  int64_t gpus_;
  Fixes fixes_;
  Precision precision_;
  int64_t node_;
  int64_t unit_;  // 0: units are not told apart
  std::vector<Recompute> recomputes_;
  int64_t layers_ = 0;
  // The most layers that a pipeline group has, by pp and ends_as_layers.
  std::map<std::pair<int64_t, bool>, int64_t> largest_group_;
  std::vector<int64_t>
      other_partitions_;  // pp for which ends_as_layers changes the partition, ascending
  // tp must divide each; of the heads of keys and values see TensorDegreeFits.
  std::vector<int64_t> tensor_sizes_, heads_, kv_heads_;
  bool recurs_ = false;               // a layer has a recurrence, which runs along whole sequences
  std::vector<int64_t> inner_sizes_;  // of matmuls, that grids cut; empty: no grids
  std::vector<Offload> offloads_;
  std::vector<int64_t> experts_, expert_sizes_;  // that ep and etp must divide; empty: no experts
};

// "96 heads, 8 of keys and values, 28672 wide MLPs": what the degrees must divide.
std::string SizesText(const Model& model, const Workload& workload);

// An error if the space is empty: which fix no value of the others goes with, and what would be
// valid in its place.
absl::Status CheckSpace(const Model& model, const Workload& workload, int64_t gpus,
                        const Fixes& fixes, Precision precision,
                        std::optional<int64_t> node = std::nullopt,
                        std::optional<int64_t> unit = std::nullopt);

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_DEGREES_SPACE_H_
