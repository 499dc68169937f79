#include "meshwright/explain/explain_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/columns.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/quantity_text.h"
#include "meshwright/degrees/degree_table.h"
#include "meshwright/explain/optimality.h"
#include "meshwright/explain/screen.h"
#include "meshwright/plan/text/largest_first.h"
#include "meshwright/plan/text/step_account.h"
#include "meshwright/plan/text/transformer_table.h"

namespace meshwright {
namespace {

std::string InsideText(int64_t degree, double inside, bool in_order) {
  if (in_order) return "";
  if (inside == static_cast<double>(degree)) return "each group within a node";
  if (inside <= 1) return "each group over as many nodes";
  return absl::StrFormat("%.0f of a group in one node", inside);
}

// "full, of 3 layers of each stage, first 2 pipeline ranks only".
std::string RecomputationText(const transformer::Configuration& d) {
  std::string text(RecomputeName(d.recompute));
  if (d.recompute_layers > 0) {
    StrAppend(&text, ", of ", Counted(d.recompute_layers, "layer"), " of each stage");
  }
  if (d.recompute_stages > 0) {
    StrAppend(
        &text, ", first ",
        d.recompute_stages == 1 ? "pipeline rank" : StrCat(d.recompute_stages, " pipeline ranks"),
        " only");
  }
  return text;
}

// ", 30 % of the optimizer state in the host, activations of 4 layers of each stage in the host".
std::string OffloadText(const transformer::Configuration& d) {
  std::string text;
  if (d.offload_optimizer) {
    StrAppend(&text, ", ", d.offload_percent > 0 ? StrCat(d.offload_percent, " % of the ") : "",
              "optimizer state in the host");
  }
  if (d.offload_activations) {
    StrAppend(&text, ", activations ",
              d.offload_layers > 0
                  ? StrCat("of ", Counted(d.offload_layers, "layer"), " of each stage ")
                  : "",
              "in the host");
  }
  return text;
}

// "tp 2 x dp 8", of what a node or a unit has more than one of.
std::string SharedText(const transformer::Placement& in) {
  std::vector<std::string> parts;
  const auto add = [&](const char* name, int64_t count) {
    if (count > 1) parts.push_back(StrCat(name, " ", count));
  };
  add("tp", in.tp);
  add("tp2", in.tp2);
  add("cp", in.cp);
  add("dp", in.dp);
  add("pp", in.pp);
  return parts.empty() ? "one of each" : absl::StrJoin(parts, " x ");
}

// How GPUs lie on nodes and nodes in the fabric, where that is not as they are numbered.
std::string PlacementLines(const transformer::Configuration& d) {
  if (d.inside.tp == 0) return "";
  std::string text = StrCat("  GPUs of a node: ", SharedText(d.inside));
  if (d.unit.tp > 0) {
    StrAppend(&text, "; nodes of a unit of the fabric: ", SharedText(d.unit),
              "; over the spine: what is left of each");
  }
  return WrapWords(text, 4);
}

std::string DataText(const transformer::Configuration& d) {
  switch (d.zero) {
    case 1:
      return "optimizer state sharded (ZeRO-1)";
    case 2:
      return "optimizer state and gradients sharded (ZeRO-2)";
    case 3:
      return "weights, gradients and optimizer state sharded (ZeRO-3, FSDP)";
    default:
      return "all state replicated";
  }
}

std::string JoinNonEmpty(std::vector<std::string> parts) {
  std::erase(parts, "");
  return absl::StrJoin(parts, ", ");
}

const PlanGroupBytes& PeakGroup(const PlanTransformer& part) {
  const auto bytes = [](const PlanGroupBytes& group) {
    double sum = 0;
    PlanGroupBytes::VisitMembers(group, [&](std::string_view name, int64_t one, MemberForm = {}) {
      if (name != "host") sum += static_cast<double>(one);
    });
    return sum;
  };
  return *std::max_element(
      part.memory.begin(), part.memory.end(),
      [&](const PlanGroupBytes& a, const PlanGroupBytes& b) { return bytes(a) < bytes(b); });
}

// `parts_of`: what the parts are of.
std::string StepSection(const Plan& plan, const std::string& parts_of) {
  const PlanTransformer& part = *plan.model;
  const std::string text =
      absl::StrFormat("%s a step, %s, HFU %.1f %%", StepText(plan), MfuText(plan), 100 * part.hfu);
  return StrCat(Labelled("time", StrCat(text, parts_of)), StepPartsTable(plan),
                Labelled("limits", LimitsText(plan)));
}

std::string GoodputSection(const PlanTransformer& part) {
  if (!part.goodput.has_value()) return "";
  const PlanGoodput& goodput = *part.goodput;
  return Labelled(
      "goodput",
      absl::StrFormat("%.4g %% of the time, %.4g tokens a second: a failure every %s and %s to "
                      "restart, a checkpoint of %s every %s",
                      100 * goodput.share, goodput.tokens_per_second,
                      SecondsText(goodput.mtbf_seconds), SecondsText(goodput.restart_seconds),
                      SecondsText(goodput.checkpoint_seconds),
                      SecondsText(goodput.interval_seconds)));
}

std::string PeakGroupSection(const Plan& plan) {
  const PlanGroupBytes& group = PeakGroup(*plan.model);
  std::string text = StrCat(HeadroomText(plan, "a device at peak"), ": ");
  std::vector<std::string> shares;
  for (const NamedAmount& one : LargestFirst(group)) {
    if (one.name == "host") continue;
    shares.push_back(StrCat(one.name, " ", BytesText(one.amount)));
  }
  StrAppend(&text, absl::StrJoin(shares, ", "));
  if (group.host > 0) StrAppend(&text, "; beside these ", BytesText(group.host), " in the host");
  return Labelled("memory", text);
}

std::string AlternativeSection(const Plan& plan) {
  constexpr size_t kMost = 3;
  const std::vector<PlanAlternative>& others = plan.model->alternatives;
  if (others.empty()) return "";
  std::string text =
      Labelled("next best", others.size() > kMost ? StrCat(kMost, " of ", others.size())
                                                  : StrCat(others.size(), " in all"));
  for (size_t i = 0; i < std::min(others.size(), kMost); ++i) {
    std::vector<NamedAmount> parts = LargestFirst(others[i].slower_by);
    // As many of the largest as it takes to come near the whole difference.
    const double change = others[i].step_seconds - plan.step_seconds;
    double sum = 0;
    size_t shown = 0;
    while (shown < parts.size() && (shown == 0 || std::abs(sum - change) > 0.1 * std::abs(change)))
      sum += parts[shown++].amount;
    parts.resize(shown);
    const std::string why =
        absl::StrJoin(parts, ", ", [](std::string* out, const NamedAmount& one) {
          absl::StrAppend(out, one.name, one.amount > 0 ? " +" : " -",
                          SecondsText(std::abs(one.amount)));
        });
    StrAppend(
        &text, WrapWords(StrCat("  ", transformer::ConfigurationText(others[i].configuration)), 4),
        WrapWords(StrCat("    ", SecondsText(others[i].step_seconds),
                         absl::StrFormat(" (%+.2f %%)",
                                         100 * (others[i].step_seconds / plan.step_seconds - 1)),
                         why.empty() ? "" : StrCat(": ", why)),
                  6));
  }
  return text;
}

std::string SensitivitySection(const PlanTransformer& part) {
  constexpr size_t kMost = 3;
  std::vector<PlanSensitivity> all = part.sensitivity;
  std::stable_sort(all.begin(), all.end(), [](const PlanSensitivity& a, const PlanSensitivity& b) {
    return std::abs(a.step_change) > std::abs(b.step_change);
  });
  if (all.empty()) return "";
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < std::min(all.size(), kMost); ++i)
    rows.push_back({all[i].change, absl::StrFormat("%+.2f %%", 100 * all[i].step_change)});
  return StrCat(Labelled("depends", "most on the hardware by these; the step with"),
                Columns(std::move(rows), {false, true}));
}

// Whether groups of nodes have tensor and data degrees of their own.
bool DegreesDiffer(const Plan& plan) {
  if (plan.kind() != PlanKind::kGroups) return false;
  const transformer::Configuration& d = plan.model->configuration;
  return std::any_of(plan.groups->groups.begin(), plan.groups->groups.end(),
                     [&](const PlanNodeGroup& group) {
                       return group.used_nodes > 0 && (group.tp != d.tp || group.dp != d.dp);
                     });
}

std::string GroupLines(const PlanOverGroups& over) {
  std::string text;
  for (const PlanNodeGroup& group : over.groups) {
    const std::string name = absl::StrCat("  ", Fit(group.name, 24), ": ");
    if (group.used_nodes == 0) {
      StrAppend(&text, WrapWords(absl::StrCat(name, "none of its ", Counted(group.nodes, "node"),
                                              " of ", Fit(group.device, 24), " is used"),
                                 4));
      continue;
    }
    StrAppend(&text,
              WrapWords(absl::StrCat(name, group.used_nodes, " of ", Counted(group.nodes, "node"),
                                     " of ", group.devices_per_node, " ", Fit(group.device, 24),
                                     ", ", Counted(group.stages, "stage"),
                                     group.tp == 0 ? " " : ", ", GroupDegreesText(group)),
                        4));
  }
  return text;
}

std::string CostSection(const Plan& plan) {
  const PlanOverGroups& over = *plan.groups;
  if (!over.step_dollars.has_value()) return "";
  std::string text = absl::StrFormat("$%.4g a step", *over.step_dollars);
  if (over.steps.has_value()) {
    absl::StrAppendFormat(&text, ", $%.6g and %.4g hours for all %.6g steps",
                          *over.step_dollars * *over.steps, plan.step_seconds * *over.steps / 3600,
                          *over.steps);
  }
  return Labelled("cost", text);
}

// What plans on one kind of device and over groups of nodes say differently.
struct KindTexts {
  std::string groups;  // a line each
  std::string batch;   // in front of the matmuls' type
  std::string parts_of, cost;
};

KindTexts TextsOfModel(const Plan& plan) {
  const int64_t sequences = plan.model->configuration.micro_batch;
  return {.groups = "",
          .batch = absl::StrCat(Counted(sequences, "sequence"), " a micro-batch, "),
          .parts_of = "; of that",
          .cost = ""};
}

KindTexts TextsOfGroups(const Plan& plan) {
  const bool differ = DegreesDiffer(plan);
  // Else it stands with the one data degree.
  const std::string state = differ ? StateOverGroups(plan) : "";
  return {
      .groups = GroupLines(*plan.groups),
      .batch = state.empty() ? "" : StrCat(state, ", "),
      // One stage waits for another share of the step than others.
      .parts_of = absl::StrFormat("; bubble %.1f %% of all stages' time; of a device of stage 0",
                                  100 * plan.bubble_share),
      .cost = CostSection(plan)};
}

}  // namespace

