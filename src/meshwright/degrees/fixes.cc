#include "meshwright/degrees/fixes.h"

#include <array>
#include <iterator>
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

struct IntegerKey {
  std::string_view name;
  std::optional<int64_t> Fixes::*fix;
  int64_t (*value)(const Configuration&);
  int64_t least, most;
};

constexpr int64_t kMost = int64_t{1} << 30;

constexpr std::array<IntegerKey, 26> kIntegers = {{
    {"tp", &Fixes::tp, [](const Configuration& c) { return c.tp; }, 1, kMost},
    {"tp2", &Fixes::tp2, [](const Configuration& c) { return c.tp2; }, 1, kMost},
    {"panels", &Fixes::panels, [](const Configuration& c) { return c.panels; }, 0, kMost},
    {"cp", &Fixes::cp, [](const Configuration& c) { return c.cp; }, 1, kMost},
    {"dp", &Fixes::dp, [](const Configuration& c) { return c.dp; }, 1, kMost},
    {"pp", &Fixes::pp, [](const Configuration& c) { return c.pp; }, 1, kMost},
    {"vp", &Fixes::virtual_stages, [](const Configuration& c) { return c.virtual_stages; }, 1,
     kMost},
    {"ep", &Fixes::ep, [](const Configuration& c) { return c.ep; }, 1, kMost},
    {"etp", &Fixes::etp, [](const Configuration& c) { return c.etp; }, 1, kMost},
    {"mbs", &Fixes::micro_batch, [](const Configuration& c) { return c.micro_batch; }, 1, kMost},
    {"zero", &Fixes::zero, [](const Configuration& c) { return int64_t{c.zero}; }, 0, 3},
    {"shard", &Fixes::shard, [](const Configuration& c) { return c.shard; }, 0, kMost},
    {"recompute_layers", &Fixes::recompute_layers,
     [](const Configuration& c) { return c.recompute_layers; }, 0, kMost},
    {"recompute_stages", &Fixes::recompute_stages,
     [](const Configuration& c) { return c.recompute_stages; }, 0, kMost},
    {"tp_in", &Fixes::tp_inside, [](const Configuration& c) { return c.inside.tp; }, 0, kMost},
    {"tp2_in", &Fixes::tp2_inside, [](const Configuration& c) { return c.inside.tp2; }, 0, kMost},
    {"cp_in", &Fixes::cp_inside, [](const Configuration& c) { return c.inside.cp; }, 0, kMost},
    {"dp_in", &Fixes::dp_inside, [](const Configuration& c) { return c.inside.dp; }, 0, kMost},
    {"pp_in", &Fixes::pp_inside, [](const Configuration& c) { return c.inside.pp; }, 0, kMost},
    {"tp_unit", &Fixes::tp_unit, [](const Configuration& c) { return c.unit.tp; }, 0, kMost},
    {"tp2_unit", &Fixes::tp2_unit, [](const Configuration& c) { return c.unit.tp2; }, 0, kMost},
    {"cp_unit", &Fixes::cp_unit, [](const Configuration& c) { return c.unit.cp; }, 0, kMost},
    {"dp_unit", &Fixes::dp_unit, [](const Configuration& c) { return c.unit.dp; }, 0, kMost},
    {"pp_unit", &Fixes::pp_unit, [](const Configuration& c) { return c.unit.pp; }, 0, kMost},
    {"offload_percent", &Fixes::offload_percent,
     [](const Configuration& c) { return c.offload_percent; }, 0, 99},
    {"offload_layers", &Fixes::offload_layers,
     [](const Configuration& c) { return c.offload_layers; }, 0, kMost},
}};

// Choices of two, by what they are called.
struct ChoiceKey {
  std::string_view name;
  std::optional<bool> Fixes::*fix;
  bool (*value)(const Configuration&);
  std::string_view yes, no;
};

constexpr std::array<ChoiceKey, 6> kChoices = {{
    {"sp", &Fixes::sequence_parallel, [](const Configuration& c) { return c.sequence_parallel; },
     "on", "off"},
    {"ends", &Fixes::ends_as_layers, [](const Configuration& c) { return c.ends_as_layers; }, "on",
     "off"},
    {"place", &Fixes::in_order, [](const Configuration& c) { return c.inside.in_order(); }, "order",
     "nodes"},
    {"tensor", &Fixes::grid, [](const Configuration& c) { return c.tp2 > 1; }, "2d", "1d"},
    {"offload_optimizer", &Fixes::offload_optimizer,
     [](const Configuration& c) { return c.offload_optimizer; }, "on", "off"},
    {"offload_activations", &Fixes::offload_activations,
     [](const Configuration& c) { return c.offload_activations; }, "on", "off"},
}};

