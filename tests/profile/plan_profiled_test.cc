#include "meshwright/profile/plan_profiled.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "meshwright/cluster/calibration.h"
#include "meshwright/plan/document/plan_json.h"
#include "meshwright/plan/text/plan_table.h"
#include "meshwright/profile/database.h"
#include "meshwright/profile/profiled_planner.h"
#include "meshwright/profile/segment_space.h"
#include "meshwright/profile/whole_step.h"
#include "tests/intra/test_program.h"
#include "tests/testing/data.h"
#include "tests/testing/exhaustive.h"
#include "tests/testing/scratch_folder.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;

class PlanProfiled : public ::testing::Test {
 protected:
  PlanProfiled() {
    EXPECT_TRUE(ProfileDatabase::Open(path_, ProfileDatabase::Access::kWrite).ok());
  }

  ProgramRequest Request(const std::string& program, const std::string& cluster,
                         const std::string& mesh) const {
    ProgramRequest request;
    request.program = HloData(program);
    request.cluster = cluster;
    request.mesh = mesh;
    request.database = path_;
    request.memory.kind = MemoryBudget::Kind::kUnlimited;
    request.deadline_seconds = 300;  // what ends searches is their number of steps
    return request;
  }

  void Store(const ProfileKey& key, std::vector<double> seconds,
             const std::string& description = "") const {
    ProfileMeasurement measurement;
    measurement.sample_seconds = std::move(seconds);
    measurement.peak_bytes = 1 << 20;
    StoreAs(key, measurement, description);
  }
  void StoreAs(const ProfileKey& key, const ProfileMeasurement& measurement,
               const std::string& description = "") const {
    auto database = ProfileDatabase::Open(path_, ProfileDatabase::Access::kWrite);
    ASSERT_TRUE(database.ok());
    const absl::Status stored = database->Store(
        {"NVIDIA H100", "cuda 12080", "jax 0.6.0", "h100-sxm", 1}, key, description, measurement);
    ASSERT_TRUE(stored.ok()) << stored;
  }

  const ScratchFolder folder_;
  const std::string path_ = folder_.Path("profiles.sqlite");
};

// Nothing measured: what the segments come to, put together, is near the planner's optimum, which
// nothing beats. Segments are chosen by their own steps; what collectives hide behind kernels of
// other segments counts for the planner alone.
TEST_F(PlanProfiled, WithoutMeasurementsIsNearTheOptimum) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  struct Case {
    const char *program, *cluster, *mesh;
    double most;  // of the objective, in terms of the optimum
  };
  for (const Case& c :
       std::initializer_list<Case>{{"mlp_4096x4.train.hlo.txt.gz", "4xh100-sxm", "4", 1.001},
                                   {"mlp_4096x4.train.hlo.txt.gz", "8xh100-sxm", "2x4", 1.001},
                                   {"mlp_adam.train.hlo.txt", "4xh100-sxm", "2x2", 1.001},
                                   {"mlp_wide_batch.train.hlo.txt", "8xh100-sxm", "2x4", 1.001},
                                   {"tiny_gpt.train.hlo.txt.gz", "4xh100-sxm", "4", 1.001}}) {
    SCOPED_TRACE(std::string(c.program) + " " + c.mesh);
    const ProgramRequest request = Request(c.program, c.cluster, c.mesh);
    const auto ordinary = PlanProgram(request);
    const auto profiled = PlanProfiledProgram(request);
    ASSERT_TRUE(ordinary.ok() && profiled.ok()) << profiled.status();
    const Plan& plan = profiled->plan;
    EXPECT_GE(plan.objective_seconds, ordinary->plan.bound_seconds * (1 - 1e-6));
    EXPECT_LE(plan.objective_seconds, ordinary->plan.objective_seconds * c.most);
    ASSERT_TRUE(plan.profile.has_value());
    EXPECT_FALSE(plan.profile->environment.has_value());
    double sum = 0;
    for (const PlanSegment& segment : plan.segments) {
      EXPECT_EQ(segment.basis, PlanBasis::kPredicted);
      EXPECT_EQ(segment.seconds, segment.model_seconds);
      sum += segment.seconds * static_cast<double>(segment.occurrences);
    }
    for (const PlanBorderMove& move : plan.profile->moves)
      sum += move.seconds * static_cast<double>(move.occurrences);
    EXPECT_NEAR(plan.profile->segment_seconds, sum, 1e-9 + 1e-6 * sum);
    EXPECT_NEAR(plan.step_seconds, sum + plan.profile->other_seconds, 1e-9);
    EXPECT_LE(plan.profile->bound_seconds, plan.profile->segment_seconds);
    EXPECT_THAT(plan.warnings, ::testing::Contains(HasSubstr("holds no measurements yet")));
    const auto read = ParsePlanJson(PlanToJson(plan), "plan");
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, plan);
  }
}

