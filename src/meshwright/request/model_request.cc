#include "meshwright/request/model_request.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/cluster/units.h"
#include "meshwright/model/check_model.h"
#include "meshwright/request/asked_framework.h"
#include "meshwright/request/program_request.h"

namespace meshwright {
namespace {

// Sequences are this long where neither the user nor a shorter model says.
constexpr int64_t kTokensUnlessGiven = 4096;
constexpr double kMostSeconds = 1e12;  // between failures, and to restart
constexpr double kSlowestCheckpoints = 1e3, kFastestCheckpoints = 1e15;  // bytes a second

absl::StatusOr<ModelObjective> ParseObjective(const std::string& name) {
  const std::optional<ModelObjective> objective = FromWord<ModelObjective>(name);
  // What comes after it is of groups of nodes only.
  if (objective.has_value() && *objective <= ModelObjective::kMemory) return *objective;
  return absl::InvalidArgumentError(
      absl::StrCat("--objective: found \"", name, "\", expected time, gpus, memory or cost"));
}

absl::StatusOr<ModelCost> ParseModelCost(const std::string& name) {
  if (name == "auto" || name == "calibrated") return ModelCost::kCalibrated;
  if (name == "nersc") return ModelCost::kNersc;
  return absl::InvalidArgumentError(
      absl::StrCat("--cost-model: found \"", name, "\"; models have calibrated, nersc and fasop"));
}

// --tp, into fixes that --fix did not set.
absl::Status ApplyTensor(const std::string& tensor, transformer::Fixes& fixes) {
  const bool one = tensor == "1d" || tensor == "seqp";
  if (!one && tensor != "2d" && tensor != "auto") {
    return absl::InvalidArgumentError(
        absl::StrCat("--tp: found \"", tensor, "\", expected 1d, 2d, seqp or auto"));
  }
  // Rows and panels are a grid's.
  const bool grid = fixes.tp2.value_or(1) > 1 || fixes.panels.value_or(0) > 0;
  if (!fixes.grid.has_value() && tensor != "auto") fixes.grid = tensor == "2d" || grid;
  if (tensor != "seqp") return absl::OkStatus();
  constexpr auto gathered = transformer::ContextKind::kAllGather;
  if (fixes.context.value_or(gathered) != gathered) {
    return absl::InvalidArgumentError(
        StrCat("--tp seqp gathers keys (context=allgather), but --fix has context=",
               transformer::ContextKindName(*fixes.context)));
  }
  fixes.context = gathered;
  return absl::OkStatus();
}

// --network, into what the cluster has by its device or its file.
absl::Status SetNetwork(const std::string& text, Cluster& cluster) {
  if (text.empty()) return absl::OkStatus();
  constexpr double kSlowest = 1e6, kFastest = 1e13;  // bytes a second
  const absl::StatusOr<double> bandwidth = ParseBandwidth(text);
  if (!bandwidth.ok() || *bandwidth < kSlowest || *bandwidth > kFastest) {
    return absl::InvalidArgumentError(
        StrCat("--network: ",
               bandwidth.ok() ? StrCat("found \"", text, "\"")
                              : std::string(FromAbsl(bandwidth.status().message())),
               ", expected the bandwidth of a GPU from 1MB/s to 1e4GB/s, such as 100Gbit/s"));
  }
  cluster.inter_node.bandwidth_bytes_per_second = *bandwidth;
  return absl::OkStatus();
}

absl::StatusOr<double> ParsePositiveDuration(const char* option, const std::string& text,
                                             bool or_zero) {
  const absl::StatusOr<double> seconds = ParseDuration(text);
  if (!seconds.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(option, ": ", seconds.status().message()));
  }
  if ((*seconds > 0 || or_zero) && *seconds <= kMostSeconds) return *seconds;
  return absl::InvalidArgumentError(absl::StrCat(option, ": found \"", text, "\"; it must be ",
                                                 or_zero ? "" : "more than 0 and ",
                                                 "at most 1e12 seconds"));
}

absl::StatusOr<std::optional<FailureRequest>> ParseFailures(const AskedOptions& options) {
  if (options.mtbf.empty()) return std::optional<FailureRequest>();
  FailureRequest failures;
  MW_ASSIGN_OR_RETURN(failures.gpu_mtbf_seconds,
                      ParsePositiveDuration("--mtbf", options.mtbf, /*or_zero=*/false));
  MW_ASSIGN_OR_RETURN(failures.restart_seconds,
                      ParsePositiveDuration("--restart", options.restart, /*or_zero=*/true));
  const absl::StatusOr<double> bandwidth = ParseBandwidth(options.checkpoint_bandwidth);
  if (!bandwidth.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--checkpoint-bandwidth: ", bandwidth.status().message()));
  }
  if (*bandwidth < kSlowestCheckpoints || *bandwidth > kFastestCheckpoints) {
    return absl::InvalidArgumentError(absl::StrCat("--checkpoint-bandwidth: found \"",
                                                   options.checkpoint_bandwidth,
                                                   "\", expected from 1kB/s to 1e6GB/s for a GPU"));
  }
  failures.checkpoint_bytes_per_second = *bandwidth;
  return std::optional<FailureRequest>(failures);
}

}  // namespace

