#include "meshwright/solve/reduce_follow.h"

#include <utility>
#include <vector>

namespace meshwright::solve::MW_SOLVE_WIDTH {
namespace {

// The one finite column of every row, or empty if some row has several.
std::vector<int32_t> OnlyColumns(const Matrix& m) {
  std::vector<int32_t> only(m.rows, -1);
  for (int32_t i = 0; i < m.rows; ++i) {
    for (int32_t j = 0; j < m.cols; ++j) {
      if (IsInf(m.at(i, j))) continue;
      if (only[i] >= 0) return {};
      only[i] = j;
    }
    if (only[i] < 0) return {};  // not tidy yet
  }
  return only;
}

}  // namespace

bool MergeFollowers(Core* core, int32_t v) {
  for (int32_t e : core->node(v).edges) {
    const int32_t other = core->Other(e, v);
    // Both may follow each other; then the one with fewer edges moves.
    const bool v_first = core->degree(v) > core->degree(other);
    for (const bool into_v : {v_first, !v_first}) {
      const int32_t into = into_v ? v : other, node = into_v ? other : v;
      if (core->strategies(node) <= 1) continue;
      // Rows can only have one finite entry each if the first has.
      std::vector<int32_t> follow = OnlyColumns(*core->MatrixFrom(e, into));
      if (follow.empty()) continue;
      core->Merge(node, into, std::move(follow));
      return true;
    }
  }
  return false;
}

}  // namespace meshwright::solve::MW_SOLVE_WIDTH
