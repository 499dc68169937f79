#ifndef MESHWRIGHT_SOLVE_ROW_SLACK_H_
#define MESHWRIGHT_SOLVE_ROW_SLACK_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "meshwright/solve/model.h"

namespace meshwright::solve::MW_SOLVE_WIDTH {

// The slack of every row's capacity while nodes take and give back strategies.
class RowSlack {
 public:
  explicit RowSlack(std::vector<Number> capacity) : slack_(std::move(capacity)) {}

  void Take(const std::vector<Segment>& segments, int32_t s) { Add(segments, s, -1); }
  void GiveBack(const std::vector<Segment>& segments, int32_t s) { Add(segments, s, 1); }
  // Whether a node that has taken nothing can take s.
  bool Fits(const std::vector<Segment>& segments, int32_t s) const {
    for (const Segment& g : segments) {
      if (g.amount[s] != 0 && Least(g.begin, g.end) < g.amount[s]) return false;
    }
    return true;
  }
  Number Least(int32_t begin, int32_t end) const {
    return *std::min_element(slack_.begin() + begin, slack_.begin() + end);
  }
  const std::vector<Number>& slack() const { return slack_; }

 private:
  void Add(const std::vector<Segment>& segments, int32_t s, Number sign) {
    for (const Segment& g : segments) {
      const Number amount = sign * g.amount[s];
      if (amount == 0) continue;
      for (int32_t r = g.begin; r < g.end; ++r) slack_[r] += amount;
    }
  }
  std::vector<Number> slack_;
};

}  // namespace meshwright::solve::MW_SOLVE_WIDTH

#endif  // MESHWRIGHT_SOLVE_ROW_SLACK_H_
