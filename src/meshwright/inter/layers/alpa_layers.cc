#include "meshwright/inter/layers/alpa_layers.h"

#include <map>
#include <utility>

#include "meshwright/base/file.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

// What clustering may take: a minute or so, and memory for the square of the operators.
constexpr int64_t kMostOperators = 4096;
constexpr double kMostClusteringSteps = 2e10;

ClusteringProblem::Criterion ReadCriterion(const JsonValue& value) {
  const std::string text = value.Text();
  if (text == "count") return ClusteringProblem::Criterion::kCount;
  if (text == "input_memory") return ClusteringProblem::Criterion::kInputMemory;
  if (text != "flops") value.Fail("expected \"flops\", \"count\" or \"input_memory\"");
  return ClusteringProblem::Criterion::kFlops;
}

// Edges of one operator with equal bytes are of one value.
std::vector<ClusteringProblem::Edge> ReadEdges(const JsonValue& value, int64_t operators) {
  std::vector<ClusteringProblem::Edge> edges;
  std::map<std::pair<int64_t, double>, int32_t> values;
  for (const JsonValue& one : value.Elements()) {
    const std::vector<JsonValue> parts = one.Elements(3, "an edge: from, to, bytes");
    if (!one.ok()) break;
    const int64_t from = parts[0].Integer(0, operators - 1),
                  to = parts[1].Integer(0, operators - 1);
    const double bytes = parts[2].Number();
    if (from >= to) one.Fail("expected an edge to a later operator");
    if (bytes < 0) one.Fail("expected bytes of at least 0");
    const auto value = values.try_emplace({from, bytes}, static_cast<int32_t>(values.size())).first;
    edges.push_back({static_cast<int32_t>(from), static_cast<int32_t>(to), bytes, value->second});
  }
  return edges;
}

std::optional<Clustering> ReadClustering(const JsonValue& one, int64_t operators) {
  const std::optional<JsonValue> slices = one.Find("slices");
  if (!slices.has_value()) return std::nullopt;
  Clustering clustering;
  for (const JsonValue& slice : slices->Elements()) {
    const std::vector<JsonValue> ends = slice.Elements(2, "a slice: begin, end");
    if (!slice.ok()) break;
    clustering.slices.emplace_back(ends[0].Integer(0, operators), ends[1].Integer(0, operators));
  }
  clustering.max_boundary_bytes = one.At("max_boundary_bytes").Number();
  return clustering;
}

RecordedClustering ReadClustering(const JsonValue& one) {
  RecordedClustering recorded;
  recorded.name = one.At("name").Text();
  ClusteringProblem& problem = recorded.problem;
  for (const JsonValue& cost : one.At("compute_costs").Elements()) {
    problem.cost.push_back(cost.Number());
    if (problem.cost.back() < 0) cost.Fail("expected a cost of at least 0");
  }
  const auto operators = static_cast<int64_t>(problem.cost.size());
  if (operators > kMostOperators) {
    one.At("compute_costs").Fail(StrCat("expected at most ", kMostOperators, " operators"));
  }
  for (const JsonValue& heavy :
       one.At("non_trivial").Elements(problem.cost.size(), "one for each operator")) {
    problem.heavy.push_back(heavy.Integer(0, 1) == 1);
  }
  problem.edges = ReadEdges(one.At("edges"), operators);
  problem.layers = static_cast<int32_t>(one.At("layer_num").Integer(1, kMostOperators));
  const auto n = static_cast<double>(operators);
  if (n * n * problem.layers > kMostClusteringSteps) {
    one.At("layer_num").Fail(StrCat("expected fewer layers for ", operators, " operators"));
  }
  problem.imbalance = one.At("eps").Number();
  problem.criterion = ReadCriterion(one.At("criteria"));
  recorded.clustering = ReadClustering(one, operators);
  return recorded;
}

}  // namespace

absl::StatusOr<std::vector<RecordedClustering>> ParseRecordedClusterings(std::string text,
                                                                         std::string_view name) {
  MW_ASSIGN_OR_RETURN(text, MaybeGunzip(std::move(text), name));
  MW_ASSIGN_OR_RETURN(const InputJson json, ParseInputJson(text, name));
  absl::Status status;
  const JsonValue root(json, &status);
  if (!root.IsList()) root.Fail("expected a list of cases of Alpa's layer clustering");
  std::vector<RecordedClustering> cases;
  for (const JsonValue& one : root.Elements()) {
    cases.push_back(ReadClustering(one));
    if (!one.ok()) break;
  }
  if (root.ok() && cases.empty()) root.Fail("holds no case");
  if (!status.ok()) {
    return absl::Status(status.code(), StrCat(name, ": ", FromAbsl(status.message())));
  }
  return cases;
}

absl::StatusOr<std::vector<RecordedClustering>> ReadRecordedClusterings(const std::string& path) {
  MW_ASSIGN_OR_RETURN(std::string text, ReadFile(path));
  return ParseRecordedClusterings(std::move(text), path);
}

}  // namespace meshwright
