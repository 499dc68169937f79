// Whole pipelines: what a plan must hold, that it is no worse than what it could have been made of,
// and what is refused.

#include "meshwright/inter/stages/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "meshwright/base/infinity.h"
#include "meshwright/cluster/calibration.h"
#include "meshwright/cost/calibrated.h"
#include "meshwright/cost/roofline.h"
#include "meshwright/hlo/inline_calls.h"
#include "meshwright/intra/names.h"
#include "tests/intra/test_program.h"
#include "tests/testing/exhaustive.h"
#include "tests/testing/fresh_seed.h"

namespace meshwright {
namespace {

// A program without calls.
struct Inlined {
  explicit Inlined(const std::string& name)
      : program(ProgramFromData(name)),
        module(*InlineCalls(*program.module)),
        graph(*BuildGraph(module)) {}
  TestProgram program;
  Module module;
  Graph graph;
};

PipelineRequest Request(const std::vector<std::string>& clusters) {
  PipelineRequest request;
  for (const std::string& text : clusters) {
    request.clusters.push_back(*ParseCluster(text));
    request.memory_bytes.push_back(request.clusters.back().device.memory_bytes);
  }
  request.cost_model = [](const Mesh& mesh) { return std::make_unique<RooflineCostModel>(mesh); };
  request.deadline_seconds = 600;
  return request;
}

std::unique_ptr<CostModel> Calibrated(const Mesh& mesh) {
  return std::make_unique<CalibratedCostModel>(mesh, *FindCalibration("h100-sxm"));
}

// Stages follow each other over all layers, on all devices, each device in one group, within
// memory; the figures are those of the simulation.
void CheckPlan(const PipelinePlan& plan, const PipelineRequest& request) {
  ASSERT_TRUE(plan.fits);
  int32_t layer = 0;
  std::vector<std::set<int64_t>> devices(request.clusters.size());
  std::vector<StageTimes> times;
  for (size_t i = 0; i < plan.stages.size(); ++i) {
    const PipelineStage& stage = plan.stages[i];
    EXPECT_EQ(stage.begin, layer);
    EXPECT_GT(stage.end, stage.begin);
    layer = stage.end;
    const Cluster& cluster = request.clusters[stage.cluster];
    const size_t groups = plan.shape.groups;
    if (i < groups) {
      for (int64_t d = 0; d < stage.mesh.devices(); ++d)
        EXPECT_TRUE(devices[stage.cluster].insert(stage.first_device + d).second);
    } else {
      // A group runs all its stages on the same devices.
      EXPECT_EQ(stage.first_device, plan.stages[i - groups].first_device);
      EXPECT_EQ(stage.mesh.devices(), plan.stages[i - groups].mesh.devices());
    }
    // A part of a node does not lie on two.
    if (stage.mesh.devices() < cluster.devices_per_node) {
      EXPECT_EQ(stage.first_device / cluster.devices_per_node,
                (stage.first_device + stage.mesh.devices() - 1) / cluster.devices_per_node);
    }
    EXPECT_LE(plan.simulation.peak_bytes[i % groups], request.memory_bytes[stage.cluster]);
    EXPECT_EQ(stage.slice->inputs.size(), stage.slice->graph.parameters.size());
    EXPECT_EQ(stage.plan->ops.size(), stage.slice->graph.ops.size());
    times.push_back(stage.times);
  }
  EXPECT_EQ(layer, plan.layers.count);
  for (size_t c = 0; c < devices.size(); ++c) {
    EXPECT_EQ(static_cast<int64_t>(devices[c].size()), request.clusters[c].devices());
    EXPECT_EQ(*devices[c].rbegin(), request.clusters[c].devices() - 1);
  }
  EXPECT_DOUBLE_EQ(plan.seconds, Simulate(*plan.schedule, plan.shape, times)->seconds);
  EXPECT_LE(plan.bound, plan.seconds);
  EXPECT_GT(plan.bound, 0);
}

bool Warns(const PipelinePlan& plan, std::string_view what) {
  return std::any_of(plan.warnings.begin(), plan.warnings.end(), [&](const std::string& warning) {
    return warning.find(what) != std::string::npos;
  });
}

TEST(PipelineTest, TheBestIsNoWorseThanAnyChoiceMadeForIt) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  const Inlined program("tiny_gpt.train.hlo.txt.gz");
  PipelineRequest request = Request({"8xh100-sxm"});
  const absl::StatusOr<PipelinePlan> best = PlanPipeline(program.graph, request);
  ASSERT_TRUE(best.ok()) << best.status();
  CheckPlan(*best, request);
  for (const int32_t stages : {1, 3, 4}) {
    for (const int64_t micro_batches : {1, 4}) {
      SCOPED_TRACE(testing::Message() << stages << " stages, " << micro_batches);
      request.stages = stages;
      request.micro_batches = micro_batches;
      const absl::StatusOr<PipelinePlan> plan = PlanPipeline(program.graph, request);
      ASSERT_TRUE(plan.ok()) << plan.status();
      CheckPlan(*plan, request);
      EXPECT_EQ(static_cast<int32_t>(plan->stages.size()), stages);
      EXPECT_EQ(plan->shape.micro_batches, micro_batches);
      EXPECT_LE(best->seconds, plan->seconds * (1 + 1e-3));
      EXPECT_LE(best->bound, plan->bound * (1 + 1e-9));
    }
  }
  // Pure intra-operator parallelism.
  for (const Mesh& mesh : CandidateMeshes(request.clusters[0])) {
    PlannerOptions options;
    options.budget_bytes = request.memory_bytes[0];
    const absl::StatusOr<IntraPlan> plan =
        PlanIntra(program.graph, RooflineCostModel(mesh), options);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_LE(best->seconds, plan->objective * (1 + 1e-3));
  }
}

// What is done by hand: so many stages, each on the same mesh.
TEST(PipelineTest, TheBestIsNoWorseThanAnyUniformGrid) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  const Inlined program("tiny_gpt.train.hlo.txt.gz");
  PipelineRequest request = Request({"2x4xh100-sxm"});
  const absl::StatusOr<PipelinePlan> best = PlanPipeline(program.graph, request);
  ASSERT_TRUE(best.ok()) << best.status();
  int grids = 0;
  for (const char* mesh : {"8", "2x4", "4x2", "4", "2x2", "2", "1"}) {
    SCOPED_TRACE(mesh);
    request.mesh = mesh;
    const absl::StatusOr<PipelinePlan> plan = PlanPipeline(program.graph, request);
    if (absl::IsInvalidArgument(plan.status())) continue;  // more stages than layers
    ASSERT_TRUE(plan.ok()) << plan.status();
    CheckPlan(*plan, request);
    for (const PipelineStage& stage : plan->stages)
      EXPECT_EQ(stage.mesh.devices(), plan->stages[0].mesh.devices());
    EXPECT_LE(best->seconds, plan->seconds * (1 + 1e-3));
    ++grids;
  }
  EXPECT_GE(grids, 5);
}