// What was measured decides: a choice that runs as fast as nothing else is taken, and the step is
// composed with its time.
TEST_F(PlanProfiled, TakesWhatWasMeasuredToBeFast) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  const ProgramRequest request = Request("mlp_adam.train.hlo.txt", "4xh100-sxm", "4");
  const TestProgram program = ProgramFromData("mlp_adam.train.hlo.txt");
  const Mesh mesh = TestMesh("4", "4xh100-sxm");
  const auto cluster = ParseCluster("4xh100-sxm");
  const auto model = (*ChooseCostModel("auto", *cluster))->make(mesh);
  const auto space = SegmentSpace::Make(program.graph, mesh, *model);
  ASSERT_TRUE(space.ok()) << space.status();
  const auto before = PlanProfiledProgram(request);
  ASSERT_TRUE(before.ok()) << before.status();
  // Every choice of every segment takes a second, but the last one 0.1 seconds.
  std::vector<std::string> fastest;
  for (size_t s = 0; s < (*space)->segments().size(); ++s) {
    const std::string& fingerprint = (*space)->segments()[s].fingerprint;
    std::vector<std::string> keys;
    for (auto next = *(*space)->Next(static_cast<int32_t>(s)); next.has_value();
         next = *(*space)->Next(static_cast<int32_t>(s)))
      keys.push_back(next->key);
    fastest.push_back(keys.back());
    for (const std::string& key : keys)
      Store({fingerprint, "x=4", key}, {key == keys.back() ? 0.1 : 1.0});
  }
  const auto after = PlanProfiledProgram(request);
  ASSERT_TRUE(after.ok()) << after.status();
  const Plan& plan = after->plan;
  ASSERT_TRUE(plan.profile->environment.has_value());
  EXPECT_EQ(plan.profile->environment->device, "NVIDIA H100");
  double sum = 0;
  for (size_t i = 0; i < plan.segments.size(); ++i) {
    const PlanSegment& segment = plan.segments[i];
    EXPECT_EQ(segment.choice, fastest[i]);
    EXPECT_EQ(segment.basis, PlanBasis::kMeasured);
    EXPECT_EQ(segment.samples, 1);
    EXPECT_EQ(segment.seconds, 0.1);
    EXPECT_EQ(segment.peak_bytes, 1 << 20);
    sum += 0.1 * static_cast<double>(segment.occurrences);
  }
  EXPECT_GE(plan.profile->segment_seconds, sum - 1e-12);
  // The launch overhead of a step, which no segment has.
  EXPECT_GE(plan.profile->other_seconds, FindCalibration("h100-sxm")->step_seconds);
  EXPECT_NEAR(plan.step_seconds, plan.profile->segment_seconds + plan.profile->other_seconds,
              1e-12);
  EXPECT_GE(plan.objective_seconds, before->plan.objective_seconds * (1 - 1e-6));
  const std::string table = PlanTable(plan);
  EXPECT_THAT(table, HasSubstr("measured on NVIDIA H100, cuda 12080, jax 0.6.0"));
  EXPECT_THAT(table, ::testing::Not(HasSubstr("predicted")));
}

