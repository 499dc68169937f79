// A step: stages balanced greedily, 1F1B simulated, then the slowest of data parallelism's
// all-reduces and the embedding's. Ranks are dealt out tensor degree first, then data, then
// pipeline. Links, sends and all-reduces are 32-bit floats in the original, and so here.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <tuple>
#include <utility>

#include "meshwright/published/fasop/fasop.h"
#include "meshwright/published/fasop/partition.h"
#include "meshwright/published/fasop/schedule.h"

namespace meshwright::transformer::fasop {
namespace {

constexpr float kBits = 16;                // of a value; the option for others is ignored
constexpr double kMargin = 1.10;           // that memory must leave free
constexpr float kSharesOfNode = 3.5F;      // of what a node's links give to one send
constexpr float kSendOverhead = 1.05F;     // of a send between nodes
constexpr float kBytesOfParameter = 18;    // with gradient and Adam's states
constexpr float kLayerParameters = 20800;  // of a layer beside its matrices
constexpr int64_t kBytesOfStates = 12, kBytesOfRest = 6;

float Real(int64_t number) { return static_cast<float>(number); }

double MemoryGib(Gpu gpu) { return gpu == Gpu::kA100 ? 39.59 : 22.20; }

struct Cluster {
  std::vector<Node> nodes;
  int64_t gpus_per_node = 0;

  int64_t NodeOf(int64_t rank) const { return rank / gpus_per_node; }
  // Between two ranks, and whether that is between nodes.
  float Bits(int64_t a, int64_t b, bool* between = nullptr) const {
    const Node &x = nodes[NodeOf(a)], &y = nodes[NodeOf(b)];
    const bool differ = NodeOf(a) != NodeOf(b);
    if (between != nullptr) *between = differ;
    return differ ? std::min(x.inter_bits, y.inter_bits) : x.intra_bits;
  }
};

class Evaluation {
 public:
  Evaluation(const Model& model, const Profile& profile, Cluster cluster, const Degrees& degrees)
      : m_(model),
        cluster_(std::move(cluster)),
        d_(degrees),
        micro_batches_(model.global_batch / (degrees.dp * degrees.micro_batch)),
        nodes_(static_cast<int64_t>(cluster_.nodes.size())),
        gpus_(StageGpus()),
        sends_(Sends()) {
    for (const Gpu gpu : {Gpu::kA100, Gpu::kA10}) {
      const auto found = profile.find({gpu, d_.tp});
      if (found == profile.end()) continue;
      std::vector<double>& seconds = seconds_[static_cast<size_t>(gpu)];
      for (size_t i = 0; i < m_.kinds.size(); ++i) {
        seconds.push_back(MicroBatchFactor(m_, gpu, m_.kinds[i], d_.micro_batch) *
                          (3 * found->second[i]));
      }
    }
  }

  Estimate Run() {
    Estimate estimate;
    const Partition partition =
        m_.encoder_decoder && d_.pp > 1
            ? BalanceHalves()
            : Balance(static_cast<int>(m_.kinds.size()), seconds_, sends_, gpus_);
    estimate.partition = partition.layers;
    const std::vector<double> ends = Ends(partition.costs);
    const float gradients = GradientParameters(partition.layers[0]);
    for (int64_t i = 0; i < d_.pp; ++i) {
      const double data = DataSeconds(gpus_[i], gradients);
      if (i > 0 && ends[i] + data <= estimate.seconds) continue;
      estimate.seconds = ends[i] + data;
      estimate.data_seconds = data;
    }
    estimate.pipeline_seconds = ends[0];
    estimate.embedding_seconds = EmbeddingSeconds();
    estimate.seconds += estimate.embedding_seconds;
    SetMemory(&estimate);
    return estimate;
  }

 private:
  int64_t Rank(int64_t stage, int64_t replica, int64_t part) const {
    return part + d_.tp * replica + d_.tp * d_.dp * stage;
  }

  // The slowest GPU that a stage has.
  std::vector<Gpu> StageGpus() const {
    std::vector<Gpu> gpus;
    const double share = static_cast<double>(nodes_) / static_cast<double>(d_.pp);
    for (int64_t s = 0; s < d_.pp; ++s) {
      int64_t first = 0, behind = nodes_;
      if (d_.pp > 1 && d_.pp < nodes_) {
        first = static_cast<int64_t>(share * static_cast<double>(s));
        behind = static_cast<int64_t>(share * static_cast<double>(s + 1));
      } else if (d_.pp > 1) {
        first = static_cast<int64_t>(static_cast<double>(s) /
                                     (static_cast<double>(d_.pp) / static_cast<double>(nodes_)));
        behind = first + 1;
      }
      const bool a10 = std::any_of(cluster_.nodes.begin() + first, cluster_.nodes.begin() + behind,
                                   [](const Node& node) { return node.gpu == Gpu::kA10; });
      gpus.push_back(a10 ? Gpu::kA10 : Gpu::kA100);
    }
    return gpus;
  }

