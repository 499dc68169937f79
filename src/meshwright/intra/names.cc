#include "meshwright/intra/names.h"

#include <algorithm>
#include <string>

#include "meshwright/base/strings.h"
#include "meshwright/intra/planner.h"

namespace meshwright {
namespace {

std::string LeafSuffix(const std::vector<int64_t>& leaf) {
  std::string suffix;
  for (int64_t index : leaf) StrAppend(&suffix, "[", index, "]");
  return suffix;
}

}  // namespace

std::string ParameterName(const Graph& graph, OpId parameter) {
  const Op& op = graph[parameter];
  const std::string& op_name = op.instruction->metadata.op_name;
  return StrCat(op_name.empty() ? op.instruction->name : op_name, LeafSuffix(op.leaf));
}

std::string OutputName(const Graph& graph, OpId output) {
  return StrCat("output", LeafSuffix(graph[output].leaf));
}

bool GlobMatch(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0;
  size_t star = std::string_view::npos, resume = 0;  // last `*` and where its match ends so far
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::vector<int32_t> TiedParameters(const Graph& graph, bool by_position) {
  std::vector<int32_t> tied = graph.output_alias;
  tied.resize(graph.outputs.size(), -1);
  const bool donates = std::any_of(tied.begin(), tied.end(), [](int32_t p) { return p >= 0; });
  if (donates || !by_position) return tied;
  for (size_t i = 0; i < std::min(tied.size(), graph.parameters.size()); ++i) {
    const Shape& output = graph[graph[graph.outputs[i]].operands[0]].shape;
    const Shape& parameter = graph[graph[graph.parameters[i]].results[0]].shape;
    if (!output.SameType(parameter)) break;
    tied[i] = static_cast<int32_t>(i);
  }
  return tied;
}

}  // namespace meshwright
