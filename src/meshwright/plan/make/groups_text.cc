#include "meshwright/plan/make/groups_text.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/csv.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/printable.h"
#include "meshwright/base/quantity_text.h"
#include "meshwright/base/strings.h"
#include "meshwright/base/wrap.h"
#include "meshwright/cluster/prices.h"
#include "meshwright/degrees/device_parameters.h"
#include "meshwright/degrees/device_warnings.h"
#include "meshwright/hetero/measured_layers.h"

namespace meshwright {
namespace {

constexpr size_t kMostRows = 20;      // of dominated nodes, in a terminal
constexpr size_t kChoiceIndent = 30;  // of what follows figures

std::string Shown(double seconds) { return SecondsText(seconds); }

// Stages that take the same: "0-3".
std::string StageRange(size_t first, size_t last) {
  return first == last ? absl::StrCat(first) : absl::StrCat(first, "-", last);
}

// "0-3,5"
std::string StagesOf(const transformer::hetero::Plan& plan, size_t stage_class) {
  std::string text;
  for (size_t i = 0; i < plan.stages.size(); ++i) {
    const size_t first = i;
    while (i < plan.stages.size() && static_cast<size_t>(plan.stages[i].stage_class) == stage_class)
      ++i;
    if (i > first) absl::StrAppend(&text, text.empty() ? "" : ",", StageRange(first, i - 1));
  }
  return text;
}

std::string StageSection(const GroupsRequest& request, const transformer::hetero::Plan& plan,
                         const transformer::hetero::Figures& figures) {
  std::string text = absl::StrFormat("  %-7s %-12s %7s %9s %9s %9s %9s %9s\n", "stage", "nodes of",
                                     "layers", "forward", "backward", "send", "update", "memory");
  for (size_t i = 0; i < plan.stages.size();) {
    size_t end = i + 1;
    const auto same = [&](size_t j) {
      const transformer::hetero::PipelineStage &a = figures.stages[i], &b = figures.stages[j];
      return plan.stages[i] == plan.stages[j] && a.forward == b.forward && a.send == b.send &&
             a.update == b.update &&
             BytesText(figures.memory[i].total()) == BytesText(figures.memory[j].total());
    };
    while (end < plan.stages.size() && same(end)) ++end;
    const transformer::hetero::PipelineStage& stage = figures.stages[i];
    absl::StrAppendFormat(
        &text, "  %-7s %s %7d %9s %9s %9s %9s %9s\n", StageRange(i, end - 1),
        FitLeft(request.problem.cluster.groups[plan.family.Group(plan.stages[i].stage_class)].name,
                12),
        plan.stages[i].layers, Shown(stage.forward), Shown(stage.backward),
        i + 1 == plan.stages.size() ? "" : Shown(stage.send), Shown(stage.update),
        BytesText(figures.memory[i].total()));
    i = end;
  }
  return text;
}

std::string RunLine(const GroupsRequest& request, const transformer::hetero::Choice& choice) {
  if (!request.has_steps) return "";
  const double steps = request.options.steps;
  std::string text =
      absl::StrFormat("run       %.6g steps: %s", steps, RunTimeText(steps * choice.seconds));
  if (choice.dollars_per_hour > 0) {
    absl::StrAppend(&text, ", ", DollarsText(steps * choice.step_dollars()));
  }
  return text + "\n";
}

// Of the best plan on these nodes; empty for a bound.
std::string OtherDegrees(const GroupsRequest& request, const DominatedNodes& one) {
  return one.choice == nullptr ? "" : GroupsDegreesText(request, one.choice->plan);
}

std::string FrontSection(const GroupsRequest& request, const GroupsAnswer& answer) {
  const double steps = request.options.steps;
  std::string text =
      absl::StrFormat("front     %d plans, %s\n", answer.result.front.size(),
                      answer.result.proven ? "none is missing" : "of those that were found");
  absl::StrAppendFormat(&text, "  %3s %10s %12s  %s\n", "", request.has_steps ? "run" : "step",
                        "cost", "nodes, degrees");
  for (size_t i = 0; i < answer.result.front.size(); ++i) {
    const transformer::hetero::Choice& choice = answer.result.front[i];
    const std::string figures =
        absl::StrFormat("  %3d %10s %12s  ", i, RunTimeText(steps * choice.seconds),
                        DollarsText(steps * choice.step_dollars()));
    absl::StrAppend(
        &text, Hanging(figures, NodesText(request, choice.nodes)),
        Hanging(std::string(kChoiceIndent, ' '), GroupsDegreesText(request, choice.plan)));
  }
  const std::vector<DominatedNodes> others = Dominated(answer);
  if (others.empty()) return text;
  absl::StrAppendFormat(&text, "others    %d choices of nodes%s\n", others.size(),
                        others.size() > kMostRows ? ", the first of them; --csv has all" : "");
  for (size_t i = 0; i < std::min(others.size(), kMostRows); ++i) {
    const DominatedNodes& one = others[i];
    const std::string figures =
        absl::StrFormat("  %s%11s %12s  ", one.choice == nullptr ? ">=" : "  ",
                        RunTimeText(steps * one.seconds), DollarsText(steps * one.dollars));
    absl::StrAppend(
        &text,
        Hanging(figures, absl::StrCat(NodesText(request, one.nodes), ", ",
                                      one.by >= 0 ? absl::StrCat("no better than plan ", one.by)
                                      : answer.result.proven ? "no better than the front"
                                                             : "not decided")));
  }
  return text;
}

// A stage class of a plan, and what the profile has of it; without one all is the model's.
struct UsedClass {
  size_t group = 0;
  transformer::hetero::StageDegrees degrees;
  std::optional<transformer::hetero::MeasuredLayers> layers;
  std::optional<transformer::hetero::Extrapolation> extrapolation;