std::string StateOverGroups(const Plan& plan) {
  const transformer::Configuration& d = plan.model->configuration;
  if (d.zero == 0) return "";
  return StrCat(DataText(d), " over each stage's data degree");
}

std::string GroupDegreesText(const PlanNodeGroup& group) {
  if (group.tp == 0) return "of different degrees";
  return absl::StrCat("tensor ", group.tp, ", data ", group.dp, ", ",
                      Counted(group.micro_batch, "sequence"), " a micro-batch");
}

std::vector<DegreeUse> DegreeUses(const Plan& plan) {
  transformer::Configuration d = plan.model->configuration;
  // Those of every group by itself, then.
  if (DegreesDiffer(plan)) d.tp = d.dp = 1;
  const bool in_order = d.inside.tp == 0;
  std::vector<DegreeUse> uses;
  if (d.tp > 1) {
    const std::string grid = d.tp2 > 1
                                 ? absl::StrCat("SUMMA on a grid of ", d.tp2, " x ", d.tp / d.tp2)
                                 : "column and row by turns";
    const double inside = static_cast<double>(std::max<int64_t>(d.inside.tp, 1)) *
                          static_cast<double>(std::max<int64_t>(d.inside.tp2, 1));
    uses.push_back({"tensor", d.tp,
                    JoinNonEmpty({grid, d.sequence_parallel ? "norms over the sequence too" : "",
                                  InsideText(d.tp, inside, in_order)})});
  }
  if (d.cp > 1) {
    uses.push_back({"context", d.cp,
                    JoinNonEmpty({StrCat("keys by ", ContextKindName(d.context)),
                                  InsideText(d.cp, static_cast<double>(d.inside.cp), in_order)})});
  }
  if (d.pp > 1) {
    uses.push_back(
        {"pipeline", d.pp,
         JoinNonEmpty(
             {std::string(PipelineKindName(d.schedule)),
              d.virtual_stages > 1 ? absl::StrCat(d.virtual_stages, " stages a group") : "",
              Counted(plan.micro_batches, "micro-batch", "micro-batches"),
              InsideText(d.pp, static_cast<double>(d.inside.pp), in_order)})});
  }
  // ZeRO shards over the context degree as well.
  if (d.dp > 1 || (d.zero > 0 && d.cp > 1)) {
    const char* const kind = d.zero == 3 ? "FSDP" : d.dp > 1 ? "data" : "ZeRO";
    uses.push_back(
        {kind, d.dp > 1 ? d.dp : d.cp,
         JoinNonEmpty(
             {DataText(d), d.shard > 0 ? absl::StrCat("over ", d.shard, " devices") : "",
              InsideText(d.dp, static_cast<double>(d.inside.dp), in_order || d.dp == 1)})});
  }
  if (d.ep > 1) {
    uses.push_back(
        {"expert", d.ep, d.etp > 1 ? absl::StrCat("each expert over ", d.etp, " devices") : ""});
  }
  return uses;
}

