#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/columns.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/quantity_text.h"
#include "meshwright/explain/json.h"
#include "meshwright/explain/plan_difference.h"
#include "meshwright/explain/screen.h"
#include "meshwright/plan/text/folded_names.h"
#include "meshwright/plan/text/plan_table.h"

namespace meshwright {
namespace {

constexpr size_t kMostTexts = 20, kMostChangedCollectives = 10, kMostArrays = 12;

std::string SignedBytes(int64_t before, int64_t after) {
  if (before == after) return "same";
  const bool more = after > before;
  return absl::StrCat(more ? "+" : "-", BytesText(more ? after - before : before - after));
}

std::string SignedCost(const Plan& plan, double before, double after) {
  if (SameUpToRounding(before, after, std::max(std::abs(before), std::abs(after)))) return "same";
  const double change = after - before;
  return absl::StrCat(change < 0 ? "-" : change > 0 ? "+" : "", CostText(plan, std::abs(change)));
}

std::string RelativeText(double before, double after) {
  if (before <= 0 || SameUpToRounding(before, after, before)) return "";
  return absl::StrFormat("%+.2f %%", 100 * (after / before - 1));
}

std::string Or(const std::string& text, const std::string& otherwise) {
  return text.empty() ? otherwise : text;
}

std::string TextSection(const std::string& title, const std::vector<ChangedText>& changes) {
  if (changes.empty()) return "";
  std::string text = absl::StrCat(title, "\n");
  for (size_t i = 0; i < std::min(changes.size(), kMostTexts); ++i) {
    const ChangedText& one = changes[i];
    // A path may be longer than the screen; both of its ends tell.
    absl::StrAppend(&text,
                    WrapWords(absl::StrCat("  ", one.what, ": ", Fit(Or(one.before, "nothing"), 76),
                                           " -> ", Fit(Or(one.after, "nothing"), 76)),
                              4));
  }
  if (changes.size() > kMostTexts)
    absl::StrAppend(&text, "  ... and ", changes.size() - kMostTexts, " more\n");
  return text;
}

std::string ArraySection(const std::string& title, const std::vector<ChangedArrays>& groups,
                         bool with_bytes) {
  if (groups.empty()) return "";
  int64_t arrays = 0;
  for (const ChangedArrays& one : groups) arrays += one.count;
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < std::min(groups.size(), kMostArrays); ++i) {
    const ChangedArrays& one = groups[i];
    rows.push_back({one.name, TimesText(one.count, one.exact), one.type,
                    Or(one.before, "not there"), "->", Or(one.after, "not there"),
                    with_bytes ? SignedBytes(one.bytes_before, one.bytes_after) : ""});
  }
  std::vector<bool> right = {false, true, false, false, false, false, true};
  // Names tell more than types do.
  constexpr size_t kTypeColumn = 2;
  if (ColumnsWidth(rows) > kColumns) {
    for (auto& row : rows) row.erase(row.begin() + kTypeColumn);
    right.erase(right.begin() + kTypeColumn);
  }
  std::string text = absl::StrCat(title, ": ", arrays, "\n", Columns(std::move(rows), right));
  if (groups.size() > kMostArrays)
    absl::StrAppend(&text, "  ... and ",
                    Counted(static_cast<int64_t>(groups.size() - kMostArrays), "more kind"),
                    "; --json has all\n");
  return text;
}

Json TextsJson(const std::vector<ChangedText>& changes) {
  Json list = Json::array();
  for (const ChangedText& one : changes)
    list.push_back({{"what", one.what}, {"before", one.before}, {"after", one.after}});
  return list;
}

Json ArraysJson(const std::vector<ChangedArrays>& groups) {
  Json list = Json::array();
  for (const ChangedArrays& one : groups) {
    list.push_back({{"name", one.name},
                    {"exact", one.exact},
                    {"count", one.count},
                    {"type", one.type},
                    {"before", one.before},
                    {"after", one.after},
                    {"bytes_before", one.bytes_before},
                    {"bytes_after", one.bytes_after}});
  }
  return list;
}

}  // namespace