  bool measured() const { return layers.has_value() && layers->nearest_tp > 0; }
};

std::vector<UsedClass> UsedClasses(const GroupsRequest& request,
                                   const transformer::hetero::Plan& plan) {
  const transformer::hetero::Problem& problem = request.problem;
  std::vector<UsedClass> used;
  for (size_t i = 0; i < plan.family.degrees.size(); ++i) {
    if (std::none_of(plan.stages.begin(), plan.stages.end(), [&](const auto& stage) {
          return stage.stage_class == static_cast<int32_t>(i);
        })) {
      continue;
    }
    UsedClass& one = used.emplace_back();
    one.group = plan.family.Group(i);
    one.degrees = plan.family.degrees[i];
    if (!problem.profile.has_value()) continue;
    one.layers =
        FindMeasured(problem, transformer::BuiltinCostParameters(), one.group, one.degrees);
    one.extrapolation = FindExtrapolation(problem, one.group, one.degrees);
  }
  return used;
}

// What is the model's where a profile was given; "": nothing.
std::string MeasuringWarning(const GroupsRequest& request, const UsedClass& one) {
  if (!one.layers.has_value() || one.layers->times.has_value()) return "";
  const std::string& name = request.problem.cluster.groups[one.group].name;
  if (one.layers->nearest_tp == 0) {
    return StrCat("--profile has nothing of ", name, " (it has ",
                  request.problem.profile->Measured(),
                  "), so that its layers take what the calibrated model says");
  }
  return absl::StrFormat(
      "layers on %s were not measured with tp=%d; they take what the calibrated model says, times "
      "%.3g, as those measured with tp=%d do",
      name, one.degrees.tp, one.layers->scale, one.layers->nearest_tp);
}

}  // namespace

bool HasPrices(const GroupsRequest& request) {
  return CheckPricesKnown(request.problem.cluster).ok();
}

std::string NodesText(const GroupsRequest& request, const std::vector<int64_t>& nodes) {
  std::string text;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i] == 0) continue;
    absl::StrAppend(&text, text.empty() ? "" : ", ", nodes[i], " of ",
                    request.problem.cluster.groups[i].name);
  }
  return text;
}

