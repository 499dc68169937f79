#include "meshwright/published/nersc/operator.h"

namespace meshwright::transformer::nersc {
namespace {

// An AttentionShape's sizes in elements.
struct AttentionSizes {
  explicit AttentionSizes(const AttentionShape& shape)
      : rows(static_cast<double>(shape.rows)),
        columns(static_cast<double>(shape.columns)),
        width(static_cast<double>(shape.width)),
        vectors(static_cast<double>(shape.batch * shape.heads) * rows),
        queries(vectors * width),
        keys(static_cast<double>(shape.batch * shape.heads) * columns * width),
        scores(vectors * columns) {}

  double rows, columns, width;
  double vectors;        // queries of all heads
  double queries, keys;  // and as many values as keys
  double scores;
};

double SoftmaxForwardOps(const AttentionSizes& n) {
  return 2 * n.scores + n.vectors * (n.columns - 1);
}
double SoftmaxBackwardOps(const AttentionSizes& n) {
  return 3 * n.scores + n.vectors * (n.columns - 1);
}
double QueryKeyOps(const AttentionSizes& n) { return n.scores * (2 * n.width - 1); }
double ScoreValueOps(const AttentionSizes& n) { return n.queries * (2 * n.columns - 1); }
double ScoreQueryOps(const AttentionSizes& n) { return n.keys * (2 * n.rows - 1); }

// Keys (or values, or both) of `gb` are gathered in both passes, their gradients scattered.
void AddGathers(Gathered gathered, int64_t tp2, double gb, Operator* op) {
  if (gathered == Gathered::kNo) return;
  if (tp2 == 1) gb = 0;
  op->forward.transfers = {{Collective::kAllGather, Axis::kTp2, gb}};
  op->backward.transfers = {{Collective::kAllGather, Axis::kTp2, gb},
                            {Collective::kReduceScatter, Axis::kTp2, gb}};
}

Operator SoftmaxOf(const System& system, const AttentionShape& shape, bool recomputed) {
  const AttentionSizes n(shape);
  const double gb = n.scores * system.element_gb;
  Operator op{.name = "softmax", .activation_gb = recomputed ? 0.0 : gb, .recomputed = recomputed};
  op.forward = {.tflop = SoftmaxForwardOps(n) * system.tflop_per_op, .hbm_gb = 2 * gb};
  op.backward = {.tflop = SoftmaxBackwardOps(n) * system.tflop_per_op, .hbm_gb = 3 * gb};
  return op;
}

}  // namespace

Operator Logits(const System& system, const AttentionShape& shape, Gathered gathered, int64_t tp2,
                bool recomputed) {
  const double flop = system.tflop_per_op, element = system.element_gb;
  const AttentionSizes n(shape);
  // As published: what is gathered again is not charged for doing so.
  Operator op{.name = "logits",
              .activation_gb = 2 * n.queries * element,
              .recomputed = recomputed && gathered == Gathered::kNo};
  op.forward = {.tflop = QueryKeyOps(n) * flop,
                .hbm_gb = (n.queries + n.keys + n.scores) * element};
  op.backward = {.tflop = (ScoreValueOps(n) + ScoreQueryOps(n)) * flop,
                 .hbm_gb = (n.queries + n.keys + 2 * n.scores) * element + op.activation_gb};
  AddGathers(gathered, tp2, n.keys * element, &op);
  return MakeOperator(system, Unit::kMatrix, op);
}

Operator Softmax(const System& system, const AttentionShape& shape, bool recomputed) {
  return MakeOperator(system, Unit::kVector, SoftmaxOf(system, shape, recomputed));
}

Operator Attend(const System& system, const AttentionShape& shape, Gathered gathered, int64_t tp2,
                bool rematerialized) {
  const double flop = system.tflop_per_op, element = system.element_gb;
  const AttentionSizes n(shape);
  const double scores_gb = n.scores * element, queries_gb = n.queries * element;
  Operator op{.name = "attend", .activation_gb = (rematerialized ? 0.0 : scores_gb) + queries_gb};
  op.forward = {.tflop = ScoreValueOps(n) * flop,
                .hbm_gb = scores_gb + n.keys * element + queries_gb};
  op.backward = {.tflop = (QueryKeyOps(n) + ScoreQueryOps(n)) * flop,
                 .hbm_gb = 3 * queries_gb + 2 * scores_gb + n.keys * element};
  AddGathers(gathered, tp2, n.keys * element, &op);
  return MakeOperator(system, Unit::kMatrix, op);
}

Operator FlashAttention(const System& system, const AttentionShape& shape, Gathered gathered,
                        int64_t tp2) {
  const double flop = system.tflop_per_op, element = system.element_gb;
  // Softmax and dropout run on the vector unit, but their time is taken at the matrix unit's rate.
  const double slower = system.matrix_tflops / system.vector_tflops;
  const AttentionSizes n(shape);
  const double scores = QueryKeyOps(n) + slower * (SoftmaxForwardOps(n) + n.scores);
  Operator op{.name = "fusedla"};
  op.activation_gb = 3 * n.queries * element;  // queries, keys, values
  op.activation_gb += n.vectors * element;     // states of the random numbers
  op.activation_gb += n.vectors * element;     // sums of the softmax
  op.activation_gb += n.queries * element;     // the result
  op.forward = {.tflop = (scores + ScoreValueOps(n)) * flop,
                .hbm_gb = (2 * n.queries + 2 * n.keys + n.vectors) * element};
  op.backward.tflop =
      (ScoreValueOps(n) + ScoreQueryOps(n) + slower * (SoftmaxBackwardOps(n) + n.scores) +
       QueryKeyOps(n) + ScoreQueryOps(n) + scores) *
      flop;
  op.backward.hbm_gb = (2 * n.keys + 2 * n.queries) * element + op.activation_gb;
  AddGathers(gathered, tp2, 2 * n.keys * element, &op);
  return MakeOperator(system, Unit::kMatrix, op);
}

namespace {

// What the products of attention on a grid have in common. AttentionSizes in elements.
struct GridSizes {
  GridSizes(const AttentionShape& whole, int64_t tp1, int64_t tp2)
      : rows(Share(whole.rows, tp2)),
        columns(static_cast<double>(whole.columns)),
        width(Share(whole.width, tp1)),
        heads(static_cast<double>(whole.batch * whole.heads)),
        queries(heads * rows * width),
        keys(heads * columns * width),
        scores(heads * rows * columns) {}

