#include "meshwright/solve/core.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace meshwright::solve::MW_SOLVE_WIDTH {

Core::Core(Model model, MatrixPool* pool)
    : pool_(pool), capacity_(std::move(model.capacity)), constant_(model.constant) {
  row_now_.resize(capacity_.size());
  std::iota(row_now_.begin(), row_now_.end(), 0);
  nodes_.resize(model.nodes.size());
  for (size_t v = 0; v < nodes_.size(); ++v) {
    nodes_[v].cost = std::move(model.nodes[v].cost);
    nodes_[v].segments = std::move(model.nodes[v].segments);
  }
  edges_.reserve(model.edges.size());
  edge_between_.reserve(model.edges.size());
  absl::flat_hash_map<const Matrix*, MatrixRef> interned;  // most edges share their matrix already
  for (ModelEdge& edge : model.edges) {
    MatrixRef& matrix = interned[edge.matrix.get()];
    if (matrix == nullptr) matrix = pool_->Intern(edge.matrix);
    AddEdge(edge.a, edge.b, matrix);
  }
  for (int32_t v = 0; v < size(); ++v) Queue(v);
}

MatrixRef Core::MatrixFrom(int32_t e, int32_t v) {
  return edges_[e].a == v ? edges_[e].matrix : pool_->Transposed(edges_[e].matrix);
}

void Core::Queue(int32_t v) {
  if (nodes_[v].queued || !nodes_[v].alive) return;
  nodes_[v].queued = true;
  queue_.push_back(v);
}

int32_t Core::TakeQueued() {
  while (queue_head_ < queue_.size()) {
    const int32_t v = queue_[queue_head_++];
    nodes_[v].queued = false;
    if (nodes_[v].alive) return v;
  }
  queue_.clear();
  queue_head_ = 0;
  return -1;
}

void Core::AddEdge(int32_t a, int32_t b, const MatrixRef& matrix) {
  const auto [it, fresh] =
      edge_between_.try_emplace(PairKey(a, b), static_cast<int32_t>(edges_.size()));
  if (fresh) {
    edges_.push_back({a, b, matrix, false});
    nodes_[a].edges.push_back(it->second);
    nodes_[b].edges.push_back(it->second);
  } else {
    Edge& edge = edges_[it->second];
    edge.matrix = pool_->Sum(edge.matrix, edge.a == a ? matrix : pool_->Transposed(matrix));
    edge.tidy = false;
  }
  Queue(a);
  Queue(b);
}

void Core::RemoveEdge(int32_t e) {
  Edge& edge = edges_[e];
  edge_between_.erase(PairKey(edge.a, edge.b));
  for (int32_t v : {edge.a, edge.b}) {
    std::erase(nodes_[v].edges, e);
    Queue(v);
  }
  edge = Edge();
}

void Core::AddNodeCost(int32_t v, std::span<const Number> cost) {
  for (size_t s = 0; s < cost.size(); ++s) nodes_[v].cost[s] = AddCost(nodes_[v].cost[s], cost[s]);
  Queue(v);
}

void Core::Tidy(int32_t v) {
  for (size_t i = 0; i < nodes_[v].edges.size();) {
    const int32_t e = nodes_[v].edges[i];
    Edge& edge = edges_[e];
    if (edge.tidy) {
      ++i;
      continue;
    }
    edge.tidy = true;
    MatrixPool::SplitRef split = pool_->SplitOf(edge.matrix);
    if (split.unchanged) {
      ++i;
      continue;
    }
    AddNodeCost(edge.a, split.row->cost);
    AddNodeCost(edge.b, split.col->cost);
    if (split.rest == nullptr) {
      RemoveEdge(e);  // takes it from the list we walk
    } else {
      edge.matrix = std::move(split.rest);
      ++i;
    }
  }
  std::vector<Number>& cost = nodes_[v].cost;
  const Number least = *std::min_element(cost.begin(), cost.end());
  if (IsInf(least)) {
    SetNoStrategyLeft(v);
    return;
  }
  constant_ += least;
  std::vector<int32_t> kept, replacement(cost.size(), -1);
  for (size_t s = 0; s < cost.size(); ++s) {
    if (IsInf(cost[s])) continue;
    cost[s] -= least;
    replacement[s] = static_cast<int32_t>(kept.size());
    kept.push_back(static_cast<int32_t>(s));
  }
  if (kept.size() < cost.size()) KeepStrategies(v, std::move(kept), std::move(replacement));
}

void Core::KeepStrategies(int32_t v, std::vector<int32_t> kept, std::vector<int32_t> replacement) {
  Node& node = nodes_[v];
  const auto keep = [&kept](std::vector<Number>* values) {
    for (size_t s = 0; s < kept.size(); ++s) (*values)[s] = (*values)[kept[s]];
    values->resize(kept.size());
  };
  keep(&node.cost);
  for (Segment& segment : node.segments) keep(&segment.amount);
  const MatrixRef index = pool_->InternVector({kept.begin(), kept.end()});
  for (int32_t e : node.edges) {
    Edge& edge = edges_[e];
    const MatrixRef selected = pool_->SelectRows(MatrixFrom(e, v), index);
    edge.matrix = edge.a == v ? selected : pool_->Transposed(selected);
    edge.tidy = false;
    Queue(Other(e, v));
  }
  Queue(v);
  log_.Add(StrategiesRemoved{v, std::move(kept), std::move(replacement)});
}

