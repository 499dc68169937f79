// In round n each stage receives the activations of micro-batch n, runs its forward pass, sends
// what that gives on and receives gradients in the same exchange, and runs the backward pass of
// micro-batch n - w, w being the number of stages behind it; the gradients of that go back in the
// exchange that brings micro-batch n + 1. This is Megatron-LM's
// forward_backward_pipelining_without_interleaving, whose send_forward_recv_backward and
// send_backward_recv_forward both neighbours enter before either leaves. In the first and the last
// rounds an exchange goes one way only, and where there are fewer micro-batches than stages some
// stages have nothing to exchange for a while.
//
// With one clock a stage, a round changes all clocks as a max-plus linear map of them; so once all
// advance by the same, they go on to do so as long as rounds are alike (Baccelli et al. 1992,
// section 3.7).

#include "meshwright/inter/schedule/one_f_one_b.h"

#include <algorithm>
#include <cmath>

namespace meshwright {
namespace {

// Of a round's seconds: by less its stages differ only for rounding.
constexpr double kSameAdvance = 1e-12;

// Runs round `n`.
void RunRound(absl::Span<const StageSeconds> stages, int64_t micro_batches, Sends sends, int64_t n,
              double* clocks) {
  const auto count = static_cast<int64_t>(stages.size());
  const bool forward = n < micro_batches;
  for (int64_t i = 0; i < count; ++i) {
    const StageSeconds& stage = stages[i];
    const int64_t back = n - (count - 1 - i);
    const bool backward = 0 <= back && back < micro_batches;
    double clock = clocks[i];
    if (forward) clock += stage.forward;
    if (i + 1 < count && (forward || backward)) {
      const bool twice = sends == Sends::kInTurn && forward && backward;
      clock = std::max(clock, clocks[i + 1]) + (twice ? 2 : 1) * stage.send;
      clocks[i + 1] = clock;
    }
    if (backward) clock += stage.backward;
    clocks[i] = clock;
  }
}

}  // namespace

void OneForwardOneBackwardEnds(absl::Span<const StageSeconds> stages, int64_t micro_batches,
                               Sends sends, std::vector<double>* ends) {
  const auto count = static_cast<int64_t>(stages.size());
  ends->assign(count, 0);
  double* const clocks = ends->data();
  std::vector<double> before;
  // From round count - 1 on to the last micro-batch every stage runs both passes.
  for (int64_t n = 0; n < micro_batches + count - 1; ++n) {
    const bool alike = n >= count && n + 1 < micro_batches;
    if (alike) before.assign(ends->begin(), ends->end());
    RunRound(stages, micro_batches, sends, n, clocks);
    if (!alike) continue;
    const double advance = clocks[0] - before[0];
    int64_t i = 1;
    while (i < count && std::abs(clocks[i] - before[i] - advance) <= kSameAdvance * advance) ++i;
    if (i < count) continue;
    const int64_t rounds = micro_batches - 1 - n;
    for (double& clock : *ends) clock += static_cast<double>(rounds) * advance;
    n += rounds;
  }
}

double OneForwardOneBackwardSeconds(absl::Span<const StageSeconds> stages, int64_t micro_batches,
                                    Sends sends) {
  std::vector<double> ends;
  OneForwardOneBackwardEnds(stages, micro_batches, sends, &ends);
  double seconds = 0;
  for (size_t i = 0; i < stages.size(); ++i) {
    seconds = std::max(seconds, ends[i] + stages[i].update);
  }
  return seconds;
}

}  // namespace meshwright
