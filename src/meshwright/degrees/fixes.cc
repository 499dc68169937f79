#include "meshwright/degrees/fixes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "meshwright/base/nearest_name.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"

namespace meshwright::transformer {
namespace {

absl::Status WrongValue(std::string_view key, std::string_view found, std::string_view valid) {
  return absl::InvalidArgumentError(StrCat(key, ": found \"", found, "\", expected ", valid));
}

// "; did you mean tp=8?" of a kind of parallelism by its name with a number; "" of others.
std::string DegreeMeant(std::string_view key, std::string_view value) {
  constexpr std::pair<std::string_view, std::string_view> kKinds[] = {
      {"tensor", "tp"}, {"context", "cp"}, {"pipeline", "pp"}, {"data", "dp"}, {"expert", "ep"}};
  int64_t number = 0;
  if (!absl::SimpleAtoi(ToAbsl(value), &number)) return "";
  for (const auto& [kind, degree] : kKinds) {
    if (kind == key) return StrCat("; did you mean ", degree, "=", value, "?");
  }
  return "";
}

// Of a list over the stages of a pipeline.
constexpr std::string_view kLayersKey = "layers", kOrderKey = "order";
constexpr int64_t kMostStageLayers = int64_t{1} << 20;

absl::Status ParseStageLayers(std::string_view text, std::vector<int64_t>& layers) {
  for (const absl::string_view part : absl::StrSplit(ToAbsl(text), '-')) {
    int64_t count = 0;
    if (!absl::SimpleAtoi(part, &count) || count < 0 || count > kMostStageLayers) {
      layers.clear();
      return WrongValue(kLayersKey, text, "the layers of each stage, like 5-7-6-6");
    }
    layers.push_back(count);
  }
  return absl::OkStatus();
}

absl::Status ParseStageGroups(std::string_view text, std::vector<std::string>& groups) {
  groups = absl::StrSplit(ToAbsl(text), '+');
  if (std::find(groups.begin(), groups.end(), "") == groups.end()) return absl::OkStatus();
  groups.clear();
  return WrongValue(kOrderKey, text, "the group of each stage, like fast+fast+slow");
}

absl::Status ParseFix(std::string_view key, std::string_view value, Fixes& fixes) {
  if (const Degree* const degree = key.empty() ? nullptr : FindDegree(key); degree != nullptr) {
    const std::optional<int64_t> number = ParseValue(*degree, value);
    if (!number.has_value())
      return WrongValue(key, value, StrCat(ValidValues(*degree), DegreeMeant(key, value)));
    if (degree->fix(fixes).has_value())
      return absl::InvalidArgumentError(StrCat(key, " is given twice"));
    degree->set_fix(fixes, number);
    return absl::OkStatus();
  }
  const bool twice = (key == kLayersKey && !fixes.stage_layers.empty()) ||
                     (key == kOrderKey && !fixes.stage_groups.empty());
  if (twice) return absl::InvalidArgumentError(StrCat(key, " is given twice"));
  if (key == kLayersKey) return ParseStageLayers(value, fixes.stage_layers);
  if (key == kOrderKey) return ParseStageGroups(value, fixes.stage_groups);
  std::vector<std::string> keys;
  for (const Degree& degree : DegreeTable()) {
    if (!degree.key.empty()) keys.emplace_back(degree.key);
  }
  for (const std::string_view list : {kLayersKey, kOrderKey}) keys.emplace_back(list);
  if (const std::string meant = DegreeMeant(key, value); !meant.empty())
    return absl::InvalidArgumentError(StrCat("unknown degree \"", key, "\"", meant));
  return absl::InvalidArgumentError(StrCat("unknown degree \"", key, "\"; the nearest is ",
                                           NearestName(key, keys), ", of ",
                                           absl::StrJoin(keys, ", ")));
}

bool HasExperts(const Model& model) {
  for (const Stack& stack : model.stacks) {
    for (const Layer& layer : stack.kinds) {
      if (layer.moe.has_value()) return true;
    }
  }
  return false;
}

}  // namespace

absl::StatusOr<Precision> ParsePrecision(std::string_view name) {
  const std::optional<Precision> precision = FindPrecision(name);
  if (precision.has_value()) return *precision;
  return WrongValue("--dtype", name, absl::StrCat("one of ", PrecisionNames()));
}

Fixes UsualFixes() {
  Fixes fixes;
  fixes.in_order = true;
  fixes.grid = false;
  fixes.context = ContextKind::kRing;
  fixes.recompute_layers = 0;
  fixes.recompute_stages = 0;
  fixes.offload_optimizer = false;
  fixes.offload_activations = false;
  return fixes;
}

Fixes LaunchableFixes(Fixes fixes) {
  const Fixes usual = UsualFixes();
  const auto or_usual = [](auto& fix, const auto& other) {
    if (!fix.has_value()) fix = other;
  };
  const bool placed = fixes.tp_inside.has_value() || fixes.tp2_inside.has_value() ||
                      fixes.cp_inside.has_value() || fixes.dp_inside.has_value() ||
                      fixes.pp_inside.has_value() || fixes.tp_unit.has_value() ||
                      fixes.tp2_unit.has_value() || fixes.cp_unit.has_value() ||
                      fixes.dp_unit.has_value() || fixes.pp_unit.has_value();
  if (!placed && !fixes.in_order.has_value()) {
    fixes.in_order = usual.in_order;
    fixes.both_rank_orders = true;
  }
  or_usual(fixes.grid, usual.grid);
  or_usual(fixes.context, usual.context);
  or_usual(fixes.recompute_stages, usual.recompute_stages);
  or_usual(fixes.offload_optimizer, usual.offload_optimizer);
  or_usual(fixes.offload_activations, usual.offload_activations);
  or_usual(fixes.ends_as_layers, std::optional<bool>(false));
  fixes.single_modules = false;
  return fixes;
}

absl::StatusOr<Fixes> ParseFixes(const std::vector<std::string>& lists) {
  Fixes fixes;
  for (const std::string& list : lists) {
    for (const absl::string_view part : absl::StrSplit(list, ',')) {
      for (const absl::string_view piece :
           absl::StrSplit(absl::StripAsciiWhitespace(part), absl::ByAnyChar(" \t\n"))) {
        const std::string_view text = FromAbsl(piece);
        const size_t equals = text.find('=');
        if (equals == std::string_view::npos) {
          return absl::InvalidArgumentError(
              StrCat("--fix: found \"", text, "\", expected KEY=VALUE, as tp=8"));
        }
        const absl::Status status =
            ParseFix(text.substr(0, equals), text.substr(equals + 1), fixes);
        if (!status.ok())
          return absl::InvalidArgumentError(absl::StrCat("--fix: ", status.message()));
      }
    }
  }
  return fixes;
}

std::vector<SingleFix> SplitFixes(const Fixes& fixes) {
  std::vector<SingleFix> split;
  for (const Degree& degree : DegreeTable()) {
    const std::optional<int64_t> fix = degree.fix(fixes);
    if (!fix.has_value()) continue;
    SingleFix& one = split.emplace_back();
    one.key = degree.key;
    one.text = StrCat(degree.key, "=", ValueText(degree, *fix));
    one.others = fixes;
    degree.set_fix(one.others, std::nullopt);
  }
  const auto add = [&](std::string_view key, const auto& list, std::string_view separator,
                       auto Fixes::*member) {
    if (list.empty()) return;
    SingleFix& one = split.emplace_back();
    one.key = key;
    one.text = StrCat(key, "=", absl::StrJoin(list, ToAbsl(separator)));
    one.others = fixes;
    (one.others.*member).clear();
  };
  add(kLayersKey, fixes.stage_layers, "-", &Fixes::stage_layers);
  add(kOrderKey, fixes.stage_groups, "+", &Fixes::stage_groups);
  return split;
}

std::vector<std::string> FixTexts(const Configuration& to, const Model& model) {
  std::vector<std::string> fixes;
  const auto add = [&](std::string_view key) {
    fixes.push_back(StrCat(key, "=", FixValue(to, key)));
  };
  add("tp");
  if (to.tp > 1) add("sp");
  add("cp");
  if (to.cp > 1) add("context");
  for (const char* const key : {"dp", "pp"}) add(key);
  if (to.pp > 1) {
    add("vp");
    add("schedule");
  }
  if (HasExperts(model)) {
    add("ep");
    add("etp");
  }
  for (const char* const key : {"mbs", "zero"}) add(key);
  if (to.zero > 0) add("shard");
  add("recompute");
  if (to.recompute == Recompute::kFull) add("recompute_layers");
  add("place");
  if (to.offload_optimizer) {
    add("offload_optimizer");
    add("offload_percent");
  }
  if (to.offload_activations) {
    add("offload_activations");
    add("offload_layers");
  }
  return fixes;
}

std::vector<std::string> AllFixTexts(const Configuration& c, const Model& model) {
  std::vector<std::string> fixes = FixTexts(c, model);
  const auto add = [&](std::string_view key) {
    fixes.push_back(StrCat(key, "=", FixValue(c, key)));
  };
  if (c.pp > 1) add("ends");
  if (c.pp > 1 && c.recompute != Recompute::kNone) add("recompute_stages");
  if (!c.offload_optimizer) add("offload_optimizer");
  if (!c.offload_activations) add("offload_activations");
  return fixes;
}

}  // namespace meshwright::transformer