constexpr std::array<std::string_view, 4> kRecomputes = {"none", "selective", "modules", "full"};
constexpr std::array<std::string_view, 3> kContexts = {"ring", "allgather", "ulysses"};
constexpr std::array<std::string_view, 3> kSchedules = {"1f1b", "interleaved", "zero-bubble"};
constexpr std::array<std::string_view, 5> kPrecisions = {"bf16", "fp16", "fp8", "mxfp8", "nvfp4"};

template <typename Enum, size_t n>
std::optional<Enum> FindByName(const std::array<std::string_view, n>& names,
                               std::string_view name) {
  for (size_t i = 0; i < n; ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

template <size_t n>
std::string List(const std::array<std::string_view, n>& names) {
  return absl::StrJoin(names, ", ",
                       [](std::string* out, std::string_view name) { StrAppend(out, name); });
}

absl::Status WrongValue(std::string_view key, std::string_view found, std::string_view valid) {
  return absl::InvalidArgumentError(StrCat(key, ": found \"", found, "\", expected ", valid));
}

absl::Status Twice(std::string_view key) {
  return absl::InvalidArgumentError(StrCat(key, " is given twice"));
}

template <typename T>
absl::Status Set(std::string_view key, std::optional<T>& fix, T value) {
  if (fix.has_value()) return Twice(key);
  fix = value;
  return absl::OkStatus();
}

absl::Status ParseFix(std::string_view key, std::string_view value, Fixes& fixes) {
  for (const IntegerKey& integer : kIntegers) {
    if (integer.name != key) continue;
    int64_t number = 0;
    if (!absl::SimpleAtoi(ToAbsl(value), &number) || number < integer.least ||
        number > integer.most) {
      return WrongValue(key, value,
                        absl::StrCat("an integer from ", integer.least, " to ", integer.most));
    }
    return Set(key, fixes.*integer.fix, number);
  }
  for (const ChoiceKey& choice : kChoices) {
    if (choice.name != key) continue;
    if (value != choice.yes && value != choice.no) {
      return WrongValue(key, value, StrCat(choice.yes, " or ", choice.no));
    }
    return Set(key, fixes.*choice.fix, value == choice.yes);
  }
  if (key == "schedule") {
    const std::optional<PipelineKind> kind = FindPipelineKind(value);
    if (kind.has_value()) return Set(key, fixes.schedule, *kind);
    return WrongValue(key, value, absl::StrCat("one of ", List(kSchedules)));
  }
  if (key == "recompute") {
    const std::optional<Recompute> recompute = FindRecompute(value);
    if (recompute.has_value()) return Set(key, fixes.recompute, *recompute);
    return WrongValue(key, value, absl::StrCat("one of ", List(kRecomputes)));
  }
  if (key == "context") {
    const std::optional<ContextKind> context = FindContextKind(value);
    if (context.has_value()) return Set(key, fixes.context, *context);
    return WrongValue(key, value, absl::StrCat("one of ", List(kContexts)));
  }
  std::vector<std::string> keys;
  for (const IntegerKey& integer : kIntegers) keys.emplace_back(integer.name);
  for (const ChoiceKey& choice : kChoices) keys.emplace_back(choice.name);
  for (const char* const other : {"context", "schedule", "recompute"}) keys.emplace_back(other);
  return absl::InvalidArgumentError(StrCat("unknown degree \"", key, "\"; the nearest is ",
                                           NearestName(key, keys), ", of ",
                                           absl::StrJoin(keys, ", ")));
}

}  // namespace

std::string_view RecomputeName(Recompute recompute) {
  return kRecomputes[static_cast<size_t>(recompute)];
}
std::string_view PrecisionName(Precision precision) {
  return kPrecisions[static_cast<size_t>(precision)];
}
std::string_view ContextKindName(ContextKind kind) { return kContexts[static_cast<size_t>(kind)]; }
std::string_view PipelineKindName(PipelineKind schedule) {
  return kSchedules[static_cast<size_t>(schedule)];
}
std::optional<Recompute> FindRecompute(std::string_view name) {
  return FindByName<Recompute>(kRecomputes, name);
}
std::optional<PipelineKind> FindPipelineKind(std::string_view name) {
  return FindByName<PipelineKind>(kSchedules, name);
}
std::optional<ContextKind> FindContextKind(std::string_view name) {
  return FindByName<ContextKind>(kContexts, name);
}

absl::StatusOr<Precision> ParsePrecision(std::string_view name) {
  const std::optional<Precision> precision = FindByName<Precision>(kPrecisions, name);
  if (precision.has_value()) return *precision;
  return WrongValue("--dtype", name, absl::StrCat("one of ", List(kPrecisions)));
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
    for (const absl::string_view piece : absl::StrSplit(list, ',')) {
      const std::string_view text = FromAbsl(absl::StripAsciiWhitespace(piece));
      const size_t equals = text.find('=');
      if (equals == std::string_view::npos) {
        return absl::InvalidArgumentError(
            StrCat("--fix: found \"", text, "\", expected KEY=VALUE, as tp=8"));
      }
      const absl::Status status = ParseFix(text.substr(0, equals), text.substr(equals + 1), fixes);
      if (!status.ok())
        return absl::InvalidArgumentError(absl::StrCat("--fix: ", status.message()));
    }
  }
  return fixes;
}

