#include "meshwright/inter/layers/repetition.h"

#include <algorithm>

namespace meshwright {
namespace {

constexpr int32_t kMostBlocks = 4096;  // periods looked at

class Searcher {
 public:
  Searcher(const std::vector<uint64_t>& symbols, const std::vector<double>& cost,
           double least_share)
      : symbols_(symbols), sum_(1, 0), least_share_(least_share) {
    for (double c : cost) sum_.push_back(sum_.back() + c);
  }

  void Search(int32_t begin, int32_t end) {
    Repetition best;
    double best_cost = 0;
    for (int32_t period = 1; period <= std::min((end - begin) / 2, kMostBlocks); ++period) {
      int32_t run = 0;  // symbols before `i` in a row that equal the one a period later
      for (int32_t i = begin; i <= end - period; ++i) {
        if (i < end - period && symbols_[i] == symbols_[i + period]) {
          ++run;
          continue;
        }
        if (run >= period) {
          const int32_t first = i - run, length = run + period;
          const Repetition one{first, period, length / period, length % period};
          const double cost = Cost(one.begin, one.end());
          if (cost > best_cost * (1 + 1e-9)) {
            best = one;
            best_cost = cost;
          }
        }
        run = 0;
      }
    }
    if (best.count < 2 || best_cost < least_share_ * Cost(begin, end)) return;
    Search(begin, best.begin);
    found_.push_back(best);
    // What the blocks may move into is not searched again.
    Search(best.end() + best.slack, end);
  }

  std::vector<Repetition> Take() { return std::move(found_); }

 private:
  double Cost(int32_t begin, int32_t end) const { return sum_[end] - sum_[begin]; }

  const std::vector<uint64_t>& symbols_;
  std::vector<double> sum_;
  double least_share_;
  std::vector<Repetition> found_;
};

}  // namespace

std::vector<Repetition> FindRepetitions(const std::vector<uint64_t>& symbols,
                                        const std::vector<double>& cost, double least_share) {
  Searcher searcher(symbols, cost, least_share);
  searcher.Search(0, static_cast<int32_t>(symbols.size()));
  return searcher.Take();
}

}  // namespace meshwright
