// Assignment problems of Alpa and of XLA's auto-sharding solver with known optima. They are not
// ours to copy, so the tests read them from ../shared, and say so when it is not there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "meshwright/base/file.h"
#include "meshwright/solve/solver.h"

namespace meshwright::solve {
namespace {

using nlohmann::json;

constexpr double kUnit = 1e6;  // costs are decimal fractions; in millionths they are whole

int64_t CostOf(double cost, double forbidden_from) {
  return cost >= forbidden_from ? kForbidden : static_cast<int64_t>(std::llround(cost * kUnit));
}

std::optional<json> ReadShared(const std::string& file) {
  const std::string path = std::string(MESHWRIGHT_SHARED) + "/peers/alpa/" + file;
  if (!std::filesystem::exists(path)) {
    std::cout << "not used, not there: " << path << "\n";
    return std::nullopt;
  }
  std::cout << "using " << path << "\n";
  const absl::StatusOr<std::string> text = ReadFileMaybeGzip(path);
  if (!text.ok()) {
    ADD_FAILURE() << text.status();
    return std::nullopt;
  }
  return json::parse(*text);
}

// A problem whose nodes may follow others (take the same strategy): such an edge allows the
// diagonal only.
void AddFollower(Problem* problem, size_t node, size_t leader) {
  const auto k = static_cast<int32_t>(problem->nodes[node].cost.size());
  Matrix same{k, k, std::vector<int64_t>(static_cast<size_t>(k) * k, kForbidden)};
  for (int32_t s = 0; s < k; ++s) same.cost[static_cast<size_t>(s) * k + s] = 0;
  problem->edges.push_back(
      {NodeId(node), NodeId(leader), std::make_shared<const Matrix>(std::move(same))});
}

void AddEdge(Problem* problem, size_t a, size_t b, const json& costs, double forbidden_from,
             bool zero_one) {
  const size_t rows = problem->nodes[a].cost.size(), cols = problem->nodes[b].cost.size();
  Matrix m{static_cast<int32_t>(rows), static_cast<int32_t>(cols), {}};
  for (const json& c : costs) {
    m.cost.push_back(zero_one ? (c.get<double>() >= 1 ? kForbidden : 0)
                              : CostOf(c.get<double>(), forbidden_from));
  }
  if (a == b) {
    for (size_t s = 0; s < rows; ++s) problem->nodes[a].cost[s] += m.cost[s * cols + s];
    return;
  }
  problem->edges.push_back({NodeId(a), NodeId(b), std::make_shared<const Matrix>(std::move(m))});
}

void ExpectOptimum(const Problem& problem, std::optional<double> objective,
                   const SolverOptions& options = {}) {
  // Processor time, since tests share the machine with others.
  const std::clock_t start = std::clock();
  const absl::StatusOr<Solution> solution = Solve(problem, options);
  [[maybe_unused]] const double seconds =
      static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  ASSERT_TRUE(solution.ok()) << solution.status();
#if !defined(__SANITIZE_ADDRESS__) && defined(NDEBUG)
  // The goal is 0.05; one of the 56, mlp6_b1024_h128_4x2_m0.8, takes 0.08 of branching.
  EXPECT_LT(seconds, 0.2);
#endif
  if (!objective.has_value()) {
    EXPECT_EQ(solution->outcome, Outcome::kInfeasible);
    return;
  }
  EXPECT_EQ(solution->outcome, Outcome::kOptimal);
  EXPECT_NEAR(static_cast<double>(solution->cost) / kUnit, *objective,
              1e-5 * std::max(1.0, *objective));
}

TEST(AlpaCasesTest, SolvesItsIlps) {
  const std::optional<json> cases = ReadShared("ilps.json.gz");
  if (!cases.has_value()) return;
  EXPECT_EQ(cases->size(), 48u);
  for (const auto& [name, ilp] : cases->items()) {
    SCOPED_TRACE(name);
    Problem problem;
    problem.usage_limit = ilp["memory_budget"].get<int64_t>();
    const size_t n = ilp["num_nodes"];
    // Alpa's infinities are 1e10 and 1e13 in the objective, so they are costs like others there.
    for (size_t v = 0; v < n; ++v) {
      Node node;
      for (size_t s = 0; s < ilp["compute_costs"][v].size(); ++s) {
        node.cost.push_back(CostOf(ilp["compute_costs"][v][s].get<double>() +
                                       ilp["communication_costs"][v][s].get<double>(),
                                   1e15));
      }
      problem.nodes.push_back(std::move(node));
    }
    for (size_t t = 0; t < ilp["live"].size(); ++t) {
      for (const json& live : ilp["live"][t]) {
        Node& node = problem.nodes[live.get<size_t>()];
        if (!node.usages.empty() && node.usages.back().end == static_cast<int32_t>(t)) {
          ++node.usages.back().end;
          continue;
        }
        Usage usage{static_cast<int32_t>(t), static_cast<int32_t>(t) + 1, {}};
        for (const json& bytes : ilp["memory_costs"][live.get<size_t>()]) {
          usage.amount.push_back(static_cast<int64_t>(bytes.get<double>()));
        }
        node.usages.push_back(std::move(usage));
      }
    }
    for (size_t v = 0; v < n; ++v) {
      if (const int leader = ilp["s_follow"][v]; leader >= 0) AddFollower(&problem, v, leader);
    }
    for (size_t e = 0; e < ilp["edges"].size(); ++e) {
      AddEdge(&problem, ilp["edges"][e][0], ilp["edges"][e][1], ilp["resharding_costs"][e], 1e15,
              false);
    }
    for (size_t i = 0; i < ilp["aliases"].size(); ++i) {
      AddEdge(&problem, ilp["aliases"][i][0], ilp["aliases"][i][1], ilp["alias_costs"][i], 1e15,
              true);
    }
    const bool feasible = ilp["status"] == "optimal";
    ExpectOptimum(problem, feasible ? std::optional(ilp["objective"].get<double>()) : std::nullopt);
  }
}

// What XLA adds to the problem is expressed in it: departures are a usage at a time of their own, a
// budget that may be exceeded at a price is a node that buys room.
TEST(AlpaCasesTest, SolvesTheCasesOfXlasSolver) {
  const std::optional<json> cases = ReadShared("xla_solver_cases.json");
  if (!cases.has_value()) return;
  EXPECT_EQ(cases->size(), 8u);
  for (const json& one : *cases) {
    SCOPED_TRACE(one["name"].get<std::string>());
    const json& request = one["request"];
    const size_t n = request["num_nodes"];
    constexpr int32_t kDepartureTime = 1000;
    constexpr double kInfinite = 1e17;
    const bool only_departures = request["minimize_departures"];
    Problem problem;
    problem.usage_limit = request["memory_budget"];
    int64_t most_usage = 0;
    for (size_t v = 0; v < n; ++v) {
      Node node;
      Usage usage;
      usage.begin = request["node_intervals"][v][0];
      usage.end = std::max(
          usage.begin, request["node_intervals"][v][1].get<int32_t>() + 1);  // theirs are closed
      for (size_t s = 0; s < request["s_len"][v].get<size_t>(); ++s) {
        const double departure = request["departure_costs"][v][s];
        const double cost = request["computation_costs"][v][s].get<double>() +
                            request["communication_costs"][v][s].get<double>();
        node.cost.push_back(CostOf(only_departures ? departure : cost, kInfinite));
        usage.amount.push_back(request["memory_costs"][v][s]);
      }
      most_usage += *std::max_element(usage.amount.begin(), usage.amount.end());
      node.usages.push_back(std::move(usage));
      if (!request["max_departures"].is_null()) {
        Usage departures{kDepartureTime, kDepartureTime + 1, {}};
        const auto share = static_cast<int64_t>(static_cast<double>(problem.usage_limit) /
                                                request["max_departures"].get<double>());
        for (const json& d : request["departure_costs"][v])
          departures.amount.push_back(share * d.get<int64_t>());
        node.usages.push_back(std::move(departures));
      }
      problem.nodes.push_back(std::move(node));
    }
    for (size_t v = 0; v < n; ++v) {
      if (const int leader = request["s_follow"][v]; leader >= 0) AddFollower(&problem, v, leader);
    }
    for (size_t e = 0; e < request["edges"].size(); ++e) {
      json costs = request["resharding_costs"][e];
      if (only_departures) std::fill(costs.begin(), costs.end(), 0);
      AddEdge(&problem, request["edges"][e][0], request["edges"][e][1], costs, kInfinite, false);
    }
    for (size_t i = 0; i < request["aliases"].size(); ++i) {
      AddEdge(&problem, request["aliases"][i][0], request["aliases"][i][1],
              request["value_costs"][i], kInfinite, true);
    }
    if (!request["overbudget_coeff"].is_null()) {
      // In steps of 1000, of which all amounts are multiples: k strategies buy k * 1000 units of
      // room.
      constexpr int64_t kStep = 1000;
      const int64_t steps = most_usage / kStep;
      Node room{{}, {Usage{0, kDepartureTime, {}}}};
      for (int64_t k = 0; k <= steps; ++k) {
        room.cost.push_back(CostOf(
            request["overbudget_coeff"].get<double>() * static_cast<double>(k * kStep), 1e18));
        room.usages[0].amount.push_back((steps - k) * kStep);
      }
      problem.usage_limit += steps * kStep;
      problem.nodes.push_back(std::move(room));
    }
    ExpectOptimum(problem, one["expected_objective"].get<double>());
  }
}

}  // namespace
}  // namespace meshwright::solve
