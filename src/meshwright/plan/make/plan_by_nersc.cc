#include "meshwright/plan/make/plan_by_nersc.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/quantity_text.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/plan/make/begin_model_plan.h"
#include "meshwright/plan/make/time_use.h"
#include "meshwright/published/nersc/nersc.h"

namespace meshwright {
namespace {

namespace nersc = transformer::nersc;
using transformer::Configuration;
using transformer::ContextKind;

constexpr double kGigabyte = 1e9;

// The publication has rates of arithmetic outside tensor cores, efficiencies and latencies of links
// for its own systems only; devices of the same generation take them from there.
struct Generation {
  std::string_view device, system;
};
constexpr std::array<Generation, 7> kGenerations = {{{"a100-40g", "A100"},
                                                     {"a100-80g", "A100"},
                                                     {"h100-sxm", "H200"},
                                                     {"h100-96g", "H200"},
                                                     {"h200", "H200"},
                                                     {"b200", "B200"},
                                                     {"gb200-nvl72", "B200"}}};

absl::StatusOr<nersc::System> NerscSystem(const Cluster& cluster) {
  std::string known;
  for (const Generation& one : kGenerations) {
    StrAppend(&known, known.empty() ? "" : ", ", one.device);
    if (one.device != cluster.device.measured_as()) continue;
    MW_ASSIGN_OR_RETURN(nersc::System system,
                        nersc::PublishedSystem(one.system, cluster.devices_per_node));
    system.matrix_tflops = cluster.device.PeakFlops("bf16") / 1e12;
    system.hbm_gbps = cluster.device.memory_bytes_per_second / kGigabyte;
    system.hbm_gb = static_cast<double>(cluster.device.memory_bytes) / kGigabyte;
    system.nvlink_gbps = cluster.intra_node.bandwidth_bytes_per_second / kGigabyte;
    system.ib_gbps = cluster.inter_node.bandwidth_bytes_per_second / kGigabyte;
    return system;
  }
  return absl::InvalidArgumentError(StrCat("--cost-model nersc: the published model has no ",
                                           cluster.device.name, "; it knows the generations of ",
                                           known));
}

absl::StatusOr<nersc::Model> NerscModel(const ModelRequest& request) {
  const transformer::Model& model = request.model;
  const auto refuse = [&](std::string_view what) {
    return absl::InvalidArgumentError(
        StrCat("--cost-model nersc: ", model.name, " has ", what,
               "; the published model knows layers like GPT's only, all alike, with as many heads "
               "of keys and values as of queries and MLPs of two matrices"));
  };
  if (model.stacks.size() != 1) return refuse("an encoder and a decoder");
  if (model.stacks[0].kinds.size() != 1) return refuse("layers of several kinds");
  const transformer::Layer& layer = model.stacks[0].kinds[0];
  if (!layer.mlp.has_value()) return refuse("experts");
  if (layer.mlp->gated) return refuse("gated MLPs");
  const transformer::Attention& attention = layer.attention;
  if (attention.latent.has_value()) return refuse("latent attention");
  if (attention.kv_heads != attention.heads) {
    return refuse(absl::StrCat(attention.kv_heads, " heads of keys and values"));
  }
  if (attention.heads * attention.qk_head_dim != model.hidden) {
    return refuse(absl::StrCat("heads of ", attention.qk_head_dim, " elements"));
  }
  return nersc::Model{.sequence = request.workload.sequence,
                      .embedding = model.hidden,
                      .heads = attention.heads,
                      .layers = model.layers(),
                      .hidden = layer.mlp->ffn};
}

// Strategies that the fixes leave.
std::vector<nersc::Strategy> Strategies(const transformer::Fixes& fixes) {
  std::vector<nersc::Strategy> all;
  const bool gathers = fixes.context == ContextKind::kAllGather;
  if (!fixes.grid.value_or(false) && !gathers) all.push_back(nersc::Strategy::k1d);
  if (fixes.grid.value_or(true) && !gathers) all.push_back(nersc::Strategy::kSumma);
  if (gathers || (!fixes.grid.has_value() && !fixes.context.has_value())) {
    all.push_back(nersc::Strategy::kSequence);
  }
  return all;
}

// ZeRO-1 over all replicas, 1F1B, no recomputation; norms and dropout lie over all of tp.
Configuration ToConfiguration(const nersc::Config& config, nersc::Strategy strategy, bool nodes) {
  const bool sequence = strategy == nersc::Strategy::kSequence;
  Configuration c;
  c.tp = config.tp1 * (sequence ? 1 : config.tp2);
  c.tp2 = sequence ? 1 : config.tp2;
  c.panels = c.tp2 > 1 ? config.panels : 0;
  c.sequence_parallel = c.tp > 1;
  c.cp = sequence ? config.tp2 : 1;
  if (c.cp > 1) c.context = ContextKind::kAllGather;
  c.dp = config.dp;
  c.pp = config.pp;
  c.micro_batch = config.micro_batch;
  c.zero = c.dp * c.cp > 1 ? 1 : 0;
  if (!nodes) return c;
  c.inside = {.tp = config.nv_tp1 * (sequence ? 1 : config.nv_tp2),
              .cp = sequence ? config.nv_tp2 : 1,
              .dp = config.nv_dp,
              .pp = config.nv_pp,
              .tp2 = sequence ? 1 : config.nv_tp2};
  return c;
}

struct Found {
  Configuration configuration;
  nersc::Evaluation evaluation;
};

bool Allowed(const std::vector<transformer::SingleFix>& fixes, const Configuration& c) {
  return std::all_of(fixes.begin(), fixes.end(), [&](const transformer::SingleFix& fix) {
    return StrCat(fix.key, "=", FixValue(c, fix.key)) == fix.text;
  });
}

struct NerscSearch {
  std::vector<Found> found;  // fastest first
  PlanSearchCounts counts;
};

absl::StatusOr<NerscSearch> SearchByNersc(const ModelRequest& request, const nersc::Model& model,
                                          const nersc::System& system) {
  const std::vector<transformer::SingleFix> fixes = SplitFixes(request.fixes);
  NerscSearch search;
  for (const nersc::Strategy strategy : Strategies(request.fixes)) {
    // What is fixed is picked from all, and so are grids of more than one row.
    const bool one_row = strategy == nersc::Strategy::k1d;
    const int64_t top = fixes.empty() && one_row ? request.top : nersc::kMostCandidates;
    MW_ASSIGN_OR_RETURN(const nersc::SearchResult result,
                        nersc::Search(model, system, strategy,
                                      {.gpus = request.cluster.devices(),
                                       .global_batch = request.workload.global_batch,
                                       .top = top}));
    search.counts.legal += result.candidates;
    search.counts.evaluated += result.feasible;
    search.counts.fitting += result.feasible;
    search.counts.pruned += result.candidates - result.feasible;
    for (const nersc::Evaluation& one : result.top) {
      if (!one_row && one.config.tp2 == 1) continue;
      const Configuration c = ToConfiguration(one.config, strategy, request.cluster.nodes > 1);
      if (Allowed(fixes, c)) search.found.push_back({c, one});
    }
  }
  std::stable_sort(search.found.begin(), search.found.end(), [](const Found& a, const Found& b) {
    return a.evaluation.throughput > b.evaluation.throughput;
  });
  if (std::ssize(search.found) > request.top) search.found.resize(request.top);
  return search;
}

// They add up to the step: computation has what none of the others is, exposed traffic of memory
// among it.
PlanStepParts PartsOf(const nersc::Stats& stats) {
  PlanStepParts parts;
  parts.tensor_communication = stats.tp_comm;
  parts.data_communication = stats.dp_comm;
  parts.pipeline_communication = stats.pp_comm;
  parts.bubble = stats.bubble;
  parts.compute = stats.seconds - stats.tp_comm - stats.dp_comm - stats.pp_comm - stats.bubble;
  return parts;
}

PlanStepParts Less(const PlanStepParts& a, const PlanStepParts& b) {
  PlanStepParts parts;
  parts.compute = a.compute - b.compute;
  parts.tensor_communication = a.tensor_communication - b.tensor_communication;
  parts.data_communication = a.data_communication - b.data_communication;
  parts.pipeline_communication = a.pipeline_communication - b.pipeline_communication;
  parts.bubble = a.bubble - b.bubble;
  return parts;
}

int64_t GigabytesToBytes(double gb) { return std::llround(gb * kGigabyte); }

double MfuOf(const nersc::Stats& stats, const nersc::System& system) {
  return stats.tflop_per_gpu / stats.seconds / system.matrix_tflops;
}

std::vector<PlanSensitivity> NerscSensitivity(const ModelRequest& request, nersc::Strategy strategy,
                                              const nersc::Model& model,
                                              const nersc::System& system,
                                              const nersc::Evaluation& best) {
  constexpr double kMore = 1.1;
  struct Change {
    const char* name;
    double nersc::System::*value;
  };
  std::vector<PlanSensitivity> all;
  for (const Change& change : {Change{"peak flops", &nersc::System::matrix_tflops},
                               {"memory bandwidth", &nersc::System::hbm_gbps},
                               {"NVLink bandwidth", &nersc::System::nvlink_gbps},
                               {"network bandwidth", &nersc::System::ib_gbps}}) {
    nersc::System changed = system;
    changed.*change.value *= kMore;
    const absl::StatusOr<nersc::Evaluation> evaluation =
        nersc::Evaluate(model, changed, strategy, best.config, request.workload.global_batch);
    if (!evaluation.ok()) continue;
    all.push_back(
        {StrCat(change.name, " +10 %"), evaluation->stats.seconds / best.stats.seconds - 1});
  }
  return all;
}

nersc::Strategy StrategyOf(const Configuration& c) {
  if (c.tp2 > 1) return nersc::Strategy::kSumma;
  return c.cp > 1 ? nersc::Strategy::kSequence : nersc::Strategy::k1d;
}

}  // namespace

absl::StatusOr<Plan> PlanByNersc(const ModelRequest& request) {
  if (request.precision != transformer::Precision::kBf16 &&
      request.precision != transformer::Precision::kFp16) {
    return absl::InvalidArgumentError("--cost-model nersc: --dtype must be bf16 or fp16");
  }
  if (request.objective != ModelObjective::kTime) {
    return absl::InvalidArgumentError("--cost-model nersc: --objective must be time");
  }
  MW_ASSIGN_OR_RETURN(const nersc::Model model, NerscModel(request));
  MW_ASSIGN_OR_RETURN(nersc::System system, NerscSystem(request.cluster));
  if (request.budget_bytes.has_value()) {
    system.hbm_gb = static_cast<double>(*request.budget_bytes) / kGigabyte;
  } else {
    system.hbm_gb = 1e6;
  }
  MW_ASSIGN_OR_RETURN(const NerscSearch search, SearchByNersc(request, model, system));
  if (search.found.empty()) {
    if (search.counts.fitting > 0) {
      return absl::InvalidArgumentError(
          "--fix: none of the configurations that fit by the NERSC model has all of these; it has "
          "1F1B without recomputation, ZeRO 1 over all replicas, and cp only as rows of --tp seqp");
    }
    if (search.counts.legal == 0) {
      return absl::InvalidArgumentError(
          absl::StrFormat("no degrees of the NERSC model make use of %s: they must divide %d "
                          "heads, %d layers and a global batch of %d",
                          Counted(request.cluster.devices(), "GPU"), model.heads, model.layers,
                          request.workload.global_batch));
    }
    return absl::ResourceExhaustedError(absl::StrFormat(
        "%s does not fit into %s a GPU on %s by the NERSC model, in any of %s", request.model.name,
        BytesText(GigabytesToBytes(system.hbm_gb)), Counted(request.cluster.devices(), "GPU"),
        Counted(search.counts.legal, "configuration")));
  }
  const Found& best = search.found.front();
  const nersc::Stats& stats = best.evaluation.stats;
  Plan plan = BeginModelPlan(request, request.cluster, best.configuration);
  plan.options.cost_model = kNerscCostModel;
  plan.objective_seconds = plan.bound_seconds = plan.step_seconds = stats.seconds;
  PlanTransformer& part = *plan.model;
  part.seconds = PartsOf(stats);
  plan.compute_seconds = part.seconds.compute;
  plan.communication_seconds = stats.tp_comm + stats.dp_comm + stats.pp_comm;
  plan.bubble_share = stats.bubble / stats.seconds;
  part.model_flops = stats.tflop_per_gpu * 1e12 * static_cast<double>(request.cluster.devices());
  part.state = {2, 4, 0};
  part.mfu = part.hfu = MfuOf(stats, system);
  // The first stage has the most micro-batches in flight; the model has no other.
  const PlanGroupBytes bytes{.weights = GigabytesToBytes(stats.weights_gb),
                             .gradients = GigabytesToBytes(stats.weights_gb),
                             .optimizer = GigabytesToBytes(stats.optimizer_gb),
                             .activations = GigabytesToBytes(stats.activations_gb)};
  part.memory.assign(static_cast<size_t>(best.configuration.pp), bytes);
  plan.peak_bytes = bytes.weights + bytes.gradients + bytes.optimizer + bytes.activations;
  const auto set = [&](MemoryCategory category, int64_t size) {
    plan.memory_by_category[static_cast<size_t>(category)] = size;
  };
  set(MemoryCategory::kParameters, bytes.weights);
  set(MemoryCategory::kGradients, bytes.gradients);
  set(MemoryCategory::kOptimizerState, bytes.optimizer);
  set(MemoryCategory::kActivations, bytes.activations);
  part.search = search.counts;
  for (size_t i = 1; i < search.found.size(); ++i) {
    const nersc::Stats& other = search.found[i].evaluation.stats;
    part.alternatives.push_back({WithoutUsualPlacement(search.found[i].configuration),
                                 other.seconds, GigabytesToBytes(other.memory_gb),
                                 MfuOf(other, system), Less(PartsOf(other), part.seconds)});
  }
  part.sensitivity =
      NerscSensitivity(request, StrategyOf(best.configuration), model, system, best.evaluation);
  plan.warnings.emplace_back(
      "by the published NERSC model, which has no embedding, head, loss or optimizer step");
  SetModelErrors(ErrorOfModel(/*fitted=*/false), &plan);
  return plan;
}

}  // namespace meshwright