  std::vector<float> Sends() const {
    std::vector<float> sends;
    const float bits = Real(d_.micro_batch) * Real(m_.sequence) * Real(m_.hidden) * kBits;
    for (int64_t stage = 0; stage + 1 < d_.pp; ++stage) {
      float most = 0;
      for (int64_t replica = 0; replica < d_.dp; ++replica) {
        float slowest = std::numeric_limits<float>::infinity();
        for (int64_t part = 0; part < d_.tp; ++part) {
          bool between = false;
          const float link =
              cluster_.Bits(Rank(stage, replica, part), Rank(stage + 1, replica, part), &between);
          slowest = std::min(slowest, between ? link / Real(d_.dp) / Real(d_.tp) / kSendOverhead
                                              : link / kSharesOfNode);
        }
        most = std::max(most, bits / slowest);
      }
      sends.push_back(most);
    }
    return sends;
  }

  // Only the first stage's sends forward and the last one's backward take time: a defect.
  std::vector<double> Ends(const std::vector<StageCost>& costs) const {
    std::vector<StageTimes> stages;
    for (const StageCost& cost : costs) {
      stages.push_back({cost.computation / 3, cost.computation * 2 / 3, 0, 0});
    }
    if (d_.pp > 1) {
      stages.front().send_forward = sends_.front();
      stages.back().send_backward = sends_.back();
    }
    return StageEnds(stages, micro_batches_);
  }

  // Encoder and decoder have stages of their own: every split of the stages is balanced and
  // simulated, and the first of the fastest is taken. The decoder's layers are balanced by the
  // encoder's costs: a defect. Splits are simulated in the order of a bound on their ends.
  Partition BalanceHalves() const {
    const int half = static_cast<int>(m_.kinds.size() / 2);
    struct Split {
      double bound;
      int64_t encoder;
      Partition partition;
    };
    std::vector<Split> splits;
    for (int64_t encoder = 1; encoder < std::min<int64_t>(d_.pp, half); ++encoder) {
      if (d_.pp - encoder > m_.layers / 2) continue;
      const auto middle = gpus_.begin() + encoder;
      Partition whole = Balance(half, seconds_, sends_, {gpus_.begin(), middle});
      const Partition decoder = Balance(half, seconds_, sends_, {middle, gpus_.end()});
      whole.layers.insert(whole.layers.end(), decoder.layers.begin(), decoder.layers.end());
      whole.costs = StageCosts(whole.layers, seconds_, sends_, gpus_);
      splits.push_back({EndBound(whole.costs), encoder, std::move(whole)});
    }
    std::sort(splits.begin(), splits.end(), [](const Split& a, const Split& b) {
      return std::tie(a.bound, a.encoder) < std::tie(b.bound, b.encoder);
    });
    const Split* best = nullptr;
    double least = std::numeric_limits<double>::infinity();
    for (const Split& split : splits) {
      if (split.bound > least) break;
      const double end = Ends(split.partition.costs)[0];
      if (end > least || (end == least && split.encoder > best->encoder)) continue;
      least = end;
      best = &split;
    }
    return best->partition;
  }

  // What the first stage's end is at least, whatever rounding does: a stage computes every
  // micro-batch, behind the first forward and before the last backward pass of those before it.
  double EndBound(const std::vector<StageCost>& costs) const {
    constexpr double kRounding = 1e-9;
    double before = 0, most = 0;
    for (const StageCost& cost : costs) {
      most = std::max(most, before + static_cast<double>(micro_batches_) * cost.computation);
      before += cost.computation;
    }
    return most * (1 - kRounding);
  }

  // The parameters of the first stage, which are taken for every stage's: a defect. Neither is the
  // embedding's share divided by the tensor degree.
  float GradientParameters(int layers) const {
    float parameters = 0;
    bool ends = false;
    for (int i = 0; i < layers; ++i) {
      if (m_.kinds[i] == LayerKind::kEmbedding || m_.kinds[i] == LayerKind::kPost) {
        if (!ends) parameters += Real(m_.hidden) * Real(m_.vocabulary);
        ends = true;
      } else {
        parameters += (12 * Real(m_.hidden * m_.hidden) + kLayerParameters) / Real(d_.tp);
      }
    }
    return parameters;
  }