std::string CausesText(const Plan& before, const PlanDifference& difference) {
  std::vector<std::vector<std::string>> rows = {{"time a step", "before", "after", "change", ""}};
  for (const ChangedSeconds& one : difference.seconds) {
    rows.push_back({one.what, CostText(before, one.before), CostText(before, one.after),
                    SignedCost(before, one.before, one.after),
                    RelativeText(one.before, one.after)});
  }
  std::string text = Columns(std::move(rows), {false, true, true, true, true});
  if (!difference.collectives.empty()) {
    rows = {{"collective", "times", "", "", "bytes", "time"}};
    for (size_t i = 0; i < std::min(difference.collectives.size(), kMostChangedCollectives); ++i) {
      const auto& [old, now] = difference.collectives[i];
      const std::string axes = absl::StrJoin(now.axes, ","), others = absl::StrJoin(old.axes, ",");
      rows.push_back({absl::StrCat(now.kind, " over ", others,
                                   axes == others ? "" : absl::StrCat(" -> ", axes)),
                      absl::StrCat(old.count), "->", absl::StrCat(now.count),
                      SignedBytes(old.bytes_per_device, now.bytes_per_device),
                      SignedCost(before, old.seconds, now.seconds)});
    }
    absl::StrAppend(&text, Columns(std::move(rows), {false, true, false, false, true, true}));
    if (difference.collectives.size() > kMostChangedCollectives) {
      absl::StrAppend(
          &text, "  ... and ",
          Counted(static_cast<int64_t>(difference.collectives.size() - kMostChangedCollectives),
                  "more kind"),
          "\n");
    }
  }
  rows = {{"memory a device", "before", "after", "change"}};
  for (const ChangedBytes& one : difference.memory) {
    rows.push_back({one.what, BytesText(one.before), BytesText(one.after),
                    SignedBytes(one.before, one.after)});
  }
  return absl::StrCat(text, Columns(std::move(rows), {false, true, true, true}));
}

std::string DiffText(const Plan& before, const Plan& after, const PlanDifference& difference) {
  if (difference.identical) return "the plans are identical\n";
  std::string text = TextSection("asked for", difference.asked);
  absl::StrAppend(
      &text, TextSection("found", difference.found), TextSection("degrees", difference.degrees),
      CausesText(before, difference), TextSection("stages", difference.stages),
      ArraySection("parameters sharded differently", difference.parameters, true),
      ArraySection("results of operators sharded differently", difference.instructions, false));
  const bool same_decisions = difference.parameters.empty() && difference.instructions.empty() &&
                              difference.stages.empty() && difference.degrees.empty() &&
                              difference.collectives.empty() && difference.found.empty();
  if (same_decisions) absl::StrAppend(&text, "both decide the same\n");
  return text;
}

std::string DiffJson(const PlanDifference& difference) {
  Json seconds = Json::array(), memory = Json::array();
  Json collectives = Json::array();
  for (const ChangedSeconds& one : difference.seconds)
    seconds.push_back({{"what", one.what}, {"before", one.before}, {"after", one.after}});
  for (const ChangedBytes& one : difference.memory)
    memory.push_back({{"what", one.what}, {"before", one.before}, {"after", one.after}});
  for (const auto& [old, now] : difference.collectives) {
    collectives.push_back({{"kind", now.kind},
                           {"axes_before", old.axes},
                           {"axes", now.axes},
                           {"count_before", old.count},
                           {"count_after", now.count},
                           {"bytes_before", old.bytes_per_device},
                           {"bytes_after", now.bytes_per_device},
                           {"seconds_before", old.seconds},
                           {"seconds_after", now.seconds}});
  }
  return JsonText({{"identical", difference.identical},
                   {"asked", TextsJson(difference.asked)},
                   {"found", TextsJson(difference.found)},
                   {"degrees", TextsJson(difference.degrees)},
                   {"seconds", std::move(seconds)},
                   {"memory", std::move(memory)},
                   {"collectives", std::move(collectives)},
                   {"stages", TextsJson(difference.stages)},
                   {"parameters", ArraysJson(difference.parameters)},
                   {"instructions", ArraysJson(difference.instructions)}});
}

}  // namespace meshwright
