#include "meshwright/cost/readers.h"

#include <algorithm>

namespace meshwright {

bool RunsByItself(const Graph& graph, const FusionInfo& fusion, OpId op) {
  const std::vector<ValueId>& results = graph[op].results;
  return results.empty() || std::any_of(results.begin(), results.end(),
                                        [&](ValueId v) { return fusion.materialized[v.index()]; });
}

std::vector<std::vector<OpId>> Readers(const Graph& graph, const FusionInfo& fusion) {
  std::vector<std::vector<OpId>> readers(graph.values.size());
  // From the last op to the first: the readers of a fused operator's result are known before its
  // operands'.
  for (size_t i = graph.ops.size(); i-- > 0;) {
    const Op& op = graph.ops[i];
    for (ValueId result : op.results) {
      if (fusion.free[result.index()]) continue;
      std::vector<OpId>& list = readers[result.index()];
      for (OpId user : graph[result].users) {
        if (RunsByItself(graph, fusion, user)) {
          list.push_back(user);
          continue;
        }
        for (ValueId through : graph[user].results) {
          const std::vector<OpId>& more = readers[through.index()];
          list.insert(list.end(), more.begin(), more.end());
        }
      }
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
  }
  return readers;
}

}  // namespace meshwright
