#include "meshwright/solve/alpa_ilp.h"

#include <optional>
#include <utility>

#include "meshwright/base/file.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/solve/request_parts.h"
#include "meshwright/solve/xla_request.h"

namespace meshwright::solve {
namespace {

// A usage for every stretch of times at which a node is live. A node that is listed twice at a time
// counts twice, as in Alpa's sums.
void AddLiveness(const JsonValue& live, const std::vector<std::vector<double>>& bytes,
                 RealProblem* problem) {
  const auto most = static_cast<int64_t>(problem->nodes.size()) - 1;
  int32_t time = 0;
  for (const JsonValue& nodes : live.Elements()) {
    for (const JsonValue& node : nodes.Elements()) {
      const auto v = static_cast<size_t>(node.Integer(0, most));
      if (!live.ok()) return;
      std::vector<RealProblem::Usage>& usages = problem->nodes[v].usages;
      if (!usages.empty() && usages.back().end == time) {
        ++usages.back().end;
      } else {
        usages.push_back({time, time + 1, bytes[v]});
      }
    }
    ++time;
  }
}

std::optional<double> ReadObjective(const JsonValue& ilp) {
  const JsonValue status = ilp.At("status");
  const std::string text = status.Text();
  if (text == "optimal") return ilp.At("objective").Number();
  if (text != "infeasible") status.Fail("expected \"optimal\" or \"infeasible\"");
  return std::nullopt;
}

absl::StatusOr<std::vector<RecordedProblem>> ReadDocument(const JsonValue& root) {
  std::vector<RecordedProblem> problems;
  if (root.IsList()) {
    for (const JsonValue& one : root.Elements()) {
      problems.push_back(ReadXlaCase(one));
      if (!one.ok()) break;
    }
  } else if (root.IsObject()) {
    for (const auto& [name, ilp] : root.Members()) {
      problems.push_back(ReadAlpaIlp(name, ilp));
      if (!ilp.ok()) break;
    }
  } else {
    root.Fail("expected an object of Alpa's integer programs or a list of cases of XLA's solver");
  }
  if (root.ok() && problems.empty()) root.Fail("holds no problem");
  return problems;
}

}  // namespace

RecordedProblem ReadAlpaIlp(const std::string& name, const JsonValue& ilp) {
  const std::vector<int64_t> counts = ReadStrategyCounts(ilp);
  const auto compute = ReadByStrategy(ilp.At("compute_costs"), counts);
  const auto communication = ReadByStrategy(ilp.At("communication_costs"), counts);
  const auto bytes = ReadBytes(ilp.At("memory_costs"), counts);
  const double budget = ilp.At("memory_budget").Number();
  RealProblem problem;
  if (!ilp.ok()) return {};
  for (size_t v = 0; v < counts.size(); ++v) {
    RealProblem::Node node;
    for (size_t s = 0; s < compute[v].size(); ++s) {
      const double cost = compute[v][s] + communication[v][s];
      node.cost.push_back(cost >= kAlpaForbiddenFrom ? kForbiddenReal : cost);
    }
    problem.nodes.push_back(std::move(node));
  }
  if (budget > 0) problem.usage_limit = budget;
  AddLiveness(ilp.At("live"), bytes, &problem);
  ReadFollowers(ilp.At("s_follow"), &problem);
  ReadEdges(ilp.At("edges"), ilp.At("resharding_costs"), EdgeKind::kCost, kAlpaForbiddenFrom,
            &problem);
  ReadEdges(ilp.At("aliases"), ilp.At("alias_costs"), EdgeKind::kAlias, kAlpaForbiddenFrom,
            &problem);
  const std::optional<double> objective = ReadObjective(ilp);
  if (!ilp.ok()) return {};
  return Record(name, problem, objective);
}

absl::StatusOr<std::vector<RecordedProblem>> ParseRecordedProblems(std::string text,
                                                                   std::string_view name) {
  MW_ASSIGN_OR_RETURN(text, MaybeGunzip(std::move(text), name));
  MW_ASSIGN_OR_RETURN(const InputJson json, ParseInputJson(text, name));
  absl::Status status;
  auto problems = ReadDocument(JsonValue(json, &status));
  if (!status.ok())
    return absl::Status(status.code(), StrCat(name, ": ", FromAbsl(status.message())));
  return problems;
}

absl::StatusOr<std::vector<RecordedProblem>> ReadRecordedProblems(const std::string& path) {
  MW_ASSIGN_OR_RETURN(std::string text, ReadFile(path));
  return ParseRecordedProblems(std::move(text), path);
}

}  // namespace meshwright::solve
