#include "meshwright/profile/segment_candidates.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status.h"

namespace meshwright {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsOf(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

bool HasBackwardPhase(const Segment& segment) {
  const std::vector<SliceValue>& inputs = segment.slice.inputs;
  return std::any_of(inputs.begin(), inputs.end(),
                     [](const SliceValue& input) { return input.role == SliceRole::kGradient; });
}

double MedianOf(std::vector<double> values) {
  ProfileMeasurement summary;
  summary.sample_seconds = std::move(values);
  SummarizeSamples(&summary);
  return summary.seconds;
}

int32_t LayoutNumber(const std::vector<std::string>& layouts, const std::string& layout) {
  return static_cast<int32_t>(std::find(layouts.begin(), layouts.end(), layout) - layouts.begin());
}

}  // namespace

absl::StatusOr<CandidateSpace> CandidateSpace::Make(SegmentSpace& space, const Mesh& mesh,
                                                    const KnownProfiles& known,
                                                    const CandidateLimits& limits) {
  CandidateSpace made(space, mesh, known);
  made.segments_.resize(space.segments().size());
  const Clock::time_point start = Clock::now();
  const size_t count = made.segments_.size();
  for (size_t s = 0; s < count; ++s)
    MW_RETURN_IF_ERROR(made.AddMeasured(static_cast<int32_t>(s), limits));
  made.ScaleModel();
  for (size_t s = 0; s < count; ++s) {
    // What one segment saves goes to the others.
    const double left = limits.seconds - SecondsOf(Clock::now() - start);
    MW_RETURN_IF_ERROR(
        made.Collect(static_cast<int32_t>(s), limits, left / static_cast<double>(count - s)));
  }
  return made;
}

// The most that moving both borders of a segment costs, from any layout to any other.
double CandidateSpace::WorstMoves(int32_t segment) const {
  const auto worst = [this](int32_t before, const std::vector<std::string>& layouts) {
    double seconds = 0;
    for (const std::string& from : layouts) {
      for (const std::string& to : layouts)
        seconds = std::max(seconds, PredictedMove(before, from, to));
    }
    return seconds;
  };
  double entry = 0;
  const std::vector<int32_t>& sequence = space_.sequence();
  for (size_t p = 1; p < sequence.size(); ++p) {
    if (sequence[p] != segment || (p > 1 && sequence[p - 1] == sequence[p - 2])) continue;
    entry = std::max(entry, worst(sequence[p - 1], space_.segments()[segment].entries));
  }
  return entry + worst(segment, space_.segments()[segment].exits);
}

absl::Status CandidateSpace::Collect(int32_t segment, const CandidateLimits& limits,
                                     double seconds) {
  const Clock::time_point start = Clock::now();
  const double worst_moves = WorstMoves(segment);
  double cheapest = std::numeric_limits<double>::infinity();
  SegmentCandidates& all = segments_[segment];
  std::set<std::string> taken;
  for (const SegmentCandidate& candidate : all.list) taken.insert(candidate.predicted.key);
  const std::string mesh = ProfileMeshText(mesh_);
  for (int i = 0; i < limits.most_predicted; ++i) {
    // There must be one, however long it takes.
    const auto is_over = [&] {
      return (limits.stop && limits.stop()) ||
             (!all.list.empty() && SecondsOf(Clock::now() - start) > seconds);
    };
    absl::StatusOr<std::optional<PredictedChoice>> found = space_.Next(segment, is_over);
    if (found.status().code() == absl::StatusCode::kCancelled && !all.list.empty()) break;
    MW_ASSIGN_OR_RETURN(std::optional<PredictedChoice> next, std::move(found));
    if (!next.has_value()) break;
    cheapest = std::min(cheapest, next->objective);
    if (limits.only_fastest && next->objective > cheapest + worst_moves) break;
    if (taken.contains(next->key)) continue;
    // What was measured to fail is not tried again.
    if (known_.Find({space_.segments()[segment].fingerprint, mesh, next->key}) != nullptr) continue;
    const double scaled = next->seconds * all.model_scale;
    all.list.push_back({*std::move(next), std::nullopt, scaled});
  }
  if (!all.list.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("segment ", segment, " cannot be run in any of the ways that were looked at"));
}

absl::Status CandidateSpace::AddMeasured(int32_t segment, const CandidateLimits& limits) {
  SegmentCandidates& all = segments_[segment];
  std::vector<double> ratios;
  const std::string& fingerprint = space_.segments()[segment].fingerprint;
  for (const auto& [key, measurement] : known_.Of(fingerprint, ProfileMeshText(mesh_))) {
    if (measurement->status != MeasurementStatus::kMeasured) {
      ++all.refused;
      continue;
    }
    if (limits.stop && limits.stop()) return absl::CancelledError("stopped");
    // A choice of another version of this program cannot be made.
    const absl::StatusOr<SegmentChoice> choice = space_.ParseKey(segment, key);
    if (!choice.ok()) continue;
    absl::StatusOr<PredictedChoice> predicted = space_.Predict(segment, *choice);
    if (!predicted.ok()) continue;
    if (predicted->seconds > 0) ratios.push_back(measurement->seconds / predicted->seconds);
    all.list.push_back({*std::move(predicted), *measurement, measurement->seconds});
  }
  all.measured = static_cast<int64_t>(all.list.size());
  if (!ratios.empty()) all.model_scale = MedianOf(std::move(ratios));
  return absl::OkStatus();
}

// What was measured says how far off the rest is.
void CandidateSpace::ScaleModel() {
  std::vector<double> scales;
  for (const SegmentCandidates& all : segments_) {
    if (all.measured > 0) scales.push_back(all.model_scale);
  }
  if (!scales.empty()) move_scale_ = MedianOf(std::move(scales));
  for (SegmentCandidates& all : segments_) {
    if (all.measured == 0) all.model_scale = move_scale_;
  }
  std::vector<double> moves;
  for (size_t s = 0; s < segments_.size(); ++s) {
    const Segment& segment = space_.segments()[s];
    for (const std::string& from : segment.exits) {
      for (const std::string& to : segment.exits) {
        const ProfileMeasurement* const measured =
            known_.Find(ReshardingKey(segment.exit_shape, mesh_, from, to));
        if (measured == nullptr || measured->status != MeasurementStatus::kMeasured) continue;
        const double predicted =
            space_.ReshardSeconds(static_cast<int32_t>(s), from, to).value_or(0);
        if (predicted > 0) moves.push_back(measured->seconds / predicted);
      }
    }
  }
  if (!moves.empty()) move_scale_ = MedianOf(std::move(moves));
}

absl::StatusOr<SegmentCandidate> CandidateSpace::Candidate(int32_t segment,
                                                           const std::string& key) const {
  SegmentCandidate candidate;
  MW_ASSIGN_OR_RETURN(const SegmentChoice choice, space_.ParseKey(segment, key));
  MW_ASSIGN_OR_RETURN(candidate.predicted, space_.Predict(segment, choice));
  const ProfileMeasurement* const measured =
      known_.Find({space_.segments()[segment].fingerprint, ProfileMeshText(mesh_), key});
  if (measured != nullptr && measured->status == MeasurementStatus::kMeasured) {
    candidate.measured = *measured;
    candidate.seconds = measured->seconds;
  } else {
    candidate.seconds = candidate.predicted.seconds * segments_[segment].model_scale;
  }
  return candidate;
}

BorderMove CandidateSpace::Move(int32_t segment, const std::string& exit,
                                const std::string& entry) const {
  BorderMove move;
  if (exit == entry) return move;
  const Segment& s = space_.segments()[segment];
  move.samples = std::numeric_limits<int32_t>::max();
  const auto add = [&](const std::string& from, const std::string& to) {
    const ProfileMeasurement* const measured =
        known_.Find(ReshardingKey(s.exit_shape, mesh_, from, to));
    if (measured != nullptr && measured->status == MeasurementStatus::kMeasured) {
      move.seconds += measured->seconds;
      move.spread += measured->spread;
      move.samples = std::min(move.samples, measured->samples);
      return;
    }
    // Where layouts are not those of the same value nothing is known to move.
    const double seconds = space_.ReshardSeconds(segment, from, to).value_or(0) * move_scale_;
    move.seconds += seconds;
    if (seconds > 0) move.samples = 0;
  };
  add(exit, entry);
  if (HasBackwardPhase(s)) add(entry, exit);
  if (move.samples == std::numeric_limits<int32_t>::max()) move.samples = 0;
  return move;
}

double CandidateSpace::PredictedMove(int32_t segment, const std::string& exit,
                                     const std::string& entry) const {
  if (exit == entry) return 0;
  double seconds = space_.ReshardSeconds(segment, exit, entry).value_or(0);
  if (HasBackwardPhase(space_.segments()[segment]))
    seconds += space_.ReshardSeconds(segment, entry, exit).value_or(0);
  return seconds;
}

CandidateProblem CandidateSpace::Problem(int64_t memory_limit) const {
  CandidateProblem out;
  SegmentProblem& problem = out.problem;
  problem.memory_limit = memory_limit;
  const std::vector<int32_t>& sequence = space_.sequence();
  std::map<std::pair<int32_t, int32_t>, int32_t> known;
  for (size_t p = 0; p < sequence.size();) {
    size_t end = p + 1;
    while (end < sequence.size() && space_.same_as()[end] == space_.same_as()[p]) ++end;
    const std::pair<int32_t, int32_t> run{sequence[p], static_cast<int32_t>(end - p)};
    const auto [entry, is_new] = known.try_emplace(run, static_cast<int32_t>(out.runs.size()));
    if (is_new) out.runs.push_back(run);
    problem.sequence.push_back(entry->second);
    p = end;
  }
  for (const auto& [segment, times] : out.runs) {
    const Segment& s = space_.segments()[segment];
    std::vector<SegmentOption>& options = problem.options.emplace_back();
    std::vector<int32_t>& candidates = out.candidates.emplace_back();
    const std::vector<SegmentCandidate>& list = segments_[segment].list;
    for (size_t c = 0; c < list.size(); ++c) {
      const PredictedChoice& predicted = list[c].predicted;
      if (times > 1 && predicted.choice.entry != predicted.choice.exit) continue;
      const int64_t kept = predicted.state_bytes + predicted.kept_bytes;
      candidates.push_back(static_cast<int32_t>(c));
      options.push_back({.seconds = list[c].seconds * times,
                         .kept_bytes = kept * times,
                         .working_bytes = std::max<int64_t>(0, list[c].peak_bytes() - kept),
                         .entry = LayoutNumber(s.entries, predicted.choice.entry),
                         .exit = LayoutNumber(s.exits, predicted.choice.exit)});
    }
  }
  for (size_t i = 0; i + 1 < problem.sequence.size(); ++i) {
    const auto [moves, is_new] =
        problem.resharding.try_emplace({problem.sequence[i], problem.sequence[i + 1]});
    if (!is_new) continue;
    const int32_t segment = out.runs[problem.sequence[i]].first;
    const Segment& next = space_.segments()[out.runs[problem.sequence[i + 1]].first];
    for (const std::string& exit : space_.segments()[segment].exits) {
      std::vector<double>& row = moves->second.emplace_back();
      for (const std::string& entry : next.entries)
        row.push_back(Move(segment, exit, entry).seconds);
    }
  }
  return out;
}

std::vector<int32_t> CandidateProblem::Expand(const std::vector<int32_t>& choice) const {
  std::vector<int32_t> expanded;
  for (size_t p = 0; p < choice.size(); ++p) {
    const int32_t segment = problem.sequence[p];
    expanded.insert(expanded.end(), runs[segment].second, candidates[segment][choice[p]]);
  }
  return expanded;
}

}  // namespace meshwright
