#include "meshwright/request/asked_framework.h"

#include <optional>
#include <string>

#include "absl/strings/str_split.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

using transformer::AttentionKernel;
using transformer::ChosenFramework;
using transformer::FrameworkTable;
using transformer::Loss;

constexpr char kUnlessGiven[] = "auto";

absl::Status Expected(std::string_view option, std::string_view found, std::string_view words) {
  return absl::InvalidArgumentError(
      StrCat(option, ": found \"", found, "\", expected ", words, " or auto"));
}

// Bytes of an element, into `bytes` if `type` says.
absl::Status SetType(std::string_view option, std::string_view type, double& bytes) {
  constexpr double kF32 = 4, kBf16 = 2;
  if (type == "f32") {
    bytes = kF32;
  } else if (type == "bf16") {
    bytes = kBf16;
  } else if (type != kUnlessGiven) {
    return Expected(option, type, "f32, bf16");
  }
  return absl::OkStatus();
}

// The first of --for that is a framework; else the table's first.
std::string_view NameOf(const AskedOptions& asked) {
  if (!asked.framework.empty()) return asked.framework;
  for (const absl::string_view target : absl::StrSplit(asked.launch_targets, ',')) {
    const transformer::Framework* const implied = transformer::FindFramework(FromAbsl(target));
    if (implied != nullptr) return implied->name;
  }
  return FrameworkTable().front().name;
}

}  // namespace

absl::StatusOr<ChosenFramework> AskedFramework(const AskedOptions& asked,
                                               transformer::Model& model) {
  absl::StatusOr<ChosenFramework> chosen =
      transformer::ChooseFramework(NameOf(asked), asked.release, model);
  if (!chosen.ok()) {
    const bool name = transformer::FindFramework(NameOf(asked)) == nullptr;
    return absl::InvalidArgumentError(
        StrCat(name ? "--framework: " : "--release: ", FromAbsl(chosen.status().message())));
  }
  transformer::StateOptions& state = chosen->state;
  MW_RETURN_IF_ERROR(SetType("--grads", asked.gradients, state.gradient_bytes));
  MW_RETURN_IF_ERROR(SetType("--moments", asked.moments, state.moment_bytes));
  const std::optional<Loss> loss =
      asked.fused_loss ? std::optional(Loss::kFused) : FromWord<Loss>(asked.loss);
  if (loss.has_value()) {
    state.logit_bytes = LogitBytes(*loss, model);
  } else if (asked.loss != kUnlessGiven) {
    return Expected("--loss", asked.loss, "f32, fused, chunked");
  }
  chosen->attention = FromWord<AttentionKernel>(asked.attention);
  if (!chosen->attention.has_value() && asked.attention != kUnlessGiven)
    return Expected("--attention", asked.attention, "eager, flash, flash2, cudnn");
  if (asked.mtp > model.mtp.modules) {
    return absl::InvalidArgumentError(StrCat("--mtp: found ", asked.mtp, ", but the model has ",
                                             model.mtp.modules,
                                             " modules of multi-token prediction"));
  }
  if (asked.mtp >= 0) {
    model.mtp.modules = asked.mtp;
  } else if (!chosen->framework->trains_mtp) {
    model.mtp.modules = 0;
  }
  return chosen;
}

void AskFramework(const ChosenFramework& framework, const transformer::Model& model,
                  AskedOptions& asked) {
  const ChosenFramework own =
      transformer::ChooseFramework(framework.framework->name, framework.release, model)
          .value_or(ChosenFramework());
  const auto type = [](double bytes) { return bytes == 4 ? "f32" : "bf16"; };
  if (framework.framework != &FrameworkTable().front())
    asked.framework = std::string(framework.framework->name);
  if (framework.release != framework.framework->release) asked.release = framework.release;
  if (framework.state.gradient_bytes != own.state.gradient_bytes)
    asked.gradients = type(framework.state.gradient_bytes);
  if (framework.state.moment_bytes != own.state.moment_bytes)
    asked.moments = type(framework.state.moment_bytes);
  if (framework.state.logit_bytes != own.state.logit_bytes)
    asked.loss = Word(transformer::LossOf(framework.state.logit_bytes));
  if (framework.attention.has_value()) asked.attention = Word(*framework.attention);
}

}  // namespace meshwright
