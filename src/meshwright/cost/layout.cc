#include "meshwright/cost/layout.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"

namespace meshwright {
namespace {

// Dimensions from the outermost to the innermost in memory, without those of size 1.
using Order = std::vector<int64_t>;

bool Contains(const std::vector<int64_t>& list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

Order RowMajor(const Shape& shape) {
  Order order;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (shape.dims[d] != 1) order.push_back(d);
  }
  return order;
}

std::vector<int64_t> WithoutOnes(const std::vector<int64_t>& dims, const Shape& shape) {
  std::vector<int64_t> kept;
  for (int64_t d : dims) {
    if (d >= 0 && d < shape.rank() && shape.dims[d] != 1) kept.push_back(d);
  }
  return kept;
}

// Dimensions of a reshape's operand and result that stand for the same elements.
struct ReshapeGroup {
  std::vector<int64_t> in, out;
};

std::vector<ReshapeGroup> ReshapeGroups(const Shape& in, const Shape& out) {
  std::vector<ReshapeGroup> groups;
  size_t i = 0, o = 0;
  while (i < in.dims.size() || o < out.dims.size()) {
    ReshapeGroup group;
    double in_size = 1, out_size = 1;
    do {
      if (i < in.dims.size() && (in_size <= out_size || o == out.dims.size())) {
        in_size *= static_cast<double>(in.dims[i]);
        if (in.dims[i] != 1) group.in.push_back(static_cast<int64_t>(i));
        ++i;
      } else if (o < out.dims.size()) {
        out_size *= static_cast<double>(out.dims[o]);
        if (out.dims[o] != 1) group.out.push_back(static_cast<int64_t>(o));
        ++o;
      } else {
        break;
      }
    } while (in_size != out_size);
    groups.push_back(std::move(group));
  }
  return groups;
}

// Order of a reshape's result if memory stays as it is; nullopt if it cannot.
std::optional<Order> Reshaped(const Shape& in, const Shape& out, const Order& order) {
  Order result;
  const std::vector<ReshapeGroup> groups = ReshapeGroups(in, out);
  for (size_t at = 0; at < order.size();) {
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const ReshapeGroup& g) {
      return !g.in.empty() && g.in[0] == order[at];
    });
    if (group == groups.end() || at + group->in.size() > order.size() ||
        !std::equal(group->in.begin(), group->in.end(), order.begin() + static_cast<int64_t>(at)))
      return std::nullopt;
    result.insert(result.end(), group->out.begin(), group->out.end());
    at += group->in.size();
  }
  return result;
}

// Can a GEMM library read an operand in this order: batches of matrices with free and contracted
// dimensions in either order?
bool ReadableByGemm(const Order& order, const std::vector<int64_t>& batch,
                    const std::vector<int64_t>& contracting, const std::vector<int64_t>& free) {
  if (order.size() != batch.size() + contracting.size() + free.size()) return false;
  if (!std::equal(batch.begin(), batch.end(), order.begin())) return false;
  const auto at = order.begin() + static_cast<int64_t>(batch.size());
  const auto same = [](Order::const_iterator begin, const std::vector<int64_t>& dims) {
    return std::equal(dims.begin(), dims.end(), begin);
  };
  return (same(at, free) && same(at + static_cast<int64_t>(free.size()), contracting)) ||
         (same(at, contracting) && same(at + static_cast<int64_t>(contracting.size()), free));
}

class LayoutAnalysis {
 public:
  LayoutAnalysis(const Graph& graph, const std::vector<bool>& free) : graph_(graph), free_(free) {
    orders_.resize(graph.values.size());
    for (size_t v = 0; v < graph.values.size(); ++v) origins_.emplace_back(v);
    copies_.resize(graph.ops.size());
  }

