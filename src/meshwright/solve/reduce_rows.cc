#include "meshwright/solve/reduce_rows.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

namespace meshwright::solve::MW_SOLVE_WIDTH {
namespace {

// Smallest value of any range in O(1) after O(n log n).
class RangeMinimum {
 public:
  explicit RangeMinimum(const std::vector<Number>& values) : levels_{values} {
    for (size_t width = 1; 2 * width <= values.size(); width *= 2) {
      const std::vector<Number>& half = levels_.back();
      std::vector<Number> level(values.size() - 2 * width + 1);
      for (size_t i = 0; i < level.size(); ++i) level[i] = std::min(half[i], half[i + width]);
      levels_.push_back(std::move(level));
    }
  }
  Number Of(int32_t begin, int32_t end) const {  // begin < end
    const int level = std::bit_width(static_cast<uint32_t>(end - begin)) - 1;
    return std::min(levels_[level][begin], levels_[level][end - (1 << level)]);
  }

 private:
  std::vector<std::vector<Number>> levels_;
};

void Accumulate(std::vector<Number>* differences) {
  for (size_t r = 1; r < differences->size(); ++r) (*differences)[r] += (*differences)[r - 1];
}

// Makes segments disjoint after merges.
void Untangle(Core* core) {
  for (int32_t v = 0; v < core->size(); ++v) {
    if (!core->node(v).tangled) continue;
    core->SetSegments(v, DisjointSegments(core->TakeSegments(v)));
    core->Queue(v);
  }
}

// Takes the usage that all strategies share off the capacities.
void StripShared(Core* core) {
  std::vector<Number> shared(core->capacity().size() + 1, 0);
  for (int32_t v = 0; v < core->size(); ++v) {
    if (core->node(v).segments.empty()) continue;
    std::vector<Segment> segments = core->TakeSegments(v);
    bool changed = false;
    for (Segment& s : segments) {
      const Number least = *std::min_element(s.amount.begin(), s.amount.end());
      if (least == 0) continue;
      changed = true;
      shared[s.begin] += least;
      shared[s.end] -= least;
      for (Number& a : s.amount) a -= least;
    }
    core->SetSegments(v, changed ? DisjointSegments(std::move(segments)) : std::move(segments));
  }
  Accumulate(&shared);
  std::vector<Number> capacity = core->capacity();
  for (size_t r = 0; r < capacity.size(); ++r) {
    capacity[r] -= shared[r];
    if (capacity[r] < 0) core->SetCrowded(static_cast<int32_t>(r));
  }
  core->SetCapacity(std::move(capacity));
}

// Removes strategies that do not fit by themselves. True if there were any.
bool RemoveTooLarge(Core* core) {
  if (core->capacity().empty()) return false;
  const RangeMinimum slack(core->capacity());
  bool removed = false;
  for (int32_t v = 0; v < core->size(); ++v) {
    const Core::Node& node = core->node(v);
    std::vector<int32_t> kept, replacement(node.cost.size(), -1);
    for (size_t s = 0; s < node.cost.size(); ++s) {
      if (std::any_of(node.segments.begin(), node.segments.end(),
                      [&](const Segment& g) { return g.amount[s] > slack.Of(g.begin, g.end); })) {
        continue;
      }
      replacement[s] = static_cast<int32_t>(kept.size());
      kept.push_back(static_cast<int32_t>(s));
    }
    if (kept.size() == node.cost.size()) continue;
    removed = true;
    if (kept.empty()) {
      core->SetNoStrategyLeft(v);
      return true;
    }
    core->KeepStrategies(v, std::move(kept), std::move(replacement));
  }
  return removed;
}

// For every row the one that is kept whenever it is: itself if it must stay, a neighbour, or -1 if
// it cannot be exceeded.
std::vector<int32_t> ImpliedBy(const Core& core) {
  const std::vector<Number>& capacity = core.capacity();
  const size_t rows = capacity.size();
  std::vector<Number> most(rows + 1, 0);  // sum of largest usages
  // Sums over nodes of the largest increase (decrease) of usage from row r - 1 to row r.
  std::vector<Number> up(rows + 1, 0), down(rows + 1, 0);
  for (int32_t v = 0; v < core.size(); ++v) {
    const std::vector<Segment>& segments = core.node(v).segments;
    for (size_t i = 0; i < segments.size(); ++i) {
      const Segment& s = segments[i];
      const auto [least, largest] = std::minmax_element(s.amount.begin(), s.amount.end());
      most[s.begin] += *largest;
      most[s.end] -= *largest;
      if (i == 0 || segments[i - 1].end < s.begin) {
        up[s.begin] += *largest;
        down[s.begin] -= *least;
      }
      if (i + 1 == segments.size() || s.end < segments[i + 1].begin) {
        up[s.end] -= *least;
        down[s.end] += *largest;
      } else {
        const std::vector<Number>& next = segments[i + 1].amount;
        Number increase = next[0] - s.amount[0], decrease = -increase;
        for (size_t k = 1; k < next.size(); ++k) {
          increase = std::max(increase, next[k] - s.amount[k]);
          decrease = std::max(decrease, s.amount[k] - next[k]);
        }
        up[s.end] += increase;
        down[s.end] += decrease;
      }
    }
  }
  Accumulate(&most);
  std::vector<int32_t> by(rows);
  bool implied_next = false;  // row r - 1 was dropped because of r
  for (size_t r = 0; r < rows; ++r) {
    const bool by_previous = r > 0 && !implied_next && up[r] <= capacity[r] - capacity[r - 1];
    const bool by_next = r + 1 < rows && down[r + 1] <= capacity[r] - capacity[r + 1];
    const auto self = static_cast<int32_t>(r);
    by[r] = most[r] <= capacity[r] ? -1 : by_previous ? self - 1 : by_next ? self + 1 : self;
    // A row that is dropped for its own slack, or for its previous one, is no reason to keep it,
    // but it must not itself be the reason for the next: implications chain to the right or to the
    // left, never in circles.
    implied_next = by_next && !by_previous;
  }
  return by;
}

// Drops the rows that are not needed and returns their number.
size_t DropRows(Core* core) {
  std::vector<int32_t> by = ImpliedBy(*core);
  std::vector<int32_t> index(by.size() + 1, 0);
  for (size_t r = 0; r < by.size(); ++r) {
    index[r + 1] = index[r] + (by[r] == static_cast<int32_t>(r) ? 1 : 0);
  }
  const size_t dropped = by.size() - index.back();
  if (dropped == 0) return 0;
  for (int32_t v = 0; v < core->size(); ++v) {
    if (core->node(v).segments.empty()) continue;
    std::vector<Segment> segments = core->TakeSegments(v);
    bool simpler = false;  // some segment vanishes or can be joined to the one before
    for (size_t i = 0; i < segments.size(); ++i) {
      Segment& s = segments[i];
      s.begin = index[s.begin];
      s.end = index[s.end];
      simpler |= s.begin == s.end || (i > 0 && segments[i - 1].end == s.begin);
    }
    if (simpler) {
      const size_t before = segments.size();
      segments = DisjointSegments(std::move(segments));
      if (segments.size() != before) core->Queue(v);
    }
    core->SetSegments(v, std::move(segments));
  }
  // Chains end at a row that stays or at one that cannot be exceeded.
  for (size_t r = 1; r < by.size(); ++r) {
    if (by[r] == static_cast<int32_t>(r) - 1) by[r] = by[r - 1];
  }
  for (size_t r = by.size() - 1; r-- > 0;) {
    if (by[r] == static_cast<int32_t>(r) + 1) by[r] = by[r + 1];
  }
  for (int32_t& row : by) row = row < 0 ? -1 : index[row];
  core->MoveRows(by);
  return dropped;
}

}  // namespace

void ReduceRows(Core* core) {
  Untangle(core);
  while (!core->capacity().empty()) {
    StripShared(core);
    if (core->infeasible()) return;
    const bool removed = RemoveTooLarge(core);
    if (core->infeasible()) return;
    // Dropping rows makes others neighbours. The last few such rounds are not worth a sweep each.
    const size_t rows = core->capacity().size();
    if (DropRows(core) <= rows / 32 && !removed) break;
  }
}

}  // namespace meshwright::solve::MW_SOLVE_WIDTH
