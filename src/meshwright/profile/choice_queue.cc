#include "meshwright/profile/choice_queue.h"

#include <algorithm>
#include <map>

#include "meshwright/base/status.h"

namespace meshwright {
namespace {

// Predictions of memory may be off by this.
constexpr double kMemorySlack = 1.2;
// With collectives overlapped a program takes no less than half of its serial time.
constexpr double kMostHidden = 0.5;
// Choices that are looked at ahead of what is measured: to begin with, and at most.
constexpr size_t kFirstAhead = 24;
constexpr size_t kMostAhead = 512;

int32_t IndexOf(const std::vector<std::string>& texts, const std::string& text) {
  return static_cast<int32_t>(std::find(texts.begin(), texts.end(), text) - texts.begin());
}

}  // namespace

ChoiceQueue::ChoiceQueue(SegmentSpace& space, int64_t memory_bytes)
    : space_(space),
      memory_bytes_(memory_bytes),
      states_(space.segments().size()),
      seen_(space.segments().size()) {
  FindMoves();
}

void ChoiceQueue::FindMoves() {
  const std::vector<int32_t>& sequence = space_.sequence();
  std::map<std::pair<int32_t, int32_t>, NetworkTimes::Matrix> moves;
  for (size_t p = 0; p + 1 < sequence.size(); ++p) {
    const auto [entry, is_new] = moves.try_emplace({sequence[p], sequence[p + 1]});
    if (!is_new) continue;
    const std::vector<std::string>& exits = space_.segments()[sequence[p]].exits;
    const std::vector<std::string>& entries = space_.segments()[sequence[p + 1]].entries;
    double most = 0;
    for (const std::string& from : exits) {
      std::vector<double>& row = entry->second.emplace_back();
      for (const std::string& to : entries) {
        // There, and back with the gradient. What has no layout is not moved.
        double seconds = 0;
        if (!from.empty() && !to.empty()) {
          seconds = space_.ReshardSeconds(sequence[p], from, to).value_or(0.0) +
                    space_.ReshardSeconds(sequence[p], to, from).value_or(0.0);
        }
        row.push_back(seconds);
        most = std::max(most, seconds);
      }
    }
    for (int32_t segment : {sequence[p], sequence[p + 1]}) states_[segment].moves += most;
  }
  std::vector<std::pair<int32_t, int32_t>> layouts;
  for (const Segment& segment : space_.segments())
    layouts.emplace_back(segment.entries.size(), segment.exits.size());
  times_.emplace(sequence, std::move(layouts), std::move(moves));
}

double ChoiceQueue::HopelessFrom(const SegmentState& state) {
  if (state.measured == 0) return std::numeric_limits<double>::infinity();
  return (state.best_seconds * state.over + state.moves) * kModelSlack;
}

void ChoiceQueue::Count(int32_t segment, const PredictedChoice& choice,
                        const ProfileMeasurement& measurement) {
  SegmentState& state = states_[segment];
  if (measurement.status != MeasurementStatus::kMeasured) {
    ++state.failed;
    return;
  }
  ++state.measured;
  state.entries.insert(choice.choice.entry);
  state.exits.insert(choice.choice.exit);
  if (measurement.seconds > 0)
    state.over = std::max(state.over, choice.seconds / measurement.seconds);
  if (!choice.cuts_batch && measurement.seconds < state.whole_seconds && choice.objective > 0) {
    // What was measured, in the parts that the cost model sees in it.
    state.whole_seconds = measurement.seconds;
    state.whole_forward = measurement.seconds * choice.forward / choice.objective;
    state.whole_backward = measurement.seconds * choice.backward / choice.objective;
  }
  if (measurement.seconds < state.best_seconds) {
    state.best_seconds = measurement.seconds;
    state.best_spread = measurement.spread;
    state.best = choice;
  }
}

// Whether a choice not looked at yet may be worth measuring: all have a higher objective.
bool ChoiceQueue::IsWorthMore(const SegmentState& state) {
  return !state.ended && kMostHidden * state.objective <= HopelessFrom(state);
}

void ChoiceQueue::Offer(int32_t segment, const PredictedChoice& choice) {
  const Segment& s = space_.segments()[segment];
  times_->Offer(segment, IndexOf(s.entries, choice.choice.entry),
                IndexOf(s.exits, choice.choice.exit), choice.seconds);
  outdated_ = true;
}

// False: there is none that is worth it, or none before `stop` says true.
absl::StatusOr<bool> ChoiceQueue::LookAt(int32_t segment, const std::function<bool()>& stop) {
  SegmentState& state = states_[segment];
  if (!IsWorthMore(state)) return false;
  absl::StatusOr<std::optional<PredictedChoice>> found = space_.Next(segment, stop);
  if (found.status().code() == absl::StatusCode::kCancelled) return false;
  MW_ASSIGN_OR_RETURN(const std::optional<PredictedChoice> next, std::move(found));
  state.ended = !next.has_value();
  if (state.ended) return false;
  state.objective = std::max(state.objective, next->objective);
  Offer(segment, *next);
  if (seen_[segment].contains(next->key)) return true;
  if (static_cast<double>(next->peak_bytes()) > kMemorySlack * static_cast<double>(memory_bytes_)) {
    ++state.too_large;
  } else {
    state.ahead.push_back(*next);
  }
  return true;
}

absl::Status ChoiceQueue::CountKnown(
    const std::vector<std::map<std::string, ProfileMeasurement>>& known,
    const std::function<bool()>& stop) {
  for (int32_t s = 0; s < static_cast<int32_t>(states_.size()); ++s) {
    if (!space_.segments()[s].has_program()) continue;
    for (const auto& [key, measurement] : known[s]) {
      if (stop()) return absl::OkStatus();
      const absl::StatusOr<SegmentChoice> choice = space_.ParseKey(s, key);
      if (!choice.ok()) continue;  // of another version
      const absl::StatusOr<PredictedChoice> predicted = space_.Predict(s, *choice);
      if (!predicted.ok()) continue;
      seen_[s].insert(key);
      ++known_;
      Offer(s, *predicted);
      Count(s, *predicted, measurement);
    }
  }
  return absl::OkStatus();
}

absl::Status ChoiceQueue::LookAtFirst(const std::function<bool()>& stop) {
  for (int32_t s = 0; s < static_cast<int32_t>(states_.size()); ++s) {
    if (!space_.segments()[s].has_program()) {
      MW_ASSIGN_OR_RETURN(const std::optional<PredictedChoice> nothing, space_.Next(s));
      if (nothing.has_value()) Offer(s, *nothing);
      states_[s].ended = true;
      continue;
    }
    while (states_[s].ahead.size() < kFirstAhead && !stop()) {
      MW_ASSIGN_OR_RETURN(const bool more, LookAt(s, stop));
      if (!more) break;
    }
  }
  return absl::OkStatus();
}

int64_t ChoiceQueue::Hopeless(int32_t segment) const {
  const SegmentState& state = states_[segment];
  const double limit = HopelessFrom(state);
  return std::count_if(state.ahead.begin(), state.ahead.end(),
                       [&](const PredictedChoice& choice) { return choice.seconds > limit; });
}

bool ChoiceQueue::IsComplete(int32_t segment) const {
  const SegmentState& state = states_[segment];
  return !IsWorthMore(state) && Hopeless(segment) == std::ssize(state.ahead);
}

absl::Status ChoiceQueue::LookAhead(const std::function<bool()>& stop) {
  int32_t least = -1;
  for (int32_t s = 0; s < static_cast<int32_t>(states_.size()); ++s) {
    const SegmentState& state = states_[s];
    if (!IsWorthMore(state) || state.ahead.size() >= kMostAhead) continue;
    if (least < 0 || state.ahead.size() < states_[least].ahead.size()) least = s;
  }
  return least < 0 ? absl::OkStatus() : LookAt(least, stop).status();
}

double ChoiceQueue::NetworkSeconds(int32_t segment, const PredictedChoice& choice) const {
  const Segment& s = space_.segments()[segment];
  return times_->With(segment, IndexOf(s.entries, choice.choice.entry),
                      IndexOf(s.exits, choice.choice.exit), choice.seconds);
}

absl::StatusOr<std::optional<std::pair<int32_t, PredictedChoice>>> ChoiceQueue::Next(
    const std::function<bool()>& stop) {
  int32_t segment = -1;
  size_t index = 0;
  std::pair<double, double> least;
  for (int32_t s = 0; s < static_cast<int32_t>(states_.size()); ++s) {
    const SegmentState& state = states_[s];
    while (Hopeless(s) == std::ssize(state.ahead) && !stop()) {
      MW_ASSIGN_OR_RETURN(const bool more, LookAt(s, stop));
      if (!more) break;
    }
    const double limit = HopelessFrom(state);
    if (outdated_) times_->Update();
    outdated_ = false;
    for (size_t i = 0; i < state.ahead.size(); ++i) {
      if (state.ahead[i].seconds > limit) continue;
      const std::pair<double, double> rank = {NetworkSeconds(s, state.ahead[i]),
                                              state.ahead[i].objective};
      if (segment >= 0 && rank >= least) continue;
      segment = s;
      index = i;
      least = rank;
    }
  }
  if (segment < 0) return std::nullopt;
  std::vector<PredictedChoice>& ahead = states_[segment].ahead;
  PredictedChoice choice = std::move(ahead[index]);
  ahead.erase(ahead.begin() + static_cast<std::ptrdiff_t>(index));
  return std::make_pair(segment, std::move(choice));
}

void ChoiceQueue::GiveBack(std::vector<std::pair<int32_t, PredictedChoice>> choices) {
  for (auto& [segment, choice] : choices) states_[segment].ahead.push_back(std::move(choice));
}

}  // namespace meshwright
