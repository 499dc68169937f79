// Schedules and their simulation: closed forms for uniform stages, and a slow oracle for any.

#include "meshwright/inter/schedule/simulate.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>

#include "absl/strings/match.h"
#include "meshwright/inter/schedule/schedule.h"
#include "tests/testing/fresh_seed.h"

namespace meshwright {
namespace {

const ScheduleKind& Schedule(std::string_view name) { return **FindSchedule(name); }

std::vector<StageTimes> Uniform(const ScheduleShape& shape, const StageTimes& times) {
  return std::vector<StageTimes>(shape.groups * shape.chunks, times);
}

double Seconds(std::string_view name, const ScheduleShape& shape, const StageTimes& times) {
  const absl::StatusOr<Simulation> simulation =
      Simulate(Schedule(name), shape, Uniform(shape, times));
  EXPECT_TRUE(simulation.ok()) << simulation.status();
  return simulation.ok() ? simulation->seconds : -1;
}

TEST(SimulateTest, UniformStagesTakeWhatThePapersSay) {
  const StageTimes times{.forward = 1, .backward = 2, .weight_gradient = 1};
  for (int32_t p : {1, 2, 3, 4, 8}) {
    for (int32_t m : {8, 16, 24}) {
      SCOPED_TRACE(testing::Message() << p << " groups, " << m << " micro-batches");
      EXPECT_DOUBLE_EQ(Seconds("gpipe", {p, 1, m}, times), (m + p - 1) * 3.0);
      EXPECT_DOUBLE_EQ(Seconds("1f1b", {p, 1, m}, times), (m + p - 1) * 3.0);
      // Qi et al. 2023, table 1: bubble (p - 1)(f + b - w), b without w.
      EXPECT_DOUBLE_EQ(Seconds("zb-h1", {p, 1, m}, times), m * 3.0 + (p - 1) * (1 + 1 - 1));
      if (m % p != 0) continue;
      for (int32_t v : {2, 4}) {
        // Narayanan et al. 2021, section 2.2.2: the bubble shrinks by the number of chunks.
        const StageTimes part{.forward = 1.0 / v, .backward = 2.0 / v};
        EXPECT_NEAR(Seconds("interleaved", {p, v, m}, part), m * 3.0 + (p - 1) * 3.0 / v, 1e-9);
      }
    }
  }
}

TEST(SimulateTest, UpdatesAndTransfersCount) {
  StageTimes times{.forward = 1, .backward = 2};
  times.update = 5;
  EXPECT_DOUBLE_EQ(Seconds("1f1b", {4, 1, 8}, times), 11 * 3.0 + 5);
  times.send_forward = times.send_backward = 0.5;
  EXPECT_DOUBLE_EQ(Seconds("1f1b", {2, 1, 1}, times), 6.0 + 1 + 5);
  const absl::StatusOr<Simulation> simulation =
      Simulate(Schedule("1f1b"), {2, 1, 1}, Uniform({2, 1, 1}, times));
  ASSERT_TRUE(simulation.ok());
  ASSERT_EQ(simulation->transfers.size(), 2);
  EXPECT_DOUBLE_EQ(simulation->transfers[0].start, 1);
  EXPECT_DOUBLE_EQ(simulation->transfers[0].end, 1.5);
  EXPECT_TRUE(simulation->transfers[1].backward);
}

TEST(SimulateTest, MemoryIsOfWhatIsInFlight) {
  StageTimes times{.forward = 1, .backward = 2, .weight_gradient = 1};
  times.fixed_bytes = 1000;
  times.bytes_in_flight = 10;
  for (const ScheduleKind& kind : ScheduleTable()) {
    for (const ScheduleShape shape :
         {ScheduleShape{4, 1, 8}, ScheduleShape{4, 1, 2}, ScheduleShape{1, 1, 3},
          ScheduleShape{4, 2, 8}, ScheduleShape{2, 4, 2}}) {
      if (!CheckShape(kind, shape).ok()) continue;
      SCOPED_TRACE(testing::Message() << kind.name << " " << shape.groups << "x" << shape.chunks);
      const absl::StatusOr<Simulation> simulation = Simulate(kind, shape, Uniform(shape, times));
      ASSERT_TRUE(simulation.ok()) << simulation.status();
      for (int32_t g = 0; g < shape.groups; ++g) {
        EXPECT_EQ(simulation->peak_in_flight[g], kind.in_flight(shape, g)) << g;
        EXPECT_EQ(simulation->peak_bytes[g],
                  1000 * shape.chunks + 10 * simulation->peak_in_flight[g]);
      }
    }
  }
  // 1F1B holds as many as there are stages from here on, GPipe all.
  EXPECT_EQ(Schedule("1f1b").in_flight({4, 1, 8}, 0), 4);
  EXPECT_EQ(Schedule("1f1b").in_flight({4, 1, 8}, 3), 1);
  EXPECT_EQ(Schedule("gpipe").in_flight({4, 1, 8}, 3), 8);
}

TEST(SimulateTest, WrongShapesAreRefused) {
  const StageTimes times{.forward = 1, .backward = 2};
  const absl::StatusOr<Simulation> odd =
      Simulate(Schedule("interleaved"), {4, 2, 6}, Uniform({4, 2, 6}, times));
  EXPECT_TRUE(absl::StrContains(odd.status().message(), "valid are 4, 8, 12")) << odd.status();
  EXPECT_FALSE(Simulate(Schedule("1f1b"), {2, 2, 4}, Uniform({2, 2, 4}, times)).ok());
  EXPECT_FALSE(Simulate(Schedule("1f1b"), {2, 1, 4}, {times}).ok());
  EXPECT_FALSE(Simulate(Schedule("1f1b"), {2, 1, 0}, Uniform({2, 1, 0}, times)).ok());
  EXPECT_TRUE(absl::StrContains(FindSchedule("1f1").status().message(), "zb-h1"));
}

// ---- oracle ----

// Earliest ends of tasks and transfers, raised until nothing changes any more.
class Oracle {
 public:
  Oracle(const ScheduleKind& kind, const ScheduleShape& shape,
         const std::vector<StageTimes>& stages)
      : kind_(kind), shape_(shape), stages_(stages), orders_(kind.order(shape)) {}

