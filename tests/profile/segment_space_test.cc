#include "meshwright/profile/segment_space.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "meshwright/intra/cost_model_table.h"
#include "meshwright/profile/slice_matching.h"
#include "tests/intra/test_program.h"

namespace meshwright {
namespace {

struct Space {
  TestProgram program;
  Mesh mesh;
  std::unique_ptr<CostModel> cost_model;
  std::unique_ptr<SegmentSpace> space;
};

std::unique_ptr<Space> SpaceOf(const std::string& file, const std::string& mesh,
                               const std::string& cluster, int threads = 2) {
  auto made = std::make_unique<Space>();
  made->program = ProgramFromData(file);
  made->mesh = TestMesh(mesh, cluster);
  made->cost_model = FindCostModel("calibrated")->make(made->mesh);
  absl::StatusOr<std::unique_ptr<SegmentSpace>> space =
      SegmentSpace::Make(made->program.graph, made->mesh, *made->cost_model, threads);
  EXPECT_TRUE(space.ok()) << space.status();
  made->space = *std::move(space);
  return made;
}

TEST(SegmentSpace, LayersOfANetworkAreOneSegment) {
  const auto gpt = SpaceOf("tiny_gpt.train.hlo.txt.gz", "4", "4xh100-sxm");
  const SegmentSpace& space = *gpt->space;
  EXPECT_EQ(space.sequence(), (std::vector<int32_t>{0, 1, 1, 2}));
  ASSERT_EQ(space.segments().size(), 3);
  EXPECT_EQ(space.segments()[1].blocks.size(), 4);
  EXPECT_EQ(space.segments()[1].occurrences, (std::vector<int32_t>{1, 2}));
  // Nothing enters the network, or leaves it.
  EXPECT_EQ(space.segments()[0].entries, std::vector<std::string>{""});
  EXPECT_EQ(space.segments()[2].exits, std::vector<std::string>{""});
  EXPECT_EQ(space.segments()[1].entry_shape, space.segments()[1].exit_shape);
  EXPECT_EQ(space.segments()[0].exits, space.segments()[1].entries);
  EXPECT_EQ(space.same_as(), (std::vector<int32_t>{0, 1, 2, 3}));
}

// The optimizer of the whole stack is with the first of the layers.
TEST(SegmentSpace, LayersWithStackedWeightsAreOneSegment) {
  const auto llama = SpaceOf("llama_stacked.train.hlo.txt.gz", "2x2", "4xh100-sxm");
  EXPECT_EQ(llama->space->sequence(), (std::vector<int32_t>{0, 1, 2, 2, 2, 3}));
}

TEST(SegmentSpace, IterationsOfALoopMustChooseAlike) {
  const auto llama = SpaceOf("llama3_8b.scan.train.hlo.txt.gz", "4", "4xh100-sxm");
  const std::vector<int32_t>& same = llama->space->same_as();
  const std::vector<int32_t>& sequence = llama->space->sequence();
  const auto layers = std::count(same.begin(), same.end(), 1);
  EXPECT_GT(layers, 4);
  for (size_t p = 1; p <= static_cast<size_t>(layers); ++p) EXPECT_EQ(sequence[p], sequence[1]);
}

// Numbers of a program do not depend on the mesh or on names; those of another one differ.
// Nothing replaces this input, and it leads to the first dimension of the output.
TEST(SegmentSpace, WhateverCanBeTheBatchIsTakenForIt) {
  const TestProgram program = ProgramFromText(R"(HloModule step
ENTRY main {
  w = f32[64,64] parameter(0)
  s = f32[64,64] sine(w)
  ROOT y = f32[64,64] dot(s, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})");
  const Mesh mesh = TestMesh("2", "2xh100-sxm");
  const auto model = FindCostModel("calibrated")->make(mesh);
  const auto space = SegmentSpace::Make(program.graph, mesh, *model);
  ASSERT_TRUE(space.ok()) << space.status();
  EXPECT_EQ((*space)->batch_size(), 64);
  const TestProgram scalar = ProgramFromText(R"(HloModule step
ENTRY main {
  x = f32[] parameter(0)
  w = f32[64,64] broadcast(x), dimensions={}
  ROOT y = f32[64,64] dot(w, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})");
  const auto none = SegmentSpace::Make(scalar.graph, mesh, *model);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.status().message(),
            "no segments without a batch: found no input that carries the batch");
}

// A program that ends with a call has the segments of the one without that call.
TEST(SegmentSpace, ProgramsMayEndWithACall) {
  const Mesh mesh = TestMesh("2", "2xh100-sxm");
  const auto model = FindCostModel("calibrated")->make(mesh);
  const auto fingerprints = [&](const std::string& end) {
    const TestProgram program = ProgramFromText(R"(HloModule step
activation {
  a = f32[32,64] parameter(0)
  ROOT b = f32[32,64] tanh(a)
}
wrapped {
  a = f32[32,64] parameter(0)
  ROOT b = f32[32,64] call(a), to_apply=activation
}
ENTRY main {
  x = f32[32,64] parameter(0)
  w = f32[64,64] parameter(1)
  y = f32[32,64] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
)" + end + "\n}");
    const auto space = SegmentSpace::Make(program.graph, mesh, *model);
    EXPECT_TRUE(space.ok()) << space.status();
    std::vector<std::string> all;
    if (!space.ok()) return all;
    for (const Segment& segment : (*space)->segments()) all.push_back(segment.fingerprint);
    return all;
  };
  const auto without = fingerprints("ROOT z = f32[32,64] tanh(y)");
  ASSERT_FALSE(without.empty());
  for (const char* end :
       {"ROOT z = f32[32,64] call(y), to_apply=activation",
        "ROOT z = f32[32,64] call(y), to_apply=wrapped",
        "z = f32[32,64] call(y), to_apply=wrapped ROOT t = (f32[32,64]) tuple(z)"})
    EXPECT_EQ(fingerprints(end), without) << end;
}

TEST(SegmentSpace, FingerprintsAreOfTheProgram) {
  const auto a = SpaceOf("tiny_gpt.train.hlo.txt.gz", "4", "4xh100-sxm");
  const auto b = SpaceOf("tiny_gpt.train.stablehlo.mlir.gz", "2x2", "4xh100-sxm");
  std::set<std::string> all;
  for (size_t s = 0; s < a->space->segments().size(); ++s) {
    EXPECT_EQ(a->space->segments()[s].fingerprint.size(), 64);
    all.insert(a->space->segments()[s].fingerprint);
  }
  EXPECT_EQ(all.size(), 3);
  EXPECT_EQ(a->space->segments()[1].fingerprint, b->space->segments()[1].fingerprint);
}

TEST(SegmentSpace, ChoicesComeCheapestFirstAndOnce) {
  const auto mlp = SpaceOf("mlp_adam.train.hlo.txt", "2", "2xh100-sxm");
  SegmentSpace& space = *mlp->space;
  for (int32_t s = 0; s < static_cast<int32_t>(space.segments().size()); ++s) {
    double last = 0, best = 0;
    std::set<std::string> keys;
    while (true) {
      const auto next = space.Next(s);
      ASSERT_TRUE(next.ok()) << next.status();
      if (!next->has_value()) break;
      const PredictedChoice& choice = **next;
      EXPECT_TRUE(keys.insert(choice.key).second) << choice.key;
      // As far as the solver closes its gap.
      EXPECT_GE(choice.objective, last * (1 - 2e-3)) << choice.key;
      last = choice.objective;
      if (best == 0) best = choice.objective;
      EXPECT_GT(choice.seconds, 0);
      EXPECT_GT(choice.peak_bytes(), 0);
      const auto parsed = space.ParseKey(s, choice.key);
      ASSERT_TRUE(parsed.ok()) << parsed.status();
      EXPECT_EQ(*parsed, choice.choice);
      const auto again = space.Predict(s, choice.choice);
      ASSERT_TRUE(again.ok());
      EXPECT_EQ(again->key, choice.key);
      EXPECT_DOUBLE_EQ(again->objective, choice.objective);
    }
    // No plan of the segment is cheaper than its first choice.
    PlannerOptions options;
    options.tie_outputs_by_position = false;
    const auto free = PlanIntra(space.segments()[s].slice.graph, *mlp->cost_model, options);
    ASSERT_TRUE(free.ok());
    EXPECT_GE(free->objective, best * (1 - 2e-3));
    EXPECT_LE(free->bound, best * (1 + 2e-3));
    size_t most = space.segments()[s].entries.size() * space.segments()[s].exits.size();
    for (const auto& texts : space.segments()[s].strategy_texts) most *= texts.size();
    EXPECT_LE(keys.size(), most);
    EXPECT_GT(keys.size(), 1);
  }
}

// Where it was stopped, and how many threads it has, do not show in what comes.
TEST(SegmentSpace, ChoicesComeInTheSameOrderHoweverOftenStopped) {
  constexpr int kChoices = 12;
  const auto keys = [](const Space& made, int32_t segment, bool stopped) {
    std::vector<std::string> all;
    int stops = 0;
    while (all.size() < kChoices) {
      // Later and later, as what is stopped in the middle begins again.
      std::atomic<int> asked = 0;
      const auto stop = [&] { return stopped && ++asked > 100 * stops; };
      const auto next = made.space->Next(segment, stop);
      if (next.status().code() == absl::StatusCode::kCancelled) {
        ++stops;
        continue;
      }
      EXPECT_TRUE(next.ok() && next->has_value()) << next.status();
      if (!next.ok() || !next->has_value()) break;
      all.push_back((*next)->key);
    }
    EXPECT_EQ(stops > 0, stopped);
    return all;
  };
  const auto spaces = [](int threads) {
    return SpaceOf("tiny_gpt.train.hlo.txt.gz", "2x2", "4xh100-sxm", threads);
  };
  const std::vector<std::string> expected = keys(*spaces(1), 1, false);
  EXPECT_EQ(keys(*spaces(3), 1, false), expected);
  EXPECT_EQ(keys(*spaces(1), 1, true), expected);
}

TEST(SegmentSpace, StopsAtOnce) {
  const auto gpt = SpaceOf("tiny_gpt.train.hlo.txt.gz", "2x2x2", "8xh100-sxm");
  EXPECT_EQ(gpt->space->Next(1, [] { return true; }).status().code(), absl::StatusCode::kCancelled);
}

TEST(SegmentSpace, KeysOfOtherSegmentsAreRefused) {
  const auto gpt = SpaceOf("tiny_gpt.train.hlo.txt.gz", "4", "4xh100-sxm");
  for (const char* key : {"", "m=x", "[x,_,_] > m=x > [x,_,_]", "[q] > m=x | m=x | m=x | m=x > -",
                          "[x,_,_] > m=x | m=x | m=x | m=x | m=x > [x,_,_]"}) {
    EXPECT_FALSE(gpt->space->ParseKey(1, key).ok()) << key;
  }
}

// The whole program follows the choices of its segments, wherever they stand in it.
TEST(SegmentSpace, TheWholePlanIsThatOfItsSegments) {
  const auto gpt = SpaceOf("tiny_gpt.train.hlo.txt.gz", "4", "4xh100-sxm");
  SegmentSpace& space = *gpt->space;
  // Not the best of each, so that it would not come out by itself.
  constexpr int kChosen = 7;
  std::map<int32_t, PredictedChoice> chosen;
  for (int32_t s : {0, 1, 2}) {
    for (int i = 0; i < kChosen; ++i) {
      const auto next = space.Next(s);
      ASSERT_TRUE(next.ok());
      if (next->has_value()) chosen[s] = **next;
    }
  }
  std::vector<SegmentChoice> choices;
  double expected = 0;
  for (int32_t s : space.sequence()) {
    choices.push_back(chosen[s].choice);
    expected += chosen[s].objective;
  }
  for (size_t p = 0; p + 1 < choices.size(); ++p) {
    for (bool back : {false, true}) {
      const auto move =
          space.ReshardSeconds(space.sequence()[p], back ? choices[p + 1].entry : choices[p].exit,
                               back ? choices[p].exit : choices[p + 1].entry);
      ASSERT_TRUE(move.ok());
      expected += *move;
    }
  }
  PlannerOptions options;
  ASSERT_TRUE(space.GiveChoices(choices, &options).ok());
  const auto plan = PlanIntra(gpt->program.graph, *gpt->cost_model, options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  // What crosses borders may be moved once for users on both sides: the whole may take less.
  EXPECT_LE(plan->objective, 1.05 * expected);
  int products = 0;
  for (const auto& [id, strategy] : options.given_strategies) {
    const Op& op = gpt->program.graph[id];
    if (op.kind != OpKind::kInstruction || op.instruction->opcode != Opcode::kDot) continue;
    EXPECT_EQ(plan->ops[id.index()].strategy, strategy) << op.name;
    ++products;
  }
  EXPECT_GT(products, 30);
}

TEST(MatchOps, FindsOperatorsInAnotherOrder) {
  const auto gpt = SpaceOf("tiny_gpt.train.hlo.txt.gz", "4", "4xh100-sxm");
  const ProgramSlice& slice = gpt->space->segments()[1].slice;
  const std::vector<OpId> match = MatchOps(slice, slice);
  std::set<OpId> seen;
  size_t same = 0;
  for (size_t i = 0; i < match.size(); ++i) {
    ASSERT_TRUE(match[i].valid());
    EXPECT_TRUE(seen.insert(match[i]).second);
    EXPECT_EQ(slice.graph[match[i]].results.size(), slice.graph.ops[i].results.size());
    same += match[i] == OpId(i);
  }
  // Nothing in a transformer's layer is a symmetry but scalars and the like.
  EXPECT_GT(same, match.size() * 9 / 10);
  const std::vector<OpId> other = MatchOps(slice, gpt->space->segments()[2].slice);
  EXPECT_TRUE(std::any_of(other.begin(), other.end(), [](OpId op) { return !op.valid(); }));
}

}  // namespace
}  // namespace meshwright