std::string GroupsDegreesText(const GroupsRequest& request, const transformer::hetero::Plan& plan) {
  transformer::hetero::Family family = plan.family;
  const auto text = [&](const transformer::hetero::StageDegrees& degrees) {
    transformer::Configuration c = StageConfiguration(request.problem, degrees, family);
    c.pp = static_cast<int64_t>(plan.stages.size());
    c.zero = family.zero;
    return ConfigurationText(c);
  };
  if (const auto common = family.Common(); common.has_value()) return text(*common);
  std::string all = absl::StrCat("pp=", plan.stages.size());
  if (family.zero > 0) absl::StrAppend(&all, " zero=", family.zero);
  if (family.recompute != transformer::Recompute::kNone) {
    StrAppend(&all, " recompute=", transformer::RecomputeName(family.recompute));
  }
  for (size_t i = 0; i < family.degrees.size(); ++i) {
    const transformer::hetero::StageDegrees& degrees = family.degrees[i];
    if (!degrees.used()) continue;
    absl::StrAppend(
        &all, ", ", request.problem.cluster.groups[family.Group(i)].name, " tp=", degrees.tp,
        StageConfiguration(request.problem, degrees, family).sequence_parallel ? " sp" : "",
        " dp=", degrees.dp, " mbs=", degrees.micro_batch);
    if (family.ByStage()) absl::StrAppend(&all, " in stages ", StagesOf(plan, i));
  }
  return all;
}

std::string ChoiceText(const GroupsRequest& request, const transformer::hetero::Choice& choice) {
  const double steps = request.options.steps;
  std::string text = RunTimeText(steps * choice.seconds);
  if (choice.dollars_per_hour > 0) {
    absl::StrAppend(&text, " and ", DollarsText(steps * choice.step_dollars()));
  }
  return absl::StrCat(text, " on ", NodesText(request, choice.nodes), " (",
                      GroupsDegreesText(request, choice.plan), ")");
}

std::vector<DominatedNodes> Dominated(const GroupsAnswer& answer) {
  // Seconds that a plan may take for as many dollars are a quotient.
  constexpr double kRounded = 1 + 1e-12;
  std::vector<DominatedNodes> all;
  for (const transformer::hetero::SubCluster& cluster : answer.result.sub_clusters) {
    const std::vector<transformer::hetero::Choice>& front = answer.result.front;
    const auto is = [&](const transformer::hetero::Choice& choice) {
      return choice.nodes == cluster.nodes;
    };
    if (std::any_of(front.begin(), front.end(), is)) continue;
    DominatedNodes& one = all.emplace_back();
    one.nodes = cluster.nodes;
    if (cluster.best.has_value()) one.choice = &*cluster.best;
    one.seconds = one.choice == nullptr ? cluster.bound_seconds : cluster.best->seconds;
    one.dollars = one.seconds * cluster.dollars_per_hour / 3600;
    const double looked_at =
        kRounded * (one.choice == nullptr ? cluster.listed_seconds : one.seconds);
    for (size_t i = 0; i < front.size() && one.by < 0; ++i) {
      if (front[i].seconds <= looked_at &&
          front[i].step_dollars() <= looked_at * cluster.dollars_per_hour / 3600) {
        one.by = static_cast<int32_t>(i);
      }
    }
  }
  return all;
}

