#include "meshwright/plan/text/sweep_text.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/quantity_text.h"
#include "meshwright/base/strings.h"
#include "meshwright/base/wrap.h"
#include "meshwright/degrees/degree_table.h"
#include "meshwright/plan/text/transformer_table.h"

namespace meshwright {
namespace {

// How an axis of sweeps is called: in tables, on a chart, and of one of its rows.
struct AxisText {
  const char *field, *title;
  std::string (*of)(const SweepRow& row);
};
const AxisText& TextOf(SweepAxis axis) {
  static constexpr AxisText kTexts[] = {
      {"gpus", "GPUs", [](const SweepRow& row) { return StrCat("on ", Counted(row.gpus, "GPU")); }},
      {"global_batch", "sequences of a step",
       [](const SweepRow& row) { return StrCat("with a batch of ", row.global_batch); }},
      {"sequence", "tokens of a sequence",
       [](const SweepRow& row) { return StrCat("with ", row.sequence, " tokens of a sequence"); }},
  };
  return kTexts[static_cast<size_t>(axis)];
}

}  // namespace

std::string SweepTable(const std::vector<SweepRow>& rows) {
  std::string text = absl::StrFormat("%8s %8s %8s %9s %12s %6s %10s %9s\n", "GPUs", "batch",
                                     "sequence", "step", "tokens/s", "MFU", "efficiency", "memory");
  for (size_t i = 0; i < rows.size(); ++i) {
    const SweepRow& row = rows[i];
    absl::StrAppendFormat(&text, "%8d %8d %8d ", row.gpus, row.global_batch, row.sequence);
    if (!row.plan.has_value()) {
      absl::StrAppend(&text, row.in_time ? "nothing is legal or fits\n"
                                         : "nothing that fits was found in time\n");
      continue;
    }
    const Plan& plan = *row.plan;
    absl::StrAppendFormat(&text, "%9s %12.0f %5.1f%% %9.1f%% %9s\n", SecondsText(plan.step_seconds),
                          rows[i].tokens_per_second, 100 * plan.model->mfu,
                          100 * rows[i].efficiency, BytesText(plan.peak_bytes));
    absl::StrAppend(&text, Hanging(std::string(9, ' '),
                                   transformer::ConfigurationText(plan.model->configuration)));
  }
  return text;
}

std::string SweepCsv(const std::vector<SweepRow>& rows) {
  std::string text =
      "gpus,global_batch,sequence,tp,cp,pp,dp,ep,micro_batch,zero,recompute,step_seconds,"
      "tokens_per_second,mfu,efficiency,peak_bytes\n";
  for (size_t i = 0; i < rows.size(); ++i) {
    absl::StrAppend(&text, rows[i].gpus, ",", rows[i].global_batch, ",", rows[i].sequence);
    if (!rows[i].plan.has_value()) {
      absl::StrAppend(&text, ",,,,,,,,,,,,,\n");
      continue;
    }
    const Plan& plan = *rows[i].plan;
    const transformer::Configuration& d = plan.model->configuration;
    absl::StrAppendFormat(&text, ",%d,%d,%d,%d,%d,%d,%d,%s,%.17g,%.17g,%.17g,%.17g,%d\n", d.tp,
                          d.cp, d.pp, d.dp, d.ep, d.micro_batch, d.zero, RecomputeName(d.recompute),
                          plan.step_seconds, rows[i].tokens_per_second, plan.model->mfu,
                          rows[i].efficiency, plan.peak_bytes);
  }
  return text;
}

std::string SweepPlot(const std::vector<SweepRow>& rows, std::string_view title) {
  Json values = Json::array();
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].plan.has_value()) continue;
    const Plan& plan = *rows[i].plan;
    const double rate = rows[i].tokens_per_second;
    const auto point = [&](const char* kind, double tokens_per_second) -> Json {
      return {{"gpus", rows[i].gpus},
              {"global_batch", rows[i].global_batch},
              {"sequence", rows[i].sequence},
              {"tokens_per_second", tokens_per_second},
              {"kind", kind}};
    };
    Json best = point("best plan", rate);
    best["step_seconds"] = plan.step_seconds;
    best["efficiency"] = rows[i].efficiency;
    best["mfu"] = plan.model->mfu;
    best["degrees"] = transformer::ConfigurationText(plan.model->configuration);
    values.push_back(std::move(best));
    values.push_back(point("each GPU as in the first", rate / rows[i].efficiency));
  }
  const auto axis = [](const char* field, const char* name) -> Json {
    return {{"field", field},
            {"type", "quantitative"},
            {"title", name},
            {"scale", {{"type", "log"}, {"base", 2}}}};
  };
  const AxisText& swept = TextOf(SweptAxis(rows));
  const Json document = {
      {"$schema", "https://vega.github.io/schema/vega-lite/v5.json"},
      {"title", title},
      {"data", {{"values", std::move(values)}}},
      {"mark", {{"type", "line"}, {"point", true}}},
      {"encoding",
       {{"x", axis(swept.field, swept.title)},
        {"y", axis("tokens_per_second", "tokens a second")},
        {"color", {{"field", "kind"}, {"type", "nominal"}}},
        {"tooltip", Json::array({{{"field", "step_seconds"}}, {{"field", "degrees"}}})}}}};
  return document.dump(2, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n";
}

std::vector<std::string> SweepNotes(const std::vector<SweepRow>& rows, const Cluster& cluster) {
  std::vector<std::string> notes;
  if (!rows.empty() && rows.back().gpus > cluster.devices()) {
    notes.push_back(StrCat(rows.back().gpus, " GPUs are more than the ", cluster.devices(), " of ",
                           cluster.name,
                           "; what goes beyond them is planned on more of its nodes"));
  }
  const AxisText& swept = TextOf(SweptAxis(rows));
  for (const SweepRow& row : rows) {
    if (!row.plan.has_value() || !SearchWasEnded(*row.plan)) continue;
    notes.push_back(StrCat(swept.of(row), " ", EndedSearchText(*row.plan)));
  }
  return notes;
}

}  // namespace meshwright
