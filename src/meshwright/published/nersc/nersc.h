#ifndef MESHWRIGHT_PUBLISHED_NERSC_NERSC_H_
#define MESHWRIGHT_PUBLISHED_NERSC_NERSC_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

// The published NERSC model of transformer training (S. Subramanian et al., "Comprehensive
// Performance Modeling and System Design Insights for Foundation Models", 2024; code
// "transformer-perf-estimates" as of 2 October 2024), exactly, with its faults: a roofline of every
// operator of a layer under three kinds of tensor parallelism, 1F1B pipelines, ZeRO-1, and a search
// over every split of the GPUs and of the NVLink domain. For comparison and research: it knows no
// embedding, head, loss, optimizer step, grouped-query attention or experts. docs/nersc.md.
//
// Units as published: GB is 1e9 bytes, TFLOP 1e12 operations, times are seconds.

namespace meshwright::transformer::nersc {

struct Model {
  int64_t sequence = 0;   // l, tokens of a sample
  int64_t embedding = 0;  // e
  int64_t heads = 0;      // h, as many keys and values
  int64_t layers = 0;     // depth
  int64_t hidden = 0;     // f, of the two-matrix MLP

  bool operator==(const Model&) const = default;
};

struct System {
  double matrix_tflops = 0;  // a GPU's peak in 16 bits with tensor cores, TFLOP/s
  double vector_tflops = 0;  // likewise without
  double hbm_gbps = 0;       // GB/s
  double hbm_gb = 0;
  double nvlink_gbps = 0;  // of one GPU, one way
  double nvlink_efficiency = 0;
  double nvlink_latency = 0;  // s
  double ib_gbps = 0;         // of one NIC, one way
  double ib_efficiency = 0;
  double ib_latency = 0;     // s
  int64_t nvlink_size = 0;   // GPUs of an NVLink domain
  double nics_per_gpu = 1;   // "nic_factor"
  int64_t summa_panels = 4;  // where a Config does not say
  double element_gb = 2e-9;  // of a weight or an activation
  double mask_gb = 1e-9;     // of a dropout mask's element
  double tflop_per_op = 1e-12;

  bool operator==(const System&) const = default;
};

enum class Strategy {
  k1d,     // "1d": Megatron's tensor and sequence parallelism
  kSumma,  // "2d": weights and activations on a tp1 x tp2 grid, multiplied panel by panel (SUMMA)
  kSequence,  // "2d-seqp": heads and weights over tp1, the sequence over tp2
};
std::string_view StrategyName(Strategy strategy);  // as quoted above
// Errors list the names.
absl::StatusOr<Strategy> ParseStrategy(std::string_view name);

// How many GPUs share each dimension, and how many of each group lie in one NVLink domain.
struct Config {
  int64_t dp = 1, tp1 = 1, tp2 = 1, pp = 1;  // k1d: tp2 is 1
  int64_t micro_batch = 1;                   // samples
  int64_t panels = 0;                        // "nb" of kSumma; 0: the system's, or not SUMMA
  int64_t nv_dp = 1, nv_tp1 = 1, nv_tp2 = 1, nv_pp = 1;

  int64_t gpus() const { return dp * tp1 * tp2 * pp; }
  bool operator==(const Config&) const = default;
};

// Figures of a step: a global batch forward and backward. [names in the published tables]
struct Stats {
  double seconds = 0;         // [t]
  double tflop_per_gpu = 0;   // [flops_per_gpu]
  double memory_gb = 0;       // [mem] of a GPU of the first stage
  double compute = 0;         // [t_comp] s, of all micro-batches, as the next three
  double exposed_memory = 0;  // [t_mem] HBM traffic beyond the arithmetic
  double tp_comm = 0;         // [t_tp_comm]
  double dp_comm = 0;         // [t_dp_comm] what is not hidden
  double pp_comm = 0;         // [t_pp_comm]
  double bubble = 0;          // [t_bubble]
  double weights_gb = 0;      // [wts_mem], and as much of gradients [wts_grad_mem]
  double optimizer_gb = 0;    // [wts_optimizer_states_mem]
  double activations_gb = 0;  // [acts_mem]
};

struct Evaluation {
  Config config;
  Stats stats;
  double throughput = 0;  // samples/s
  bool feasible = false;  // memory fits the HBM
};

// Whether the model can be evaluated at all: every number within bounds, no more heads than
// embedding or hidden size. Errors say which number, and what would be valid.
absl::Status CheckModel(const Model& model);
absl::Status CheckSystem(const System& system);

// Errors: those of CheckModel and CheckSystem; a degree that does not divide what it splits (heads,
// embedding, layers, batch); more tp2 than tokens; parts of the NVLink domain that do not divide
// their groups or do not fit in together.
absl::StatusOr<Evaluation> Evaluate(const Model& model, const System& system, Strategy strategy,
                                    const Config& config, int64_t global_batch);

struct SearchOptions {
  int64_t gpus = 0, global_batch = 0;  // both from 1 to 2^30
  int64_t top = 10;                    // how many of the fastest to return
};

struct SearchResult {
  int64_t candidates = 0, feasible = 0;
  double throughput_sum = 0;    // samples/s, over the feasible
  double memory_sum = 0;        // GB, likewise
  std::vector<Evaluation> top;  // the fastest feasible, fastest first; the first found of equals
};

// Evaluates every candidate of the published search. Errors: as above, and a space of more than
// kMostCandidates.
inline constexpr int64_t kMostCandidates = 20'000'000;
absl::StatusOr<SearchResult> Search(const Model& model, const System& system, Strategy strategy,
                                    const SearchOptions& options);

// A system of the publication, "A100", "H200", "B200" or "B200-next", with NVLink domains of as
// many GPUs as the publication varies (4, 8, 64).
absl::StatusOr<System> PublishedSystem(std::string_view name, int64_t nvlink_size);

}  // namespace meshwright::transformer::nersc

#endif  // MESHWRIGHT_PUBLISHED_NERSC_NERSC_H_