// Measured times are twenty times those predicted, as on a host's processors. On every mesh that
// was not measured a plan seems faster by that; it is no better for it.
TEST_F(PlanProfiled, ComparesMeshesOnWhichAsMuchWasMeasured) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  ProgramRequest request = Request("mlp_adam.train.hlo.txt", "4xh100-sxm", "auto");
  const TestProgram program = ProgramFromData("mlp_adam.train.hlo.txt");
  const auto cluster = ParseCluster("4xh100-sxm");
  const auto measure = [&](const std::string& spec, double times, size_t segments) {
    const Mesh mesh = TestMesh(spec, "4xh100-sxm");
    const auto model = (*ChooseCostModel("auto", *cluster))->make(mesh);
    const auto space = SegmentSpace::Make(program.graph, mesh, *model);
    ASSERT_TRUE(space.ok()) << space.status();
    for (size_t s = 0; s < std::min(segments, (*space)->segments().size()); ++s) {
      for (int i = 0; i < 40; ++i) {
        const auto next = *(*space)->Next(static_cast<int32_t>(s));
        if (!next.has_value()) break;
        Store({(*space)->segments()[s].fingerprint, ProfileMeshText(mesh), next->key},
              {times * next->seconds});
      }
    }
  };
  const auto plan_of = [&] {
    absl::StatusOr<PlannedProgram> planned = PlanProfiledProgram(request);
    EXPECT_TRUE(planned.ok()) << planned.status();
    return planned->plan;
  };
  const auto mesh_of = [](const Plan& plan) {
    std::vector<int64_t> sizes;
    for (const PlanAxis& axis : plan.mesh) sizes.push_back(axis.size);
    return sizes;
  };
  constexpr size_t kAll = 100;
  // Some of the segments: better than nothing.
  measure("2x2", 20, 1);
  Plan plan = plan_of();
  EXPECT_EQ(mesh_of(plan), (std::vector<int64_t>{2, 2}));
  EXPECT_THAT(plan.warnings, ::testing::Contains(HasSubstr("left out: less was measured there")));
  EXPECT_TRUE(plan.profile->environment.has_value());
  // All of them, and another mesh: both are compared, others are not.
  measure("2x2", 20, kAll);
  measure("4", 40, kAll);
  plan = plan_of();
  EXPECT_EQ(mesh_of(plan), (std::vector<int64_t>{2, 2}));
  EXPECT_THAT(plan.warnings, ::testing::Not(::testing::Contains(HasSubstr("x=4 "))));
  // What says "measured" was measured.
  for (const PlanSegment& segment : plan.segments)
    EXPECT_EQ(segment.basis, segment.samples > 0 ? PlanBasis::kMeasured : PlanBasis::kPredicted);
  EXPECT_TRUE(std::any_of(plan.segments.begin(), plan.segments.end(),
                          [](const PlanSegment& s) { return s.basis == PlanBasis::kMeasured; }));
  // A mesh of which nothing is known has only predictions, and does not say otherwise.
  request.cluster = "8xh100-sxm";
  request.mesh = "8";
  plan = plan_of();
  EXPECT_FALSE(plan.profile->environment.has_value());
  EXPECT_THAT(plan.warnings, ::testing::Contains(HasSubstr("no measurements of this program")));
  EXPECT_THAT(PlanTable(plan), ::testing::Not(HasSubstr("measured on")));
}

// Predictions of a segment that was not measured, and of moves, are off as much as those of the
// others.
TEST_F(PlanProfiled, ScalesWhatIsPredictedLikeTheRest) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  const ProgramRequest request = Request("tiny_gpt.train.hlo.txt.gz", "4xh100-sxm", "4");
  const TestProgram program = ProgramFromData("tiny_gpt.train.hlo.txt.gz");
  const Mesh mesh = TestMesh("4", "4xh100-sxm");
  const auto cluster = ParseCluster("4xh100-sxm");
  const auto model = (*ChooseCostModel("auto", *cluster))->make(mesh);
  const auto space = SegmentSpace::Make(program.graph, mesh, *model);
  ASSERT_TRUE(space.ok()) << space.status();
  const auto next = *(*space)->Next(0);
  Store({(*space)->segments()[0].fingerprint, "x=4", next->key}, {50 * next->seconds});
  const auto planned = PlanProfiledProgram(request);
  ASSERT_TRUE(planned.ok()) << planned.status();
  int predicted = 0;
  for (const PlanSegment& segment : planned->plan.segments) {
    if (segment.basis == PlanBasis::kMeasured) continue;
    ++predicted;
    EXPECT_NEAR(segment.seconds, 50 * segment.model_seconds, 1e-9 * segment.seconds);
  }
  EXPECT_GT(predicted, 0);
}

