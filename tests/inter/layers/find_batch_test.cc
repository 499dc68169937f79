#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/program/reader.h"
#include "meshwright/inter/layers/batch.h"
#include "meshwright/intra/names.h"
#include "meshwright/intra/planner.h"
#include "tests/intra/test_program.h"
#include "tests/testing/data.h"
#include "tests/testing/exhaustive.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A program and what FindBatch makes of it.
struct FoundBatch {
  TestProgram program;
  absl::StatusOr<BatchSplit> batch;

  explicit FoundBatch(const std::string& text, const std::vector<std::string>& data = {},
                      MicroBatchRng rng = MicroBatchRng::kExact)
      : program(ProgramFromText(text)),
        batch(FindBatch(program.graph, TiedParameters(program.graph, true), data, rng)) {}

  ValueId Result(const std::string& op) const {
    for (const Op& o : program.graph.ops) {
      if (o.name == op && !o.results.empty()) return o.results[0];
    }
    ADD_FAILURE() << "no operator " << op;
    return ValueId(0);
  }
  BatchRole Role(const std::string& op) const { return batch->roles[Result(op).index()]; }
  int32_t Dimension(const std::string& op) const { return batch->dimension[Result(op).index()]; }
  std::vector<std::string> Names(const std::vector<OpId>& ops) const {
    std::vector<std::string> names;
    for (OpId op : ops) names.push_back(program.graph[op].name);
    return names;
  }
};

constexpr char kReductions[] = R"(
sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
max { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] maximum(a, b) }
)";

// Entry computation with x f32[8,4], w f32[4,4] (replaced by output 0) and the given lines.
std::string Step(const std::string& header, const std::string& lines) {
  return StrCat("HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }", kReductions, header,
                "ENTRY main {\n  w = f32[4,4] parameter(0)\n  x = f32[8,4] parameter(1)\n",
                "  zero = f32[] constant(0)\n", lines, "}\n");
}

