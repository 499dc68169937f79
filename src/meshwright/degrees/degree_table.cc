#include "meshwright/degrees/degree_table.h"

#include <array>
#include <type_traits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/strings.h"

namespace meshwright::transformer {
namespace {

constexpr int64_t kMost = int64_t{1} << 30;

constexpr std::array<std::string_view, 2> kSwitch = {"off", "on"};
constexpr std::array<std::string_view, 4> kRecomputes = {"none", "selective", "modules", "full"};
constexpr std::array<std::string_view, 3> kContexts = {"ring", "allgather", "ulysses"};
constexpr std::array<std::string_view, 3> kSchedules = {"1f1b", "interleaved", "zero-bubble"};
constexpr std::array<std::string_view, kPrecisionKinds> kPrecisions = {"bf16",  "fp16",  "fp8",
                                                                       "mxfp8", "nvfp4", "f32"};
constexpr std::array<std::string_view, 2> kPlaces = {"nodes", "order"};
constexpr std::array<std::string_view, 2> kTensors = {"1d", "2d"};

// A member of Configuration, or of one of its placements, as a number.
template <auto kMember, auto kPlacement = nullptr>
int64_t Value(const Configuration& c) {
  if constexpr (std::is_null_pointer_v<decltype(kPlacement)>) {
    return static_cast<int64_t>(c.*kMember);
  } else {
    return (c.*kPlacement).*kMember;
  }
}

template <auto kMember, auto kPlacement = nullptr>
void Set(Configuration& c, int64_t value) {
  if constexpr (std::is_null_pointer_v<decltype(kPlacement)>) {
    c.*kMember = static_cast<std::remove_reference_t<decltype(c.*kMember)>>(value);
  } else {
    (c.*kPlacement).*kMember = value;
  }
}

template <auto kFix>
std::optional<int64_t> Fix(const Fixes& fixes) {
  if (!(fixes.*kFix).has_value()) return std::nullopt;
  return static_cast<int64_t>(*(fixes.*kFix));
}

template <auto kFix>
void SetFix(Fixes& fixes, std::optional<int64_t> value) {
  auto& fix = fixes.*kFix;
  fix.reset();
  if (value.has_value())
    fix = static_cast<typename std::decay_t<decltype(fix)>::value_type>(*value);
}

bool Always(const Configuration&) { return true; }
template <auto kMember, auto kPlacement = nullptr>
bool Above0(const Configuration& c) {
  return Value<kMember, kPlacement>(c) > 0;
}
template <auto kMember, auto kPlacement = nullptr>
bool Above1(const Configuration& c) {
  return Value<kMember, kPlacement>(c) > 1;
}
bool HasPipeline(const Configuration& c) { return c.pp > 1; }

// A count or a size.
template <auto kMember, auto kFix, auto kPlacement = nullptr>
constexpr Degree Number(std::string_view key, std::string_view name, int64_t least, int64_t most,
                        bool (*shown)(const Configuration&)) {
  return {key,
          name,
          &Value<kMember, kPlacement>,
          &Set<kMember, kPlacement>,
          &Fix<kFix>,
          &SetFix<kFix>,
          least,
          most,
          {},
          shown};
}

// One of several, by words; the first is usual.
template <auto kMember, auto kFix, size_t n>
constexpr Degree Choice(std::string_view key, std::string_view name,
                        const std::array<std::string_view, n>& words,
                        bool (*shown)(const Configuration&) = &Above0<kMember>) {
  return {key,
          name,
          &Value<kMember>,
          &Set<kMember>,
          &Fix<kFix>,
          &SetFix<kFix>,
          0,
          static_cast<int64_t>(n) - 1,
          absl::MakeConstSpan(words.data(), n),
          shown,
          n == 2};
}

using C = Configuration;
using P = Placement;

constexpr std::array kDegrees = {
    Number<&C::tp, &Fixes::tp>("tp", "tp", 1, kMost, &Always),
    Number<&C::tp2, &Fixes::tp2>("tp2", "tp2", 1, kMost, &Above1<&C::tp2>),
    Number<&C::panels, &Fixes::panels>("panels", "panels", 0, kMost, &Above0<&C::panels>),
    Choice<&C::sequence_parallel, &Fixes::sequence_parallel>("sp", "sequence_parallel", kSwitch),
    Number<&C::cp, &Fixes::cp>("cp", "cp", 1, kMost, &Above1<&C::cp>),
    Choice<&C::context, &Fixes::context>("context", "context", kContexts),
    Number<&C::dp, &Fixes::dp>("dp", "dp", 1, kMost, &Always),
    Number<&C::pp, &Fixes::pp>("pp", "pp", 1, kMost, &Always),
    Number<&C::virtual_stages, &Fixes::virtual_stages>("vp", "virtual_stages", 1, kMost,
                                                       &Above1<&C::virtual_stages>),
    Choice<&C::schedule, &Fixes::schedule>("schedule", "schedule", kSchedules, &HasPipeline),
    Choice<&C::ends_as_layers, &Fixes::ends_as_layers>("ends", "ends_as_layers", kSwitch),
    Number<&C::ep, &Fixes::ep>("ep", "ep", 1, kMost, &Above1<&C::ep>),
    Number<&C::etp, &Fixes::etp>("etp", "etp", 1, kMost, &Above1<&C::etp>),
    Number<&C::micro_batch, &Fixes::micro_batch>("mbs", "micro_batch", 1, kMost, &Always),
    Number<&C::zero, &Fixes::zero>("zero", "zero", 0, 3, &Above0<&C::zero>),
    Number<&C::shard, &Fixes::shard>("shard", "shard", 0, kMost, &Above0<&C::shard>),
    Choice<&C::recompute, &Fixes::recompute>("recompute", "recompute", kRecomputes),
    Number<&C::recompute_layers, &Fixes::recompute_layers>("recompute_layers", "recompute_layers",
                                                           0, kMost, &Above0<&C::recompute_layers>),
    Number<&C::recompute_stages, &Fixes::recompute_stages>("recompute_stages", "recompute_stages",
                                                           0, kMost, &Above0<&C::recompute_stages>),
    // --dtype says it.
    Degree{.key = "",
           .name = "precision",
           .value = &Value<&C::precision>,
           .set = &Set<&C::precision>,
           .fix = [](const Fixes&) { return std::optional<int64_t>(); },
           .set_fix = [](Fixes&, std::optional<int64_t>) {},
           .most = kPrecisionKinds - 1,
           .words = absl::MakeConstSpan(kPrecisions.data(), kPrecisions.size())},
    Number<&P::tp, &Fixes::tp_inside, &C::inside>("tp_in", "inside.tp", 0, kMost,
                                                  &Above1<&P::tp, &C::inside>),
    Number<&P::tp2, &Fixes::tp2_inside, &C::inside>("tp2_in", "inside.tp2", 0, kMost,
                                                    &Above1<&P::tp2, &C::inside>),
    Number<&P::cp, &Fixes::cp_inside, &C::inside>("cp_in", "inside.cp", 0, kMost,
                                                  &Above1<&P::cp, &C::inside>),
    Number<&P::dp, &Fixes::dp_inside, &C::inside>("dp_in", "inside.dp", 0, kMost,
                                                  &Above1<&P::dp, &C::inside>),
    Number<&P::pp, &Fixes::pp_inside, &C::inside>("pp_in", "inside.pp", 0, kMost,
                                                  &Above1<&P::pp, &C::inside>),
    Number<&P::tp, &Fixes::tp_unit, &C::unit>("tp_unit", "unit.tp", 0, kMost,
                                              &Above1<&P::tp, &C::unit>),
    Number<&P::tp2, &Fixes::tp2_unit, &C::unit>("tp2_unit", "unit.tp2", 0, kMost,
                                                &Above1<&P::tp2, &C::unit>),
    Number<&P::cp, &Fixes::cp_unit, &C::unit>("cp_unit", "unit.cp", 0, kMost,
                                              &Above1<&P::cp, &C::unit>),
    Number<&P::dp, &Fixes::dp_unit, &C::unit>("dp_unit", "unit.dp", 0, kMost,
                                              &Above1<&P::dp, &C::unit>),
    Number<&P::pp, &Fixes::pp_unit, &C::unit>("pp_unit", "unit.pp", 0, kMost,
                                              &Above1<&P::pp, &C::unit>),
    Choice<&C::offload_optimizer, &Fixes::offload_optimizer>("offload_optimizer",
                                                             "offload_optimizer", kSwitch),
    Number<&C::offload_percent, &Fixes::offload_percent>("offload_percent", "offload_percent", 0,
                                                         99, &Above0<&C::offload_percent>),
    Choice<&C::offload_activations, &Fixes::offload_activations>("offload_activations",
                                                                 "offload_activations", kSwitch),
    Number<&C::offload_layers, &Fixes::offload_layers>("offload_layers", "offload_layers", 0, kMost,
                                                       &Above0<&C::offload_layers>),
    // Two that only fixes have: they follow from the placement and from the grid.
    Degree{.key = "place",
           .name = "",
           .value = [](const C& c) { return int64_t{c.inside.in_order()}; },
           .set = nullptr,
           .fix = &Fix<&Fixes::in_order>,
           .set_fix = &SetFix<&Fixes::in_order>,
           .most = 1,
           .words = absl::MakeConstSpan(kPlaces.data(), kPlaces.size())},
    Degree{.key = "tensor",
           .name = "",
           .value = [](const C& c) { return int64_t{c.tp2 > 1}; },
           .set = nullptr,
           .fix = &Fix<&Fixes::grid>,
           .set_fix = &SetFix<&Fixes::grid>,
           .most = 1,
           .words = absl::MakeConstSpan(kTensors.data(), kTensors.size())},
};

// Those that stand first when configurations are compared: degrees before what refines them. The
// others follow as the table has them.
constexpr std::array<std::string_view, 24> kFirst = {"tp",
                                                     "cp",
                                                     "pp",
                                                     "dp",
                                                     "ep",
                                                     "etp",
                                                     "sp",
                                                     "schedule",
                                                     "vp",
                                                     "mbs",
                                                     "zero",
                                                     "shard",
                                                     "recompute",
                                                     "recompute_layers",
                                                     "recompute_stages",
                                                     "",
                                                     "ends",
                                                     "tp2",
                                                     "panels",
                                                     "context",
                                                     "offload_optimizer",
                                                     "offload_activations",
                                                     "offload_percent",
                                                     "offload_layers"};

std::string Words(const Degree& degree, std::string_view separator) {
  return absl::StrJoin(degree.words, ToAbsl(separator),
                       [](std::string* out, std::string_view word) { StrAppend(out, word); });
}

// The more of the inner degrees share a node or a unit, the earlier a placement comes: ranks in
// order are first.
bool FewerComeLater(const Degree& degree) {
  const bool placement = degree.name.starts_with("inside.") || degree.name.starts_with("unit.");
  return placement && !degree.name.ends_with(".tp2");
}

}  // namespace

absl::Span<const Degree> DegreeTable() { return kDegrees; }

const Degree* FindDegree(std::string_view key) {
  for (const Degree& degree : kDegrees) {
    if (degree.key == key) return &degree;
  }
  return nullptr;
}

const std::vector<const Degree*>& DegreesInOrder() {
  static const auto* const kOrder = [] {
    auto* order = new std::vector<const Degree*>;
    for (const std::string_view key : kFirst) order->push_back(FindDegree(key));
    for (const Degree& degree : kDegrees) {
      if (degree.set != nullptr && std::find(order->begin(), order->end(), &degree) == order->end())
        order->push_back(&degree);
    }
    return order;
  }();
  return *kOrder;
}

std::string ValueText(const Degree& degree, int64_t value) {
  if (degree.words.empty()) return absl::StrCat(value);
  return std::string(degree.words[static_cast<size_t>(value)]);
}

std::optional<int64_t> ParseValue(const Degree& degree, std::string_view text) {
  int64_t value = 0;
  if (!degree.words.empty()) {
    const auto word = std::find(degree.words.begin(), degree.words.end(), text);
    if (word == degree.words.end()) return std::nullopt;
    return word - degree.words.begin();
  }
  if (!absl::SimpleAtoi(ToAbsl(text), &value)) return std::nullopt;
  return value >= degree.least && value <= degree.most ? std::optional(value) : std::nullopt;
}

std::string ValidValues(const Degree& degree) {
  if (degree.words.empty())
    return absl::StrCat("an integer from ", degree.least, " to ", degree.most);
  return degree.words.size() == 2 ? Words(degree, " or ")
                                  : absl::StrCat("one of ", Words(degree, ", "));
}

std::string FixValue(const Configuration& configuration, std::string_view key) {
  const Degree& degree = *FindDegree(key);
  return ValueText(degree, degree.value(configuration));
}

std::string ConfigurationText(const Configuration& configuration) {
  std::string text;
  for (const Degree* const degree : DegreesInOrder()) {
    if (degree->shown == nullptr || !degree->shown(configuration)) continue;
    StrAppend(&text, text.empty() ? "" : " ", degree->key, "=",
              ValueText(*degree, degree->value(configuration)));
  }
  return text;
}

bool ConfigurationBefore(const Configuration& a, const Configuration& b) {
  for (const Degree* const degree : DegreesInOrder()) {
    const int64_t left = degree->value(a), right = degree->value(b);
    if (left != right) return FewerComeLater(*degree) ? left > right : left < right;
  }
  return false;
}

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

std::optional<Precision> FindPrecision(std::string_view name) {
  const std::optional<int64_t> value = ParseValue(*FindDegree(""), name);
  return value.has_value() ? std::optional(static_cast<Precision>(*value)) : std::nullopt;
}
std::string PrecisionNames() { return Words(*FindDegree(""), ", "); }

}  // namespace meshwright::transformer