  // Around the first stage's ring of the last tensor rank, for every stage: a defect.
  float DataSeconds(Gpu gpu, float parameters) const {
    float link = std::numeric_limits<float>::infinity();
    for (int64_t k = 0; k < d_.dp; ++k) {
      link =
          std::min(link, cluster_.Bits(Rank(0, k, d_.tp - 1), Rank(0, (k + 1) % d_.dp, d_.tp - 1)));
    }
    const int64_t ranks = d_.tp * d_.dp;
    if (d_.dp > 1 && ranks >= cluster_.gpus_per_node) {
      link /= Real(d_.tp);
    } else if (d_.dp > 1 && d_.tp > 1 && gpu == Gpu::kA10) {
      link /= Real(cluster_.gpus_per_node) / Real(d_.dp);
    }
    return Real(2 * (d_.dp - 1)) * (parameters * kBits) / (Real(d_.dp) * link);
  }

  // By the links of the last replica.
  double EmbeddingSeconds() const {
    if (d_.pp == 1 || m_.encoder_decoder) return 0;
    float slowest = std::numeric_limits<float>::infinity();
    for (int64_t part = 0; part < d_.tp; ++part) {
      slowest = std::min(slowest,
                         cluster_.Bits(Rank(0, d_.dp - 1, part), Rank(d_.pp - 1, d_.dp - 1, part)));
    }
    const double link = double{slowest} / Real(std::min(d_.dp, cluster_.gpus_per_node));
    return static_cast<double>(m_.hidden * m_.vocabulary) * kBits / link / Real(d_.tp);
  }

  // Caps of the nodes that a stage is looked up at. Where a stage has several nodes the original
  // skips the last of them, and keeps the cap of before where none is left: a defect.
  void SetMemory(Estimate* estimate) const {
    const double h = Real(m_.hidden), v = Real(m_.vocabulary), s = Real(m_.sequence);
    const double a = Real(m_.heads), tp = Real(d_.tp), b = Real(d_.micro_batch);
    const double pp = Real(d_.pp), in_flight = Real(std::min(micro_batches_, d_.pp));
    std::vector<double> whole, sharded;
    size_t layer = 0;
    for (const int layers : estimate->partition) {
      double parameters = 0, activations = 0;
      for (int i = 0; i < layers; ++i) {
        switch (m_.kinds[layer++]) {
          case LayerKind::kEmbedding:
            parameters += h * v / tp;
            activations += s * b * h * pp * in_flight / tp;
            break;
          case LayerKind::kPost:
            parameters += h * v / tp;
            activations += 4 * s * b * h / tp + 4 * s * b * v / tp;
            break;
          default:
            parameters += 12 * (h * h) / tp;
            activations += s * b * in_flight * h * (10 + 24 / tp + 5 * (a * s) / (h * tp));
        }
      }
      constexpr double kKib = 1024;
      whole.push_back((parameters * kBytesOfParameter + activations) / kKib / kKib / kKib);
      sharded.push_back((parameters * Real(kBytesOfRest + kBytesOfStates / d_.dp) + activations) /
                        kKib / kKib / kKib);
    }
    estimate->memory_gib = *std::max_element(whole.begin(), whole.end());
    estimate->sharded_memory_gib = *std::max_element(sharded.begin(), sharded.end());
    double cap = MemoryGib(cluster_.nodes[0].gpu);
    for (int64_t i = 0; i < d_.pp; ++i) {
      if (d_.pp >= nodes_) {
        cap = MemoryGib(cluster_.nodes[i / (d_.pp / nodes_)].gpu);
      } else {
        const int64_t share = nodes_ / d_.pp;
        if (share > 1) cap = MemoryGib(cluster_.nodes[(i + 1) * share - 2].gpu);
      }
      if (whole[i] * kMargin > cap) {
        estimate->over_memory = true;
        estimate->memory_gib = whole[i] * kMargin;
      }
      if (sharded[i] > cap) {
        estimate->sharded_over_memory = true;
        estimate->sharded_memory_gib = sharded[i] * kMargin;
      }
    }
  }

  const Model& m_;
  const Cluster cluster_;
  const Degrees d_;
  const int64_t micro_batches_, nodes_;
  const std::vector<Gpu> gpus_;     // by stage
  const std::vector<float> sends_;  // seconds from each stage to the next
  LayerSeconds seconds_;
};

}  // namespace

Estimate Evaluate(const Model& model, const Profile& profile, Setup setup,
                  const Placement& placement, const Degrees& degrees) {
  Cluster cluster;
  cluster.gpus_per_node = GpusPerNode(setup);
  double dollars_per_hour = 0;
  for (const char node : placement) {
    const Gpu gpu = node == 'A' ? Gpu::kA100 : Gpu::kA10;
    cluster.nodes.push_back(MakeNode(setup, gpu));
    dollars_per_hour += NodePricePerHour(setup, gpu);
  }
  Estimate estimate = Evaluation(model, profile, std::move(cluster), degrees).Run();
  estimate.step_dollars = dollars_per_hour / 3600 * estimate.seconds;
  estimate.training_dollars = estimate.step_dollars * kSteps;
  return estimate;
}

}  // namespace meshwright::transformer::fasop