  LayoutCopies Run() {
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const OpId id(i);
      const Op& op = graph_[id];
      copies_[i].assign(op.operands.size(), false);
      for (ValueId v : op.results) orders_[v.index()] = RowMajor(graph_[v].shape);
      if (op.kind == OpKind::kInstruction && op.results.size() == 1) Follow(id);
    }
    return std::move(copies_);
  }

 private:
  const Order& OrderOf(ValueId v) const { return orders_[v.index()]; }

  void Copy(OpId id, size_t operand) {
    const ValueId v = graph_[id].operands[operand];
    if (free_[v.index()] || !copied_.insert(origins_[v.index()]).second) return;
    copies_[id.index()][operand] = true;
  }

  void Follow(OpId id) {
    const Op& op = graph_[id];
    Order& result = orders_[op.results[0].index()];
    if (IsShardingRequest(op)) {
      result = OrderOf(op.operands[0]);
      origins_[op.results[0].index()] = origins_[op.operands[0].index()];
      return;
    }
    switch (op.instruction->opcode) {
      case Opcode::kTranspose: {
        const std::vector<int64_t>& permutation = op.instruction->dimensions;
        Order order;
        for (int64_t d : OrderOf(op.operands[0])) {
          const auto at = std::find(permutation.begin(), permutation.end(), d);
          if (at != permutation.end()) order.push_back(at - permutation.begin());
        }
        if (order.size() == result.size()) result = std::move(order);
        return;
      }
      case Opcode::kReshape: {
        const Order& in = OrderOf(op.operands[0]);
        const Shape& shape = graph_[op.operands[0]].shape;
        std::optional<Order> order = Reshaped(shape, graph_[op.results[0]].shape, in);
        if (order.has_value() && order->size() == result.size()) {
          result = *std::move(order);
        } else {
          Copy(id, 0);
        }
        return;
      }
      case Opcode::kReduce: {
        if (op.operands.empty()) return;
        const std::vector<int64_t>& reduced = op.instruction->dimensions;
        Order order;
        for (int64_t d : OrderOf(op.operands[0])) {
          if (Contains(reduced, d)) continue;
          order.push_back(
              d - std::count_if(reduced.begin(), reduced.end(), [d](int64_t r) { return r < d; }));
        }
        if (order.size() == result.size()) result = std::move(order);
        return;
      }
      case Opcode::kDot:
        return FollowDot(id);
      default:
        if (IsElementwise(op.instruction->opcode)) FollowElementwise(id);
    }
  }

  void FollowDot(OpId id) {
    const Op& op = graph_[id];
    const DotDimensions& dot = op.instruction->dot;
    const std::vector<int64_t>* batch[] = {&dot.lhs_batch, &dot.rhs_batch};
    const std::vector<int64_t>* contracting[] = {&dot.lhs_contracting, &dot.rhs_contracting};
    for (size_t i = 0; i < 2 && i < op.operands.size(); ++i) {
      const Shape& shape = graph_[op.operands[i]].shape;
      std::vector<int64_t> free;
      for (int64_t d = 0; d < shape.rank(); ++d) {
        if (!Contains(*batch[i], d) && !Contains(*contracting[i], d)) free.push_back(d);
      }
      if (!ReadableByGemm(OrderOf(op.operands[i]), WithoutOnes(*batch[i], shape),
                          WithoutOnes(*contracting[i], shape), WithoutOnes(free, shape)))
        Copy(id, i);
    }
  }

  // The result lies as its earliest operand does.
  void FollowElementwise(OpId id) {
    const Op& op = graph_[id];
    ValueId leader;
    for (ValueId v : op.operands) {
      if (TakesPart(v) && graph_[v].shape.dims == graph_[op.results[0]].shape.dims &&
          (!leader.valid() || ProducerOf(v).index() < ProducerOf(leader).index()))
        leader = v;
    }
    if (leader.valid()) orders_[op.results[0].index()] = OrderOf(leader);
  }

  // What is broadcast from few elements has any order that its users like.
  bool TakesPart(ValueId v) const {
    const Op& producer = graph_[ProducerOf(v)];
    return !free_[v.index()] && !(producer.kind == OpKind::kInstruction &&
                                  producer.instruction->opcode == Opcode::kBroadcast);
  }

  // Of the value that `v` is, sharded otherwise or not.
  OpId ProducerOf(ValueId v) const { return graph_[origins_[v.index()]].producer; }

  const Graph& graph_;
  const std::vector<bool>& free_;
  LayoutCopies copies_;
  std::vector<ValueId> origins_;  // by value: itself; of requests for shardings, what they hand on
  std::vector<Order> orders_;     // by value
  absl::flat_hash_set<ValueId> copied_;
};

}  // namespace

LayoutCopies FindLayoutCopies(const Graph& graph, const std::vector<bool>& free) {
  return LayoutAnalysis(graph, free).Run();
}

}  // namespace meshwright