std::string ModelHeadline(const Plan& plan) {
  const std::vector<DegreeUse> uses = DegreeUses(plan);
  const bool differ = DegreesDiffer(plan);
  if (uses.empty() && !differ) return "no parallelism";
  if (uses.size() == 1 && !differ)
    return StrCat(uses[0].kind, " parallelism over ", uses[0].degree);
  std::vector<std::string> kinds;
  kinds.reserve(uses.size() + 1);
  for (const DegreeUse& use : uses) kinds.push_back(StrCat(use.kind, " ", use.degree));
  if (differ) kinds.push_back("tensor and data by groups of nodes");
  return StrCat("mixed parallelism: ", absl::StrJoin(kinds, ", "));
}

std::string ExplainModel(const Plan& plan) {
  const PlanTransformer& part = *plan.model;
  std::string text =
      Labelled("model", absl::StrFormat("%s, %s parameters, %s of %d tokens a step",
                                        Fit(part.model, 40), ParametersText(part.parameters),
                                        Counted(part.global_batch, "sequence"), part.sequence));
  const std::string devices =
      absl::StrJoin(plan.cluster.parts, ", ", [](std::string* out, const PlanClusterPart& one) {
        absl::StrAppend(out, Counted(one.devices(), "device"), " of type ", Fit(one.device, 24));
      });
  StrAppend(&text, Labelled("cluster", absl::StrCat(Fit(plan.cluster.name, 40), ": ", devices)));
  const KindTexts kind =
      plan.kind() == PlanKind::kGroups ? TextsOfGroups(plan) : TextsOfModel(plan);
  const std::vector<DegreeUse> uses = DegreeUses(plan);
  StrAppend(&text, Labelled("in short", ModelHeadline(plan)));
  for (const DegreeUse& use : uses) {
    StrAppend(&text, WrapWords(absl::StrCat("  ", use.kind, " over ", use.degree,
                                            use.how.empty() ? "" : ": ", use.how),
                               4));
  }
  const transformer::Configuration& d = part.configuration;
  StrAppend(&text, PlacementLines(d));
  StrAppend(&text, kind.groups,
            WrapWords(StrCat("  ", kind.batch, PrecisionName(d.precision),
                             " matmuls, recomputation: ", RecomputationText(d), OffloadText(d),
                             d.ends_as_layers ? ", embedding and head count as layers" : ""),
                      4));
  StrAppend(&text, StepSection(plan, kind.parts_of), GoodputSection(part),
            Labelled("optimal", OptimalityText(plan)), kind.cost, PeakGroupSection(plan),
            AlternativeSection(plan), SensitivitySection(part),
            Labelled("missing",
                     "a plan of a model has degrees, but no program: no operators, tensors and "
                     "collectives to name, and no sources"));
  return text;
}

}  // namespace meshwright