std::vector<SingleFix> SplitFixes(const Fixes& fixes) {
  std::vector<SingleFix> split;
  const auto add = [&](std::string_view key, std::string_view value, auto member) {
    split.push_back({std::string(key), StrCat(key, "=", value), fixes});
    (split.back().others.*member).reset();
  };
  for (const IntegerKey& integer : kIntegers) {
    const std::optional<int64_t>& fix = fixes.*integer.fix;
    if (fix.has_value()) add(integer.name, std::to_string(*fix), integer.fix);
  }
  for (const ChoiceKey& choice : kChoices) {
    const std::optional<bool>& fix = fixes.*choice.fix;
    if (fix.has_value()) add(choice.name, *fix ? choice.yes : choice.no, choice.fix);
  }
  if (fixes.context.has_value()) add("context", ContextKindName(*fixes.context), &Fixes::context);
  if (fixes.schedule.has_value()) {
    add("schedule", PipelineKindName(*fixes.schedule), &Fixes::schedule);
  }
  if (fixes.recompute.has_value()) {
    add("recompute", RecomputeName(*fixes.recompute), &Fixes::recompute);
  }
  return split;
}

std::string FixValue(const Configuration& configuration, std::string_view key) {
  for (const IntegerKey& integer : kIntegers) {
    if (integer.name == key) return absl::StrCat(integer.value(configuration));
  }
  for (const ChoiceKey& choice : kChoices) {
    if (choice.name == key)
      return std::string(choice.value(configuration) ? choice.yes : choice.no);
  }
  if (key == "context") return std::string(ContextKindName(configuration.context));
  if (key == "schedule") return std::string(PipelineKindName(configuration.schedule));
  return std::string(RecomputeName(configuration.recompute));
}

std::string ConfigurationText(const Configuration& configuration) {
  std::string text;
  const auto add = [&](std::string_view key) {
    StrAppend(&text, text.empty() ? "" : " ", key, "=", FixValue(configuration, key));
  };
  for (const IntegerKey& integer : kIntegers) {
    // These go with what is recomputed and offloaded.
    if (integer.name.substr(0, 9) == "recompute" || integer.name.substr(0, 7) == "offload")
      continue;
    const int64_t value = integer.value(configuration);
    const bool choice =
        integer.name == "zero" || integer.name == "shard" || integer.name == "panels";
    if (value > (choice ? 0 : 1)) add(integer.name);
    if (integer.name == "tp" && configuration.sequence_parallel) absl::StrAppend(&text, " sp");
  }
  if (configuration.context != ContextKind::kRing) add("context");
  if (configuration.ends_as_layers) add("ends");
  if (configuration.pp > 1) add("schedule");
  if (configuration.recompute != Recompute::kNone) add("recompute");
  if (configuration.recompute_layers > 0) add("recompute_layers");
  if (configuration.recompute_stages > 0) add("recompute_stages");
  if (configuration.offload_optimizer) add("offload_optimizer");
  if (configuration.offload_percent > 0) add("offload_percent");
  if (configuration.offload_activations) add("offload_activations");
  if (configuration.offload_layers > 0) add("offload_layers");
  return text.empty() ? "one GPU, mbs=1" : text;
}

}  // namespace meshwright::transformer
