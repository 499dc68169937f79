#include "meshwright/plan/make/memory_timeline.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace meshwright {
namespace {

int64_t Total(const MemoryByCategory& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
}

// By time.
std::vector<MemoryByCategory> BytesOverTime(const IntraPlan& intra,
                                            const std::vector<MemoryCategory>& categories) {
  const size_t length = intra.schedule.order.size();
  std::vector<MemoryByCategory> bytes(length + 1, MemoryByCategory{});
  const auto add = [&](const Interval& interval, MemoryCategory category, int64_t size) {
    if (interval.begin >= interval.end) return;
    bytes[static_cast<size_t>(interval.begin)][static_cast<size_t>(category)] += size;
    const size_t end = std::min(static_cast<size_t>(interval.end), length);
    bytes[end][static_cast<size_t>(category)] -= size;
  };
  for (size_t v = 0; v < intra.intervals.size(); ++v)
    add(intra.intervals[v], categories[v], intra.bytes[v]);
  for (const auto& [interval, size] : intra.buffers)
    add(interval, MemoryCategory::kTemporaries, size);
  for (size_t t = 1; t <= length; ++t) {
    for (size_t c = 0; c < kMemoryCategories; ++c) bytes[t][c] += bytes[t - 1][c];
  }
  bytes.resize(length);
  return bytes;
}

// The time of the peak, the first of several, of each of at most kMemoryPoints stretches.
std::vector<size_t> TimesToKeep(const std::vector<MemoryByCategory>& bytes) {
  const size_t length = bytes.size();
  if (length == 0) return {};
  const size_t stretches = std::min(length, static_cast<size_t>(kMemoryPoints) - 2);
  std::vector<size_t> times = {0};
  for (size_t s = 0; s < stretches; ++s) {
    size_t peak = s * length / stretches;
    for (size_t t = peak; t < (s + 1) * length / stretches; ++t) {
      if (Total(bytes[t]) > Total(bytes[peak])) peak = t;
    }
    if (peak != times.back()) times.push_back(peak);
  }
  if (times.back() != length - 1) times.push_back(length - 1);
  return times;
}

}  // namespace

PlanMemoryTimeline MemoryTimeline(const Graph& graph, const IntraPlan& intra,
                                  const std::vector<MemoryCategory>& categories) {
  std::vector<double> op_seconds(graph.ops.size(), 0.0);  // with its collectives, a step
  for (size_t i = 0; i < graph.ops.size(); ++i)
    op_seconds[i] = intra.ops[i].compute_seconds * graph.ops[i].multiplicity;
  for (const PlannedCollective& collective : intra.collectives)
    op_seconds[collective.user.index()] += collective.seconds * collective.multiplicity;

  const std::vector<MemoryByCategory> bytes = BytesOverTime(intra, categories);
  PlanMemoryTimeline timeline;
  timeline.length = static_cast<int64_t>(bytes.size());
  double seconds = 0;
  size_t at = 0;
  for (size_t time : TimesToKeep(bytes)) {
    for (; at < time; ++at) seconds += op_seconds[intra.schedule.order[at].index()];
    timeline.points.push_back({static_cast<int64_t>(time),
                               static_cast<int64_t>(intra.schedule.order[time].index()), seconds,
                               bytes[time]});
  }
  return timeline;
}

}  // namespace meshwright