  double rows, columns, width, heads;
  double queries, keys, scores;
};

}  // namespace

// As published, neither is charged for recomputation.
Operator LogitsSumma(const System& system, const AttentionShape& whole, int64_t tp1, int64_t tp2,
                     int64_t panels) {
  const double flop = system.tflop_per_op, element = system.element_gb;
  const GridSizes n(whole, tp1, tp2);
  const double paneled = n.queries * static_cast<double>(panels);
  const double scores_gb = tp1 > 1 ? n.scores * element : 0.0;
  const double keys_gb = tp2 > 1 ? n.keys * element : 0.0;
  Operator op{.name = "logits", .activation_gb = 2 * n.queries * element, .panels = panels};
  op.forward.tflop = n.scores * (2 * n.width - 1) * flop;
  op.forward.hbm_gb = (n.keys + paneled + n.scores) * element;
  op.forward.transfers = {{Collective::kBroadcast, Axis::kTp2, keys_gb},
                          {Collective::kReduce, Axis::kTp1, scores_gb}};
  op.backward.tflop = (n.queries * (2 * n.columns - 1) + n.keys * (2 * n.rows - 1)) * flop;
  op.backward.hbm_gb = 2 * (n.scores + n.keys + paneled) * element;
  op.backward.transfers = {{Collective::kBroadcast, Axis::kTp1, scores_gb},
                           {Collective::kBroadcast, Axis::kTp2, keys_gb},
                           {Collective::kBroadcast, Axis::kTp1, scores_gb},
                           {Collective::kReduce, Axis::kTp2, keys_gb}};
  return MakeOperator(system, Unit::kMatrix, op);
}

Operator SoftmaxSumma(const System& system, const AttentionShape& whole, int64_t tp1, int64_t tp2,
                      bool recomputed) {
  AttentionShape local = whole;
  local.rows /= tp2;
  local.columns /= tp1;
  Operator op = SoftmaxOf(system, local, recomputed);
  const double gb = tp1 > 1 ? AttentionSizes(local).vectors * system.element_gb : 0.0;
  op.forward.transfers = {{Collective::kAllReduce, Axis::kTp1, gb}};
  op.backward.transfers = op.forward.transfers;
  return MakeOperator(system, Unit::kVector, op);
}

Operator AttendSumma(const System& system, const AttentionShape& whole, int64_t tp1, int64_t tp2,
                     int64_t panels, bool rematerialized) {
  const double flop = system.tflop_per_op, element = system.element_gb;
  const GridSizes n(whole, tp1, tp2);
  const double kept = rematerialized ? 0.0 : n.heads * n.rows * Share(whole.columns, tp1);
  const double traffic = (n.scores + n.keys + n.queries * static_cast<double>(panels)) * element;
  const double scores_gb = tp1 > 1 ? n.scores * element : 0.0;
  const double values_gb = tp2 > 1 ? n.keys * element : 0.0;
  Operator op{.name = "attend", .activation_gb = (kept + n.queries) * element, .panels = panels};
  op.forward.tflop = n.queries * 2 * n.columns * flop;
  op.forward.hbm_gb = traffic;
  op.forward.transfers = {{Collective::kBroadcast, Axis::kTp1, scores_gb},
                          {Collective::kBroadcast, Axis::kTp2, values_gb}};
  op.backward.tflop = (n.scores * (2 * n.width - 1) + n.keys * (2 * n.rows - 1)) * flop;
  op.backward.hbm_gb = 2 * traffic;
  op.backward.transfers = {{Collective::kBroadcast, Axis::kTp2, values_gb},
                           {Collective::kReduce, Axis::kTp1, scores_gb},
                           {Collective::kBroadcast, Axis::kTp1, scores_gb},
                           {Collective::kReduce, Axis::kTp2, values_gb}};
  return MakeOperator(system, Unit::kMatrix, op);
}

}  // namespace meshwright::transformer::nersc
