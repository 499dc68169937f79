#include "meshwright/solve/neighbourhood_search.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "meshwright/base/parallel.h"
#include "meshwright/solve/branch_and_bound.h"

// Three kinds of neighbourhood take turns: a ball in the graph around a random node, a window of
// consecutive nodes (programs are written in an order that keeps what belongs together together),
// and nodes that use memory at the same time around a row that is nearly full, because what one of
// them frees only another of them can use.
//
// A sub-problem is a model like any other: costs of edges to kept nodes move to the free ones,
// capacities lose what kept nodes use. It goes through the same reductions, bounds and branching,
// with a budget of steps; its size grows while sub-problems are solved completely and shrinks when
// they are not.
//
// A round solves a fixed number of sub-problems from the same choice, on however many threads, and
// applies the results in order, so that the outcome is the same for any number of threads.

namespace meshwright::solve::MW_SOLVE_WIDTH {
namespace {

constexpr size_t kTasksPerRound = 8;
constexpr int64_t kStepsPerTask = 3'000'000;
constexpr double kSmallest = 6, kLargest = 400, kGrow = 1.05, kShrink = 0.9;

Model SubModel(const Model& model, const Neighbourhoods& near, const LocalState& state,
               const std::vector<int32_t>& nodes, std::vector<int32_t>* rows) {
  Model sub;
  absl::flat_hash_map<int32_t, int32_t> index;
  index.reserve(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) index[nodes[i]] = static_cast<int32_t>(i);
  const Choice& choice = state.choice();
  // Only the rows that the free nodes use.
  std::vector<std::pair<int32_t, int32_t>> ranges;
  for (int32_t v : nodes) {
    for (const Segment& g : model.nodes[v].segments) ranges.emplace_back(g.begin, g.end);
  }
  std::sort(ranges.begin(), ranges.end());
  rows->clear();
  for (const auto& [begin, end] : ranges) {
    for (int32_t r = rows->empty() ? begin : std::max(begin, rows->back() + 1); r < end; ++r)
      rows->push_back(r);
  }
  const auto row = [rows](int32_t r) {
    return static_cast<int32_t>(std::lower_bound(rows->begin(), rows->end(), r) - rows->begin());
  };
  for (int32_t r : *rows) sub.capacity.push_back(state.slack()[r]);
  for (int32_t v : nodes) {
    ModelNode node{model.nodes[v].cost, {}};
    for (const Segment& g : model.nodes[v].segments) {
      Segment moved{row(g.begin), row(g.end), g.amount};
      for (int32_t r = moved.begin; r < moved.end; ++r) sub.capacity[r] += g.amount[choice[v]];
      node.segments.push_back(std::move(moved));
    }
    for (const Neighbourhoods::Link& link : near.of(v)) {
      if (index.contains(link.other)) continue;
      const int32_t theirs = choice[link.other];
      for (size_t s = 0; s < node.cost.size(); ++s) {
        node.cost[s] = AddCost(node.cost[s], link.at(static_cast<int32_t>(s), theirs));
      }
    }
    sub.nodes.push_back(std::move(node));
  }
  for (int32_t v : nodes) {
    for (const Neighbourhoods::Link& link : near.of(v)) {
      if (!link.row) continue;
      const auto other = index.find(link.other);
      if (other == index.end()) continue;
      // The model owns the matrix and outlives the sub-problem.
      sub.edges.push_back({index[v], other->second, MatrixRef(MatrixRef(), link.matrix)});
    }
  }
  return sub;
}

}  // namespace

NeighbourhoodSearch::NeighbourhoodSearch(const Model& model, Choice start, Options options)
    : model_(model),
      options_(std::move(options)),
      near_(model),
      state_(model, near_, std::move(start)),
      random_(options_.seed),
      size_(3, 30.0),
      success_(3, 1.0) {}

std::vector<int32_t> NeighbourhoodSearch::Ball(int32_t centre, int64_t size) {
  std::vector<int32_t> ball{centre};
  absl::flat_hash_set<int32_t> in{centre};
  for (size_t next = 0; next < ball.size() && static_cast<int64_t>(ball.size()) < size; ++next) {
    const auto links = near_.of(ball[next]);
    // A hub's neighbours are a random sample, or it would fill the ball.
    const size_t start = links.empty() ? 0 : random_() % links.size();
    const size_t most = std::min<size_t>(links.size(), 12);
    for (size_t i = 0; i < most && static_cast<int64_t>(ball.size()) < size; ++i) {
      const int32_t u = links[(start + i) % links.size()].other;
      if (in.insert(u).second) ball.push_back(u);
    }
  }
  return ball;
}

std::vector<int32_t> NeighbourhoodSearch::Window(int64_t size) {
  const int64_t n = model_.size(), width = std::min(n, size);
  const int64_t first = static_cast<int64_t>(random_() % (n - width + 1));
  std::vector<int32_t> window(width);
  for (int64_t i = 0; i < width; ++i) window[i] = static_cast<int32_t>(first + i);
  return window;
}

std::vector<int32_t> NeighbourhoodSearch::AroundRow(int64_t size) {
  // The row with the least slack among a few random ones.
  int32_t row = -1;
  for (int i = 0; i < 4; ++i) {
    const auto r = static_cast<int32_t>(random_() % model_.rows());
    if (row < 0 || state_.slack()[r] < state_.slack()[row]) row = r;
  }
  std::vector<int32_t> users(near_.users(row).begin(), near_.users(row).end());
  std::shuffle(users.begin(), users.end(), random_);
  std::vector<int32_t> nodes;
  absl::flat_hash_set<int32_t> in;
  const auto add = [&](int32_t v) {
    if (static_cast<int64_t>(nodes.size()) < size && in.insert(v).second) nodes.push_back(v);
  };
  for (int32_t v : users) {
    add(v);
    const auto links = near_.of(v);
    if (links.empty()) continue;
    const size_t start = random_() % links.size();
    for (size_t i = 0; i < std::min<size_t>(links.size(), 3); ++i)
      add(links[(start + i) % links.size()].other);
  }
  return nodes;
}

void NeighbourhoodSearch::Solve(Task* task) const {
  std::vector<int32_t> rows;
  const Model sub = SubModel(model_, near_, state_, task->nodes, &rows);
  Choice present(task->nodes.size());
  for (size_t i = 0; i < present.size(); ++i) present[i] = state_.choice()[task->nodes[i]];
  BranchOptions options;
  options.upper = ModelCost(sub, present);
  options.max_steps = kStepsPerTask;
  options.root_rounds = 15;
  options.stop = options_.stop;
  if (!options_.multipliers.empty()) {
    for (int32_t r : rows) options.multipliers.push_back(options_.multipliers[r]);
  }
  BranchResult result = BranchAndBound(sub, options);
  task->strategies = std::move(result.choice);
  task->complete = result.complete;
  task->steps = result.steps;
}

int64_t NeighbourhoodSearch::Round() {
  if (model_.size() == 0) return 1;
  std::vector<Task> tasks(kTasksPerRound);
  const size_t kinds = model_.rows() > 0 ? 3 : 2;
  for (Task& task : tasks) {
    // Kinds that helped lately come more often.
    double sum = 0;
    for (size_t k = 0; k < kinds; ++k) sum += success_[k] + 0.1;
    double draw = static_cast<double>(random_() >> 11) * 0x1p-53 * sum;
    for (task.kind = 0; task.kind + 1 < kinds && draw >= success_[task.kind] + 0.1; ++task.kind) {
      draw -= success_[task.kind] + 0.1;
    }
    const auto size = static_cast<int64_t>(size_[task.kind]);
    if (task.kind == 0) {
      task.nodes = Ball(static_cast<int32_t>(random_() % model_.size()), size);
    } else if (task.kind == 1) {
      task.nodes = Window(size);
    } else {
      task.nodes = AroundRow(size);
    }
  }
  ForEachParallel(tasks.size(), options_.threads, [&](size_t i) { Solve(&tasks[i]); });

  int64_t steps = 0;
  for (const Task& task : tasks) {
    steps += task.steps;
    const bool helped = !task.strategies.empty() && state_.ImproveWith(task.nodes, task.strategies);
    success_[task.kind] = 0.95 * success_[task.kind] + (helped ? 0.05 : 0);
    double& size = size_[task.kind];
    size = std::clamp(size * (task.complete ? kGrow : kShrink), kSmallest, kLargest);
  }
  return steps;
}

}  // namespace meshwright::solve::MW_SOLVE_WIDTH
