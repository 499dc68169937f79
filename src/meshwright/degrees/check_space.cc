#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/degrees/space.h"
#include "meshwright/model/recurrence.h"

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
  texts.reserve(values.size());
  for (const auto& [order, value] : values) texts.push_back(value);
  return texts;
}

std::string ValuesText(std::vector<std::string> values) {
  const bool more = values.size() > kMostValues;
  if (more) values.resize(kMostValues);
  return absl::StrCat(absl::StrJoin(values, ", "), more ? ", ..." : "");
}

// `to` with what `from` has at `key`.
Fixes With(Fixes to, const Fixes& from, std::string_view key) {
  const Degree& degree = *FindDegree(key);
  degree.set_fix(to, degree.fix(from));
  return to;
}

Fixes Without(Fixes fixes, std::string_view key) {
  FindDegree(key)->set_fix(fixes, std::nullopt);
  return fixes;
}

// Whether the degrees that are fixed make the GPUs, or a divisor of them where some are not.
absl::Status CheckProduct(const Fixes& fixes, int64_t gpus) {
  std::string product, text;
  double number = 1;
  int fixed = 0;
  for (const char* const key : {"tp", "cp", "pp", "dp"}) {
    const std::optional<int64_t> degree = FindDegree(key)->fix(fixes);
    if (!degree.has_value()) continue;
    ++fixed;
    number *= static_cast<double>(*degree);
    absl::StrAppend(&product, product.empty() ? "" : " x ", *degree);
    absl::StrAppend(&text, text.empty() ? "" : ", ", key, "=", *degree);
  }
  const auto whole = static_cast<double>(gpus);
  constexpr int kDegrees = 4;
  const bool divides = number <= whole && gpus % static_cast<int64_t>(number) == 0;
  if (fixed < 2 || (fixed == kDegrees ? number == whole : divides)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("--fix: %s: %s is %.17g, the cluster has %d%s", text, product, number, gpus,
                      fixed == kDegrees || number > whole ? "" : ", which that does not divide"));
}

// Fixes of which no one can be left out without making the rest possible: all others are tried to
// be left out, degrees last.
std::vector<std::string> ConflictOf(const std::vector<SingleFix>& split, const Fixes& none,
                                    const Fixes& fixes,
                                    const std::function<bool(const Fixes&)>& is_empty) {
  std::vector<std::string> keys;
  for (const SingleFix& fix : split) {
    if (fix.key != "tensor") keys.push_back(fix.key);
  }
  const auto place = [](const std::string& key) {
    const std::vector<const Degree*>& order = DegreesInOrder();
    return std::find(order.begin(), order.end(), FindDegree(key)) - order.begin();
  };
  std::stable_sort(keys.begin(), keys.end(),
                   [&](const std::string& a, const std::string& b) { return place(a) < place(b); });
  for (size_t i = keys.size(); i-- > 0;) {
    Fixes rest = none;
    for (size_t k = 0; k < keys.size(); ++k) {
      if (k != i) rest = With(rest, fixes, keys[k]);
    }
    if (is_empty(rest)) keys.erase(keys.begin() + static_cast<int64_t>(i));
  }
  return keys;
}

// Whether there are replicas to shard state over, where fixes ask for that. `all`: degrees of what
// there is without that.
absl::Status CheckReplicas(const Fixes& fixes, const std::vector<Space::Degrees>& all,
                           int64_t gpus) {
  const bool one = std::all_of(all.begin(), all.end(), [](const Space::Degrees& degrees) {
    return degrees.dp * degrees.cp == 1;
  });
  if (fixes.zero.value_or(0) == 0 || all.empty() || !one) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat("--fix: zero=", *fixes.zero, " does not go with dp=1 and cp=1: state is sharded over ",
             "dp x cp replicas, and on ", Counted(gpus, "GPU"), " with tp=", all.front().tp,
             " and pp=", all.front().pp, " there is one; zero may be 0"));
}

