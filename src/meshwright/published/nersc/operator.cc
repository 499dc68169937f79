#include "meshwright/published/nersc/operator.h"

#include <algorithm>

// Sums and products are taken in the order of the published code, so that sums of memory, which
// decide what is feasible, come out the same to the last bit.

namespace meshwright::transformer::nersc {
namespace {

// Published: every operator takes this long to start, forward and backward, however small it is.
constexpr double kLaunchSeconds = 20e-6;
constexpr double kComputeEfficiency = 0.8;

double CommSeconds(const System& system, const Operator& op, const Pass& pass,
                   const Groups& groups) {
  double seconds = 0;
  if (op.panels == 0) {
    for (const Transfer& one : pass.transfers) {
      seconds += CollectiveSeconds(system, one.collective, one.gb, groups[one.axis]);
    }
    return seconds;
  }
  const auto panels = static_cast<double>(op.panels);
  for (const Transfer& one : pass.transfers) {
    seconds += CollectiveSeconds(system, one.collective, one.gb / panels, groups[one.axis]);
  }
  // The first panel's transfers are exposed, the others' where they outlast the arithmetic.
  const double busy = std::max(pass.compute_seconds, pass.memory_seconds);
  return seconds + std::max(seconds * panels - busy, 0.0);
}

PassTime TimePass(const System& system, const Operator& op, const Pass& pass,
                  const Groups& groups) {
  PassTime time;
  time.compute = pass.compute_seconds;
  time.comm = CommSeconds(system, op, pass, groups);
  time.seconds = std::max(pass.compute_seconds, pass.memory_seconds) + time.comm;
  time.exposed_memory = std::max(pass.memory_seconds - pass.compute_seconds, 0.0);
  time.intensity = pass.compute_seconds / pass.memory_seconds;
  return time;
}

double PassSeconds(const System& system, const Operator& op, const Pass& pass,
                   const Groups& groups) {
  return std::max(pass.compute_seconds, pass.memory_seconds) +
         CommSeconds(system, op, pass, groups);
}

}  // namespace

Transfers::Transfers(std::initializer_list<Transfer> transfers) : size_(transfers.size()) {
  std::copy(transfers.begin(), transfers.end(), transfers_);
}

Operator MakeOperator(const System& system, Unit unit, Operator op) {
  const double peak = unit == Unit::kMatrix ? system.matrix_tflops : system.vector_tflops;
  for (Pass* const pass : {&op.forward, &op.backward}) {
    pass->compute_seconds = kLaunchSeconds + pass->tflop / (kComputeEfficiency * peak);
    pass->memory_seconds = pass->hbm_gb / system.hbm_gbps;
  }
  return op;
}

OperatorTime TimeOperator(const System& system, const Operator& op, const Groups& groups) {
  OperatorTime time{TimePass(system, op, op.forward, groups),
                    TimePass(system, op, op.backward, groups)};
  // As published: only the total of the backward pass grows, none of its parts.
  if (op.recomputed) time.backward.seconds += time.forward.seconds;
  return time;
}

double ForwardSeconds(const System& system, const Operator& op, const Groups& groups) {
  return PassSeconds(system, op, op.forward, groups);
}

double BackwardSeconds(const System& system, const Operator& op, const Groups& groups) {
  const double seconds = PassSeconds(system, op, op.backward, groups);
  return op.recomputed ? seconds + ForwardSeconds(system, op, groups) : seconds;
}

Operator Linear(const System& system, std::string_view name, int64_t batch, int64_t seq, int64_t in,
                int64_t out, int64_t split_in, int64_t split_out) {
  const double flop = system.tflop_per_op, element = system.element_gb;
  const auto rows = static_cast<double>(batch * seq);
  const double in_local = Share(in, split_in);
  const double out_local = Share(out, split_out);
  const double weights = in_local * out_local * element;
  const double inputs = rows * in_local * element, outputs = rows * out_local * element;
  Operator op{.name = name, .weights_gb = weights, .activation_gb = inputs};
  op.forward.tflop = rows * out_local * (2 * in_local - 1) * flop;
  op.forward.hbm_gb = inputs + outputs + weights;
  op.forward.transfers = {{Collective::kReduceScatter, Axis::kTp1,
                           split_in > 1 ? rows * static_cast<double>(out) * element : 0.0}};
  op.backward.tflop =
      (rows * in_local * (2 * out_local - 1) + in_local * out_local * (2 * rows - 1)) * flop;
  op.backward.hbm_gb = weights + inputs + 2 * outputs + weights + op.activation_gb;
  op.backward.transfers = {{Collective::kReduceScatter, Axis::kTp1,
                            split_out > 1 ? rows * static_cast<double>(in) * element : 0.0}};
  return MakeOperator(system, Unit::kMatrix, op);
}

Operator LinearSumma(const System& system, std::string_view name, int64_t batch, int64_t seq,
                     int64_t in, int64_t out, int64_t tp1, int64_t tp2, int64_t panels) {
  const double flop = system.tflop_per_op, element = system.element_gb;
  const double rows = static_cast<double>(batch) * Share(seq, tp2);
  const auto in_whole = static_cast<double>(in);
  const double out_local = Share(out, tp1);
  const double inputs = rows * in_whole, weights = in_whole * out_local;
  const double outputs = rows * out_local * static_cast<double>(panels);
  const double row_gb = tp1 > 1 ? inputs * element : 0.0;
  const double column_gb = tp2 > 1 ? weights * element : 0.0;
  Operator op{.name = name,
              .weights_gb = Share(in, tp2) * out_local * element,
              .activation_gb = rows * Share(in, tp1) * element,
              .panels = panels};
  op.forward.tflop = rows * out_local * 2 * in_whole * flop;
  op.forward.hbm_gb = (inputs + weights + outputs) * element;
  op.forward.transfers = {{Collective::kBroadcast, Axis::kTp1, row_gb},
                          {Collective::kBroadcast, Axis::kTp2, column_gb}};
  op.backward.tflop =
      (rows * in_whole * (2 * out_local - 1) + in_whole * out_local * (2 * rows - 1)) * flop;
  op.backward.hbm_gb = 2 * (weights + outputs + inputs) * element;
  op.backward.transfers = {{Collective::kBroadcast, Axis::kTp2, column_gb},
                           {Collective::kReduce, Axis::kTp1, row_gb},
                           {Collective::kBroadcast, Axis::kTp1, row_gb},
                           {Collective::kReduce, Axis::kTp2, column_gb}};
  return MakeOperator(system, Unit::kMatrix, op);
}

Operator Bias(const System& system, std::string_view name, int64_t batch, int64_t seq,
              int64_t out) {
  const auto width = static_cast<double>(out);
  const double elements = static_cast<double>(batch * seq) * width;
  Operator op{.name = name, .weights_gb = width * system.element_gb};
  op.forward.tflop = elements * system.tflop_per_op;
  op.forward.hbm_gb = (elements + width) * system.element_gb;
  op.backward = op.forward;
  return MakeOperator(system, Unit::kVector, op);
}

Operator Gelu(const System& system, std::string_view name, double elements) {
  const double gb = elements * system.element_gb;
  Operator op{.name = name, .activation_gb = gb};
  op.forward = {.tflop = 8 * elements * system.tflop_per_op, .hbm_gb = 2 * gb};
  op.backward = {.tflop = 13 * elements * system.tflop_per_op, .hbm_gb = 3 * gb};
  return MakeOperator(system, Unit::kVector, op);
}

Operator DropOut(const System& system, std::string_view name, double elements, bool recomputed) {
  const double mask_gb = elements * system.mask_gb;
  Operator op{.name = name, .activation_gb = recomputed ? 0.0 : mask_gb, .recomputed = recomputed};
  op.forward = {.tflop = elements * system.tflop_per_op,
                .hbm_gb = 2 * elements * system.element_gb + mask_gb};
  op.backward = op.forward;
  return MakeOperator(system, Unit::kVector, op);
}

namespace {

// What both kinds of normalization compute on `rows` times `width` elements.
Operator NormOf(const System& system, std::string_view name, double rows, double width) {
  const double flop = system.tflop_per_op, element = system.element_gb;
  const double gb = rows * width * element, weights = 2 * width * element;
  Operator op{.name = name, .weights_gb = weights, .activation_gb = gb};
  op.forward.tflop = 9 * rows * width * flop;
  op.forward.hbm_gb = gb + 2 * rows * element + gb + weights;
  op.backward.tflop = (8 * rows * width + 4 * rows * (width - 1)) * flop;
  op.backward.hbm_gb = 4 * gb + weights + gb;
  return op;
}

}  // namespace

Operator LayerNorm(const System& system, std::string_view name, int64_t batch, int64_t seq,
                   int64_t embedding, int64_t tp1) {
  const auto width = static_cast<double>(embedding);
  Operator op = NormOf(system, name, static_cast<double>(batch) * Share(seq, tp1), width);
  const double gb = tp1 > 1 ? static_cast<double>(batch * seq) * width * system.element_gb : 0.0;
  op.forward.transfers = {{Collective::kAllGather, Axis::kTp1, gb}};
  op.backward.transfers = {{Collective::kReduceScatter, Axis::kTp1, gb}};
  return MakeOperator(system, Unit::kVector, op);
}

Operator LayerNormSumma(const System& system, std::string_view name, int64_t batch, int64_t seq,
                        int64_t embedding, int64_t tp1, int64_t tp2) {
  const double rows = static_cast<double>(batch) * Share(seq, tp2);
  // As published: the width is taken from the sequence's length, not from the embedding's.
  Operator op = NormOf(system, name, rows, Share(seq, tp1));
  const double element = tp1 > 1 ? system.element_gb : 0.0;
  const double reduced = Share(2 * embedding, tp1) + Share(2 * batch * seq, tp2);
  op.forward.transfers = {{Collective::kAllReduce, Axis::kTp1, 2 * rows * element}};
  op.backward.transfers = {{Collective::kAllReduce, Axis::kTp1, reduced * element}};
  return MakeOperator(system, Unit::kVector, op);
}

}  // namespace meshwright::transformer::nersc