// Layers whose operators are all in one conditional: some of the parts have no program.
TEST_F(PlanProfiled, PartsWithoutProgramAreNotMeasured) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  const ProgramRequest request = Request("pipeline/slice_cond.hlo.txt.gz", "4xh100-sxm", "4");
  const auto planned = PlanProfiledProgram(request);
  ASSERT_TRUE(planned.ok()) << planned.status();
  const TestProgram program = ProgramFromData("pipeline/slice_cond.hlo.txt.gz");
  const Mesh mesh = TestMesh("4", "4xh100-sxm");
  const auto model = FindCostModel("calibrated")->make(mesh);
  const auto space = SegmentSpace::Make(program.graph, mesh, *model);
  ASSERT_TRUE(space.ok()) << space.status();
  std::set<std::string> with, without;
  for (const Segment& segment : (*space)->segments()) {
    (segment.has_program() ? with : without).insert(segment.fingerprint);
    if (segment.has_program()) continue;
    EXPECT_TRUE(segment.blocks.empty());
  }
  EXPECT_FALSE(without.empty());
  EXPECT_EQ(with.size() + std::count_if((*space)->segments().begin(), (*space)->segments().end(),
                                        [](const Segment& s) { return !s.has_program(); }),
            (*space)->segments().size());
  std::set<std::string> planned_segments;
  for (const PlanSegment& segment : planned->plan.segments)
    planned_segments.insert(segment.fingerprint);
  EXPECT_EQ(planned_segments, with);
}

// What ran out of memory or failed is not chosen again, however fast it seems.
TEST_F(PlanProfiled, LeavesOutWhatFailed) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  const ProgramRequest request = Request("mlp_adam.train.hlo.txt", "4xh100-sxm", "4");
  const auto before = PlanProfiledProgram(request);
  ASSERT_TRUE(before.ok());
  ProfileMeasurement failed;
  failed.status = MeasurementStatus::kOutOfMemory;
  const PlanSegment& first = before->plan.segments[0];
  StoreAs({first.fingerprint, "x=4", first.choice}, failed);
  const auto after = PlanProfiledProgram(request);
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_NE(after->plan.segments[0].choice, first.choice);
  EXPECT_GE(after->plan.step_seconds, before->plan.step_seconds);
}

