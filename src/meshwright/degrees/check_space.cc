#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/degrees/space.h"

// Why a space is empty. What each fix may be is asked of the space itself, with that fix taken
// away, so that rules stand in one place.

namespace meshwright::transformer {
namespace {

constexpr size_t kMostValues = 12;

void AddRecomputeRanges(const Space& space, Configuration member,
                        std::vector<Configuration>& examples) {
  for (const Recompute recompute : space.Recomputes()) {
    member.recompute = recompute;
    for (const Space::RecomputeRange& range : space.RecomputeRanges(member, recompute)) {
      member.recompute_layers = range.layers;
      member.recompute_stages = range.stages;
      examples.push_back(member);
    }
  }
}

void AddAmounts(const Space& space, Configuration member, std::vector<Configuration>& examples) {
  for (const Space::Offload& offload : space.Offloads()) {
    member.offload_optimizer = offload.optimizer;
    member.offload_activations = offload.activations;
    const Space::Amounts amounts = space.AmountsOf(member, offload);
    for (const int64_t percent : amounts.percents) {
      member.offload_percent = percent;
      for (const int64_t layers : amounts.layers) {
        member.offload_layers = layers;
        examples.push_back(member);
      }
    }
  }
}

// Members of the space that have every value that any of its members has at a key.
std::vector<Configuration> Examples(const Space& space) {
  std::vector<Configuration> examples;
  for (const Space::Degrees& degrees : space.AllDegrees()) {
    const std::vector<Configuration> families = space.Families(degrees);
    if (families.empty()) continue;
    examples.insert(examples.end(), families.begin(), families.end());
    Configuration member = families.front();
    // Recompute ranges and amounts depend on these only.
    std::set<std::pair<int64_t, bool>> extended;
    for (const Configuration& family : families) {
      if (extended.emplace(family.virtual_stages, family.ends_as_layers).second) {
        AddRecomputeRanges(space, family, examples);
        AddAmounts(space, family, examples);
      }
    }
    int64_t tp2 = 0;
    for (const Configuration& family : families) {
      if (family.tp2 == tp2) continue;
      tp2 = family.tp2;
      for (const Space::Layout& layout : space.Placements(degrees, tp2)) {
        examples.push_back(family);
        examples.back().inside = layout.inside;
        examples.back().unit = layout.unit;
      }
    }
    for (const Space::Sharding& sharding : space.Shardings(degrees)) {
      member.zero = sharding.zero;
      member.shard = sharding.shard;
      examples.push_back(member);
    }
  }
  return examples;
}

// Different values at `key`, in the order in which they come.
std::vector<std::string> Values(const std::vector<Configuration>& examples,
                                const std::string& key) {
  std::vector<std::pair<int64_t, std::string>> values;
  for (const Configuration& example : examples) {
    const std::string value = FixValue(example, key);
    const bool number = value.find_first_not_of("0123456789") == std::string::npos;
    const std::pair<int64_t, std::string> entry(number ? std::stoll(value) : 0, value);
    if (std::find(values.begin(), values.end(), entry) == values.end()) values.push_back(entry);
  }
  std::sort(values.begin(), values.end());
  std::vector<std::string> texts;
  for (const auto& [order, value] : values) texts.push_back(value);
  return texts;
}

std::string ValuesText(std::vector<std::string> values) {
  const bool more = values.size() > kMostValues;
  if (more) values.resize(kMostValues);
  return absl::StrCat(absl::StrJoin(values, ", "), more ? ", ..." : "");
}

}  // namespace

std::string SizesText(const Model& model, const Workload& workload) {
  std::vector<std::string> parts;
  const auto add = [&](std::string text) {
    if (std::find(parts.begin(), parts.end(), text) == parts.end()) parts.push_back(text);
  };
  for (const Stack& stack : model.stacks) {
    for (const Layer& layer : stack.kinds) {
      add(absl::StrCat(layer.attention.heads, " heads"));
      if (layer.attention.kv_heads != layer.attention.heads) {
        add(absl::StrCat(layer.attention.kv_heads, " of keys and values"));
      }
      if (layer.mlp.has_value()) add(absl::StrCat("an MLP of ", layer.mlp->ffn));
      if (layer.moe.has_value()) {
        add(absl::StrCat(layer.moe->experts, " experts of ", layer.moe->expert.ffn));
      }
    }
  }
  return absl::StrCat(model.name, " has ", model.layers(), " layers, ", absl::StrJoin(parts, ", "),
                      "; the global batch is ", workload.global_batch, " sequences of ",
                      workload.sequence, " tokens");
}

absl::Status CheckSpace(const Model& model, const Workload& workload, int64_t gpus,
                        const Fixes& fixes, Precision precision, std::optional<int64_t> node,
                        std::optional<int64_t> unit) {
  const auto examples = [&](const Fixes& these) {
    return Examples(Space(model, workload, gpus, these, precision, node, unit));
  };
  const Space space(model, workload, gpus, fixes, precision, node, unit);
  for (const Space::Degrees& degrees : space.AllDegrees()) {
    if (!space.Families(degrees).empty()) return absl::OkStatus();
  }
  const std::vector<SingleFix> split = SplitFixes(fixes);
  const std::string sizes = SizesText(model, workload);
  // A fix that is impossible by itself, else one that does not go with the others.
  Fixes none;
  none.grid = fixes.grid;  // an option of its own, with a default
  const std::vector<Configuration> free = examples(none);
  if (free.empty() && fixes.grid.value_or(false)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "--tp 2d: no grid of %d GPUs or fewer suits (%s); grids need attention of plain heads and "
        "MLPs in every layer, rows and columns that divide their sizes, and a sequence that twice "
        "the rows divide",
        gpus, sizes));
  }
  for (const SingleFix& fix : split) {
    const std::vector<std::string> values = Values(free, fix.key);
    const std::string value = fix.text.substr(fix.key.size() + 1);
    if (free.empty() || std::find(values.begin(), values.end(), value) != values.end()) continue;
    if (fix.key == "shard") continue;  // the whole group has two spellings
    return absl::InvalidArgumentError(
        absl::StrFormat("--fix: %s is not possible on %d GPUs (%s); valid are %s", fix.text, gpus,
                        sizes, ValuesText(values)));
  }
  for (const SingleFix& fix : split) {
    if (fix.key == "tensor") continue;  // what does not go with it is named instead
    const std::vector<std::string> values = Values(examples(fix.others), fix.key);
    if (values.empty()) continue;
    return absl::InvalidArgumentError(
        absl::StrFormat("--fix: %s does not go with the other fixes on %d GPUs (%s); with them %s "
                        "may be %s",
                        fix.text, gpus, sizes, fix.key, ValuesText(values)));
  }
  if (!free.empty()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "--fix: no configuration on %d GPUs has all of %s (%s); take at least two away", gpus,
        absl::StrJoin(split, ", ",
                      [](std::string* out, const SingleFix& fix) { out->append(fix.text); }),
        sizes));
  }
  std::vector<std::string> counts;
  for (int64_t fewer = gpus - 1; fewer >= 1 && counts.size() < 3; --fewer) {
    const Space smaller(model, workload, fewer, none, precision);
    if (!smaller.AllDegrees().empty()) counts.push_back(absl::StrCat(fewer));
  }
  return absl::InvalidArgumentError(absl::StrFormat(
      "no degrees make use of %d GPUs: %s; the nearest numbers of GPUs below that can be used are "
      "%s",
      gpus, sizes, absl::StrJoin(counts, ", ")));
}

}  // namespace meshwright::transformer