TEST(FindBatchTest, OneLayerWithLoss) {
  const FoundBatch found(Step("", R"(
    y = f32[8,4] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    sixth = f32[] constant(0.125)
    scale = f32[8,4] broadcast(sixth), dimensions={}
    dy = f32[8,4] multiply(y, scale)
    dw = bf16[4,4] dot(x, dy), lhs_contracting_dims={0}, rhs_contracting_dims={0}
    turned = bf16[4,4] transpose(dw), dimensions={1,0}
    wide = f32[4,4] convert(turned)
    new = f32[4,4] subtract(w, wide)
    loss = f32[] reduce(dy, zero), dimensions={0,1}, to_apply=sum
    mean = f32[] multiply(loss, sixth)
    ROOT out = (f32[4,4], f32[]) tuple(new, mean)
  )"));
  ASSERT_TRUE(found.batch.ok()) << found.batch.status();
  EXPECT_EQ(found.batch->size, 8);
  EXPECT_THAT(found.Names(found.batch->data), ElementsAre("x"));
  EXPECT_EQ(found.Role("w"), BatchRole::kConstant);
  EXPECT_EQ(found.Role("y"), BatchRole::kSplit);
  EXPECT_EQ(found.Dimension("y"), 0);
  EXPECT_EQ(found.Role("scale"), BatchRole::kSplit) << "a part of it is needed";
  // Added up in the type they are used in.
  for (const char* sum : {"dw", "turned", "wide", "loss"}) {
    EXPECT_EQ(found.Role(sum), BatchRole::kAccumulated) << sum;
    EXPECT_EQ(found.Dimension(sum), -1) << sum;
  }
  EXPECT_EQ(found.Role("new"), BatchRole::kAfter);
  EXPECT_EQ(found.Role("mean"), BatchRole::kAfter);
  EXPECT_THAT(found.batch->warnings, IsEmpty());
  EXPECT_THAT(found.batch->several_warnings, IsEmpty());
  EXPECT_TRUE(found.batch->Divides(found.program.graph, 4));
  EXPECT_FALSE(found.batch->Divides(found.program.graph, 3));
}

TEST(FindBatchTest, FollowsReshapesAndTransposes) {
  const FoundBatch found(Step("", R"(
    rows = f32[32] reshape(x)
    groups = f32[4,2,4] reshape(rows)
    last = f32[2,4,4] transpose(groups), dimensions={1,2,0}
    new = f32[4,4] add(w, w)
    ROOT out = (f32[4,4], f32[2,4,4]) tuple(new, last)
  )"));
  ASSERT_TRUE(found.batch.ok()) << found.batch.status();
  EXPECT_EQ(found.Dimension("rows"), 0);
  EXPECT_EQ(found.Dimension("groups"), 0);
  EXPECT_EQ(found.Dimension("last"), 2);
  EXPECT_TRUE(found.batch->Divides(found.program.graph, 4)) << "groups of two samples";
  EXPECT_FALSE(found.batch->Divides(found.program.graph, 8));
}

TEST(FindBatchTest, StatisticsAreTheMicroBatchsOwn) {
  const FoundBatch found(Step("", R"(
    total = f32[4] reduce(x, zero), dimensions={0}, to_apply=sum
    eighth = f32[] constant(0.125)
    eighths = f32[4] broadcast(eighth), dimensions={}
    mean = f32[4] multiply(total, eighths)
    means = f32[8,4] broadcast(mean), dimensions={1}
    centred = f32[8,4] subtract(x, means)
    spread = f32[4] reduce(centred, zero), dimensions={0}, to_apply=sum
    wide = f32[4,4] broadcast(spread), dimensions={1}
    new = f32[4,4] subtract(w, wide)
    ROOT out = (f32[4,4], f32[4]) tuple(new, mean)
  )"));
  ASSERT_TRUE(found.batch.ok()) << found.batch.status();
  EXPECT_EQ(found.Role("total"), BatchRole::kStatistic);
  EXPECT_EQ(found.Role("mean"), BatchRole::kStatistic);
  EXPECT_EQ(found.Role("means"), BatchRole::kSplit);
  EXPECT_EQ(found.Role("spread"), BatchRole::kAccumulated);
  EXPECT_EQ(found.Role("new"), BatchRole::kAfter);
  EXPECT_THAT(found.Names(found.batch->statistics), ElementsAre("total"));
  EXPECT_THAT(found.batch->warnings, IsEmpty());
  EXPECT_THAT(found.batch->several_warnings, ElementsAre(HasSubstr("total combines values")));
  EXPECT_TRUE(found.batch->Divides(found.program.graph, 2));
}

TEST(FindBatchTest, TwoStepsInOneProgram) {
  const FoundBatch found(Step("", R"(
    y = f32[8,4] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    dw = f32[4,4] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}
    between = f32[4,4] subtract(w, dw)
    z = f32[8,4] dot(x, between), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    dw2 = f32[4,4] dot(x, z), lhs_contracting_dims={0}, rhs_contracting_dims={0}
    new = f32[4,4] subtract(between, dw2)
    ROOT out = (f32[4,4]) tuple(new)
  )"));
  ASSERT_TRUE(found.batch.ok()) << found.batch.status();
  EXPECT_THAT(found.Names(found.batch->indivisible), ElementsAre("between"));
}

// The running maximum of what quantization scales by.
TEST(FindBatchTest, MaximumForSamplesAndForTheNextStep) {
  const std::string lines = R"(
    top = f32[] reduce(x, zero), dimensions={0,1}, to_apply=max
    tops = f32[8,4] broadcast(top), dimensions={}
    y = f32[8,4] divide(x, tops)
    dw = f32[4,4] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}
    new = f32[4,4] subtract(w, dw)
    ROOT out = (f32[4,4], f32[]) tuple(new, )";
  const FoundBatch both(Step("", lines + "top)"));
  ASSERT_TRUE(both.batch.ok()) << both.batch.status();
  EXPECT_THAT(both.Names(both.batch->indivisible), ElementsAre("top"));
  const FoundBatch samples(Step("", lines + "zero)"));
  ASSERT_TRUE(samples.batch.ok()) << samples.batch.status();
  EXPECT_THAT(samples.batch->indivisible, IsEmpty());
  EXPECT_THAT(samples.batch->statistics, IsEmpty()) << "no sum to be scaled";
  EXPECT_EQ(samples.Role("top"), BatchRole::kStatistic);
}

// What chooses a branch is no operand of the result.
TEST(FindBatchTest, BranchesFollowTheirPredicate) {
  const std::string branches = R"(
yes { p = f32[] parameter(0) ROOT r = f32[] multiply(p, p) }
no { p = f32[] parameter(0) ROOT r = f32[] negate(p) }
)";
  const FoundBatch found(Step(branches, R"(
    rate = f32[] parameter(2)
    loss = f32[] reduce(x, zero), dimensions={0,1}, to_apply=sum
    fine = pred[] compare(loss, zero), direction=GT
    next = f32[] conditional(fine, rate, rate), true_computation=yes, false_computation=no
    new = f32[4,4] add(w, w)
    ROOT out = (f32[4,4], f32[]) tuple(new, next)
  )"));
  ASSERT_TRUE(found.batch.ok()) << found.batch.status();
  EXPECT_EQ(found.Role("loss"), BatchRole::kAccumulated);
  EXPECT_EQ(found.Role("fine"), BatchRole::kAfter);
  EXPECT_EQ(found.Role("next"), BatchRole::kAfter);
}

struct Obstacle {
  const char* name;
  const char* op;
  const char* why;
  const char* lines;  // that end in `y`, f32[8,4] or anything else
};

class ObstacleTest : public ::testing::TestWithParam<Obstacle> {};

// What counts the rounds of a loop that goes on as a sum over the batch says depends on that sum,
// though it is computed from nothing but a constant.
TEST(FindBatchTest, LoopsFollowWhatKeepsThemGoing) {
  const FoundBatch found(Step(R"(
condition {
  c = (f32[], f32[]) parameter(0)
  left = f32[] get-tuple-element(c), index=0
  least = f32[] constant(1)
  ROOT go = pred[] compare(left, least), direction=GT
}
body {
  c = (f32[], f32[]) parameter(0)
  left = f32[] get-tuple-element(c), index=0
  rounds = f32[] get-tuple-element(c), index=1
  half = f32[] constant(0.5)
  one = f32[] constant(1)
  less = f32[] multiply(left, half)
  more = f32[] add(rounds, one)
  ROOT next = (f32[], f32[]) tuple(less, more)
}
)",
                              R"(
    y = f32[8,4] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    size = f32[] reduce(y, zero), dimensions={0,1}, to_apply=sum
    init = (f32[], f32[]) tuple(size, zero)
    run = (f32[], f32[]) while(init), condition=condition, body=body
    rounds = f32[] get-tuple-element(run), index=1
    scale = f32[8,4] broadcast(rounds), dimensions={}
    dy = f32[8,4] multiply(y, scale)
    dw = f32[4,4] dot(x, dy), lhs_contracting_dims={0}, rhs_contracting_dims={0}
    new = f32[4,4] subtract(w, dw)
    ROOT out = (f32[4,4]) tuple(new)
  )"));
  ASSERT_TRUE(found.batch.ok()) << found.batch.status();
  EXPECT_EQ(found.Role("size"), BatchRole::kStatistic);
  const Graph& graph = found.program.graph;
  const Op& scale = graph[graph[found.Result("scale")].producer];
  EXPECT_EQ(found.batch->roles[scale.operands[0].index()], BatchRole::kStatistic);
  EXPECT_THAT(found.batch->several_warnings,
              ElementsAre(HasSubstr("size combines values over the batch")));
}

TEST_P(ObstacleTest, CannotBeDivided) {
  const Obstacle& obstacle = GetParam();
  const FoundBatch found(Step("", StrCat(obstacle.lines, R"(
    new = f32[4,4] add(w, w)
    ROOT out = (f32[4,4], f32[]) tuple(new, y)
  )")));
  ASSERT_TRUE(found.batch.ok()) << found.batch.status();
  EXPECT_THAT(found.Names(found.batch->indivisible), ElementsAre(obstacle.op));
  EXPECT_THAT(found.batch->warnings, ElementsAre(HasSubstr(obstacle.why)));
  EXPECT_TRUE(found.batch->Divides(found.program.graph, 1));
  EXPECT_FALSE(found.batch->Divides(found.program.graph, 2));
}

constexpr Obstacle kObstacles[] = {
    {"Reverse", "r", "needs all samples at once", R"(
      r = f32[8,4] reverse(x), dimensions={0}
      y = f32[] reduce(r, zero), dimensions={0,1}, to_apply=sum)"},
    {"SliceOfTheBatch", "r", "needs all samples at once", R"(
      r = f32[6,4] slice(x), slice={[1:7], [0:4]}
      y = f32[] reduce(r, zero), dimensions={0,1}, to_apply=sum)"},
    {"MinorInAReshape", "r", "mixes samples", R"(
      t = f32[4,8] transpose(x), dimensions={1,0}
      r = f32[32] reshape(t)
      y = f32[] reduce(r, zero), dimensions={0}, to_apply=sum)"},
    {"AllPairs", "r", "pairs samples", R"(
      r = f32[8,8] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={1}
      y = f32[] reduce(r, zero), dimensions={0,1}, to_apply=sum)"},
    {"SamplesByNumber", "r", "takes samples by their number", R"(
      i = s32[2,1] constant({{3},{5}})
      r = f32[2,4] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,4}
      y = f32[] reduce(r, zero), dimensions={0,1}, to_apply=sum)"},
    {"MaximumForTheEnd", "y", "something else than a sum", R"(
      y = f32[] reduce(x, zero), dimensions={0,1}, to_apply=max)"},
    {"SumFromElsewhere", "y", "initial value other than 0", R"(
      one = f32[] constant(1)
      y = f32[] reduce(x, one), dimensions={0,1}, to_apply=sum)"},
};
INSTANTIATE_TEST_SUITE_P(All, ObstacleTest, ::testing::ValuesIn(kObstacles),
                         [](const auto& info) { return std::string(info.param.name); });

// What every micro-batch can make for itself if it knows its number.
TEST(FindBatchTest, SamplesAreToldApartByNumbers) {
  const FoundBatch found(Step("", R"(
    i = f32[8] iota(), iota_dimension=0
    c = f32[8] constant({1,2,3,4,5,6,7,8})
    m = f32[8] multiply(i, c)
    j = f32[8,4] broadcast(m), dimensions={0}
    r = f32[8,4] multiply(x, j)
    y = f32[] reduce(r, zero), dimensions={0,1}, to_apply=sum
    new = f32[4,4] add(w, w)
    ROOT out = (f32[4,4], f32[]) tuple(new, y))"));
  ASSERT_TRUE(found.batch.ok()) << found.batch.status();
  EXPECT_THAT(found.Names(found.batch->numbered), ElementsAre("i"));
  EXPECT_THAT(found.Names(found.batch->whole), ElementsAre("c"));
  EXPECT_THAT(found.batch->indivisible, IsEmpty());
  EXPECT_THAT(found.batch->several_warnings, IsEmpty());
  EXPECT_TRUE(found.batch->Divides(found.program.graph, 4));
}

constexpr char kDropout[] = R"(
    seed = u64[2] constant({5,7})
    draw = (u64[2], u32[8,4]) rng-bit-generator(seed), algorithm=rng_default, metadata={source_file="model.py" source_line=3}
    bits = u32[8,4] get-tuple-element(draw), index=1
    half = u32[] constant(2147483648)
    halves = u32[8,4] broadcast(half), dimensions={}
    kept = pred[8,4] compare(bits, halves), direction=LT
    none = f32[8,4] broadcast(zero), dimensions={}
    r = f32[8,4] select(kept, x, none)
    y = f32[] reduce(r, zero), dimensions={0,1}, to_apply=sum
    new = f32[4,4] add(w, w)
)";

TEST(FindBatchTest, RandomBitsOfTheWholeBatchOrOfTheMicroBatch) {
  const FoundBatch exact(Step("", StrCat(kDropout, "ROOT out = (f32[4,4], f32[]) tuple(new, y)")));
  ASSERT_TRUE(exact.batch.ok()) << exact.batch.status();
  EXPECT_THAT(exact.Names(exact.batch->whole), ElementsAre("draw"));
  EXPECT_THAT(exact.batch->drawn_apart, IsEmpty());
  EXPECT_THAT(exact.batch->several_warnings,
              ElementsAre(HasSubstr("draw (model.py:3) draws the random bits of the whole batch")));
  EXPECT_TRUE(exact.batch->Divides(exact.program.graph, 2));

  const FoundBatch own(Step("", StrCat(kDropout, "ROOT out = (f32[4,4], f32[]) tuple(new, y)")), {},
                       MicroBatchRng::kIndependent);
  ASSERT_TRUE(own.batch.ok()) << own.batch.status();
  EXPECT_THAT(own.batch->whole, IsEmpty());
  EXPECT_THAT(own.Names(own.batch->drawn_apart), ElementsAre("draw"));
  EXPECT_THAT(own.batch->several_warnings,
              ElementsAre(HasSubstr("draw (model.py:3) draws random bits by a key of its own")));

  // Whoever reads the generator's state wants that of the whole batch.
  const FoundBatch state(Step("", StrCat(kDropout, R"(
    after = u64[2] get-tuple-element(draw), index=0
    ROOT out = (f32[4,4], f32[], u64[2]) tuple(new, y, after))")),
                         {}, MicroBatchRng::kIndependent);
  ASSERT_TRUE(state.batch.ok()) << state.batch.status();
  EXPECT_THAT(state.Names(state.batch->whole), ElementsAre("draw"));
}

// One message for a reason: where it is first, how often, and what helps.
TEST(FindBatchTest, ReasonsAreToldOnce) {
  const FoundBatch found(Step("", R"(
    r = f32[8,4] reverse(x), dimensions={0}, metadata={source_file="model.py" source_line=9}
    s = f32[8,4] reverse(x), dimensions={0}
    t = f32[8,4] add(r, s)
    y = f32[] reduce(t, zero), dimensions={0,1}, to_apply=sum
    new = f32[4,4] add(w, w)
    ROOT out = (f32[4,4], f32[]) tuple(new, y))"));
  ASSERT_TRUE(found.batch.ok()) << found.batch.status();
  EXPECT_THAT(found.Names(found.batch->indivisible), ElementsAre("r", "s"));
  EXPECT_THAT(
      found.batch->warnings,
      ElementsAre("r (model.py:9) needs all samples at once, as 1 more operator does: the batch "
                  "cannot be divided into micro-batches; compute this for each sample by itself, "
                  "or ask for --micro-batches 1"));
}

// Three layers in a loop that stacks the gradient of each and adds up that of a shared weight.
std::string LoopText(const std::string& gradient) {
  return Step(StrCat(R"(
body {
  p = (s32[], f32[8,4], f32[3,4,4], f32[4,4], f32[3,8,4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  h = f32[8,4] get-tuple-element(p), index=1
  stack = f32[3,4,4] get-tuple-element(p), index=2
  total = f32[4,4] get-tuple-element(p), index=3
  saved = f32[3,8,4] get-tuple-element(p), index=4
  nought = s32[] constant(0)
  one = s32[] constant(1)
  next_i = s32[] add(i, one)
  next_h = f32[8,4] tanh(h)
  dw = f32[4,4] dot(h, next_h), lhs_contracting_dims={0}, rhs_contracting_dims={0}
)",
                     gradient, R"(
  row = f32[1,4,4] reshape(g)
  next_stack = f32[3,4,4] dynamic-update-slice(stack, row, i, nought, nought)
  next_total = f32[4,4] add(total, g)
  kept = f32[1,8,4] reshape(h)
  next_saved = f32[3,8,4] dynamic-update-slice(saved, kept, i, nought, nought)
  ROOT t = (s32[], f32[8,4], f32[3,4,4], f32[4,4], f32[3,8,4]) tuple(next_i, next_h, next_stack, next_total, next_saved)
}
condition {
  p = (s32[], f32[8,4], f32[3,4,4], f32[4,4], f32[3,8,4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  three = s32[] constant(3)
  ROOT c = pred[] compare(i, three), direction=LT
}
)"),
              R"(
  start = s32[] constant(0)
  empty = f32[3,4,4] broadcast(zero), dimensions={}
  none = f32[4,4] broadcast(zero), dimensions={}
  unsaved = f32[3,8,4] broadcast(zero), dimensions={}
  init = (s32[], f32[8,4], f32[3,4,4], f32[4,4], f32[3,8,4]) tuple(start, x, empty, none, unsaved)
  run = (s32[], f32[8,4], f32[3,4,4], f32[4,4], f32[3,8,4]) while(init), condition=condition, body=body
  stacked = f32[3,4,4] get-tuple-element(run), index=2
  shared = f32[4,4] get-tuple-element(run), index=3
  new = f32[4,4] subtract(w, shared)
  moved = f32[3,4,4] negate(stacked)
  inputs = f32[3,8,4] get-tuple-element(run), index=4
  ROOT out = (f32[4,4], f32[3,4,4], f32[3,8,4]) tuple(new, moved, inputs)
)");
}

TEST(FindBatchTest, LoopsStackAndAddUpGradients) {
  const FoundBatch found(LoopText("  g = f32[4,4] negate(dw)"));
  ASSERT_TRUE(found.batch.ok()) << found.batch.status();
  EXPECT_THAT(found.batch->indivisible, IsEmpty());
  for (const char* sum : {"dw", "g", "row", "next_stack", "next_total", "run/carry{2}",
                          "run/carry{3}", "run{2}", "run{3}"}) {
    EXPECT_EQ(found.Role(sum), BatchRole::kAccumulated) << sum;
  }
  for (const char* zeros : {"empty", "none"}) {
    EXPECT_EQ(found.Role(zeros), BatchRole::kConstant) << zeros;
  }
  for (const char* saved : {"unsaved", "run/carry{4}", "next_saved", "run{4}"}) {
    EXPECT_EQ(found.Role(saved), BatchRole::kSplit) << saved;
    EXPECT_EQ(found.Dimension(saved), 1) << saved;
  }
  EXPECT_EQ(found.Role("moved"), BatchRole::kAfter);
}

TEST(FindBatchTest, OptimizerInsideALoopOverLayersCannotWait) {
  const FoundBatch found(LoopText("  g = f32[4,4] tanh(dw)"));
  ASSERT_TRUE(found.batch.ok()) << found.batch.status();
  EXPECT_FALSE(found.batch->indivisible.empty());
  EXPECT_FALSE(found.batch->Divides(found.program.graph, 2));
}

TEST(FindBatchTest, ForwardProgramsByTheirOutputs) {
  const FoundBatch found(R"(HloModule m
ENTRY main {
  w = f32[8,4] parameter(0)
  x = f32[6,8] parameter(1)
  ROOT y = f32[6,4] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})");
  ASSERT_TRUE(found.batch.ok()) << found.batch.status();
  EXPECT_THAT(found.Names(found.batch->data), ElementsAre("x"));
  EXPECT_EQ(found.batch->size, 6);
}

TEST(FindBatchTest, IntegersWhereFrozenWeightsStandBeside) {
  const std::string text = R"(HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }
ENTRY main {
  w = f32[4,4] parameter(0)
  frozen = f32[10,4] parameter(1)
  tokens = s32[6,1] parameter(2)
  weight = f32[6,4] parameter(3)
  key = u32[2] parameter(4)
  e = f32[6,4] gather(frozen, tokens), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,4}
  y = f32[6,4] multiply(e, weight)
  dw = f32[4,4] dot(y, e), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  new = f32[4,4] subtract(w, dw)
  ROOT out = (f32[4,4]) tuple(new)
})";
  const FoundBatch found(text);
  ASSERT_TRUE(found.batch.ok()) << found.batch.status();
  EXPECT_THAT(found.Names(found.batch->data), ElementsAre("tokens", "weight"))
      << "what meets the batch is data too";
  // Named, nothing else is.
  const FoundBatch named(text, {"tok*"});
  ASSERT_TRUE(named.batch.ok()) << named.batch.status();
  EXPECT_THAT(named.batch->warnings,
              ElementsAre(HasSubstr("weight has a dimension for the batch")));
  const FoundBatch both(text, {"tok*", "weight"});
  ASSERT_TRUE(both.batch.ok()) << both.batch.status();
  EXPECT_THAT(both.batch->warnings, IsEmpty());
  EXPECT_THAT(both.batch->several_warnings, IsEmpty());
}

TEST(FindBatchTest, Errors) {
  const std::string text = Step("", R"(
    b = f32[5] parameter(2)
    s = f32[] parameter(3)
    new = f32[4,4] add(w, w)
    ROOT out = (f32[4,4], f32[8,4]) tuple(new, x))");
  const auto message = [&](const std::vector<std::string>& data) {
    return std::string(FoundBatch(text, data).batch.status().message());
  };
  EXPECT_THAT(message({}), HasSubstr("\"x\" and \"b\" have different first dimensions (8 and 5)"));
  EXPECT_THAT(message({"xs"}), HasSubstr("no parameter matches the data input \"xs\"; did you mean "
                                         "\"x\"?"));
  EXPECT_THAT(message({"s"}), HasSubstr("\"s\" (of \"s\") is a scalar"));
  EXPECT_EQ(message({"x"}), "");
  EXPECT_THAT(std::string(FoundBatch(R"(HloModule m
ENTRY main { x = f32[1,4] parameter(0) ROOT y = f32[1,4] tanh(x) })")
                              .batch.status()
                              .message()),
              HasSubstr("found no input that carries the batch"));
  EXPECT_THAT(std::string(FoundBatch(R"(HloModule m
ENTRY main { x = s32[1,4] parameter(0) ROOT y = f32[1,4] convert(x) })")
                              .batch.status()
                              .message()),
              HasSubstr("the batch of \"x\" is 1"));
}

// What holds of every split, looked up in the program independently of the rules.
void CheckSplit(const Graph& graph, const BatchSplit& batch) {
  for (size_t i = 0; i < graph.values.size(); ++i) {
    if (batch.roles[i] == BatchRole::kSplit) {
      ASSERT_GE(batch.dimension[i], 0);
      EXPECT_GT(graph.values[i].shape.dims[batch.dimension[i]], 1);
    } else {
      ASSERT_EQ(batch.dimension[i], -1);
    }
  }
  for (const Op& op : graph.ops) {
    if (op.kind != OpKind::kInstruction) continue;
    const auto role = [&](ValueId v) { return batch.roles[v.index()]; };
    for (ValueId v : op.operands) {
      if (role(v) == BatchRole::kAfter) {
        for (ValueId r : op.results) EXPECT_EQ(role(r), BatchRole::kAfter) << op.name;
      }
      if (!IsElementwise(op.instruction->opcode) || graph[v].shape.rank() == 0) continue;
      for (ValueId r : op.results) {
        EXPECT_EQ(batch.dimension[v.index()], batch.dimension[r.index()]) << op.name;
      }
    }
  }
}

void CheckBatch(const std::string& path) {
  SCOPED_TRACE(path);
  const absl::StatusOr<Module> module = ReadHlo(path);
  ASSERT_TRUE(module.ok()) << module.status();
  const absl::StatusOr<Graph> graph = BuildGraph(*module);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const absl::StatusOr<BatchSplit> batch = FindBatch(*graph, TiedParameters(*graph, true), {});
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_THAT(batch->indivisible, IsEmpty()) << (batch->warnings.empty() ? "" : batch->warnings[0]);
  EXPECT_TRUE(batch->Divides(*graph, 8));
  CheckSplit(*graph, *batch);
  // Every output that replaces a parameter with floats has learnt from the data.
  for (size_t i = 0; i < graph->outputs.size(); ++i) {
    const ValueId v = (*graph)[graph->outputs[i]].operands[0];
    if (graph->output_alias[i] < 0 || (*graph)[v].shape.rank() == 0) continue;
    EXPECT_EQ(batch->roles[v.index()], BatchRole::kAfter) << OutputName(*graph, graph->outputs[i]);
  }
}

TEST(FindBatchTest, OwnPrograms) {
  for (const char* name : {"tiny_gpt.train.hlo.txt.gz", "mlp_4096x4.train.hlo.txt.gz",
                           "llama3_8b.scan.train.hlo.txt.gz", "mlp_adam.train.hlo.txt"}) {
    CheckBatch(HloData(name));
  }
}

TEST(FindBatchTest, ReferencePrograms) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  size_t count = 0;
  for (const char* folder : {"/hlo", "/measured"}) {
    const std::string path = StrCat(MESHWRIGHT_SHARED, folder);
    if (!std::filesystem::exists(path)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (!entry.path().string().ends_with(".hlo.txt.gz")) continue;
      CheckBatch(entry.path().string());
      ++count;
    }
  }
  std::printf("%zu reference programs in ../shared\n", count);
}

}  // namespace
}  // namespace meshwright
