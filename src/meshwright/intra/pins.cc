#include "meshwright/intra/pins.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"
#include "meshwright/base/nearest_name.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/cost/fusion.h"
#include "meshwright/intra/annotations.h"
#include "meshwright/intra/names.h"

namespace meshwright {
namespace {

constexpr size_t kShownNames = 3;

// Something a fix can name. Exactly one of `parameter`, `output`, `value` is meant.
struct Target {
  std::string name;
  std::string alias;  // another name it answers to, or empty
  const Shape* shape;
  std::optional<Sharding>* pin;
  bool inside = false;       // neither an argument nor a result: uneven shards are possible
  bool free = false;         // made anew wherever it is needed: it has no sharding of its own
  const Fix* fix = nullptr;  // that set *pin
};

std::vector<Target> Targets(const Graph& graph, Pins* pins) {
  const std::vector<bool> free = AnalyzeFusion(graph).free;
  std::vector<Target> targets;
  for (size_t i = 0; i < graph.parameters.size(); ++i) {
    const Op& op = graph[graph.parameters[i]];
    targets.push_back({ParameterName(graph, graph.parameters[i]), op.name,
                       &graph[op.results[0]].shape, &pins->parameters[i]});
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    targets.push_back({OutputName(graph, graph.outputs[i]), "",
                       &graph[graph[graph.outputs[i]].operands[0]].shape, &pins->outputs[i]});
  }
  for (const Op& op : graph.ops) {
    if (op.kind == OpKind::kOutput || op.parameter >= 0) continue;
    for (ValueId v : op.results) {
      targets.push_back({op.name, op.instruction->name, &graph[v].shape, &pins->values[v.index()],
                         true, free[v.index()]});
    }
  }
  return targets;
}

absl::Status FixError(const Fix& fix, std::string_view what) {
  return absl::InvalidArgumentError(StrCat(fix.origin.empty() ? "fix" : fix.origin, " (",
                                           fix.pattern, "=", fix.spec, "): ", what));
}

// Entries that no sharding has more of.
constexpr int64_t kAnyRank = 1000;

// `partly` gets a line if the fix holds for a part of what it matches. What a name means alone can
// take the sharding or is refused; a pattern is for those that have the dimensions.
absl::Status ApplyFix(const Fix& fix, const Mesh& mesh, std::vector<Target>& targets,
                      std::vector<std::string>* partly) {
  const Target* matched_free = nullptr;
  size_t applied = 0;
  std::vector<const Target*> left;
  const auto error_of = [&](const Target& target, const absl::Status& why) {
    return FixError(fix,
                    StrCat(target.name, " ", target.shape->ToString(false), ": ", why.message()));
  };
  for (Target& target : targets) {
    if (!GlobMatch(fix.pattern, target.name) &&
        (target.alias.empty() || !GlobMatch(fix.pattern, target.alias))) {
      continue;
    }
    if (target.free) {
      matched_free = &target;
      continue;
    }
    const bool named = fix.pattern == target.name || fix.pattern == target.alias;
    absl::StatusOr<std::optional<Sharding>> fixed =
        FixedSharding(fix, named, target.shape->rank(), mesh);
    if (!fixed.ok()) return error_of(target, fixed.status());
    if (!fixed->has_value()) {
      left.push_back(&target);
      continue;
    }
    std::optional<Sharding>& sharding = *fixed;
    ++applied;
    if (absl::Status possible = CheckPossible(*target.shape, *sharding, target.inside, mesh);
        !possible.ok()) {
      return error_of(target, possible);
    }
    if (target.fix != nullptr && **target.pin != *sharding) {
      return FixError(fix, StrCat(target.name, " was already fixed to ", target.fix->spec, " by ",
                                  target.fix->origin.empty() ? "another fix" : target.fix->origin));
    }
    target.fix = &fix;
    *target.pin = *std::move(sharding);
  }
  if (applied == 0 && !left.empty()) {
    return error_of(*left[0], ParseSharding(fix.spec, mesh, left[0]->shape->rank()).status());
  }
  if (!left.empty()) {
    std::vector<std::string> names;
    names.reserve(left.size());
    for (const Target* target : left) {
      names.push_back(StrCat(target->name, " ", target->shape->ToString(false)));
    }
    partly->push_back(PartlyAppliedText(fix, applied, names));
  }
  if (applied > 0) return absl::OkStatus();
  if (matched_free != nullptr) {
    return FixError(fix, StrCat(matched_free->name, " ", matched_free->shape->ToString(false),
                                " depends on no input, so it is made wherever it is needed, as "
                                "its user needs it; fix the result of its user instead"));
  }
  std::vector<std::string> names;
  names.reserve(targets.size());
  for (const Target& target : targets) names.push_back(target.name);
  const std::vector<std::string> like = NamesLike(fix.pattern, names, kShownNames);
  return FixError(fix,
                  StrCat("matches no parameter, output or instruction",
                         like.empty() ? "" : StrCat("; nearest: ", absl::StrJoin(like, ", "))));
}

}  // namespace

absl::StatusOr<std::optional<Sharding>> FixedSharding(const Fix& fix, bool named, int64_t rank,
                                                      const Mesh& mesh) {
  absl::StatusOr<Sharding> sharding = ParseSharding(fix.spec, mesh, rank);
  if (sharding.ok()) return std::optional<Sharding>(*std::move(sharding));
  if (named || !ParseSharding(fix.spec, mesh, kAnyRank).ok()) return sharding.status();
  return std::nullopt;
}

std::string PartlyAppliedText(const Fix& fix, size_t applied,
                              const std::vector<std::string>& left) {
  const size_t named = std::min(left.size(), kShownNames);
  const auto end = left.begin() + static_cast<std::ptrdiff_t>(named);
  return StrCat(fix.origin.empty() ? "fix" : fix.origin, " (", fix.pattern, "=", fix.spec,
                "): applied to ", applied, " of ", applied + left.size(),
                " that it matches; left as they were, with fewer dimensions than the sharding: ",
                absl::StrJoin(left.begin(), end, ", "),
                left.size() > named ? StrCat(" and ", left.size() - named, " more") : "");
}

absl::Status CheckPossible(const Shape& shape, const Sharding& sharding, bool inside,
                           const Mesh& mesh) {
  if (!sharding.unreduced.empty()) {
    return absl::InvalidArgumentError("a value cannot be asked to stay a partial sum");
  }
  for (size_t d = 0; d < sharding.dims.size(); ++d) {
    const int64_t shards = mesh.Size(sharding.dims[d]);
    if (shape.dims[d] % shards == 0) continue;
    if (!inside || shape.dims[d] < shards) {
      return absl::InvalidArgumentError(StrCat("dimension ", d, " of size ", shape.dims[d],
                                               " does not divide into ", shards, " shards",
                                               inside ? "" : ", as arguments and results must"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Pins> ResolvePins(const Graph& graph, const Mesh& mesh,
                                 const std::vector<Fix>& fixes, std::vector<int32_t>* tied) {
  Pins pins;
  pins.parameters.resize(graph.parameters.size());
  pins.outputs.resize(graph.outputs.size());
  pins.values.resize(graph.values.size());
  ReadAnnotations(graph, mesh, &pins);
  std::vector<Target> targets = Targets(graph, &pins);
  for (const Fix& fix : fixes) {
    MW_RETURN_IF_ERROR(ApplyFix(fix, mesh, targets, &pins.partly_applied));
  }
  for (size_t i = 0; i < tied->size(); ++i) {
    int32_t& tie = (*tied)[i];
    if (tie < 0) continue;
    std::optional<Sharding>& output = pins.outputs[i];
    std::optional<Sharding>& parameter = pins.parameters[tie];
    if (output.has_value() && parameter.has_value() && *output != *parameter) {
      const bool fixed = std::any_of(targets.begin(), targets.end(), [&](const Target& target) {
        return target.fix != nullptr && (target.pin == &output || target.pin == &parameter);
      });
      if (graph.output_alias[i] != tie || !fixed) {
        tie = -1;  // only a guess, and the user knows better; or a buffer that cannot be shared
        continue;
      }
      return absl::InvalidArgumentError(
          StrCat(OutputName(graph, graph.outputs[i]), " is fixed to ", output->ToString(mesh),
                 " but shares its buffer with ", ParameterName(graph, graph.parameters[tie]),
                 ", which is fixed to ", parameter->ToString(mesh)));
    }
    if (output.has_value()) parameter = output;
    if (parameter.has_value()) output = parameter;
  }
  return pins;
}

}  // namespace meshwright
