#include "meshwright/inter/schedule/alpa_schedules.h"

#include <algorithm>

#include "meshwright/base/file.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

constexpr int64_t kMostMeshes = 1024;
constexpr int64_t kMostScheduledMicroBatches = 1 << 16;
constexpr int64_t kMostCells = 1 << 24;  // of a table

struct ClassName {
  std::string_view name;
  AlpaSchedule schedule;
};
constexpr ClassName kClassNames[] = {
    {"GpipeSchedule", AlpaSchedule::kGpipe},
    {"PipeDreamFlush", AlpaSchedule::k1F1B},
    {"OverlapFriendlyPipeDreamSchedule", AlpaSchedule::k1F1BOverlap},
    {"InferenceSchedule", AlpaSchedule::kInference},
};

int32_t Clocks(AlpaSchedule schedule, int32_t meshes, int32_t micro_batches) {
  const int32_t pass = meshes + micro_batches - 1;
  return (schedule == AlpaSchedule::kInference ? pass : 2 * pass) + 1;
}

// Forward phases of mesh `mesh` before its first backward phase.
int32_t WarmUp(AlpaSchedule schedule, int32_t meshes, int32_t micro_batches, int32_t mesh) {
  const int32_t after = meshes - mesh - 1;
  switch (schedule) {
    case AlpaSchedule::kGpipe:
    case AlpaSchedule::kInference:
      return micro_batches;
    case AlpaSchedule::k1F1B:
      return std::min(after, micro_batches);
    case AlpaSchedule::k1F1BOverlap:
      return std::min(2 * after, micro_batches);
  }
  return 0;
}

// (micro-batch, stage) in the order in which mesh `mesh` runs them.
std::vector<std::pair<int32_t, int32_t>> OrderOf(AlpaSchedule schedule, int32_t meshes,
                                                 int32_t micro_batches, int32_t mesh) {
  std::vector<std::pair<int32_t, int32_t>> order;
  const int32_t warm_up = WarmUp(schedule, meshes, micro_batches, mesh);
  for (int32_t m = 0; m < warm_up; ++m) order.emplace_back(m, mesh);
  if (schedule == AlpaSchedule::kInference) return order;
  for (int32_t m = 0; m < micro_batches; ++m) {
    if (warm_up + m < micro_batches) order.emplace_back(warm_up + m, mesh);
    order.emplace_back(m, 2 * meshes - 1 - mesh);
  }
  return order;
}

RecordedSchedule ReadSchedule(const JsonValue& one) {
  RecordedSchedule recorded;
  const JsonValue kind = one.At("cls");
  const std::string text = kind.Text();
  const auto* const found = std::find_if(std::begin(kClassNames), std::end(kClassNames),
                                         [&](const ClassName& c) { return c.name == text; });
  if (found == std::end(kClassNames)) {
    kind.Fail(
        "expected \"GpipeSchedule\", \"PipeDreamFlush\", \"OverlapFriendlyPipeDreamSchedule\" or "
        "\"InferenceSchedule\"");
    return recorded;
  }
  recorded.schedule = found->schedule;
  recorded.meshes = static_cast<int32_t>(one.At("num_mesh").Integer(1, kMostMeshes));
  recorded.micro_batches =
      static_cast<int32_t>(one.At("num_microbatch").Integer(1, kMostScheduledMicroBatches));
  recorded.name = StrCat(text, " ", recorded.meshes, "x", recorded.micro_batches);
  if (int64_t{Clocks(recorded.schedule, recorded.meshes, recorded.micro_batches)} *
          recorded.meshes >
      kMostCells) {
    one.At("num_microbatch").Fail(StrCat("expected a table of at most ", kMostCells, " cells"));
  }
  const int64_t clocks = one.At("num_clock").Integer(0, kMostCells);
  const JsonValue table = one.At("table");
  const std::vector<JsonValue> rows = table.Elements();
  if (static_cast<int64_t>(rows.size()) != clocks)
    table.Fail(StrCat("has ", rows.size(), " clocks, expected ", clocks, " (num_clock)"));
  if (!one.ok()) return recorded;
  for (const JsonValue& clock : rows) {
    auto& row = recorded.table.emplace_back();
    for (const JsonValue& cell : clock.Elements(recorded.meshes, "one a mesh")) {
      row.emplace_back();
      if (cell.IsNull()) continue;
      const std::vector<JsonValue> task = cell.Elements(2, "a task: micro-batch, stage");
      if (!cell.ok()) return recorded;
      row.back() = {static_cast<int32_t>(task[0].Integer(0, recorded.micro_batches - 1)),
                    static_cast<int32_t>(task[1].Integer(0, 3 * recorded.meshes - 1))};
    }
  }
  return recorded;
}

}  // namespace

ClockTable MakeClockTable(AlpaSchedule schedule, int32_t meshes, int32_t micro_batches) {
  const int32_t last = Clocks(schedule, meshes, micro_batches) - 1;
  ClockTable table(last + 1);
  for (auto& row : table) row.resize(meshes);
  std::vector<std::vector<std::pair<int32_t, int32_t>>> orders;
  for (int32_t i = 0; i < meshes; ++i)
    orders.push_back(OrderOf(schedule, meshes, micro_batches, i));
  std::vector<size_t> next(meshes, 0);
  // By stage and micro-batch: the clock after it; 0: it has not run.
  std::vector<std::vector<int32_t>> over(2 * meshes, std::vector<int32_t>(micro_batches, 0));
  for (int32_t clock = 0; clock < last; ++clock) {
    for (int32_t i = 0; i < meshes; ++i) {
      if (next[i] == orders[i].size()) continue;
      const auto [micro_batch, stage] = orders[i][next[i]];
      if (stage > 0) {
        const int32_t before = over[stage - 1][micro_batch];
        if (before == 0 || before > clock) continue;
      }
      over[stage][micro_batch] = clock + 1;
      table[clock][i] = {micro_batch, stage};
      ++next[i];
    }
  }
  if (schedule == AlpaSchedule::kInference) return table;
  for (int32_t i = 0; i < meshes; ++i) table[last][i] = {micro_batches - 1, 2 * meshes + i};
  return table;
}

absl::StatusOr<std::vector<RecordedSchedule>> ParseRecordedSchedules(std::string text,
                                                                     std::string_view name) {
  MW_ASSIGN_OR_RETURN(text, MaybeGunzip(std::move(text), name));
  MW_ASSIGN_OR_RETURN(const InputJson json, ParseInputJson(text, name));
  absl::Status status;
  const JsonValue root(json, &status);
  if (!root.IsList()) root.Fail("expected a list of Alpa's schedules");
  std::vector<RecordedSchedule> cases;
  for (const JsonValue& one : root.Elements()) {
    cases.push_back(ReadSchedule(one));
    if (!one.ok()) break;
  }
  if (root.ok() && cases.empty()) root.Fail("holds no case");
  if (!status.ok())
    return absl::Status(status.code(), StrCat(name, ": ", FromAbsl(status.message())));
  return cases;
}

absl::StatusOr<std::vector<RecordedSchedule>> ReadRecordedSchedules(const std::string& path) {
  MW_ASSIGN_OR_RETURN(std::string text, ReadFile(path));
  return ParseRecordedSchedules(std::move(text), path);
}

}  // namespace meshwright
