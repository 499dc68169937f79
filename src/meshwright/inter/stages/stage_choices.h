#ifndef MESHWRIGHT_INTER_STAGES_STAGE_CHOICES_H_
#define MESHWRIGHT_INTER_STAGES_STAGE_CHOICES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "meshwright/inter/stages/stage_search.h"

namespace meshwright {

// An option for a stage, as the search for stages needs it.
struct StageChoice {
  double seconds = 0, backward = 0, once = 0;
  double added = 0;  // to the sum of stages: seconds less what is filled
  int32_t option = 0;
  int32_t most_after = 0;  // stages that may follow at most, for memory
};

// Every option of every range of layers on every submesh, asked for once. `input` must outlive it.
class StageChoices {
 public:
  explicit StageChoices(const StageSearchInput& input);

  // The fastest first.
  std::span<const StageChoice> Of(int32_t begin, int32_t end, size_t submesh) const {
    const size_t cell = Cell(begin, end, submesh);
    return {choices_.data() + first_[cell], choices_.data() + first_[cell + 1]};
  }
  const StageChoice& Of(const ChosenStage& stage) const;
  // The fastest that `after` stages may follow, or nullptr.
  const StageChoice* Fastest(int32_t begin, int32_t end, size_t submesh, int32_t after) const;

  // Whether `stages` stages after it are too many for the choice's memory.
  bool Full(const StageChoice& choice, int32_t stages) const {
    return choice.most_after + 1 < most_stages_ && stages > choice.most_after;
  }

  const std::vector<double>& seconds() const { return seconds_; }  // of all, ascending, each once
  bool filled() const { return filled_; }       // some choice has seconds that are filled
  int32_t counted() const { return counted_; }  // stages beyond this need not be told apart

 private:
  size_t Cell(int32_t begin, int32_t end, size_t submesh) const {
    return (static_cast<size_t>(begin) * (in_.layers + 1) + end) * in_.submeshes.size() + submesh;
  }
  int32_t MostAfter(const StageOption& option, int64_t memory) const;
  void Ask(int32_t begin, int32_t end, size_t submesh);

  const StageSearchInput& in_;
  const int32_t most_stages_;
  std::vector<int64_t> in_flight_;  // by stages after
  std::vector<StageChoice> choices_;
  std::vector<int32_t> first_;  // by cell, and the end
  std::vector<double> seconds_;
  bool filled_ = false;
  int32_t counted_ = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_STAGES_STAGE_CHOICES_H_