// Where collectives run beside kernels the step is what counts, and what is found one operator
// after the other is not always the best. What layers take is only nearly what they take in a
// stage.
TEST(PipelineTest, NoUniformGridHasAShorterStep) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  const Inlined program("tiny_gpt.train.hlo.txt.gz");
  PipelineRequest request = Request({"2x4xh100-sxm"});
  request.cost_model = Calibrated;
  const absl::StatusOr<PipelinePlan> best = PlanPipeline(program.graph, request);
  ASSERT_TRUE(best.ok()) << best.status();
  CheckPlan(*best, request);
  int grids = 0;
  for (const char* mesh : {"8", "2x4", "4x2", "4", "2x2", "2", "1"}) {
    SCOPED_TRACE(mesh);
    request.mesh = mesh;
    const absl::StatusOr<PipelinePlan> plan = PlanPipeline(program.graph, request);
    if (absl::IsInvalidArgument(plan.status())) continue;  // more stages than layers
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_LE(best->step_seconds, plan->step_seconds * 1.01);
    ++grids;
  }
  EXPECT_GE(grids, 5);
}

// Cut off after the first number of micro-batches: a plan, and a bound that holds for all of them.
TEST(PipelineTest, TheBoundHoldsWhenTimeIsOver) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  const Inlined program("tiny_gpt.train.hlo.txt.gz");
  PipelineRequest request = Request({"4xh100-sxm"});
  const absl::StatusOr<PipelinePlan> best = PlanPipeline(program.graph, request);
  ASSERT_TRUE(best.ok()) << best.status();
  request.deadline_seconds = 0;
  const absl::StatusOr<PipelinePlan> plan = PlanPipeline(program.graph, request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  CheckPlan(*plan, request);
  EXPECT_LE(plan->bound, best->bound);
}

