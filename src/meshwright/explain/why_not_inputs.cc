#include "meshwright/explain/why_not_inputs.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "meshwright/base/sha256.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/cluster/mesh.h"
#include "meshwright/explain/screen.h"
#include "meshwright/hlo/program/program.h"
#include "meshwright/plan/make/fix_option.h"

namespace meshwright {
namespace {

// `contents` of `path`, if they are those that the plan was made from.
absl::StatusOr<std::string> TheSame(std::string contents, const std::string& path,
                                    const InputFile& input, std::string_view what) {
  if (Sha256Hex(contents) == input.sha256) return contents;
  return absl::InvalidArgumentError(StrCat(path, ": is not the ", what,
                                           " that the plan was made from (", input.path,
                                           ", sha256 ", input.sha256.substr(0, 12), "...)"));
}

// The file at `path`, which must be the one that the plan was made from.
absl::StatusOr<std::string> ReadSame(const std::string& path, const InputFile& input,
                                     std::string_view what) {
  MW_ASSIGN_OR_RETURN(std::string contents, ReadInput(path));
  return TheSame(std::move(contents), path, input, what);
}

absl::StatusOr<MemoryBudget> BudgetOf(const PlanOptions& options) {
  MemoryBudget budget;
  if (options.memory == "device") return budget;
  budget.kind = MemoryBudget::Kind::kUnlimited;
  if (options.memory == "unlimited") return budget;
  budget.kind = MemoryBudget::Kind::kBytes;
  const char* const end = options.memory.data() + options.memory.size();
  const auto [stop, error] = std::from_chars(options.memory.data(), end, budget.bytes);
  if (error == std::errc() && stop == end && budget.bytes >= 0) return budget;
  return absl::InvalidArgumentError(StrCat("$.options.memory: found \"", options.memory,
                                           "\", expected device, unlimited or a number of bytes"));
}

// "auto", which is 0, or a number.
absl::StatusOr<int32_t> NumberOf(const std::string& text, std::string_view key) {
  int32_t number = 0;
  if (text == "auto" || (absl::SimpleAtoi(text, &number) && number >= 1)) return number;
  return absl::InvalidArgumentError(
      StrCat("$.options.", key, ": found \"", text, "\", expected auto or a number from 1"));
}

}  // namespace

const InputFile* ProgramOf(const Plan& plan) {
  for (const InputFile& input : plan.inputs) {
    if (IsProgramKind(input.kind)) return &input;
  }
  return nullptr;
}

absl::StatusOr<std::string> ReadPlannedProgram(const Plan& plan, const WhyNotRequest& request) {
  const InputFile* const input = ProgramOf(plan);
  if (input == nullptr)
    return absl::InvalidArgumentError("the plan does not name the program that it was made from");
  if (request.contents.has_value())
    return TheSame(std::string(*request.contents), "the program given", *input, "program");
  if (!request.program.empty()) return ReadSame(request.program, *input, "program");
  if (input->path == "-") {
    return absl::InvalidArgumentError(
        "the plan was made from standard input: give the program with --program");
  }
  absl::StatusOr<std::string> contents = ReadSame(input->path, *input, "program");
  if (contents.ok()) return contents;
  return absl::Status(contents.status().code(),
                      StrCat(contents.status().message(), "; give the program with --program"));
}

absl::StatusOr<std::string> ReadPlannedInput(const Plan& plan, const std::string& kind) {
  for (const InputFile& input : plan.inputs) {
    if (input.kind == kind) return ReadSame(input.path, input, "file");
  }
  return "";
}

absl::StatusOr<std::string> PlannedCluster(const Plan& plan) {
  std::string cluster = plan.cluster.name;
  const auto files = std::count_if(plan.inputs.begin(), plan.inputs.end(),
                                   [](const auto& input) { return input.kind == "cluster_yaml"; });
  for (const InputFile& input : plan.inputs) {
    if (input.kind != "cluster_yaml") continue;
    MW_RETURN_IF_ERROR(ReadSame(input.path, input, "cluster's file").status());
    // The plan has the name in the file; of several, joined by `+`, it is not told which is whose.
    // Groups of nodes are of one file.
    const bool groups = plan.transformer.has_value() && plan.transformer->over_groups.has_value();
    if (files > 1 || (!groups && plan.cluster.name.find('+') != std::string::npos)) {
      return absl::InvalidArgumentError(
          "--why-not needs a cluster of one file, or of device types by name");
    }
    cluster = input.path;
  }
  return cluster;
}

absl::StatusOr<ProgramRequest> PlannedRequest(const Plan& plan) {
  ProgramRequest request;
  const PlanOptions& options = plan.options;
  MW_ASSIGN_OR_RETURN(request.cluster, PlannedCluster(plan));
  if (plan.stages.empty()) {
    MW_ASSIGN_OR_RETURN(const Cluster cluster, ParseCluster(request.cluster));
    request.mesh = plan.mesh.empty() ? "1" : MeshText(plan.mesh);
    MW_RETURN_IF_ERROR(ParseMesh(request.mesh, cluster).status());
  } else {
    request.mesh = options.mesh;
    request.pipeline.wanted = true;
    MW_ASSIGN_OR_RETURN(request.pipeline.stages, NumberOf(options.pipeline, "pipeline"));
    MW_ASSIGN_OR_RETURN(request.pipeline.micro_batches,
                        NumberOf(options.micro_batches, "micro_batches"));
    request.pipeline.layers = static_cast<int32_t>(std::clamp<int64_t>(options.layers, 0, 1 << 20));
    request.pipeline.schedule = options.schedule;
    request.pipeline.recompute = options.recompute;
    request.pipeline.data = options.data;
  }
  MW_ASSIGN_OR_RETURN(request.memory, BudgetOf(options));
  request.cost_model = options.cost_model;
  request.completion = options.rest == "xla" ? Completion::kPropagate : Completion::kLeastCost;
  request.deadline_seconds = options.deadline_seconds;
  request.threads = static_cast<int>(std::clamp<int64_t>(options.threads, 1, 1024));
  request.seed = options.seed;
  for (size_t i = 0; i < options.fixes.size(); ++i) {
    MW_ASSIGN_OR_RETURN(Fix fix,
                        ParseFix(options.fixes[i], StrCat("fix #", i + 1, " of the plan")));
    request.fixes.push_back(std::move(fix));
  }
  return request;
}

}  // namespace meshwright