// Of whole steps that were measured the fastest is taken, and its time for the step's.
TEST_F(PlanProfiled, TakesTheWholeStepThatWasMeasuredToBeFastest) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  ProgramRequest request = Request("tiny_gpt.train.hlo.txt.gz", "4xh100-sxm", "4");
  request.memory = {MemoryBudget::Kind::kBytes, int64_t{1} << 40};
  const TestProgram program = ProgramFromData("tiny_gpt.train.hlo.txt.gz");
  const Mesh mesh = TestMesh("4", "4xh100-sxm");
  const auto cluster = ParseCluster("4xh100-sxm");
  const auto known = KnownProfiles::Read(path_, *cluster, {});
  ASSERT_TRUE(known.ok()) << known.status();
  ProfiledPlannerOptions options;
  options.budget_bytes = request.memory.bytes;
  options.seconds = 300;
  const auto planner = ProfiledPlanner::Make(program.graph, **ChooseCostModel("auto", *cluster),
                                             mesh, *known, options);
  ASSERT_TRUE(planner.ok()) << planner.status();
  const auto finalists = (*planner)->Finalists(3);
  ASSERT_TRUE(finalists.ok()) << finalists.status();
  ASSERT_EQ(finalists->size(), 3);
  const ProfiledPlan &first = (*finalists)[0], &last = (*finalists)[2];
  ASSERT_NE(first.step.plan, last.step.plan);
  ASSERT_FALSE(last.step.segments.empty());
  EXPECT_LE(first.intra.step_seconds, last.intra.step_seconds);
  const std::string step = StepProgram(program.graph);

  // Not what another plan took, nor what no plan can be made of.
  Store({step, "x=4", "0123456789abcdef"}, {1e-9}, last.step.Way());
  Store({step, "x=4", "nonsense"}, {1e-9}, last.step.Way());
  Store({step, "x=4", "fedcba9876543210"}, {1e-9}, "nonsense");
  Store({step, "x=2,y=2", first.step.plan}, {1e-9}, first.step.Way());
  auto planned = PlanProfiledProgram(request);
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_FALSE(planned->plan.profile->step.has_value());
  const double composed = planned->plan.step_seconds;

  // If the whole is so far off what it was put together to, so may the first plan be.
  Store({step, "x=4", last.step.plan}, {1.0}, last.step.Way());
  planned = PlanProfiledProgram(request);
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_FALSE(planned->plan.profile->step.has_value());
  EXPECT_EQ(planned->plan.step_seconds, composed);

  Store({step, "x=4", first.step.plan}, {2.0, 3.0, 4.0}, first.step.Way());
  planned = PlanProfiledProgram(request);
  ASSERT_TRUE(planned.ok()) << planned.status();
  ASSERT_TRUE(planned->plan.profile->step.has_value());
  EXPECT_EQ(planned->plan.step_seconds, 1.0);
  EXPECT_EQ(planned->plan.profile->step->samples, 1);
  EXPECT_EQ(planned->plan.profile->step->peak_bytes, 1 << 20);
  EXPECT_DOUBLE_EQ(planned->plan.profile->step->composed_seconds, last.intra.step_seconds);
  EXPECT_EQ(planned->plan.segments, last.segments);
  const auto read = ParsePlanJson(PlanToJson(planned->plan), "plan");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, planned->plan);
  EXPECT_THAT(PlanTable(planned->plan), HasSubstr("step      1.00 s measured as a whole"));

  // What was measured to need more memory than there is does not count.
  ProfileMeasurement large;
  large.sample_seconds = {0.5};
  large.peak_bytes = int64_t{1} << 41;
  StoreAs({step, "x=4", (*finalists)[1].step.plan}, large, (*finalists)[1].step.Way());
  planned = PlanProfiledProgram(request);
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_EQ(planned->plan.step_seconds, 1.0);

  // By whichever choices one comes to a plan, it is one plan.
  Store({step, "x=4", last.step.plan}, {1.5, 2.0}, "whole step: by the cost model");
  planned = PlanProfiledProgram(request);
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_EQ(planned->plan.step_seconds, 1.5);
  EXPECT_EQ(planned->plan.profile->step->samples, 3);
}

TEST_F(PlanProfiled, FitsIntoMemoryOrSaysWhatItDoes) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  ProgramRequest request = Request("mlp_adam.train.hlo.txt", "4xh100-sxm", "4");
  const auto fastest = PlanProfiledProgram(request);
  ASSERT_TRUE(fastest.ok());
  request.memory = {MemoryBudget::Kind::kBytes, fastest->plan.peak_bytes / 2};
  const auto smaller = PlanProfiledProgram(request);
  ASSERT_TRUE(smaller.ok()) << smaller.status();
  if (smaller->intra.fits) {
    EXPECT_LE(smaller->plan.peak_bytes, request.memory.bytes);
  }
  request.memory.bytes = 1 << 20;
  const auto nothing = PlanProfiledProgram(request);
  ASSERT_TRUE(nothing.ok()) << nothing.status();
  EXPECT_FALSE(nothing->intra.fits);
}

