#include "meshwright/request/program_request.h"

#include <cstddef>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/sha256.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/base/words.h"
#include "meshwright/cluster/units.h"
#include "meshwright/inter/layers/micro_batch_rng.h"
#include "meshwright/inter/schedule/schedule.h"
#include "meshwright/plan/make/fix_option.h"

namespace meshwright {
namespace {

// Prefixes an error with the option whose value is at fault.
absl::Status AtOption(std::string_view option, const absl::Status& status) {
  return absl::Status(status.code(), StrCat(option, ": ", status.message()));
}

// No device is that small: whoever writes fewer bytes without a unit means another one.
constexpr int64_t kLeastPlainBytes = int64_t{1} << 20;

constexpr int32_t kMostStages = 1 << 20;  // no cluster has more devices

// A positive number, or `word`, which stands for 0.
absl::StatusOr<int32_t> ParseCount(const std::string& text, std::string_view word,
                                   const std::string& option) {
  if (text == word) return 0;
  int32_t count = 0;
  if (absl::SimpleAtoi(text, &count) && count >= 1 && count <= kMostStages) return count;
  return absl::InvalidArgumentError(StrCat(option, ": found \"", text, "\", expected ", word,
                                           " or a number from 1 to ", kMostStages));
}

absl::StatusOr<PipelineChoice> ParsePipeline(const AskedOptions& options) {
  PipelineChoice pipeline;
  pipeline.wanted = options.pipeline != "off";
  if (pipeline.wanted) {
    MW_ASSIGN_OR_RETURN(pipeline.stages, ParseCount(options.pipeline, "auto", "--pipeline"));
  }
  MW_ASSIGN_OR_RETURN(pipeline.micro_batches,
                      ParseCount(options.micro_batches, "auto", "--micro-batches"));
  const std::optional<MicroBatchRng> rng = FromWord<MicroBatchRng>(options.micro_batch_rng);
  if (!rng.has_value()) {
    return absl::InvalidArgumentError(StrCat("--micro-batch-rng: found \"", options.micro_batch_rng,
                                             "\", expected ", WordList<MicroBatchRng>()));
  }
  pipeline.rng = *rng;
  pipeline.schedule = options.schedule;
  if (options.schedule != "auto") {
    const absl::Status known = FindSchedule(options.schedule).status();
    if (!known.ok()) {
      return absl::InvalidArgumentError(StrCat("--schedule: ", known.message(), ", or auto"));
    }
  }
  pipeline.recompute = !options.no_recompute;
  pipeline.layers = static_cast<int32_t>(options.layers);
  pipeline.data = options.data;
  return pipeline;
}

absl::Status AddFixes(const AskedOptions& options, ProgramRequest& request) {
  for (const std::string& path : options.fix_files) {
    MW_ASSIGN_OR_RETURN(const std::string text, ReadInput(path));
    request.more_inputs.push_back({path, "fixes", Sha256Hex(text)});
    MW_ASSIGN_OR_RETURN(const std::vector<Fix> fixes, ParseFixFile(text, path));
    request.fixes.insert(request.fixes.end(), fixes.begin(), fixes.end());
  }
  for (size_t i = 0; i < options.fixes.size(); ++i) {
    MW_ASSIGN_OR_RETURN(Fix fix, ParseFix(options.fixes[i], StrCat("--fix #", i + 1)));
    request.fixes.push_back(std::move(fix));
  }
  return absl::OkStatus();
}

absl::Status AddCallRules(const AskedOptions& options, ProgramRequest& request) {
  for (const std::string& path : options.rule_files) {
    MW_ASSIGN_OR_RETURN(const std::string text, ReadInput(path));
    request.more_inputs.push_back({path, kCallRulesFile, Sha256Hex(text)});
    MW_ASSIGN_OR_RETURN(const std::vector<GivenCallRule> rules, ParseGivenCallRules(text, path));
    request.call_rules.insert(request.call_rules.end(), rules.begin(), rules.end());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<MemoryBudget> ParseMemory(const std::string& text) {
  if (text == "device") return MemoryBudget{MemoryBudget::Kind::kDevice};
  if (text == "unlimited") return MemoryBudget{MemoryBudget::Kind::kUnlimited};
  const absl::StatusOr<int64_t> bytes = ParseBytes(text);
  if (!bytes.ok()) return AtOption("--memory", bytes.status());
  const bool plain = absl::ascii_isdigit(static_cast<unsigned char>(text.back()));
  if (plain && *bytes > 0 && *bytes < kLeastPlainBytes) {
    return absl::InvalidArgumentError(StrCat("--memory: ", text, " without a unit is ",
                                             Counted(*bytes, "byte"), " a device; did you mean ",
                                             text, "GiB?"));
  }
  return MemoryBudget{MemoryBudget::Kind::kBytes, *bytes};
}

absl::StatusOr<double> ParseDeadline(const std::string& text, double usual) {
  if (text == "auto") return usual;
  const absl::StatusOr<double> seconds = ParseDuration(text);
  if (!seconds.ok()) return AtOption("--deadline", seconds.status());
  if (*seconds <= 0) {
    return absl::InvalidArgumentError("--deadline: must be more than 0 seconds");
  }
  return *seconds;
}

absl::StatusOr<ProgramRequest> ToProgramRequest(const Subject& program,
                                                const AskedOptions& options) {
  ProgramRequest request;
  request.program = program.name;
  request.contents = program.contents;
  request.cluster = options.cluster;
  request.mesh = options.mesh;
  request.cost_model = options.cost_model;
  request.completion = FromWord<Completion>(options.completion).value_or(Completion::kLeastCost);
  request.threads = static_cast<int>(options.threads);
  request.seed = options.seed;
  request.database = options.db;
  request.database_environment = options.db_environment;
  MW_ASSIGN_OR_RETURN(request.memory, ParseMemory(options.memory));
  MW_ASSIGN_OR_RETURN(request.pipeline, ParsePipeline(options));
  const bool counted = request.database.empty();
  MW_ASSIGN_OR_RETURN(
      request.deadline_seconds,
      ParseDeadline(options.deadline,
                    counted ? std::numeric_limits<double>::infinity() : kUsualDeadline));
  MW_RETURN_IF_ERROR(AddFixes(options, request));
  MW_RETURN_IF_ERROR(AddCallRules(options, request));
  return request;
}

}  // namespace meshwright
