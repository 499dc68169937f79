#include "meshwright/request/groups_request.h"

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/file.h"
#include "meshwright/base/sha256.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/cluster/units.h"
#include "meshwright/request/asked_framework.h"
#include "meshwright/request/model_request.h"
#include "meshwright/request/program_request.h"

namespace meshwright {
namespace {

constexpr int64_t kMostProfileBytes = int64_t{1} << 28;

// "300e9" or "15T": tokens of a whole run.
absl::StatusOr<double> ParseTokens(const std::string& text) {
  double value = 0, scale = 1;
  std::string number = text;
  constexpr std::pair<char, double> kSuffixes[] = {{'k', 1e3}, {'M', 1e6}, {'B', 1e9}, {'T', 1e12}};
  for (const auto& [suffix, factor] : kSuffixes) {
    if (number.empty() || number.back() != suffix) continue;
    number.pop_back();
    scale = factor;
    break;
  }
  if (!absl::SimpleAtod(number, &value) || !(value * scale >= 1 && value * scale <= 1e18)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--tokens: found \"", text, "\", expected tokens such as 300B or 3e11"));
  }
  return value * scale;
}

absl::Status SetLimits(const AskedOptions& asked, const transformer::Workload& workload,
                       GroupsRequest* request) {
  transformer::hetero::SearchOptions& options = request->options;
  if (asked.steps > 0 && !asked.tokens.empty()) {
    return absl::InvalidArgumentError("--steps and --tokens say the same; give one of them");
  }
  request->has_steps = asked.steps > 0 || !asked.tokens.empty();
  if (asked.steps > 0) options.steps = static_cast<double>(asked.steps);
  if (!asked.tokens.empty()) {
    MW_ASSIGN_OR_RETURN(const double tokens, ParseTokens(asked.tokens));
    options.steps =
        std::ceil(tokens / static_cast<double>(workload.global_batch * workload.sequence));
  }
  if (!request->has_steps && (asked.max_cost > 0 || !asked.max_time.empty())) {
    return absl::InvalidArgumentError(
        StrCat(asked.max_cost > 0 ? "--max-cost" : "--max-time",
               " is of a whole run; give --tokens or --steps as well"));
  }
  if (asked.max_cost > 0) options.most_dollars = asked.max_cost;
  if (asked.max_time.empty()) return absl::OkStatus();
  const absl::StatusOr<double> seconds = ParseDuration(asked.max_time);
  if (!seconds.ok() || *seconds <= 0) {
    return absl::InvalidArgumentError(
        StrCat("--max-time: ", seconds.ok() ? "must be more than 0 seconds"
                                            : FromAbsl(seconds.status().message())));
  }
  options.most_seconds = *seconds;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<GroupsRequest> ToGroupsRequest(const Subject& model, const AskedOptions& options) {
  using transformer::hetero::Objective;
  GroupsRequest request;
  const std::optional<ModelObjective> objective = FromWord<ModelObjective>(options.objective);
  if (options.pareto) {
    request.options.objective = transformer::hetero::Objective::kPareto;
  } else if (objective == ModelObjective::kCost) {
    request.options.objective = transformer::hetero::Objective::kCost;
  } else if (objective != ModelObjective::kTime) {
    return absl::InvalidArgumentError(StrCat("--objective: found \"", options.objective,
                                             "\", expected time or cost over groups of nodes"));
  }
  transformer::hetero::Problem& problem = request.problem;
  problem.workload.global_batch = options.global_batch;
  MW_ASSIGN_OR_RETURN(problem.precision, transformer::ParsePrecision(options.dtype));
  MW_ASSIGN_OR_RETURN(problem.model, ReadModel(model, request.description, request.inputs));
  MW_ASSIGN_OR_RETURN(problem.framework, AskedFramework(options, problem.model));
  if (options.mtp >= 0) request.mtp = options.mtp;
  MW_ASSIGN_OR_RETURN(request.deadline_seconds,
                      ParseDeadline(options.deadline, std::numeric_limits<double>::infinity()));
  problem.workload.sequence = SequenceOf(problem.model, options.sequence);
  MW_ASSIGN_OR_RETURN(problem.fixes, transformer::ParseFixes(options.fixes));
  MW_ASSIGN_OR_RETURN(problem.cluster, ParseMixedCluster(options.cluster));
  MW_RETURN_IF_ERROR(transformer::hetero::ResolveStages(&problem));
  MW_RETURN_IF_ERROR(AddClusterInput(options.cluster, request.inputs));
  request.launch_targets = options.launchable ? kAnyTarget : options.launch_targets;
  request.memory = options.memory;
  MW_ASSIGN_OR_RETURN(const MemoryBudget memory, ParseMemory(options.memory));
  if (memory.kind != MemoryBudget::Kind::kDevice) {
    const bool limited = memory.kind == MemoryBudget::Kind::kBytes;
    problem.budget_bytes.assign(problem.cluster.groups.size(),
                                limited ? std::optional(memory.bytes) : std::nullopt);
  }
  MW_RETURN_IF_ERROR(SetLimits(options, problem.workload, &request));
  if (!options.profile.empty()) {
    MW_ASSIGN_OR_RETURN(const std::string text,
                        ReadFileMaybeGzip(options.profile, kMostProfileBytes));
    MW_ASSIGN_OR_RETURN(const std::string stored, ReadFile(options.profile));
    request.inputs.push_back({options.profile, "layer_profile", Sha256Hex(stored)});
    MW_ASSIGN_OR_RETURN(problem.profile, transformer::hetero::LayerProfile::Parse(
                                             text, options.profile,
                                             {.model = problem.model.name,
                                              .sequence = problem.workload.sequence,
                                              .dtype = PrecisionName(problem.precision)}));
  }
  request.point = options.point;
  return request;
}

}  // namespace meshwright