// Segments need together less than is estimated: a plan made with more memory may fit into less.
// What is proven under a limit must hold of every such plan.
TEST_F(PlanProfiled, ProvesNothingByEstimatesOfMemory) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  ProgramRequest request = Request("mlp_4096x4.train.hlo.txt.gz", "4xh100-sxm", "4");
  const auto fastest = PlanProfiledProgram(request);
  ASSERT_TRUE(fastest.ok()) << fastest.status();
  const PlanProfile& unlimited = *fastest->plan.profile;
  EXPECT_TRUE(unlimited.exact);
  EXPECT_FALSE(unlimited.limited_by_memory());
  EXPECT_THAT(PlanTable(fastest->plan), ::testing::Not(HasSubstr("as estimated")));
  request.memory.kind = MemoryBudget::Kind::kBytes;
  std::vector<Plan> plans = {fastest->plan};
  int limited = 0;
  for (int percent = 130; percent >= 70; percent -= 10) {
    request.memory.bytes = fastest->plan.peak_bytes / 100 * percent;
    const auto planned = PlanProfiledProgram(request);
    ASSERT_TRUE(planned.ok()) << planned.status();
    if (!planned->intra.fits || !planned->plan.profile.has_value()) continue;
    const PlanProfile& profile = *planned->plan.profile;
    EXPECT_EQ(profile.exact, !profile.limited_by_memory());
    EXPECT_LE(profile.bound_seconds, profile.segment_seconds);
    EXPECT_EQ(profile.limited_by_memory(),
              PlanTable(planned->plan).find("within memory as estimated") != std::string::npos);
    limited += profile.limited_by_memory();
    plans.push_back(planned->plan);
  }
  EXPECT_GT(limited, 0);
  for (const Plan& made : plans) {
    for (const Plan& other : plans) {
      const double seconds = other.profile->segment_seconds * (1 + 1e-9);
      EXPECT_GE(seconds, made.profile->bound_seconds);
      if (made.profile->exact) {
        EXPECT_GE(seconds, made.profile->segment_seconds);
      }
    }
  }
}

// What segments seem to need together is an estimate from above; what fits is not left out for it.
TEST_F(PlanProfiled, FindsTheFastestWhereItFits) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  for (const char* program : {"mlp_4096x4.train.hlo.txt.gz", "tiny_gpt.train.hlo.txt.gz"}) {
    SCOPED_TRACE(program);
    ProgramRequest request = Request(program, "4xh100-sxm", "4");
    const auto fastest = PlanProfiledProgram(request);
    ASSERT_TRUE(fastest.ok()) << fastest.status();
    request.memory = {MemoryBudget::Kind::kBytes, fastest->plan.peak_bytes};
    const auto limited = PlanProfiledProgram(request);
    ASSERT_TRUE(limited.ok()) << limited.status();
    EXPECT_LE(limited->plan.peak_bytes, request.memory.bytes);
    ASSERT_TRUE(limited->plan.profile.has_value());
    EXPECT_NEAR(limited->plan.profile->segment_seconds, fastest->plan.profile->segment_seconds,
                1e-9 * fastest->plan.profile->segment_seconds);
    EXPECT_TRUE(limited->plan.profile->exact);
  }
}

TEST_F(PlanProfiled, RefusesWhatItCannotCombine) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  const auto refused = [&](const ProgramRequest& request, const std::string& why) {
    const auto planned = PlanProfiledProgram(request);
    ASSERT_FALSE(planned.ok()) << why;
    EXPECT_THAT(std::string(planned.status().message()), HasSubstr(why));
  };
  const ProgramRequest good = Request("mlp_adam.train.hlo.txt", "4xh100-sxm", "4");
  ProgramRequest bad = good;
  bad.fixes = {{"x", "[x,_]", "--fix #1"}};
  refused(bad, "--db cannot be combined with --fix");
  bad = good;
  bad.completion = Completion::kPropagate;
  refused(bad, "--rest xla");
  bad = good;
  bad.pipeline.wanted = true;
  refused(bad, "--pipeline");
  bad = good;
  bad.cost_model = "alpha_beta";
  refused(bad, "cost model in seconds");
  bad = good;
  bad.database = "no.sqlite";
  refused(bad, "cannot open no.sqlite");
  Store({std::string(64, 'a'), "x=4", "-"}, {1});
  bad = good;
  bad.cluster = "4xa100-80g";
  refused(bad, "holds no measurements of a100-80g");
}

}  // namespace
}  // namespace meshwright
