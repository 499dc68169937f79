#include "meshwright/plan/make/model_sweep.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/base/wrap.h"
#include "meshwright/plan/text/plan_table.h"
#include "meshwright/plan/text/transformer_table.h"

namespace meshwright {
namespace {

absl::StatusOr<Cluster> Resized(Cluster cluster, int64_t gpus) {
  if (gpus < cluster.devices_per_node) {
    cluster.nodes = 1;
    cluster.devices_per_node = gpus;
  } else if (gpus % cluster.devices_per_node == 0) {
    cluster.nodes = gpus / cluster.devices_per_node;
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("--sweep: ", gpus, " GPUs are not whole nodes of ", cluster.devices_per_node));
  }
  cluster.name =
      absl::StrCat(cluster.nodes, "x", cluster.devices_per_node, "x", cluster.device.name);
  return cluster;
}

double TokensPerSecond(const Plan& plan) {
  const PlanTransformer& part = *plan.transformer;
  return static_cast<double>(part.global_batch) * static_cast<double>(part.sequence) /
         plan.step_seconds;
}

// Tokens a second and GPU of each row, relative to the first plan's; 0 without a plan.
std::vector<double> Efficiencies(const std::vector<SweepRow>& rows) {
  std::vector<double> all;
  double first = 0;
  for (const SweepRow& row : rows) {
    const double each =
        row.plan.has_value() ? TokensPerSecond(*row.plan) / static_cast<double>(row.gpus) : 0;
    if (first == 0) first = each;
    all.push_back(first > 0 ? each / first : 0);
  }
  return all;
}

}  // namespace

absl::StatusOr<SweepRange> ParseSweep(std::string_view text) {
  absl::string_view rest = ToAbsl(text);
  SweepRange range;
  if (absl::ConsumePrefix(&rest, "gpus=")) {
    const std::vector<absl::string_view> ends = absl::StrSplit(rest, "..");
    if (ends.size() == 2 && absl::SimpleAtoi(ends[0], &range.first) &&
        absl::SimpleAtoi(ends[1], &range.last) && range.first >= 1 && range.last >= range.first &&
        range.last <= kMaxDevices) {
      return range;
    }
  }
  return absl::InvalidArgumentError(StrCat("--sweep: found \"", text,
                                           "\", expected gpus=FIRST..LAST, as gpus=64..4096, of at "
                                           "most ",
                                           kMaxDevices));
}

absl::StatusOr<std::vector<SweepRow>> SweepModel(const ModelRequest& request,
                                                 const SweepRange& range, bool weak) {
  std::vector<SweepRow> rows;
  absl::Status last_shortage = absl::OkStatus();
  bool any = false;
  for (int64_t gpus = range.first; gpus <= range.last; gpus *= 2) {
    ModelRequest one = request;
    MW_ASSIGN_OR_RETURN(one.cluster, Resized(request.cluster, gpus));
    if (weak) one.workload.global_batch *= gpus / range.first;
    absl::StatusOr<Plan> plan = PlanModel(one);
    SweepRow& row = rows.emplace_back();
    row.gpus = gpus;
    row.global_batch = one.workload.global_batch;
    if (plan.ok()) {
      row.plan = *std::move(plan);
      any = true;
    } else {
      last_shortage = plan.status();
      row.in_time = !absl::IsDeadlineExceeded(plan.status());
    }
    if (request.stop && request.stop()) break;
  }
  if (!any) return last_shortage;
  return rows;
}

Plan SweptPlan(const std::vector<SweepRow>& rows) {
  const std::vector<double> efficiencies = Efficiencies(rows);
  Plan swept;
  std::vector<PlanSweepRow> sweep;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].plan.has_value()) continue;
    swept = *rows[i].plan;
    sweep.push_back({rows[i].gpus, rows[i].global_batch, swept.transformer->configuration,
                     swept.step_seconds, TokensPerSecond(swept), swept.transformer->mfu,
                     efficiencies[i], swept.peak_bytes});
  }
  swept.transformer->sweep = std::move(sweep);
  return swept;
}

