// The original's simulation, recurrence by recurrence: all that is not set is 0, also where a
// receiver is asked when it was ready before it has been. Phases go in turn over all
// stages: warm-up by micro-batches, steady state by pairs of a forward and a backward pass, and
// cool-down.

#include "meshwright/published/fasop/schedule.h"

#include <algorithm>

namespace meshwright::transformer::fasop {
namespace {

class Simulation {
 public:
  Simulation(const std::vector<StageTimes>& stages, int64_t micro_batches)
      : stages_(stages),
        count_(static_cast<int64_t>(stages.size())),
        micro_batches_(micro_batches),
        forward_(stages.size() * micro_batches),
        backward_(stages.size() * micro_batches) {}

  std::vector<double> Run() {
    for (int64_t m = 0; m < micro_batches_; ++m) {
      for (int64_t i = 0; i < count_; ++i) {
        if (m < WarmUp(i)) WarmUpForward(i, m);
      }
    }
    for (int64_t j = 0; j < micro_batches_; ++j) {
      for (int64_t i = 0; i < count_; ++i) {
        if (j + WarmUp(i) < micro_batches_) SteadyForward(i, j);
      }
      for (int64_t i = count_ - 1; i >= 0; --i) {
        if (j + WarmUp(i) < micro_batches_) SteadyBackward(i, j);
      }
    }
    for (int64_t j = 0; j < micro_batches_; ++j) {
      for (int64_t i = count_ - 1; i >= 0; --i) {
        if (j + WarmUp(i) >= micro_batches_) CoolDownBackward(i, j);
      }
    }
    std::vector<double> ends(count_);
    for (int64_t i = 0; i < count_; ++i) ends[i] = B(i, micro_batches_ - 1).end;
    return ends;
  }

 private:
  // A micro-batch's pass in a stage.
  struct Pass {
    double end = 0;             // of computation
    double send_end = 0;        // of what it sends on
    double receiver_ready = 0;  // the stage is ready to receive what the pass works on
    double received = 0;        // ... and has received it
  };

  int64_t WarmUp(int64_t i) const { return std::min(count_ - i - 1, micro_batches_); }
  Pass& F(int64_t i, int64_t m) { return forward_[i * micro_batches_ + m]; }
  Pass& B(int64_t i, int64_t m) { return backward_[i * micro_batches_ + m]; }

  void SendForward(int64_t i, int64_t m, bool waits) {
    const double ready = waits ? F(i + 1, m).receiver_ready : 0;
    F(i, m).send_end = std::max(F(i, m).end, ready) + stages_[i].send_forward;
    F(i + 1, m).received = F(i, m).send_end;
  }

  void SendBackward(int64_t i, int64_t j) {
    if (i == 0) return;
    B(i, j).send_end = std::max(B(i, j).end, B(i - 1, j).receiver_ready) + stages_[i].send_backward;
    B(i - 1, j).received = B(i, j).send_end;
  }

  void WarmUpForward(int64_t i, int64_t m) {
    const double sent = m > 0 ? F(i, m - 1).send_end : 0;
    const double start = i == 0 ? sent : std::max(sent, F(i, m).received);
    F(i, m).end = start + stages_[i].forward;
    if (i > 0 && m + 1 < WarmUp(i)) F(i, m + 1).receiver_ready = F(i, m).end;
    SendForward(i, m, /*waits=*/m > 0);
  }

  void SteadyForward(int64_t i, int64_t j) {
    const int64_t m = j + WarmUp(i);
    double start = 0;
    if (j == 0) {
      start = std::max(m > 0 ? F(i, m - 1).send_end : 0, F(i, m).received);
    } else {
      start = i == 0 ? B(i, j - 1).end : std::max(B(i, j - 1).send_end, F(i, m).received);
    }
    F(i, m).end = start + stages_[i].forward;
    if (i + 1 == count_) return;
    B(i, j).receiver_ready = F(i, m).end;
    SendForward(i, m, /*waits=*/j > 0 || m > 0);
  }

  void SteadyBackward(int64_t i, int64_t j) {
    const int64_t m = j + WarmUp(i);
    const double sent = i > 0 ? F(i, m).send_end : 0;
    B(i, j).end = std::max({sent, B(i, j).received, F(i, m).end}) + stages_[i].backward;
    const bool another = j + 1 < micro_batches_;
    if (i > 0) {
      if (m + 1 < micro_batches_) {
        F(i, m + 1).receiver_ready = B(i, j).end;
      } else if (another) {
        B(i, j + 1).receiver_ready = B(i, j).end;
      }
    } else if (j == micro_batches_ - 1 - WarmUp(0) && another) {
      B(0, j + 1).receiver_ready = B(0, j).end;
    }
    SendBackward(i, j);
  }

  void CoolDownBackward(int64_t i, int64_t j) {
    const Pass& before = B(i, j > 0 ? j - 1 : micro_batches_ - 1);  // the original's wraps around
    B(i, j).end = std::max({before.end, B(i, j).received, before.send_end}) + stages_[i].backward;
    if (j + 1 < micro_batches_) B(i, j + 1).receiver_ready = B(i, j).end;
    SendBackward(i, j);
  }

  const std::vector<StageTimes>& stages_;
  const int64_t count_, micro_batches_;
  std::vector<Pass> forward_, backward_;  // by stage, then micro-batch
};

}  // namespace

std::vector<double> StageEnds(const std::vector<StageTimes>& stages, int64_t micro_batches) {
  if (stages.size() == 1) {
    const double each = stages[0].forward + stages[0].backward;
    return {static_cast<double>(micro_batches) * each};
  }
  return Simulation(stages, micro_batches).Run();
}

}  // namespace meshwright::transformer::fasop