// By a clock that goes on whenever it is asked for the time, whatever the machine does meanwhile.
TEST(PipelineTest, ADeadlineOrAnInterruptEndsEverything) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  const Inlined program("mlp_adam.train.hlo.txt");
  std::atomic<int64_t> ticks = 0;
  PipelineRequest request = Request({"2xh100-sxm"});
  request.cost_model = Calibrated;
  request.elapsed = [&ticks] { return static_cast<double>(++ticks); };
  request.deadline_seconds = kInfinity;
  const absl::StatusOr<PipelinePlan> all = PlanPipeline(program.graph, request);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_FALSE(Warns(*all, "the search was"));
  const auto most = static_cast<double>(ticks);
  const auto check_cut = [&](const char* how) {
    ticks = 0;
    const absl::StatusOr<PipelinePlan> plan = PlanPipeline(program.graph, request);
    ASSERT_TRUE(plan.ok()) << plan.status();
    CheckPlan(*plan, request);
    EXPECT_LE(plan->bound, all->bound * (1 + 1e-9));
    EXPECT_TRUE(Warns(*plan, how));
    EXPECT_TRUE(Warns(*plan, "; not searched, or not to the end: "));
    EXPECT_TRUE(Warns(*plan, "; if nothing better is there, the gap is "));
  };
  // The first number of micro-batches is searched in any case.
  for (const double share : {0.6, 0.9}) {
    SCOPED_TRACE(share);
    request.deadline_seconds = share * most;
    check_cut("the search was cut off at its deadline of ");
    EXPECT_LE(static_cast<double>(ticks), 1.02 * request.deadline_seconds);
    request.deadline_seconds = kInfinity;
    request.planner.solver.stop = [&] { return static_cast<double>(ticks) > share * most; };
    check_cut("the search was interrupted: ");
    request.planner.solver.stop = nullptr;
  }
}

TEST(PipelineTest, WhatWasNotFoundInTimeIsNotSaidNotToFit) {
  const Inlined program("tiny_gpt.train.hlo.txt.gz");
  PipelineRequest request = Request({"2xh100-sxm"});
  request.memory_bytes[0] = 1000;
  request.deadline_seconds = 0;
  const absl::Status status = PlanPipeline(program.graph, request).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "no plan found before the deadline")) << status;
}

// Meshes that are given up after a bound or a first look, and those that are not looked at once
// others were of no use, held against planning all of them.
TEST(PipelineTest, ShortcutsMissNothing) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  std::mt19937_64 random(FreshSeed());
  const std::vector<std::string> names = {
      "tiny_gpt.train.hlo.txt.gz",        "mlp_adam.train.hlo.txt",
      "mlp_wide_batch.train.hlo.txt",     "pipeline/tied_clip.train.hlo.txt.gz",
      "pipeline/funnel.train.hlo.txt.gz", "pipeline/alternating.train.hlo.txt.gz"};
  const std::vector<std::string> clusters = {"2xh100-sxm", "4xh100-sxm", "2x2xh100-sxm",
                                             "4xa100-80g", "2x4xh100-sxm"};
  const auto draw = [&](size_t count) { return random() % count; };
  for (int i = 0; i < Cases(2); ++i) {
    const std::string& name = names[draw(names.size())];
    const std::string& cluster = clusters[draw(clusters.size())];
    const Inlined program(name);
    PipelineRequest request = Request({cluster});
    if (draw(2) == 0) request.cost_model = Calibrated;
    if (draw(2) == 0) request.schedule = "1f1b";
    request.recompute = draw(2) == 0;
    request.deadline_seconds = kInfinity;
    SCOPED_TRACE(testing::Message() << name << " on " << cluster << ", " << request.schedule);
    const absl::StatusOr<PipelinePlan> plan = PlanPipeline(program.graph, request);
    request.exhaustive = true;
    const absl::StatusOr<PipelinePlan> best = PlanPipeline(program.graph, request);
    ASSERT_EQ(plan.ok(), best.ok()) << plan.status() << best.status();
    if (!plan.ok()) continue;
    EXPECT_LE(plan->step_seconds, best->step_seconds * (1 + 5e-3));
    EXPECT_LE(plan->bound, best->seconds * (1 + 1e-9));
  }
}