  double Run() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& order : orders_) {
        double free = 0;
        double links[2] = {0, 0};
        for (const ScheduledTask& task : order) {
          const double end = std::max(free, Needs(task)) + Duration(task);
          double& known = ends_[Key(task)];
          if (end != known) changed = true;
          known = free = end;
          Send(task, end, links);
        }
      }
    }
    double last = 0;
    for (const auto& [key, end] : ends_) last = std::max(last, end);
    return last;
  }

 private:
  using TaskKey = std::tuple<TaskKind, int32_t, int32_t>;
  static TaskKey Key(const ScheduledTask& t) { return {t.kind, t.stage, t.micro_batch}; }

  double Duration(const ScheduledTask& task) const {
    const StageTimes& s = stages_[task.stage];
    if (task.kind == TaskKind::kForward) return s.forward;
    if (task.kind == TaskKind::kWeightGradient) return s.weight_gradient;
    if (task.kind == TaskKind::kUpdate) return s.update;
    return kind_.splits_backward ? s.backward - s.weight_gradient : s.backward;
  }

  double Needs(const ScheduledTask& task) {
    if (task.kind == TaskKind::kForward) return arrived_[{false, task.stage, task.micro_batch}];
    if (task.kind == TaskKind::kWeightGradient)
      return ends_[{TaskKind::kBackward, task.stage, task.micro_batch}];
    if (task.kind == TaskKind::kUpdate) return 0;
    return std::max(ends_[{TaskKind::kForward, task.stage, task.micro_batch}],
                    arrived_[{true, task.stage, task.micro_batch}]);
  }

  void Send(const ScheduledTask& task, double end, double* links) {
    const bool backward = task.kind == TaskKind::kBackward;
    if (!backward && task.kind != TaskKind::kForward) return;
    const int32_t to = task.stage + (backward ? -1 : 1);
    if (to < 0 || to >= static_cast<int32_t>(stages_.size())) return;
    const StageTimes& s = stages_[task.stage];
    const double seconds = shape_.groups == 1 ? 0 : backward ? s.send_backward : s.send_forward;
    double arrival = end;
    if (seconds > 0) arrival = links[backward] = std::max(end, links[backward]) + seconds;
    arrived_[{backward, to, task.micro_batch}] = arrival;
  }

  const ScheduleKind& kind_;
  const ScheduleShape shape_;
  const std::vector<StageTimes>& stages_;
  const std::vector<std::vector<ScheduledTask>> orders_;
  std::map<TaskKey, double> ends_;
  std::map<std::tuple<bool, int32_t, int32_t>, double> arrived_;
};

TEST(SimulateTest, AgreesWithTheOracleOnRandomPipelines) {
  const uint64_t seed = FreshSeed();
  std::mt19937 random(seed);
  const auto draw = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  for (int i = 0; i < 400; ++i) {
    const ScheduleKind& kind = ScheduleTable()[i % ScheduleTable().size()];
    ScheduleShape shape{draw(1, 5), 1, draw(1, 9)};
    if (kind.chunks) {
      shape.chunks = draw(1, 3);
      shape.micro_batches = shape.groups * draw(1, 3);
    }
    std::vector<StageTimes> stages(shape.groups * shape.chunks);
    for (StageTimes& s : stages) {
      s.forward = draw(0, 20);
      s.backward = draw(0, 40);
      s.weight_gradient = draw(0, static_cast<int>(s.backward));
      s.update = draw(0, 10);
      s.send_forward = draw(0, 15);
      s.send_backward = draw(0, 15);
    }
    const absl::StatusOr<Simulation> simulation = Simulate(kind, shape, stages);
    ASSERT_TRUE(simulation.ok()) << kind.name << simulation.status();
    EXPECT_DOUBLE_EQ(simulation->seconds, Oracle(kind, shape, stages).Run()) << kind.name;
    // Everything runs once.
    std::set<std::tuple<int, int, int>> tasks;
    for (const SimulatedTask& t : simulation->tasks)
      tasks.insert({static_cast<int>(t.task.kind), t.task.stage, t.task.micro_batch});
    const size_t phases = kind.splits_backward ? 3 : 2;
    EXPECT_EQ(tasks.size(), stages.size() * (phases * shape.micro_batches + 1));
    EXPECT_EQ(tasks.size(), simulation->tasks.size());
  }
}

}  // namespace
}  // namespace meshwright
