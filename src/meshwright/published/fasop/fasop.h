#ifndef MESHWRIGHT_PUBLISHED_FASOP_FASOP_H_
#define MESHWRIGHT_PUBLISHED_FASOP_FASOP_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

// The published FASOP model (HPDC 2024) of training a transformer on A100 and A10 nodes, defects
// included, to compare with: docs/fasop.md lists formulas and defects. What the original computes
// in 32-bit floats is computed so here, in the same order.

namespace meshwright::transformer::fasop {

enum class Gpu : uint8_t { kA100, kA10 };
inline constexpr int kGpuKinds = 2;
std::string_view GpuName(Gpu gpu);

enum class LayerKind : uint8_t { kEmbedding, kLayer, kEncoder, kDecoder, kPost };

struct Model {
  std::string name;
  int64_t hidden = 0, sequence = 0, layers = 0, vocabulary = 0, heads = 0, global_batch = 0;
  bool encoder_decoder = false;
  std::vector<LayerKind> kinds;  // in the order of execution
};
// gpt2XL, bert and T5.
const std::vector<Model>& Models();
// Errors list the names.
absl::StatusOr<const Model*> FindModel(std::string_view name);

// By what a layer's profiled time is multiplied for `micro_batch` sequences.
double MicroBatchFactor(const Model& model, Gpu gpu, LayerKind kind, int64_t micro_batch);

// Forward seconds of each layer, by GPU and tensor degree.
using Profile = std::map<std::pair<Gpu, int64_t>, std::vector<double>>;
// Measured by the authors.
const Profile& PublishedProfile(const Model& model);

struct Node {
  Gpu gpu = Gpu::kA10;
  float inter_bits = 0, intra_bits = 0;  // a second
};

// How the published runs are set up.
enum class Setup {
  kDefault,  // nodes of 4
  kPareto,   // nodes of 8, faster networks, another price
};
int64_t GpusPerNode(Setup setup);
Node MakeNode(Setup setup, Gpu gpu);
double NodePricePerHour(Setup setup, Gpu gpu);  // dollars
inline constexpr double kSteps = 12'500'000;    // of a training run

struct Degrees {
  int64_t tp = 1, dp = 1, pp = 1, micro_batch = 1;
  friend auto operator<=>(const Degrees&, const Degrees&) = default;
};

// What one configuration costs.
struct Estimate {
  std::vector<int> partition;  // layers of each stage
  double seconds = 0;          // a step
  double pipeline_seconds = 0, data_seconds = 0, embedding_seconds = 0;
  bool over_memory = false, sharded_over_memory = false;  // "sharded": the optimizer's states
  double memory_gib = 0, sharded_memory_gib = 0;
  double step_dollars = 0, training_dollars = 0;
};

// Nodes in the order of the pipeline, as "ABBB": A for A100, B for A10.
using Placement = std::string;

// The placements that are tried: the rotations of all A100 before all A10; one if all are alike.
std::vector<Placement> Placements(int64_t a100_nodes, int64_t a10_nodes);
// The degrees that are tried on `nodes` nodes, in the original's order.
std::vector<Degrees> AllDegrees(const Model& model, Setup setup, int64_t nodes);

// `degrees` must be among AllDegrees, and `profile` have each GPU of the placement at their tp.
Estimate Evaluate(const Model& model, const Profile& profile, Setup setup,
                  const Placement& placement, const Degrees& degrees);

struct Row {
  Placement placement;
  Degrees degrees;
  Estimate estimate;
};
// Every configuration of a cluster, the fastest first.
std::vector<Row> Search(const Model& model, const Profile& profile, Setup setup, int64_t a100_nodes,
                        int64_t a10_nodes);
// ... of every cluster of up to `most` nodes of each GPU.
std::vector<Row> Sweep(const Model& model, const Profile& profile, Setup setup, int64_t most);

}  // namespace meshwright::transformer::fasop

#endif  // MESHWRIGHT_PUBLISHED_FASOP_FASOP_H_
