#include "meshwright/inter/stages/stage_choices.h"

#include <algorithm>

namespace meshwright {

StageChoices::StageChoices(const StageSearchInput& input)
    : in_(input), most_stages_(input.stages > 0 ? input.stages : input.layers) {
  for (int32_t after = 0; after < most_stages_; ++after)
    in_flight_.push_back(in_.in_flight(after, in_.micro_batches));
  first_.assign(Cell(in_.layers, 0, 0) + 1, 0);
  const bool alone = in_.stages == 1;  // other ranges are of no use
  for (int32_t begin = 0; begin < in_.layers; ++begin) {
    for (int32_t end = 0; end <= in_.layers; ++end) {
      for (size_t m = 0; m < in_.submeshes.size(); ++m) {
        first_[Cell(begin, end, m)] = static_cast<int32_t>(choices_.size());
        if (end > begin && (!alone || (begin == 0 && end == in_.layers))) Ask(begin, end, m);
      }
    }
  }
  first_.back() = static_cast<int32_t>(choices_.size());
  std::sort(seconds_.begin(), seconds_.end());
  seconds_.erase(std::unique(seconds_.begin(), seconds_.end()), seconds_.end());
  // Beyond this number of stages nothing changes any more.
  counted_ = in_.stages > 0 ? most_stages_ : 0;
  for (const StageChoice& choice : choices_) {
    if (choice.most_after + 1 < most_stages_) counted_ = std::max(counted_, choice.most_after + 1);
  }
}

// Stages that may follow an option at most so that it fits, or -1.
int32_t StageChoices::MostAfter(const StageOption& option, int64_t memory) const {
  const auto fits = [&](int32_t after) {
    return option.fixed_bytes + in_flight_[after] * option.bytes_in_flight <= memory;
  };
  int32_t low = -1, high = most_stages_ - 1;
  while (low < high) {
    const int32_t middle = low + (high - low + 1) / 2;
    if (fits(middle)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

void StageChoices::Ask(int32_t begin, int32_t end, size_t submesh) {
  const size_t before = choices_.size();
  const int64_t memory = in_.memory_bytes[in_.submeshes[submesh].type];
  const std::vector<StageOption> options = in_.options(begin, end, static_cast<int32_t>(submesh));
  for (size_t o = 0; o < options.size(); ++o) {
    const int32_t most_after = MostAfter(options[o], memory);
    if (most_after < 0) continue;
    choices_.push_back({options[o].seconds, options[o].backward_seconds, options[o].once_seconds,
                        options[o].seconds - options[o].filled_seconds, static_cast<int32_t>(o),
                        most_after});
    filled_ = filled_ || options[o].filled_seconds > 0;
    seconds_.push_back(options[o].seconds);
  }
  std::stable_sort(
      choices_.begin() + static_cast<int64_t>(before), choices_.end(),
      [](const StageChoice& a, const StageChoice& b) { return a.seconds < b.seconds; });
}

const StageChoice& StageChoices::Of(const ChosenStage& stage) const {
  const std::span<const StageChoice> choices = Of(stage.begin, stage.end, stage.submesh);
  return *std::find_if(choices.begin(), choices.end(),
                       [&](const StageChoice& c) { return c.option == stage.option; });
}

const StageChoice* StageChoices::Fastest(int32_t begin, int32_t end, size_t submesh,
                                         int32_t after) const {
  for (const StageChoice& choice : Of(begin, end, submesh)) {
    if (!Full(choice, after)) return &choice;
  }
  return nullptr;
}

}  // namespace meshwright