int64_t SequenceOf(const transformer::Model& model, int64_t given) {
  if (given > 0) return given;
  const int64_t longest = model.max_sequence > 0 ? model.max_sequence : kTokensUnlessGiven;
  const bool image = model.embedding.patches.has_value();
  return image ? longest : std::min(longest, kTokensUnlessGiven);
}

absl::StatusOr<ModelRequest> ToModelRequest(const Subject& model, const AskedOptions& options) {
  ModelRequest request;
  MW_ASSIGN_OR_RETURN(request.objective, ParseObjective(options.objective));
  MW_ASSIGN_OR_RETURN(request.cost, ParseModelCost(options.cost_model));
  MW_ASSIGN_OR_RETURN(request.failures, ParseFailures(options));
  if (request.cost == ModelCost::kCalibrated) {
    MW_ASSIGN_OR_RETURN(request.deadline_seconds, ParseDeadline(options.deadline, kUsualDeadline));
  }
  request.top = options.top;
  request.threads = static_cast<int>(options.threads);
  request.workload.global_batch = options.global_batch;
  MW_ASSIGN_OR_RETURN(request.precision, transformer::ParsePrecision(options.dtype));
  MW_ASSIGN_OR_RETURN(request.fixes, transformer::ParseFixes(options.fixes));
  MW_RETURN_IF_ERROR(ApplyTensor(options.tensor, request.fixes));
  MW_ASSIGN_OR_RETURN(request.cluster, ParseCluster(options.cluster));
  MW_RETURN_IF_ERROR(SetNetwork(options.network, request.cluster));
  request.network = options.network;
  MW_ASSIGN_OR_RETURN(const MemoryBudget memory, ParseMemory(options.memory));
  if (memory.kind != MemoryBudget::Kind::kUnlimited) {
    request.budget_bytes = BudgetBytes(memory, request.cluster);
  }
  MW_ASSIGN_OR_RETURN(request.model, ReadModel(model, request.description, request.inputs));
  MW_ASSIGN_OR_RETURN(request.framework, AskedFramework(options, request.model));
  if (options.mtp >= 0) request.mtp = options.mtp;
  MW_RETURN_IF_ERROR(AddClusterInput(options.cluster, request.inputs));
  request.workload.sequence = SequenceOf(request.model, options.sequence);
  request.launch_targets = options.launchable ? kAnyTarget : options.launch_targets;
  return request;
}

Options ModelOptionRows(ModelAsked& asked) {
  constexpr auto kMost = static_cast<double>(transformer::kMaxSequence);
  return {{"seq",
           &asked.sequence,
           "tokens per sequence; without it the model's longest, at most 4096",
           {.least = 1, .most = kMost}},
          {"source-seq",
           &asked.source_sequence,
           "tokens per sequence of the encoder; without it as many as of the decoder",
           {.least = 1, .most = kMost}}};
}

absl::StatusOr<DescribedModel> DescribeModel(const Subject& model, const ModelAsked& asked) {
  std::string description;
  std::vector<InputFile> inputs;
  DescribedModel described;
  MW_ASSIGN_OR_RETURN(described.model, ReadModel(model, description, inputs));
  described.batch.tokens = SequenceOf(described.model, asked.sequence);
  described.batch.source_tokens = asked.source_sequence;
  MW_RETURN_IF_ERROR(CheckSequence(described.model, described.batch.tokens));
  if (asked.source_sequence == 0) return described;
  if (described.model.stacks.size() < 2) {
    return absl::InvalidArgumentError("--source-seq: the model has no encoder beside a decoder");
  }
  MW_RETURN_IF_ERROR(CheckSequence(described.model, asked.source_sequence));
  return described;
}

}  // namespace meshwright