TEST(PipelineTest, EverySchedule) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  const Inlined program("tiny_gpt.train.hlo.txt.gz");
  PipelineRequest request = Request({"4xh100-sxm"});
  request.stages = 2;
  request.micro_batches = 4;
  for (const ScheduleKind& kind : ScheduleTable()) {
    SCOPED_TRACE(kind.name);
    request.schedule = std::string(kind.name);
    const absl::StatusOr<PipelinePlan> plan = PlanPipeline(program.graph, request);
    ASSERT_TRUE(plan.ok()) << plan.status();
    CheckPlan(*plan, request);
    EXPECT_EQ(plan->schedule, &kind);
  }
}

// Where handing on costs next to nothing, several stages a group shorten the bubble.
TEST(PipelineTest, InterleavedStagesShortenTheBubble) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  const Inlined program("tiny_gpt.train.hlo.txt.gz");
  PipelineRequest request = Request({"2xh100-sxm"});
  request.clusters[0].intra_node = {
      .name = "ideal", .bandwidth_bytes_per_second = 1e15, .latency_seconds = 1e-9};
  request.stages = 2;
  request.micro_batches = 2;
  request.schedule = "1f1b";
  const absl::StatusOr<PipelinePlan> plain = PlanPipeline(program.graph, request);
  ASSERT_TRUE(plain.ok()) << plain.status();
  request.schedule = "interleaved";
  const absl::StatusOr<PipelinePlan> plan = PlanPipeline(program.graph, request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  CheckPlan(*plan, request);
  EXPECT_EQ(plan->shape.groups, 2);
  EXPECT_GT(plan->shape.chunks, 1);
  EXPECT_EQ(plan->stages.size(), static_cast<size_t>(2 * plan->shape.chunks));
  EXPECT_LT(plan->simulation.bubble_share, plain->simulation.bubble_share);
  EXPECT_LT(plan->seconds, plain->seconds);
}

TEST(PipelineTest, LoopsOverLayersAndUnevenNetworks) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  for (const char* name :
       {"pipeline/funnel.train.hlo.txt.gz", "pipeline/alternating.train.hlo.txt.gz",
        "pipeline/tied_clip.train.hlo.txt.gz", "pipeline/encoder_decoder.scan.train.hlo.txt.gz",
        "pipeline/reversed.scan.train.hlo.txt.gz"}) {
    SCOPED_TRACE(name);
    const Inlined program(name);
    PipelineRequest request = Request({"2xh100-sxm"});
    request.stages = 2;
    const absl::StatusOr<PipelinePlan> plan = PlanPipeline(program.graph, request);
    ASSERT_TRUE(plan.ok()) << plan.status();
    CheckPlan(*plan, request);
  }
}