std::string SweepTable(const std::vector<SweepRow>& rows) {
  std::string text = absl::StrFormat("%8s %8s %9s %12s %6s %6s %9s\n", "GPUs", "batch", "step",
                                     "tokens/s", "MFU", "eff.", "memory");
  const std::vector<double> efficiencies = Efficiencies(rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    const SweepRow& row = rows[i];
    absl::StrAppendFormat(&text, "%8d %8d ", row.gpus, row.global_batch);
    if (!row.plan.has_value()) {
      absl::StrAppend(&text, row.in_time ? "nothing is legal or fits\n"
                                         : "nothing that fits was found in time\n");
      continue;
    }
    const Plan& plan = *row.plan;
    absl::StrAppendFormat(&text, "%9s %12.0f %5.1f%% %5.1f%% %9s\n", SecondsText(plan.step_seconds),
                          TokensPerSecond(plan), 100 * plan.transformer->mfu, 100 * efficiencies[i],
                          BytesText(plan.peak_bytes));
    absl::StrAppend(&text,
                    Hanging(std::string(9, ' '), DegreesText(plan.transformer->configuration)));
  }
  return text;
}

std::string SweepCsv(const std::vector<SweepRow>& rows) {
  std::string text =
      "gpus,global_batch,tp,cp,pp,dp,ep,micro_batch,zero,recompute,step_seconds,tokens_per_second,"
      "mfu,efficiency,peak_bytes\n";
  const std::vector<double> efficiencies = Efficiencies(rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    absl::StrAppend(&text, rows[i].gpus, ",", rows[i].global_batch);
    if (!rows[i].plan.has_value()) {
      absl::StrAppend(&text, ",,,,,,,,,,,,,\n");
      continue;
    }
    const Plan& plan = *rows[i].plan;
    const PlanDegrees& d = plan.transformer->configuration;
    absl::StrAppendFormat(&text, ",%d,%d,%d,%d,%d,%d,%d,%s,%.17g,%.17g,%.17g,%.17g,%d\n", d.tp,
                          d.cp, d.pp, d.dp, d.ep, d.micro_batch, d.zero, d.recompute,
                          plan.step_seconds, TokensPerSecond(plan), plan.transformer->mfu,
                          efficiencies[i], plan.peak_bytes);
  }
  return text;
}

std::string SweepPlot(const std::vector<SweepRow>& rows, std::string_view title) {
  using nlohmann::ordered_json;
  const std::vector<double> efficiencies = Efficiencies(rows);
  ordered_json values = ordered_json::array();
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].plan.has_value()) continue;
    const Plan& plan = *rows[i].plan;
    const double rate = TokensPerSecond(plan);
    const auto point = [&](const char* kind, double tokens_per_second) -> ordered_json {
      return {{"gpus", rows[i].gpus},
              {"global_batch", rows[i].global_batch},
              {"tokens_per_second", tokens_per_second},
              {"kind", kind}};
    };
    ordered_json best = point("best plan", rate);
    best["step_seconds"] = plan.step_seconds;
    best["efficiency"] = efficiencies[i];
    best["mfu"] = plan.transformer->mfu;
    best["degrees"] = DegreesText(plan.transformer->configuration);
    values.push_back(std::move(best));
    values.push_back(point("linear", rate / efficiencies[i]));
  }
  const auto axis = [](const char* field, const char* name) -> ordered_json {
    return {{"field", field},
            {"type", "quantitative"},
            {"title", name},
            {"scale", {{"type", "log"}, {"base", 2}}}};
  };
  const ordered_json document = {
      {"$schema", "https://vega.github.io/schema/vega-lite/v5.json"},
      {"title", title},
      {"data", {{"values", std::move(values)}}},
      {"mark", {{"type", "line"}, {"point", true}}},
      {"encoding",
       {{"x", axis("gpus", "GPUs")},
        {"y", axis("tokens_per_second", "tokens a second")},
        {"color", {{"field", "kind"}, {"type", "nominal"}}},
        {"tooltip", ordered_json::array({{{"field", "step_seconds"}}, {{"field", "degrees"}}})}}}};
  return document.dump(2, ' ', /*ensure_ascii=*/true, ordered_json::error_handler_t::replace) +
         "\n";
}

std::vector<std::string> SweepNotes(const std::vector<SweepRow>& rows, const Cluster& cluster) {
  std::vector<std::string> notes;
  if (!rows.empty() && rows.back().gpus > cluster.devices()) {
    notes.push_back(StrCat(rows.back().gpus, " GPUs are more than the ", cluster.devices(), " of ",
                           cluster.name,
                           "; what goes beyond them is planned on more of its nodes"));
  }
  for (const SweepRow& row : rows) {
    if (!row.plan.has_value() || !SearchWasEnded(*row.plan)) continue;
    notes.push_back(StrCat("on ", row.gpus, " GPUs ", EndedSearchText(*row.plan)));
  }
  return notes;
}

}  // namespace meshwright
