#include "meshwright/inter/schedule/schedule.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_join.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

using Order = std::vector<ScheduledTask>;

void AddUpdates(const ScheduleShape& shape, int32_t group, Order* order) {
  for (int32_t c = 0; c < shape.chunks; ++c)
    order->push_back({TaskKind::kUpdate, 0, c * shape.groups + group});
}

// Huang et al. 2019: all forward phases, then all backward phases.
std::vector<Order> Gpipe(const ScheduleShape& shape) {
  std::vector<Order> orders(shape.groups);
  for (int32_t g = 0; g < shape.groups; ++g) {
    for (int32_t m = 0; m < shape.micro_batches; ++m)
      orders[g].push_back({TaskKind::kForward, m, g});
    for (int32_t m = 0; m < shape.micro_batches; ++m)
      orders[g].push_back({TaskKind::kBackward, m, g});
    AddUpdates(shape, g, &orders[g]);
  }
  return orders;
}

// Forward phases that a group runs before its first backward phase. With more than one stage a
// group (Narayanan et al. 2021, section 2.2) a micro-batch comes round again before that.
int32_t WarmUp(const ScheduleShape& shape, int32_t group) {
  const int32_t after = shape.groups - group - 1;
  const int32_t total = shape.micro_batches * shape.chunks;
  const int32_t wanted = shape.chunks == 1 ? after : 2 * after + (shape.chunks - 1) * shape.groups;
  return std::min(wanted, total);
}

// The `k`-th forward (or backward) phase of a group: micro-batches in packs of as many as there are
// groups, each pack through all of the group's stages before the next.
ScheduledTask Turn(const ScheduleShape& shape, int32_t group, TaskKind kind, int32_t k) {
  const int32_t pack = shape.groups * shape.chunks;
  int32_t chunk = k % pack / shape.groups;
  if (kind == TaskKind::kBackward) chunk = shape.chunks - 1 - chunk;
  const int32_t micro_batch = shape.chunks == 1 ? k : k / pack * shape.groups + k % shape.groups;
  return {kind, micro_batch, chunk * shape.groups + group};
}

// One forward, one backward (PipeDream-Flush, Narayanan et al. 2021), interleaved if a group has
// several stages.
std::vector<Order> OneForwardOneBackward(const ScheduleShape& shape) {
  std::vector<Order> orders(shape.groups);
  const int32_t total = shape.micro_batches * shape.chunks;
  for (int32_t g = 0; g < shape.groups; ++g) {
    const int32_t warm_up = WarmUp(shape, g);
    for (int32_t k = 0; k < warm_up; ++k)
      orders[g].push_back(Turn(shape, g, TaskKind::kForward, k));
    for (int32_t k = 0; k < total; ++k) {
      if (warm_up + k < total) orders[g].push_back(Turn(shape, g, TaskKind::kForward, warm_up + k));
      orders[g].push_back(Turn(shape, g, TaskKind::kBackward, k));
    }
    AddUpdates(shape, g, &orders[g]);
  }
  return orders;
}

int64_t InFlight1F1B(const ScheduleShape& shape, int32_t group) {
  const int64_t total = int64_t{shape.micro_batches} * shape.chunks;
  return std::min<int64_t>(total, WarmUp(shape, group) + 1);
}