std::vector<std::string> GroupsWarnings(const GroupsRequest& request, const GroupsAnswer& answer) {
  std::vector<std::string> warnings = request.problem.model.notes;
  const transformer::hetero::Choice& choice = answer.result.front[answer.chosen];
  if (answer.faster.has_value()) {
    const double seconds = answer.result.front.front().seconds;
    warnings.push_back(absl::StrFormat(
        "on these nodes, all of one kind, %s takes %s a step, %.1f %% less; runs and costs are "
        "planned over groups of nodes, where it is not searched: plan it without them",
        ConfigurationText(answer.faster->configuration), Shown(answer.faster->seconds),
        100 * (1 - answer.faster->seconds / seconds)));
  }
  if (answer.result.stopped) {
    warnings.push_back(
        "the search was ended before it had looked at everything; the gap says how much better "
        "other plans may be");
  }
  const std::vector<UsedClass> used = UsedClasses(request, choice.plan);
  for (size_t i = 0; i < choice.nodes.size(); ++i) {
    if (choice.nodes[i] == 0) continue;
    const bool measured = std::all_of(used.begin(), used.end(), [&](const UsedClass& one) {
      return one.group != i || one.measured();
    });
    for (std::string& warning :
         transformer::DeviceWarnings(request.problem.cluster.groups[i].cluster.device,
                                     request.problem.precision, measured)) {
      warnings.push_back(std::move(warning));
    }
  }
  for (const UsedClass& one : used) {
    std::string warning = MeasuringWarning(request, one);
    if (!warning.empty() && std::find(warnings.begin(), warnings.end(), warning) == warnings.end())
      warnings.push_back(std::move(warning));
    if (!one.extrapolation.has_value()) continue;
    const transformer::hetero::Extrapolation& found = *one.extrapolation;
    warnings.push_back(absl::StrFormat(
        "layers on %s were measured with micro-batches of at most %d; with %d they are taken to "
        "be %.3g times as long, where the calibrated model has %.3g: they may be off by %.0f %% "
        "and more",
        request.problem.cluster.groups[one.group].name, found.measured, one.degrees.micro_batch,
        found.times, found.model_times, 100 * std::abs(found.error())));
  }
  return warnings;
}

ClassError GroupsError(const GroupsRequest& request, const GroupsAnswer& answer) {
  bool known = true;
  double extrapolated = 0;
  for (const UsedClass& one : UsedClasses(request, answer.result.front[answer.chosen].plan)) {
    const DeviceType& device = request.problem.cluster.groups[one.group].cluster.device;
    known = known &&
            (one.measured() || transformer::BuiltinCostParameters().Knows(device.measured_as()));
    if (one.extrapolation.has_value())
      extrapolated = std::max(extrapolated, std::abs(one.extrapolation->error()));
  }
  ClassError off = ErrorOfModel(known);
  off.error = std::max(off.error, extrapolated);
  return off;
}

std::string GroupsTable(const GroupsRequest& request, const GroupsAnswer& answer) {
  const transformer::hetero::Result& result = answer.result;
  const transformer::hetero::Choice& best = result.front[answer.chosen];
  const transformer::Workload& workload = request.problem.workload;
  const bool front = request.options.objective == transformer::hetero::Objective::kPareto;
  const double tokens = static_cast<double>(workload.global_batch * workload.sequence);
  std::string text;
  if (front) {
    text = FrontSection(request, answer);
    if (result.front.size() > 1) {
      absl::StrAppend(&text, "plan ", answer.chosen, ", which -o writes (--point N: another)\n");
    }
  }
  absl::StrAppend(&text, Hanging("nodes     ", NodesText(request, best.nodes)),
                  Hanging("degrees   ", GroupsDegreesText(request, best.plan)));
  absl::StrAppendFormat(&text, "step      %s%s, %.4g tokens a second\n", Shown(best.seconds),
                        PlusMinusText(GroupsError(request, answer).error), tokens / best.seconds);
  if (HasPrices(request)) {
    absl::StrAppend(&text, "cost      ", DollarsText(best.step_dollars()), " a step, ",
                    DollarsText(best.dollars_per_hour), " an hour\n");
  }
  absl::StrAppend(&text, RunLine(request, best));
  if (!front) {
    const bool by_cost = request.options.objective == transformer::hetero::Objective::kCost;
    const double value = by_cost ? best.step_dollars() : best.seconds;
    absl::StrAppendFormat(&text, "at least  %s a step (gap %.2f %%)\n",
                          by_cost ? DollarsText(result.bound) : Shown(result.bound),
                          100 * std::max(0.0, 1 - result.bound / value));
    const auto add = [&](double bound, const char* of) {
      if (bound <= result.bound || value > bound * 2) return;
      absl::StrAppendFormat(&text, "          %s with the same degrees %s\n",
                            by_cost ? DollarsText(bound) : Shown(bound), of);
    };
    add(result.by_group_bound, "on all stages of a group");
    add(result.common_bound, "on all groups");
  }
  absl::StrAppend(&text, StageSection(request, best.plan, answer.figures[answer.chosen]));
  absl::StrAppendFormat(
      &text, "search    %d families, %d numbers of stages, %d plans simulated, in %s\n",
      result.families, result.states, result.evaluated, Shown(answer.planning_seconds));
  for (const std::string& warning : GroupsWarnings(request, answer)) {
    absl::StrAppend(&text, "warning: ", warning, "\n");
  }
  return text;
}

