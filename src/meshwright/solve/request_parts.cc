#include "meshwright/solve/request_parts.h"

#include "absl/strings/str_cat.h"

namespace meshwright::solve {
namespace {

constexpr int64_t kMostNodes = 10'000'000;
// Followers need a matrix of strategies x strategies; real nodes have hundreds at most.
constexpr int64_t kMostStrategies = 4096;

}  // namespace

std::vector<int64_t> ReadStrategyCounts(const JsonValue& request) {
  const int64_t nodes = request.At("num_nodes").Integer(0, kMostNodes);
  std::vector<int64_t> counts;
  if (!request.ok()) return counts;
  for (const JsonValue& count : request.At("s_len").Elements(static_cast<size_t>(nodes), "nodes")) {
    counts.push_back(count.Integer(1, kMostStrategies));
  }
  return counts;
}

std::vector<std::vector<double>> ReadByStrategy(const JsonValue& lists,
                                                const std::vector<int64_t>& counts) {
  std::vector<std::vector<double>> result;
  const std::vector<JsonValue> elements = lists.Elements(counts.size(), "nodes");
  for (size_t v = 0; v < counts.size() && lists.ok(); ++v) {
    result.push_back(elements[v].Numbers(static_cast<size_t>(counts[v]), "strategies of the node"));
  }
  return result;
}

std::vector<std::vector<double>> ReadBytes(const JsonValue& lists,
                                           const std::vector<int64_t>& counts) {
  std::vector<std::vector<double>> result = ReadByStrategy(lists, counts);
  for (size_t v = 0; v < result.size(); ++v) {
    for (double bytes : result[v]) {
      if (bytes < 0)
        lists.Elements()[v].Fail(absl::StrCat("found ", bytes, ", expected 0 or more"));
    }
  }
  return result;
}

void ReadFollowers(const JsonValue& follow, RealProblem* problem) {
  const size_t n = problem->nodes.size();
  const std::vector<JsonValue> leaders = follow.Elements(n, "nodes");
  for (size_t v = 0; v < n && follow.ok(); ++v) {
    const int64_t leader = leaders[v].Integer(-1, static_cast<int64_t>(n) - 1);
    if (leader < 0 || !follow.ok()) continue;
    const size_t own = problem->nodes[v].cost.size(),
                 other = problem->nodes[static_cast<size_t>(leader)].cost.size();
    if (static_cast<size_t>(leader) == v) {
      leaders[v].Fail("a node cannot follow itself");
    } else if (own != other) {
      leaders[v].Fail(absl::StrCat("node ", v, " has ", own, " strategies but follows node ",
                                   leader, ", which has ", other));
    } else {
      problem->Follow(v, static_cast<size_t>(leader));
    }
  }
}

void ReadEdges(const JsonValue& ends, const JsonValue& costs, EdgeKind kind, double forbidden_from,
               RealProblem* problem) {
  const std::vector<JsonValue> pairs = ends.Elements();
  const std::vector<JsonValue> lists = costs.Elements(pairs.size(), "pairs of nodes");
  const auto most = static_cast<int64_t>(problem->nodes.size()) - 1;
  for (size_t e = 0; e < pairs.size() && ends.ok(); ++e) {
    const std::vector<JsonValue> pair = pairs[e].Elements(2, "nodes of a pair");
    const int64_t a = pair[0].Integer(0, most), b = pair[1].Integer(0, most);
    if (!ends.ok()) return;
    RealProblem::Edge edge{static_cast<size_t>(a), static_cast<size_t>(b), {}};
    const size_t entries = problem->nodes[edge.a].cost.size() * problem->nodes[edge.b].cost.size();
    edge.cost = lists[e].Numbers(entries, "pairs of strategies");
    for (double& c : edge.cost) {
      if (kind == EdgeKind::kAlias) {
        c = c >= 1 ? kForbiddenReal : 0;
      } else if (c >= forbidden_from) {
        c = kForbiddenReal;
      }
    }
    problem->edges.push_back(std::move(edge));
  }
}

}  // namespace meshwright::solve
