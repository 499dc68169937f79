#include "meshwright/inter/layers/obstacle_texts.h"

#include <algorithm>
#include <utility>

#include "meshwright/base/counted.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/dead_code.h"
#include "meshwright/hlo/source_location.h"
#include "meshwright/intra/planner.h"

namespace meshwright {
namespace {

// What would help against a reason, by what it begins with.
struct Remedy {
  std::string_view reason, text;
};
constexpr Remedy kRemedies[] = {
    {"takes samples by their number",
     "count the samples by jnp.arange in the index, or use jnp.take_along_axis"},
    {"has ", "--data names the inputs that carry the batch"},
    {"is not known", "--rules says how the call may be divided"},
    {"sums over the samples from", "add the initial value after the sum"},
    {"updates a weight", "update it once, after the samples"},
};
constexpr std::string_view kAnyRemedy =
    "compute this for each sample by itself, or ask for --micro-batches 1";

std::string NameAndPlace(const Graph& graph, OpId id) {
  const Op& op = graph[id];
  std::string text = op.parameter >= 0 ? ParameterName(graph, id) : op.name;
  const SourceLocation source = SourceOf(*graph.module, op.instruction->metadata);
  if (!source.file.empty()) StrAppend(&text, " (", source.file, ":", source.line, ")");
  return text;
}

}  // namespace

std::string OpsText(const Graph& graph, const std::vector<OpId>& ops, std::string_view one,
                    std::string_view several) {
  const std::string first = NameAndPlace(graph, ops[0]);
  if (ops.size() == 1) return StrCat(first, " ", one);
  return StrCat(first, " and ", Counted(static_cast<int64_t>(ops.size()) - 1, "more operator"), " ",
                several);
}

std::vector<std::string> ObstacleTexts(const Graph& graph, const std::map<OpId, std::string>& why) {
  std::vector<std::pair<std::string, std::vector<OpId>>> reasons;
  for (const auto& [op, reason] : why) {
    const auto known =
        std::find_if(reasons.begin(), reasons.end(),
                     [&, &reason = reason](const auto& entry) { return entry.first == reason; });
    if (known == reasons.end()) {
      reasons.push_back({reason, {op}});
    } else {
      known->second.push_back(op);
    }
  }
  std::vector<std::string> texts;
  for (const auto& [reason, ops] : reasons) {
    const auto remedy = std::find_if(
        std::begin(kRemedies), std::end(kRemedies),
        [&, &reason = reason](const Remedy& row) { return reason.starts_with(row.reason); });
    std::string text = StrCat(NameAndPlace(graph, ops[0]), " ", reason);
    if (ops.size() > 1)
      StrAppend(&text, ", as ", Counted(static_cast<int64_t>(ops.size()) - 1, "more operator"),
                ops.size() == 2 ? " does" : " do");
    texts.push_back(StrCat(text, ": the batch cannot be divided into micro-batches; ",
                           remedy == std::end(kRemedies) ? kAnyRemedy : remedy->text));
  }
  return texts;
}

std::vector<std::string> EffectTexts(const Graph& graph) {
  std::vector<OpId> calls;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    if (op.kind != OpKind::kInstruction || op.parameter >= 0 || !HasEffect(*op.instruction))
      continue;
    const bool read = std::any_of(op.results.begin(), op.results.end(),
                                  [&](ValueId v) { return graph[v].is_read(); });
    if (!read) calls.emplace_back(i);
  }
  if (calls.empty()) return {};
  return {StrCat(OpsText(graph, calls, "is", "are"),
                 " called only for an effect, which stages of a pipeline leave out: nothing is "
                 "printed, logged or saved by it; return the value from the step instead")};
}

}  // namespace meshwright