// A stage's loop over layers gives weights' gradients and the one that another stage waits for in
// the same rounds: apart are only those of operators outside of it.
TEST(PipelineTest, WeightGradientsOfALoopAreNotApart) {
  const Inlined program("pipeline/reversed.scan.train.hlo.txt.gz");
  PipelineRequest request = Request({"2xh100-sxm"});
  request.stages = 2;
  request.micro_batches = 2;
  request.schedule = "zb-h1";
  const absl::StatusOr<PipelinePlan> plan = PlanPipeline(program.graph, request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  // Nothing waits for the first stage's.
  EXPECT_DOUBLE_EQ(plan->stages[0].cost.weight_gradient, plan->stages[0].cost.backward);
  const PipelineStage& last = plan->stages[1];
  double outside = 0, inside = 0;
  for (size_t i = 0; i < last.slice->graph.ops.size(); ++i) {
    const Op& op = last.slice->graph.ops[i];
    if (last.slice->phase[i] != Phase::kBackward) continue;
    (op.loop < 0 ? outside : inside) += last.plan->ops[i].compute_seconds * op.multiplicity;
  }
  EXPECT_GT(inside, 0);
  EXPECT_LE(last.cost.weight_gradient, outside);
}

TEST(PipelineTest, DeviceTypesDoNotMixWithinAStage) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  const Inlined program("tiny_gpt.train.hlo.txt.gz");
  PipelineRequest request = Request({"2xh100-sxm", "2xa100-80g"});
  const absl::StatusOr<PipelinePlan> plan = PlanPipeline(program.graph, request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  CheckPlan(*plan, request);
  EXPECT_GE(plan->stages.size(), 2);
}

TEST(PipelineTest, LittleMemoryTakesMoreStagesOrRecomputes) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  const Inlined program("tiny_gpt.train.hlo.txt.gz");
  PipelineRequest request = Request({"4xh100-sxm"});
  request.stages = 2;
  request.micro_batches = 4;
  const absl::StatusOr<PipelinePlan> plenty = PlanPipeline(program.graph, request);
  ASSERT_TRUE(plenty.ok()) << plenty.status();
  const std::vector<int64_t>& peaks = plenty->simulation.peak_bytes;
  request.memory_bytes[0] = *std::max_element(peaks.begin(), peaks.end()) * 3 / 4;
  const absl::StatusOr<PipelinePlan> less = PlanPipeline(program.graph, request);
  ASSERT_TRUE(less.ok()) << less.status();
  CheckPlan(*less, request);
  EXPECT_GE(less->seconds, plenty->seconds);
  request.memory_bytes[0] = 1000;
  const absl::StatusOr<PipelinePlan> none = PlanPipeline(program.graph, request);
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_FALSE(none->fits);
  EXPECT_GT(none->smallest_bytes, 1000);
}

TEST(PipelineTest, EqualRequestsGiveEqualPlans) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  const Inlined program("pipeline/tied_clip.train.hlo.txt.gz");
  PipelineRequest request = Request({"4xh100-sxm"});
  const absl::StatusOr<PipelinePlan> a = PlanPipeline(program.graph, request);
  request.threads = 1;
  const absl::StatusOr<PipelinePlan> b = PlanPipeline(program.graph, request);
  ASSERT_TRUE(a.ok() && b.ok());
  ASSERT_EQ(a->stages.size(), b->stages.size());
  EXPECT_EQ(a->seconds, b->seconds);
  EXPECT_EQ(a->bound, b->bound);
  for (size_t i = 0; i < a->stages.size(); ++i) {
    EXPECT_EQ(a->stages[i].end, b->stages[i].end);
    EXPECT_EQ(a->stages[i].plan->shardings, b->stages[i].plan->shardings);
  }
}

TEST(PipelineErrorsTest, SayWhatWouldBeValid) {
  const Inlined program("tiny_gpt.train.hlo.txt.gz");
  const auto message = [&](const PipelineRequest& request) {
    return std::string(PlanPipeline(program.graph, request).status().message());
  };
  PipelineRequest request = Request({"8xh100-sxm"});
  request.stages = 5;
  EXPECT_TRUE(absl::StrContains(message(request), "5 stages are more than the 4 layers"))
      << message(request);
  request = Request({"3xh100-sxm"});
  request.stages = 2;
  EXPECT_TRUE(absl::StrContains(message(request), "2 stages cannot be made up of all devices") &&
              absl::StrContains(message(request), "; 1, 3 can"))
      << message(request);
  request = Request({"3xh100-sxm", "2xa100-80g"});
  request.stages = 1;
  EXPECT_TRUE(absl::StrContains(message(request), "1 stage cannot be made up")) << message(request);
  request = Request({"8xh100-sxm"});
  request.micro_batches = 3;
  EXPECT_TRUE(absl::StrContains(message(request), "it can into 1, 2, 4, 8")) << message(request);
  request = Request({"8xh100-sxm"});
  request.schedule = "1f2b";
  EXPECT_TRUE(absl::StrContains(message(request), "unknown schedule")) << message(request);
  request = Request({"8xh100-sxm"});
  request.data = {"nothing*"};
  EXPECT_TRUE(absl::StrContains(message(request), "nothing*")) << message(request);
  request = Request({"2xh100-sxm"});
  request.stages = 4;
  EXPECT_TRUE(absl::StrContains(message(request), "4 stages are more than the 2 devices"))
      << message(request);
}

}  // namespace
}  // namespace meshwright
