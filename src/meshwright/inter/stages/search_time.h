#ifndef MESHWRIGHT_INTER_STAGES_SEARCH_TIME_H_
#define MESHWRIGHT_INTER_STAGES_SEARCH_TIME_H_

#include <algorithm>
#include <functional>
#include <utility>

#include "meshwright/base/infinity.h"

namespace meshwright {

// The time that a search with several phases has. A phase ends when it has used its share, or when
// the user interrupts; one that must give an answer does not.
class SearchTime {
 public:
  // `elapsed`: seconds since the search began; `interrupted` may be empty.
  SearchTime(double deadline_seconds, std::function<double()> elapsed,
             std::function<bool()> interrupted)
      : deadline_(deadline_seconds),
        elapsed_(std::move(elapsed)),
        interrupted_(std::move(interrupted)) {}

  double deadline() const { return deadline_; }
  double elapsed() const { return elapsed_(); }
  bool Interrupted() const { return interrupted_ && interrupted_(); }

  // The phase that begins ends `reserve` seconds before the deadline.
  void Reserve(double reserve) {
    required_ = false;
    end_ = deadline_ - reserve;
  }
  // The phase that begins must give an answer.
  void Require() { required_ = true; }

  bool Over() const { return !required_ && (Interrupted() || elapsed_() >= end_); }
  // Seconds until this phase ends.
  double Left() const { return required_ ? kInfinity : std::max(0.0, end_ - elapsed_()); }

 private:
  const double deadline_;
  const std::function<double()> elapsed_;
  const std::function<bool()> interrupted_;
  bool required_ = true;
  double end_ = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_STAGES_SEARCH_TIME_H_