void Core::Merge(int32_t node, int32_t into, std::vector<int32_t> follow) {
  std::vector<Number> cost(follow.size());
  for (size_t s = 0; s < follow.size(); ++s) cost[s] = nodes_[node].cost[follow[s]];
  AddNodeCost(into, cost);
  const int32_t joint = edge_between_.at(PairKey(node, into));
  const MatrixRef matrix = MatrixFrom(joint, into);
  for (size_t s = 0; s < follow.size(); ++s)
    cost[s] = matrix->at(static_cast<int32_t>(s), follow[s]);
  AddNodeCost(into, cost);
  RemoveEdge(joint);

  const MatrixRef index = pool_->InternVector({follow.begin(), follow.end()});
  const std::vector<int32_t> edges = nodes_[node].edges;
  for (int32_t e : edges) {
    const int32_t other = Other(e, node);
    const MatrixRef selected = pool_->SelectRows(MatrixFrom(e, node), index);
    RemoveEdge(e);
    AddEdge(into, other, selected);
  }
  if (!nodes_[node].segments.empty()) {
    std::vector<Segment>& segments = nodes_[into].segments;
    for (const Segment& segment : nodes_[node].segments) {
      Segment moved{segment.begin, segment.end, std::vector<Number>(follow.size())};
      for (size_t s = 0; s < follow.size(); ++s) moved.amount[s] = segment.amount[follow[s]];
      segments.push_back(std::move(moved));
    }
    nodes_[into].tangled = true;
  }
  RemoveNode(node);
  log_.Add(Merged{node, into, std::move(follow)});
}

void Core::Eliminate(int32_t v) {
  Eliminated step{v, pool_->InternVector(nodes_[v].cost), {}};
  const std::vector<int32_t> edges = nodes_[v].edges;
  for (int32_t e : edges) step.neighbours.push_back({Other(e, v), MatrixFrom(e, Other(e, v))});
  for (int32_t e : edges) RemoveEdge(e);
  if (edges.size() == 2) {
    const auto& [a, from_a] = step.neighbours[0];
    const auto& [b, from_b] = step.neighbours[1];
    AddEdge(a, b, pool_->MinPlusOf(from_a, step.cost, pool_->Transposed(from_b)));
  } else if (edges.size() == 1) {
    AddNodeCost(step.neighbours[0].node,
                MinPlusVector(*step.neighbours[0].matrix, step.cost->cost));
  } else {
    constant_ += *std::min_element(nodes_[v].cost.begin(), nodes_[v].cost.end());
  }
  RemoveNode(v);
  log_.Add(std::move(step));
}

void Core::Fix(int32_t v) {
  for (const Segment& segment : nodes_[v].segments) {
    for (int32_t r = segment.begin; r < segment.end; ++r) {
      capacity_[r] -= segment.amount[0];
      if (capacity_[r] < 0) SetCrowded(r);
    }
  }
  nodes_[v].segments.clear();
  const std::vector<int32_t> edges = nodes_[v].edges;
  for (int32_t e : edges) {
    const int32_t other = Other(e, v);
    const std::vector<Number> cost = edges_[e].matrix->cost;  // a single row or column
    RemoveEdge(e);
    AddNodeCost(other, cost);
  }
  Eliminate(v);
}

void Core::MoveRows(const std::vector<int32_t>& to) {
  std::vector<Number> capacity;
  for (size_t r = 0; r < to.size(); ++r) {
    if (to[r] < 0) continue;
    if (to[r] >= static_cast<int32_t>(capacity.size())) capacity.resize(to[r] + 1, kInf);
    capacity[to[r]] = std::min(capacity[to[r]], capacity_[r]);
  }
  capacity_ = std::move(capacity);
  for (int32_t& row : row_now_) {
    if (row >= 0) row = to[row];
  }
}

void Core::SetNoStrategyLeft(int32_t v) {
  if (!infeasible_) empty_node_ = v;
  infeasible_ = true;
}

void Core::SetCrowded(int32_t row) {
  if (!infeasible_) {
    const auto it = std::find(row_now_.begin(), row_now_.end(), row);
    crowded_row_ = static_cast<int32_t>(it - row_now_.begin());
  }
  infeasible_ = true;
}

void Core::RemoveNode(int32_t v) {
  const bool queued = nodes_[v].queued;
  nodes_[v] = Node();
  nodes_[v].alive = false;
  nodes_[v].queued = queued;
}

Model Core::Extract(std::vector<int32_t>* node_of) const {
  Model model;
  model.constant = constant_;
  model.capacity = capacity_;
  std::vector<int32_t> index(nodes_.size(), -1);
  node_of->clear();
  for (int32_t v = 0; v < size(); ++v) {
    if (!nodes_[v].alive) continue;
    index[v] = model.size();
    node_of->push_back(v);
    model.nodes.push_back({nodes_[v].cost, nodes_[v].segments});
  }
  for (const Edge& edge : edges_) {
    if (edge.a >= 0) model.edges.push_back({index[edge.a], index[edge.b], edge.matrix});
  }
  return model;
}

}  // namespace meshwright::solve::MW_SOLVE_WIDTH
