#ifndef MESHWRIGHT_SOLVE_CORE_H_
#define MESHWRIGHT_SOLVE_CORE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "meshwright/solve/matrix_pool.h"
#include "meshwright/solve/model.h"
#include "meshwright/solve/undo.h"

namespace meshwright::solve::MW_SOLVE_WIDTH {

// A model while it is being reduced: nodes and edges disappear, what they cost moves to those that
// stay, and the log remembers how to get back. The reductions (reduce_*.h) are functions over it;
// each of its own functions is one exact step that keeps these invariants:
//
// * at most one edge joins two nodes (parallel ones are added);
// * a node's cheapest strategy costs 0 (the rest is in `constant`), once it has been through Tidy;
// * an edge's matrix is interned, non-negative and has a zero in every row and column, once tidy;
// * whatever changed is in the worklist, so that the reductions look at it again.
class Core {
 public:
  struct Node {
    bool alive = true;
    bool queued = false;
    std::vector<Number> cost;
    std::vector<Segment> segments;  // disjoint unless `tangled`
    bool tangled = false;           // merges only append; ReduceRows sorts it out
    std::vector<int32_t> edges;     // alive edges only
  };
  struct Edge {
    int32_t a = -1, b = -1;  // -1: gone
    MatrixRef matrix;
    bool tidy = false;
  };

  // `pool` must outlive it.
  Core(Model model, MatrixPool* pool);

  // --- Reading ---
  int32_t size() const { return static_cast<int32_t>(nodes_.size()); }
  const Node& node(int32_t v) const { return nodes_[v]; }
  const Edge& edge(int32_t e) const { return edges_[e]; }
  int32_t strategies(int32_t v) const { return static_cast<int32_t>(nodes_[v].cost.size()); }
  int32_t degree(int32_t v) const { return static_cast<int32_t>(nodes_[v].edges.size()); }
  int32_t Other(int32_t e, int32_t v) const { return edges_[e].a == v ? edges_[e].b : edges_[e].a; }
  // The edge's matrix with v's strategies as rows.
  MatrixRef MatrixFrom(int32_t e, int32_t v);
  const std::vector<Number>& capacity() const { return capacity_; }
  bool infeasible() const { return infeasible_; }
  // The first that showed it, -1 if nothing of the kind did: a node without strategies, or a row
  // (of those in the beginning) that cannot be kept.
  int32_t empty_node() const { return empty_node_; }
  int32_t crowded_row() const { return crowded_row_; }
  MatrixPool& pool() { return *pool_; }

  // --- Worklist ---
  void Queue(int32_t v);
  bool HasQueued() const { return queue_head_ < queue_.size(); }
  // The next alive node whose surroundings changed; -1 if there is none.
  int32_t TakeQueued();

  // --- Steps ---
  // Adds `matrix` (rows are a's strategies) to the edge between a and b.
  void AddEdge(int32_t a, int32_t b, const MatrixRef& matrix);
  void RemoveEdge(int32_t e);
  void AddNodeCost(int32_t v, std::span<const Number> cost);
  // Moves what can be moved from v's edges to nodes and from v to the constant, drops v's edges
  // that are left with zeros, and removes v's forbidden strategies.
  void Tidy(int32_t v);
  // Keeps strategies `kept` (ascending); replacement as in StrategiesRemoved.
  void KeepStrategies(int32_t v, std::vector<int32_t> kept, std::vector<int32_t> replacement);
  // Lets `node` follow `into`: strategy follow[s] when `into` has s, the only finite choice.
  void Merge(int32_t node, int32_t into, std::vector<int32_t> follow);
  // Minimises out a node without segments and with at most two edges.
  void Eliminate(int32_t v);
  // Folds a node with one strategy into its neighbours and the capacities.
  void Fix(int32_t v);
  // Moves the segments out to be changed and put back.
  std::vector<Segment> TakeSegments(int32_t v) { return std::move(nodes_[v].segments); }
  void SetSegments(int32_t v, std::vector<Segment> segments) {
    nodes_[v].segments = std::move(segments);
    nodes_[v].tangled = false;
  }
  void SetCapacity(std::vector<Number> capacity) { capacity_ = std::move(capacity); }
  // Row r becomes row to[r], or disappears if that is -1. Several rows becoming one keep the
  // smallest capacity. Segments must be renumbered by the caller.
  void MoveRows(const std::vector<int32_t>& to);
  void SetInfeasible() { infeasible_ = true; }
  void SetNoStrategyLeft(int32_t v);
  void SetCrowded(int32_t row);

  // --- Result ---
  // The remaining nodes in order; node_of[i] is where node i of the result was.
  Model Extract(std::vector<int32_t>* node_of) const;
  // By row in the beginning: the row that now stands for it, or -1.
  const std::vector<int32_t>& row_now() const { return row_now_; }
  // Strategies removed and nodes gone so far, in steps.
  int64_t changes() const { return log_.size(); }
  UndoLog TakeLog() { return std::move(log_); }

 private:
  static uint64_t PairKey(int32_t a, int32_t b) {
    if (a > b) std::swap(a, b);
    return static_cast<uint64_t>(a) << 32 | static_cast<uint32_t>(b);
  }
  void RemoveNode(int32_t v);

  MatrixPool* pool_;
  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  absl::flat_hash_map<uint64_t, int32_t> edge_between_;
  std::vector<Number> capacity_;
  std::vector<int32_t> row_now_;
  Int128 constant_ = 0;
  bool infeasible_ = false;
  int32_t empty_node_ = -1, crowded_row_ = -1;
  std::vector<int32_t> queue_;
  size_t queue_head_ = 0;
  UndoLog log_;
};

}  // namespace meshwright::solve::MW_SOLVE_WIDTH

#endif  // MESHWRIGHT_SOLVE_CORE_H_
