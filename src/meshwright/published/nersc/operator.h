#ifndef MESHWRIGHT_PUBLISHED_NERSC_OPERATOR_H_
#define MESHWRIGHT_PUBLISHED_NERSC_OPERATOR_H_

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "meshwright/published/nersc/collective.h"
#include "meshwright/published/nersc/nersc.h"

// One operator of a layer on one GPU, for one micro-batch. Sizes that a degree does not divide are
// rounded down, as in the published code.

namespace meshwright::transformer::nersc {

// The dimension of tensor parallelism whose GPUs a transfer connects.
// One of `parts` of `whole`, rounded down.
inline double Share(int64_t whole, int64_t parts) {
  const int64_t share = whole / parts;
  return static_cast<double>(share);
}

enum class Axis : uint8_t { kTp1, kTp2 };

struct Transfer {
  Collective collective = Collective::kAllReduce;
  Axis axis = Axis::kTp1;
  double gb = 0;  // 0 where the axis has one GPU
};

class Transfers {
 public:
  Transfers() = default;
  Transfers(std::initializer_list<Transfer> transfers);
  const Transfer* begin() const { return transfers_; }
  const Transfer* end() const { return transfers_ + size_; }
  size_t size() const { return size_; }
  const Transfer& operator[](size_t i) const { return transfers_[i]; }

 private:
  static constexpr size_t kMost = 4;
  Transfer transfers_[kMost];
  size_t size_ = 0;
};

struct Pass {
  double tflop = 0;
  double hbm_gb = 0;  // read and written
  Transfers transfers = {};
  // From the above, by MakeOperator.
  double compute_seconds = 0, memory_seconds = 0;
};

enum class Unit : uint8_t { kMatrix, kVector };

struct Operator {
  std::string_view name;     // of a literal
  double weights_gb = 0;     // and as much of gradients
  double activation_gb = 0;  // kept for the backward pass
  Pass forward = {}, backward = {};
  int64_t panels = 0;       // of SUMMA, whose transfers overlap with the products; 0: not SUMMA
  bool recomputed = false;  // the backward pass does the forward pass again
};

// `op` with the seconds of its passes.
Operator MakeOperator(const System& system, Unit unit, Operator op);

struct PassTime {
  double seconds = 0;
  double comm = 0;            // s, not hidden
  double compute = 0;         // s
  double exposed_memory = 0;  // s beyond `compute`
  double intensity = 0;       // compute over memory seconds
};
struct OperatorTime {
  PassTime forward, backward;
};
// The GPUs of each axis.
struct Groups {
  Group tp1, tp2;
  const Group& operator[](Axis axis) const { return axis == Axis::kTp1 ? tp1 : tp2; }
};
OperatorTime TimeOperator(const System& system, const Operator& op, const Groups& groups);
// Only the seconds of a pass.
double ForwardSeconds(const System& system, const Operator& op, const Groups& groups);
double BackwardSeconds(const System& system, const Operator& op, const Groups& groups);

// x (batch, seq, in) times w (in, out), one of `in` and `out` split over tp1.
Operator Linear(const System& system, std::string_view name, int64_t batch, int64_t seq, int64_t in,
                int64_t out, int64_t split_in, int64_t split_out);
// Likewise on a tp1 x tp2 grid, panel by panel.
Operator LinearSumma(const System& system, std::string_view name, int64_t batch, int64_t seq,
                     int64_t in, int64_t out, int64_t tp1, int64_t tp2, int64_t panels);
// `seq` and `out` as they are on the GPU, as in all that follow.
Operator Bias(const System& system, std::string_view name, int64_t batch, int64_t seq, int64_t out);
Operator Gelu(const System& system, std::string_view name, double elements);
Operator DropOut(const System& system, std::string_view name, double elements, bool recomputed);
// Over the whole embedding, gathered and scattered over tp1; `seq` is that of all of tp1.
Operator LayerNorm(const System& system, std::string_view name, int64_t batch, int64_t seq,
                   int64_t embedding, int64_t tp1);
// On a grid; `seq` and `embedding` are whole.
Operator LayerNormSumma(const System& system, std::string_view name, int64_t batch, int64_t seq,
                        int64_t embedding, int64_t tp1, int64_t tp2);

// Attention of `rows` queries to `columns` keys by `heads` heads of `width`, all as on the GPU
// after gathering.
struct AttentionShape {
  int64_t batch = 0, heads = 0, rows = 0, columns = 0, width = 0;
};
// The queries' keys and values lie on the GPUs of tp2, which gather them.
enum class Gathered : uint8_t { kNo, kOverTp2 };

Operator Logits(const System& system, const AttentionShape& shape, Gathered gathered, int64_t tp2,
                bool recomputed);
Operator Softmax(const System& system, const AttentionShape& shape, bool recomputed);
// `rematerialized`: the scores are not kept.
Operator Attend(const System& system, const AttentionShape& shape, Gathered gathered, int64_t tp2,
                bool rematerialized);
Operator FlashAttention(const System& system, const AttentionShape& shape, Gathered gathered,
                        int64_t tp2);
// On a grid: all heads, each head's width over tp1, queries over tp2.
Operator LogitsSumma(const System& system, const AttentionShape& whole, int64_t tp1, int64_t tp2,
                     int64_t panels);
Operator SoftmaxSumma(const System& system, const AttentionShape& whole, int64_t tp1, int64_t tp2,
                      bool recomputed);
Operator AttendSumma(const System& system, const AttentionShape& whole, int64_t tp1, int64_t tp2,
                     int64_t panels, bool rematerialized);

}  // namespace meshwright::transformer::nersc

#endif  // MESHWRIGHT_PUBLISHED_NERSC_OPERATOR_H_
