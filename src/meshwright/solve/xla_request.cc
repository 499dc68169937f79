#include "meshwright/solve/xla_request.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/solve/request_parts.h"

// XLA's additions to Alpa's problem are expressed in it:
//
// * Departures are a usage at a time of their own, at which nothing else counts, in such a measure
//   that the usage limit holds max_departures of them and no more.
// * Bytes beyond the budget are bought. The limit is raised to where it never binds, and nodes
//   without edges fill the new capacity at all times; each may give its share up, a power of two of
//   the greatest common divisor of all amounts, at a cost. Shares add up to any excess there can
//   be.

namespace meshwright::solve {
namespace {

constexpr double kForbiddenFrom = 1e17;
constexpr int64_t kMostTime = 1'000'000'000;
constexpr int64_t kMostBytes = int64_t{1} << 53;

// Members that would change the optimum, but cannot be expressed.
constexpr const char* kUnsupported[] = {"memory_edge_costs", "node_groups", "edge_groups",
                                        "max_cost"};

double Forbid(double cost) { return cost >= kForbiddenFrom ? kForbiddenReal : cost; }

struct Request {
  std::vector<std::vector<double>> cost, bytes, departures;
  std::vector<std::pair<int32_t, int32_t>> intervals;  // half-open
  int32_t end = 0;                                     // of the last interval
  double budget = 0;                                   // 0 or less: none
  bool minimize_departures = false;
  std::optional<double> max_departures, overbudget_cost;
};

Request ReadRequest(const JsonValue& json, const std::vector<int64_t>& counts) {
  Request request;
  if (const auto value = json.Find("minimize_departures")) {
    request.minimize_departures = value->Boolean();
  }
  if (const auto value = json.Find("max_departures")) request.max_departures = value->Number();
  if (const auto value = json.Find("overbudget_coeff")) request.overbudget_cost = value->Number();
  request.cost = ReadByStrategy(json.At("computation_costs"), counts);
  const auto communication = ReadByStrategy(json.At("communication_costs"), counts);
  request.bytes = ReadBytes(json.At("memory_costs"), counts);
  request.departures = ReadBytes(json.At("departure_costs"), counts);
  request.budget = json.At("memory_budget").Number();
  for (const JsonValue& interval : json.At("node_intervals").Elements(counts.size(), "nodes")) {
    const std::vector<JsonValue> ends = interval.Elements(2, "first and last time");
    const auto first = static_cast<int32_t>(ends[0].Integer(0, kMostTime)),
               last = static_cast<int32_t>(ends[1].Integer(-1, kMostTime));
    if (!json.ok()) return request;
    request.intervals.emplace_back(first, std::max(first, last + 1));
    if (first <= last) request.end = std::max(request.end, last + 1);
  }
  if (!json.ok()) return request;
  for (size_t v = 0; v < counts.size(); ++v) {
    for (size_t s = 0; s < request.cost[v].size(); ++s) request.cost[v][s] += communication[v][s];
  }
  return request;
}

void AddNodes(const Request& request, RealProblem* problem) {
  for (size_t v = 0; v < request.cost.size(); ++v) {
    RealProblem::Node node{request.cost[v], {}};
    for (size_t s = 0; s < node.cost.size(); ++s) {
      node.cost[s] = Forbid(node.cost[s]);
      if (request.minimize_departures && node.cost[s] < kForbiddenReal) {
        node.cost[s] = Forbid(request.departures[v][s]);
      }
    }
    if (request.budget > 0 && request.intervals[v].first < request.intervals[v].second) {
      node.usages.push_back(
          {request.intervals[v].first, request.intervals[v].second, request.bytes[v]});
    }
    problem->nodes.push_back(std::move(node));
  }
  if (request.budget > 0) problem->usage_limit = request.budget;
}

// The greatest common divisor of the budget and all amounts; nullopt if they are not whole.
std::optional<int64_t> CommonDivisor(const RealProblem& problem) {
  int64_t divisor = 0;
  const auto include = [&divisor](double amount) {
    if (amount != std::floor(amount) || amount > static_cast<double>(kMostBytes)) return false;
    divisor = std::gcd(divisor, static_cast<int64_t>(amount));
    return true;
  };
  if (!include(*problem.usage_limit)) return std::nullopt;
  for (const RealProblem::Node& node : problem.nodes) {
    for (const RealProblem::Usage& usage : node.usages) {
      if (!std::all_of(usage.amount.begin(), usage.amount.end(), include)) return std::nullopt;
    }
  }
  return divisor;
}

void SellExcess(const JsonValue& json, const Request& request, RealProblem* problem) {
  if (!request.overbudget_cost.has_value() || !problem->usage_limit.has_value()) return;
  const std::optional<int64_t> divisor = CommonDivisor(*problem);
  if (!divisor.has_value() || *request.overbudget_cost < 0) {
    return json.At("overbudget_coeff").Fail("needs whole numbers of bytes and a cost of 0 or more");
  }
  double most = 0;
  for (const RealProblem::Node& node : problem->nodes) {
    for (const RealProblem::Usage& usage : node.usages) {
      most += *std::max_element(usage.amount.begin(), usage.amount.end());
    }
  }
  const double excess = most - *problem->usage_limit;
  auto share = static_cast<double>(*divisor);
  for (double sold = 0; sold < excess; share *= 2) {
    problem->nodes.push_back(
        {{*request.overbudget_cost * share, 0}, {{0, request.end, {0, share}}}});
    *problem->usage_limit += share;
    sold += share;
  }
}

void LimitDepartures(const JsonValue& json, const Request& request, RealProblem* problem) {
  if (!request.max_departures.has_value()) return;
  double all = 0;
  for (const std::vector<double>& departures : request.departures) {
    for (double d : departures) {
      if (d != std::floor(d)) json.At("departure_costs").Fail("whole numbers needed");
    }
    all += *std::max_element(departures.begin(), departures.end());
  }
  const double most = std::min(std::floor(*request.max_departures), all);
  if (most < 0) json.At("max_departures").Fail("expected 0 or more");
  if (!json.ok()) return;
  // A departure must count so much that `most` fit and one more does not: limit / most, rounded
  // down, if the limit is at least most * (most + 1). Otherwise bytes are measured in smaller
  // units.
  if (!problem->usage_limit.has_value()) {
    problem->usage_limit = most;
    for (RealProblem::Node& node : problem->nodes) node.usages.clear();
  }
  double& limit = *problem->usage_limit;
  if (limit < most * (most + 1)) {
    const double finer = std::ceil(most * (most + 1) / std::max(limit, 1.0));
    limit *= finer;
    for (RealProblem::Node& node : problem->nodes) {
      for (RealProblem::Usage& usage : node.usages) {
        for (double& amount : usage.amount) amount *= finer;
      }
    }
  }
  const double weight = most == 0 ? limit + 1 : std::floor(limit / most);
  for (size_t v = 0; v < request.departures.size(); ++v) {
    RealProblem::Usage usage{request.end, request.end + 1, request.departures[v]};
    for (double& amount : usage.amount) amount *= weight;
    problem->nodes[v].usages.push_back(std::move(usage));
  }
}

}  // namespace

RecordedProblem ReadXlaCase(const JsonValue& one) {
  const std::string name = one.At("name").Text();
  const JsonValue json = one.At("request");
  if (!one.ok()) return {};
  for (const char* key : kUnsupported) {
    if (const auto value = json.Find(key); value.has_value()) {
      if (!value->IsList() || !value->Elements().empty()) value->Fail("is not supported");
    }
  }
  const std::vector<int64_t> counts = ReadStrategyCounts(json);
  const Request request = ReadRequest(json, counts);
  if (!one.ok()) return {};
  RealProblem problem;
  AddNodes(request, &problem);
  ReadFollowers(json.At("s_follow"), &problem);
  ReadEdges(json.At("edges"), json.At("resharding_costs"), EdgeKind::kCost, kForbiddenFrom,
            &problem);
  if (request.minimize_departures) {
    for (RealProblem::Edge& edge : problem.edges) {
      for (double& c : edge.cost) c = c < kForbiddenReal ? 0 : c;
    }
  }
  ReadEdges(json.At("aliases"), json.At("value_costs"), EdgeKind::kAlias, kForbiddenFrom, &problem);
  SellExcess(json, request, &problem);
  LimitDepartures(json, request, &problem);
  std::optional<double> objective;
  if (const auto value = one.Find("expected_objective")) objective = value->Number();
  if (!one.ok()) return {};
  return Record(name, problem, objective);
}

}  // namespace meshwright::solve