std::string GroupsCsv(const GroupsRequest& request, const GroupsAnswer& answer) {
  const std::vector<NodeGroup>& groups = request.problem.cluster.groups;
  std::vector<std::string> header = {"on_front"};
  for (const NodeGroup& group : groups) header.push_back(absl::StrCat("nodes_", group.name));
  for (const char* const name : {"step_seconds", "step_dollars", "run_seconds", "run_dollars",
                                 "is_bound", "degrees", "layers", "dominated_by"}) {
    header.emplace_back(name);
  }
  std::string csv = CsvLine(header);
  const auto add = [&](bool on_front, const std::vector<int64_t>& nodes, double seconds,
                       double dollars, bool is_bound, const std::string& degrees,
                       const std::string& layers, const std::string& by) {
    std::vector<std::string> row = {on_front ? "1" : "0"};
    for (const int64_t count : nodes) row.push_back(absl::StrCat(count));
    for (const double value :
         {seconds, dollars, seconds * request.options.steps, dollars * request.options.steps}) {
      row.push_back(absl::StrFormat("%.9g", value));
    }
    row.insert(row.end(), {is_bound ? "1" : "0", degrees, layers, by});
    csv += CsvLine(row);
  };
  for (const transformer::hetero::Choice& choice : answer.result.front) {
    const std::string layers = absl::StrJoin(
        choice.plan.stages, "-", [&](std::string* out, const transformer::hetero::Stage& stage) {
          absl::StrAppend(out, groups[choice.plan.family.Group(stage.stage_class)].name, ":",
                          stage.layers);
        });
    add(true, choice.nodes, choice.seconds, choice.step_dollars(), false,
        GroupsDegreesText(request, choice.plan), layers, "");
  }
  for (const DominatedNodes& one : Dominated(answer)) {
    add(false, one.nodes, one.seconds, one.dollars, one.choice == nullptr,
        OtherDegrees(request, one), "", one.by < 0 ? "" : absl::StrCat(one.by));
  }
  return csv;
}

std::string GroupsPlot(const GroupsRequest& request, const GroupsAnswer& answer) {
  const double steps = request.options.steps;
  Json values = Json::array();
  for (const transformer::hetero::Choice& choice : answer.result.front) {
    values.push_back({{"seconds", choice.seconds * steps},
                      {"dollars", choice.step_dollars() * steps},
                      {"kind", "front"},
                      {"nodes", NodesText(request, choice.nodes)},
                      {"degrees", GroupsDegreesText(request, choice.plan)}});
  }
  for (const DominatedNodes& one : Dominated(answer)) {
    values.push_back({{"seconds", one.seconds * steps},
                      {"dollars", one.dollars * steps},
                      {"kind", one.choice == nullptr ? "no better than this" : "dominated"},
                      {"nodes", NodesText(request, one.nodes)},
                      {"degrees", OtherDegrees(request, one)}});
  }
  const auto axis = [](const char* field, const char* title) -> Json {
    return {
        {"field", field}, {"type", "quantitative"}, {"title", title}, {"scale", {{"zero", false}}}};
  };
  const Json document = {
      {"$schema", "https://vega.github.io/schema/vega-lite/v5.json"},
      {"title", StrCat(request.problem.model.name, " on ", request.problem.cluster.name)},
      {"data", {{"values", std::move(values)}}},
      {"mark", "point"},
      {"encoding",
       {{"x", axis("seconds", request.has_steps ? "run (s)" : "step (s)")},
        {"y", axis("dollars", request.has_steps ? "run ($)" : "step ($)")},
        {"color", {{"field", "kind"}, {"type", "nominal"}}},
        {"tooltip", Json::array({{{"field", "nodes"}}, {{"field", "degrees"}}})}}}};
  return document.dump(2, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n";
}

}  // namespace meshwright
