#include "meshwright/plan/make/begin_model_plan.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/degrees/device_warnings.h"
#include "meshwright/degrees/fixes.h"
#include "meshwright/degrees/rank_order.h"
#include "meshwright/model/tensors.h"
#include "meshwright/plan/document/version.h"
#include "meshwright/plan/make/build_plan.h"

namespace meshwright {

transformer::Configuration WithoutUsualPlacement(transformer::Configuration c) {
  if (RankOrderOf(c) == transformer::RankOrder::kDataThenPipeline) c.inside = c.unit = {};
  return c;
}

PlanGroupBytes ToGroupBytes(const transformer::StageMemory& m) {
  return {m.weights, m.gradients,     m.optimizer, m.activations,
          m.logits,  m.communication, m.framework, m.host};
}

void SetFramework(const transformer::ChosenFramework& framework, std::optional<int64_t> mtp,
                  PlanTransformer& part) {
  part.framework = std::string(framework.framework->name);
  part.release = framework.release;
  part.attention = std::string(Word(framework.attention));
  part.mtp = mtp;
  part.state = {static_cast<int64_t>(framework.state.gradient_bytes),
                static_cast<int64_t>(framework.state.moment_bytes), framework.state.logit_bytes};
}

void SetMemoryByCategory(const transformer::StageMemory& m, Plan& plan) {
  const auto set = [&](MemoryCategory category, int64_t bytes) {
    plan.memory_by_category[static_cast<size_t>(category)] = bytes;
  };
  set(MemoryCategory::kParameters, m.weights);
  set(MemoryCategory::kOptimizerState, m.optimizer);
  set(MemoryCategory::kGradients, m.gradients);
  set(MemoryCategory::kActivations, m.activations + m.logits);
  set(MemoryCategory::kTemporaries, m.communication + m.framework);
}

Plan BeginModelPlan(const ModelRequest& request, const Cluster& cluster,
                    const transformer::Configuration& best) {
  Plan plan;
  plan.tool_version = ToolVersion();
  plan.inputs = request.inputs;
  plan.options.mesh = "auto";
  plan.options.memory =
      request.budget_bytes.has_value() ? absl::StrCat(*request.budget_bytes) : "unlimited";
  plan.options.pipeline = "auto";
  plan.options.threads = request.threads;
  if (std::isfinite(request.deadline_seconds)) {
    plan.options.deadline_seconds = request.deadline_seconds;
  }
  if (!request.network.empty()) plan.options.network = request.network;
  for (const transformer::SingleFix& fix : SplitFixes(request.fixes)) {
    plan.options.fixes.push_back(fix.text);
  }
  plan.cluster = ToPlanCluster({cluster});
  plan.mesh = {{"pp", best.pp}, {"dp", best.dp}, {"cp", best.cp}, {"tp", best.tp}};
  plan.budget_bytes = request.budget_bytes;
  plan.micro_batches = request.workload.global_batch / (best.dp * best.micro_batch);
  plan.chunks = best.virtual_stages;
  plan.warnings = request.model.notes;
  for (std::string& warning : DeviceWarnings(cluster.device, request.precision))
    plan.warnings.push_back(std::move(warning));
  PlanTransformer& part = plan.model.emplace();
  part.model = request.model.name;
  part.description = request.description;
  part.parameters = CountParameters(Tensors(request.model)).total;
  part.sequence = request.workload.sequence;
  part.global_batch = request.workload.global_batch;
  part.objective = request.objective;
  part.configuration = WithoutUsualPlacement(best);
  return plan;
}

}  // namespace meshwright
