#ifndef MESHWRIGHT_TESTS_SOLVE_PLANNING_PROBLEM_H_
#define MESHWRIGHT_TESTS_SOLVE_PLANNING_PROBLEM_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "meshwright/solve/problem.h"
#include "tests/solve/random_problem.h"

namespace meshwright::solve {

// Problems like those of planning a training step: `layers` equal layers, each a forward part and,
// mirrored in time, a backward part whose operators read the forward part's results and the layer's
// parameters.
struct PlanningShape {
  int layers = 24;
  int ops = 20;         // operators of a layer's forward part; the backward part has as many
  int strategies = 16;  // of an operator
  int layouts = 9;      // of a tensor; several strategies share one
  uint64_t seed = 1;
};

// Times are picoseconds, usages bytes. The limit is kUnlimited.
inline Problem PlanningProblem(const PlanningShape& shape) {
  RandomSource random(shape.seed);
  Problem problem;
  // What an operator's strategies produce: layouts 0 to layouts - 1, layout 0 being replicated.
  const int64_t layouts = shape.layouts;
  struct Kind {
    std::vector<int64_t> cost, amount;
    std::vector<int64_t> result;  // layout by strategy
    int64_t bytes;
  };
  const auto make_kind = [&](bool is_parameter) {
    Kind kind;
    kind.bytes = (int64_t{1} << 20) * (1 + random.Below(64));
    const int64_t work = 1'000'000 * (1 + random.Below(5000));
    for (int s = 0; s < shape.strategies; ++s) {
      const int64_t layout = s == 0 ? 0 : random.Below(layouts);
      const int64_t degree = layout == 0 ? 1 : layout <= layouts / 2 ? 4 : 16;
      kind.result.push_back(layout);
      // Computation is divided, and the strategy's own collectives come on top: memory is bought
      // with time.
      const int64_t computation =
          is_parameter ? 0 : work / (degree * (1 + random.Below(4)) / 2 + 1);
      const int64_t collectives =
          degree == 1 ? 0 : kind.bytes * (degree == 4 ? 10 : 25 + random.Below(10));
      kind.cost.push_back(computation + collectives);
      kind.amount.push_back(kind.bytes / degree);
    }
    return kind;
  };
  const auto reshard = [&](const Kind& from, const Kind& to) {
    Matrix m{shape.strategies, shape.strategies, {}};
    std::vector<int64_t> multiplier(layouts * layouts);
    for (int64_t a = 0; a < layouts; ++a) {
      for (int64_t b = 0; b < layouts; ++b) {
        // An all-gather, an all-to-all or a slice, at some 20 ps a byte.
        multiplier[a * layouts + b] =
            a == b || a == 0 ? 0 : from.bytes * (5 + random.Below(16)) / (b == 0 ? 1 : 4);
      }
    }
    std::vector<int64_t> wanted;  // of this operand, by strategy
    for (int64_t b : to.result) wanted.push_back(random.Percent(60) ? b : random.Below(layouts));
    for (int64_t a : from.result) {
      for (int64_t b : wanted) m.cost.push_back(multiplier[a * layouts + b]);
    }
    return std::make_shared<const Matrix>(std::move(m));
  };

  // One layer: forward kinds, backward kinds, parameters of every third operator; edges with their
  // matrices.
  const int ops = shape.ops;
  std::vector<Kind> forward, backward, parameter;
  for (int i = 0; i < ops; ++i) forward.push_back(make_kind(false));
  for (int i = 0; i < ops; ++i) backward.push_back(make_kind(false));
  for (int i = 0; i < ops; i += 3) parameter.push_back(make_kind(true));
  struct Wire {
    int from, to;  // operator indices
    std::shared_ptr<const Matrix> matrix;
  };
  std::vector<Wire> forward_wires, backward_wires, across, parameter_forward, parameter_backward;
  for (int i = 0; i + 1 < ops; ++i) {
    forward_wires.push_back({i, i + 1, reshard(forward[i], forward[i + 1])});
    backward_wires.push_back({i, i + 1, reshard(backward[i], backward[i + 1])});
  }
  for (const auto& [from, to] :
       {std::pair(0, ops / 2), std::pair(ops / 2, ops - 1)}) {  // residuals
    if (to - from < 2) continue;
    forward_wires.push_back({from, to, reshard(forward[from], forward[to])});
    backward_wires.push_back({from, to, reshard(backward[from], backward[to])});
  }
  for (int i = 0; i < ops; i += 3) {
    across.push_back({i, ops - 1 - i, reshard(forward[i], backward[ops - 1 - i])});
    parameter_forward.push_back({i / 3, i, reshard(parameter[i / 3], forward[i])});
    parameter_backward.push_back(
        {i / 3, ops - 1 - i, reshard(parameter[i / 3], backward[ops - 1 - i])});
  }
  const auto forward_link = reshard(forward[ops - 1], forward[0]);
  const auto backward_link = reshard(backward[ops - 1], backward[0]);
  const auto turn = reshard(forward[ops - 1], backward[0]);

  // Nodes in program order, so that a result is used after it is made; usage lasts until the last
  // use.
  const int layers = shape.layers, steps = 2 * layers * ops;
  const auto forward_time = [&](int layer, int i) { return layer * ops + i; };
  const auto backward_time = [&](int layer, int i) {
    return steps / 2 + (layers - 1 - layer) * ops + i;
  };
  std::vector<int32_t> last_use(steps, 0);
  struct Use {
    int from, to;
    std::shared_ptr<const Matrix> matrix;
  };
  std::vector<Use> uses;
  for (int layer = 0; layer < layers; ++layer) {
    for (const Wire& w : forward_wires) {
      uses.push_back({forward_time(layer, w.from), forward_time(layer, w.to), w.matrix});
    }
    for (const Wire& w : backward_wires) {
      uses.push_back({backward_time(layer, w.from), backward_time(layer, w.to), w.matrix});
    }
    for (const Wire& w : across)
      uses.push_back({forward_time(layer, w.from), backward_time(layer, w.to), w.matrix});
    if (layer + 1 < layers) {
      uses.push_back({forward_time(layer, ops - 1), forward_time(layer + 1, 0), forward_link});
      uses.push_back({backward_time(layer + 1, ops - 1), backward_time(layer, 0), backward_link});
    } else {
      uses.push_back({forward_time(layer, ops - 1), backward_time(layer, 0), turn});
    }
  }
  for (const Use& use : uses) last_use[use.from] = std::max(last_use[use.from], use.to);
  problem.nodes.resize(steps);
  const auto fill = [](const Kind& kind, int32_t begin, int32_t end) {
    return Node{kind.cost, {Usage{begin, end, kind.amount}}};
  };
  for (int layer = 0; layer < layers; ++layer) {
    for (int i = 0; i < ops; ++i) {
      const int f = forward_time(layer, i), b = backward_time(layer, i);
      problem.nodes[f] = fill(forward[i], f, std::max(f, last_use[f]) + 1);
      problem.nodes[b] = fill(backward[i], b, std::max(b, last_use[b]) + 1);
    }
  }
  for (const Use& use : uses) {
    problem.edges.push_back(
        {NodeId(static_cast<size_t>(use.from)), NodeId(static_cast<size_t>(use.to)), use.matrix});
  }
  for (int layer = 0; layer < layers; ++layer) {
    const size_t first = problem.nodes.size();
    for (const Kind& kind : parameter) problem.nodes.push_back(fill(kind, 0, steps));
    for (const Wire& w : parameter_forward) {
      problem.edges.push_back({NodeId(first + w.from),
                               NodeId(static_cast<size_t>(forward_time(layer, w.to))), w.matrix});
    }
    for (const Wire& w : parameter_backward) {
      problem.edges.push_back({NodeId(first + w.from),
                               NodeId(static_cast<size_t>(backward_time(layer, w.to))), w.matrix});
    }
  }
  return problem;
}

}  // namespace meshwright::solve

#endif  // MESHWRIGHT_TESTS_SOLVE_PLANNING_PROBLEM_H_
