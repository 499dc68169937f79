#include "meshwright/plan/make/request_options.h"

#include <cstddef>
#include <utility>

#include "absl/strings/numbers.h"
#include "meshwright/base/sha256.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/cluster/units.h"
#include "meshwright/inter/schedule/schedule.h"
#include "meshwright/plan/make/fix_option.h"

namespace meshwright {
namespace {

// Prefixes an error with the option whose value is at fault.
absl::Status AtOption(std::string_view option, const absl::Status& status) {
  return absl::Status(status.code(), StrCat(option, ": ", status.message()));
}

absl::StatusOr<MemoryBudget> ParseMemory(const std::string& text, const std::string& option) {
  if (text == "device") return MemoryBudget{MemoryBudget::Kind::kDevice};
  if (text == "unlimited") return MemoryBudget{MemoryBudget::Kind::kUnlimited};
  const absl::StatusOr<int64_t> bytes = ParseBytes(text);
  if (!bytes.ok()) return AtOption(option, bytes.status());
  return MemoryBudget{MemoryBudget::Kind::kBytes, *bytes};
}

constexpr int32_t kMostStages = 1 << 20;  // no cluster has more devices

// A positive number, or `word`, which stands for 0.
absl::StatusOr<int32_t> ParseCount(const std::string& text, std::string_view word,
                                   const std::string& option) {
  if (text == word) return 0;
  int32_t count = 0;
  if (absl::SimpleAtoi(text, &count) && count >= 1 && count <= kMostStages) return count;
  return absl::InvalidArgumentError(
      StrCat(option, ": found \"", text, "\", expected ", word, " or a number from 1"));
}

absl::StatusOr<PipelineChoice> ParsePipeline(const RequestOptions& options,
                                             std::string_view dashes) {
  PipelineChoice pipeline;
  pipeline.wanted = options.pipeline != "off";
  if (pipeline.wanted) {
    MW_ASSIGN_OR_RETURN(pipeline.stages,
                        ParseCount(options.pipeline, "auto", StrCat(dashes, "pipeline")));
  }
  MW_ASSIGN_OR_RETURN(pipeline.micro_batches,
                      ParseCount(options.micro_batches, "auto", StrCat(dashes, "micro-batches")));
  pipeline.schedule = options.schedule;
  if (options.schedule != "auto") {
    const absl::Status known = FindSchedule(options.schedule).status();
    if (!known.ok()) {
      return absl::InvalidArgumentError(StrCat(dashes, "schedule: ", known.message(), ", or auto"));
    }
  }
  pipeline.recompute = options.recompute;
  pipeline.layers = options.layers;
  pipeline.data = options.data;
  return pipeline;
}

absl::Status AddFixes(const RequestOptions& options, std::string_view dashes,
                      ProgramRequest& request) {
  for (const std::string& path : options.fix_files) {
    MW_ASSIGN_OR_RETURN(const std::string text, ReadInput(path));
    request.more_inputs.push_back({path, "fixes", Sha256Hex(text)});
    MW_ASSIGN_OR_RETURN(const std::vector<Fix> fixes, ParseFixFile(text, path));
    request.fixes.insert(request.fixes.end(), fixes.begin(), fixes.end());
  }
  for (size_t i = 0; i < options.fixes.size(); ++i) {
    MW_ASSIGN_OR_RETURN(Fix fix, ParseFix(options.fixes[i], StrCat(dashes, "fix #", i + 1)));
    request.fixes.push_back(std::move(fix));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<double> ParseDeadline(const std::string& text, const std::string& option) {
  const absl::StatusOr<double> seconds = ParseDuration(text);
  if (!seconds.ok()) return AtOption(option, seconds.status());
  if (*seconds <= 0) {
    return absl::InvalidArgumentError(StrCat(option, ": must be more than 0 seconds"));
  }
  return *seconds;
}

absl::StatusOr<ProgramRequest> ToProgramRequest(const RequestOptions& options,
                                                std::string_view dashes) {
  ProgramRequest request;
  request.cluster = options.cluster;
  request.mesh = options.mesh;
  request.cost_model = options.cost_model;
  request.completion =
      options.completion == "xla" ? Completion::kPropagate : Completion::kLeastCost;
  request.threads = options.threads;
  request.seed = options.seed;
  request.database = options.db;
  request.database_environment = options.db_environment;
  MW_ASSIGN_OR_RETURN(request.memory, ParseMemory(options.memory, StrCat(dashes, "memory")));
  MW_ASSIGN_OR_RETURN(request.deadline_seconds,
                      ParseDeadline(options.deadline, StrCat(dashes, "deadline")));
  MW_ASSIGN_OR_RETURN(request.pipeline, ParsePipeline(options, dashes));
  MW_RETURN_IF_ERROR(AddFixes(options, dashes, request));
  return request;
}

}  // namespace meshwright
