#include "meshwright/solve/problem.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace meshwright::solve {
namespace {

absl::Status CheckNode(size_t index, const Node& node) {
  const auto where = absl::StrCat("node ", index);
  if (node.cost.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, " has no strategies; at least one needed"));
  }
  for (size_t s = 0; s < node.cost.size(); ++s) {
    if (node.cost[s] < 0) {
      return absl::InvalidArgumentError(absl::StrCat(where, " strategy ", s, " costs ",
                                                     node.cost[s], "; costs must be 0 or more"));
    }
  }
  for (const Usage& usage : node.usages) {
    if (usage.begin > usage.end) {
      return absl::InvalidArgumentError(
          absl::StrCat(where, " has a usage over [", usage.begin, ", ", usage.end,
                       "); an interval must not end before it begins"));
    }
    if (usage.amount.size() != node.cost.size()) {
      return absl::InvalidArgumentError(absl::StrCat(where, " has ", node.cost.size(),
                                                     " strategies but a usage with ",
                                                     usage.amount.size(), " amounts"));
    }
    for (int64_t amount : usage.amount) {
      if (amount < 0) {
        return absl::InvalidArgumentError(
            absl::StrCat(where, " has usage ", amount, "; usages must be 0 or more"));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckEdge(size_t index, const Edge& edge, const std::vector<Node>& nodes) {
  const auto where = absl::StrCat("edge ", index);
  for (NodeId end : {edge.a, edge.b}) {
    if (!end.valid() || end.index() >= nodes.size()) {
      return absl::InvalidArgumentError(absl::StrCat(where, " names node ", end.value,
                                                     "; there are nodes 0 to ",
                                                     static_cast<int64_t>(nodes.size()) - 1));
    }
  }
  if (edge.a == edge.b) {
    return absl::InvalidArgumentError(absl::StrCat(where, " joins node ", edge.a.value,
                                                   " to itself; add its diagonal to the node"));
  }
  if (edge.matrix == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(where, " has no cost matrix"));
  }
  const Matrix& m = *edge.matrix;
  const size_t rows = nodes[edge.a.index()].cost.size(), cols = nodes[edge.b.index()].cost.size();
  if (m.rows != static_cast<int64_t>(rows) || m.cols != static_cast<int64_t>(cols) ||
      m.cost.size() != rows * cols) {
    return absl::InvalidArgumentError(absl::StrCat(
        where, " (nodes ", edge.a.value, ", ", edge.b.value, ") has a ", m.rows, " x ", m.cols,
        " matrix of ", m.cost.size(), " entries; ", rows, " x ", cols, " needed"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Validate(const Problem& problem) {
  if (problem.usage_limit < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("usage limit is ", problem.usage_limit, "; it must be 0 or more"));
  }
  for (size_t v = 0; v < problem.nodes.size(); ++v) {
    if (absl::Status s = CheckNode(v, problem.nodes[v]); !s.ok()) return s;
  }
  std::vector<const Matrix*> matrices;
  matrices.reserve(problem.edges.size());
  for (size_t e = 0; e < problem.edges.size(); ++e) {
    if (absl::Status s = CheckEdge(e, problem.edges[e], problem.nodes); !s.ok()) return s;
    matrices.push_back(problem.edges[e].matrix.get());
  }
  // Many edges share few matrices: their entries are looked at once.
  std::sort(matrices.begin(), matrices.end());
  matrices.erase(std::unique(matrices.begin(), matrices.end()), matrices.end());
  for (const Matrix* m : matrices) {
    if (std::any_of(m->cost.begin(), m->cost.end(), [](int64_t c) { return c < 0; })) {
      for (size_t e = 0; e < problem.edges.size(); ++e) {
        if (problem.edges[e].matrix.get() != m) continue;
        return absl::InvalidArgumentError(
            absl::StrCat("edge ", e, " has a negative cost; costs must be 0 or more"));
      }
    }
  }
  return absl::OkStatus();
}

Evaluation Evaluate(const Problem& problem, const std::vector<int32_t>& choice) {
  Evaluation result;
  auto add = [&result](int64_t cost) {
    result.cost += cost;
    result.forbidden |= cost >= kForbidden;
  };
  std::vector<std::pair<int32_t, Int128>> events;  // time, change of usage
  for (size_t v = 0; v < problem.nodes.size(); ++v) {
    const Node& node = problem.nodes[v];
    add(node.cost[choice[v]]);
    for (const Usage& usage : node.usages) {
      if (usage.begin >= usage.end || usage.amount[choice[v]] == 0) continue;
      events.emplace_back(usage.begin, usage.amount[choice[v]]);
      events.emplace_back(usage.end, -static_cast<Int128>(usage.amount[choice[v]]));
    }
  }
  for (const Edge& edge : problem.edges) {
    add(edge.matrix->at(choice[edge.a.index()], choice[edge.b.index()]));
  }
  // Sorted by time, and at one time the ends (negative changes) first.
  std::sort(events.begin(), events.end());
  Int128 now = 0;
  for (const auto& [time, change] : events) {
    now += change;
    if (now > result.peak) {
      result.peak = now;
      result.peak_time = time;
    }
  }
  result.fits = problem.usage_limit == kUnlimited || result.peak <= problem.usage_limit;
  return result;
}

}  // namespace meshwright::solve