// Which fixes do not go together, and what each may be beside the others.
absl::Status ConflictError(
    const std::vector<std::string>& keys, const Fixes& fixes, int64_t gpus,
    const std::string& sizes,
    const std::function<std::vector<std::string>(const std::string&)>& values) {
  const auto text_of = [&](const std::string& key) {
    const Degree& degree = *FindDegree(key);
    return absl::StrCat(key, "=", ValueText(degree, *degree.fix(fixes)));
  };
  std::string together, instead;
  for (size_t i = 0; i < keys.size(); ++i) {
    absl::StrAppend(&together,
                    i == 0                 ? ""
                    : i + 1 == keys.size() ? " and "
                                           : ", ",
                    text_of(keys[i]));
    const std::vector<std::string> valid = values(keys[i]);
    if (valid.empty()) continue;
    absl::StrAppend(&instead, instead.empty() ? "" : ", or ", keys[i], " may be ",
                    ValuesText(valid));
  }
  return absl::InvalidArgumentError(
      absl::StrFormat("--fix: %s do not go together on %s (%s); with the others %s", together,
                      Counted(gpus, "GPU"), sizes, instead));
}

}  // namespace

std::string SizesText(const Model& model, const Workload& workload) {
  std::vector<std::string> parts;
  const auto add = [&](const std::string& text) {
    if (std::find(parts.begin(), parts.end(), text) == parts.end()) parts.push_back(text);
  };
  for (const Stack& stack : model.stacks) {
    for (const Layer& layer : stack.kinds) {
      if (layer.recurrence.has_value()) {
        add(absl::StrCat("recurrences that are cut into ", SplitOver(*layer.recurrence)));
      }
      if (layer.attends()) add(absl::StrCat(layer.attention.heads, " heads"));
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
  const auto is_empty = [&](const Fixes& these) {
    const Space space(model, workload, gpus, these, precision, node, unit);
    const std::vector<Space::Degrees> all = space.AllDegrees();
    return std::all_of(all.begin(), all.end(), [&](const Space::Degrees& degrees) {
      return space.Families(degrees).empty();
    });
  };
  if (!is_empty(fixes)) return absl::OkStatus();
  const std::vector<SingleFix> split = SplitFixes(fixes);
  const std::string sizes = SizesText(model, workload);
  Fixes none;
  none.grid = fixes.grid;  // an option of its own, with a default
  const bool any = !is_empty(none);
  if (!any && fixes.grid.value_or(false)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "--tp 2d: no grid of %d GPUs or fewer suits (%s); grids need attention of plain heads and "
        "MLPs in every layer, rows and columns that divide their sizes, and a sequence that twice "
        "the rows divide",
        gpus, sizes));
  }
  // A fix that is impossible by itself, else those that do not go together.
  for (const SingleFix& fix : split) {
    if (!any || fix.key == "tensor" || !is_empty(With(none, fixes, fix.key))) continue;
    return absl::InvalidArgumentError(
        absl::StrFormat("--fix: %s is not possible on %s (%s); valid are %s", fix.text,
                        Counted(gpus, "GPU"), sizes, ValuesText(Values(examples(none), fix.key))));
  }
  if (any) {
    MW_RETURN_IF_ERROR(CheckProduct(fixes, gpus));
    MW_RETURN_IF_ERROR(CheckReplicas(
        fixes,
        Space(model, workload, gpus, Without(fixes, "zero"), precision, node, unit).AllDegrees(),
        gpus));
    std::vector<std::string> keys = ConflictOf(split, none, fixes, is_empty);
    Fixes conflict = none;
    for (const std::string& key : keys) conflict = With(conflict, fixes, key);
    return ConflictError(keys, fixes, gpus, sizes, [&](const std::string& key) {
      return Values(examples(Without(conflict, key)), key);
    });
  }
  std::vector<std::string> counts;
  for (int64_t fewer = gpus - 1; fewer >= 1 && counts.size() < 3; --fewer) {
    const Space smaller(model, workload, fewer, none, precision);
    if (!smaller.AllDegrees().empty()) counts.push_back(absl::StrCat(fewer));
  }
  return absl::InvalidArgumentError(absl::StrFormat(
      "no degrees make use of %s: %s; the nearest numbers of GPUs below that can be used are "
      "%s",
      Counted(gpus, "GPU"), sizes, absl::StrJoin(counts, ", ")));
}

}  // namespace meshwright::transformer