// Qi et al. 2023, ZB-H1: 1F1B whose backward phase hands on its result before the weights'
// gradients are computed. The later the group, the longer those wait, so that every group holds as
// many micro-batches as the first does anyway, and the last ones fill what was a bubble.
std::vector<Order> ZeroBubbleH1(const ScheduleShape& shape) {
  std::vector<Order> orders(shape.groups);
  for (int32_t g = 0; g < shape.groups; ++g) {
    const int32_t warm_up = WarmUp(shape, g);
    for (int32_t m = 0; m < warm_up; ++m) orders[g].push_back({TaskKind::kForward, m, g});
    for (int32_t m = 0; m < shape.micro_batches; ++m) {
      if (warm_up + m < shape.micro_batches)
        orders[g].push_back({TaskKind::kForward, warm_up + m, g});
      orders[g].push_back({TaskKind::kBackward, m, g});
      if (m >= g) orders[g].push_back({TaskKind::kWeightGradient, m - g, g});
    }
    for (int32_t m = std::max(0, shape.micro_batches - g); m < shape.micro_batches; ++m)
      orders[g].push_back({TaskKind::kWeightGradient, m, g});
    AddUpdates(shape, g, &orders[g]);
  }
  return orders;
}

int64_t InFlightZeroBubble(const ScheduleShape& shape, int32_t group) {
  return std::min(shape.micro_batches, shape.groups);
}

}  // namespace

const std::vector<ScheduleKind>& ScheduleTable() {
  static const auto* const kTable = new std::vector<ScheduleKind>{
      {.name = "gpipe",
       .description = "all forward, then all backward phases; Huang et al. 2019",
       .order = &Gpipe,
       .in_flight = [](const ScheduleShape& shape,
                       int32_t) { return int64_t{shape.micro_batches}; }},
      {.name = "1f1b",
       .description = "one forward, one backward; Narayanan et al. 2021",
       .order = &OneForwardOneBackward,
       .in_flight = &InFlight1F1B},
      {.name = "interleaved",
       .description = "1f1b with several stages a group; Narayanan et al. 2021",
       .chunks = true,
       .order = &OneForwardOneBackward,
       .in_flight = &InFlight1F1B},
      {.name = "zb-h1",
       .description = "1f1b with weights' gradients in its bubbles; Qi et al. 2023",
       .splits_backward = true,
       .order = &ZeroBubbleH1,
       .in_flight = &InFlightZeroBubble}};
  return *kTable;
}

absl::StatusOr<const ScheduleKind*> FindSchedule(std::string_view name) {
  for (const ScheduleKind& kind : ScheduleTable()) {
    if (kind.name == name) return &kind;
  }
  return absl::InvalidArgumentError(
      StrCat("unknown schedule \"", name, "\"; there are ",
             absl::StrJoin(ScheduleTable(), ", ", [](std::string* out, const ScheduleKind& kind) {
               StrAppend(out, kind.name);
             })));
}

std::vector<int64_t> InFlightByStage(const ScheduleKind& schedule, const ScheduleShape& shape) {
  const TaskKind last = schedule.splits_backward ? TaskKind::kWeightGradient : TaskKind::kBackward;
  std::vector<int64_t> now(static_cast<size_t>(shape.groups) * shape.chunks, 0), most = now;
  for (const Order& order : schedule.order(shape)) {
    for (const ScheduledTask& task : order) {
      if (task.kind == TaskKind::kForward) ++now[task.stage];
      most[task.stage] = std::max(most[task.stage], now[task.stage]);
      if (task.kind == last) --now[task.stage];
    }
  }
  return most;
}

absl::Status CheckShape(const ScheduleKind& schedule, const ScheduleShape& shape) {
  if (shape.groups < 1 || shape.chunks < 1 || shape.micro_batches < 1)
    return absl::InvalidArgumentError("a schedule needs at least one stage and one micro-batch");
  if (shape.chunks == 1) return absl::OkStatus();
  if (!schedule.chunks) {
    return absl::InvalidArgumentError(StrCat("the schedule ", schedule.name,
                                             " takes one stage a group of devices, found ",
                                             shape.chunks));
  }
  if (shape.micro_batches % shape.groups == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat("the schedule ", schedule.name, " runs micro-batches in packs of ", shape.groups,
             ", one for each group of devices: ", shape.micro_batches, " do not divide; valid are ",
             shape.groups, ", ", 2 * shape.groups, ", ", 3 * shape.groups, ", ..."));
}

}  // namespace meshwright
