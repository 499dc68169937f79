#include "meshwright/inter/layers/own_micro_batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "meshwright/base/strings.h"
#include "meshwright/inter/layers/phases.h"
#include "meshwright/intra/names.h"
#include "tests/intra/test_program.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;

// A training step whose weights are `w`, f32[4,4], and whose data is `x`.
struct StepInParts {
  TestProgram program;
  std::vector<int32_t> tied;
  std::optional<OwnMicroBatches> own;

  explicit StepInParts(const std::string& text) : program(ProgramFromText(text)) {
    tied = TiedParameters(program.graph, true);
    const absl::StatusOr<BatchSplit> batch = FindBatch(program.graph, tied, {});
    EXPECT_TRUE(batch.ok()) << batch.status();
    if (batch.ok()) own = FindOwnMicroBatches(program.graph, *batch, tied);
  }

  OpId Named(const std::string& name) const {
    for (size_t i = 0; i < program.graph.ops.size(); ++i) {
      if (program.graph.ops[i].name == name) return OpId(i);
    }
    ADD_FAILURE() << "no operator " << name;
    return OpId(0);
  }
  BatchRole Role(const std::string& op) const {
    return own->batch.roles[program.graph[Named(op)].results[0].index()];
  }
  std::vector<std::string> Data() const {
    std::vector<std::string> names;
    for (OpId op : own->batch.data) names.push_back(program.graph[op].name);
    return names;
  }
  Phase PhaseOf(const std::string& op) const {
    const UnitGraph units = BuildUnitGraph(program.graph, own->batch, own->loops);
    const std::vector<Phase> phases = FindPhases(program.graph, own->batch, tied, units);
    return phases[static_cast<size_t>(units.of_op[Named(op).index()])];
  }
};

// Forward and backward of `part` in a loop that goes round twice over `xs`, an array of type
// `data`: it adds up the gradients, and the losses stand one behind the other.
std::string InALoop(const std::string& data, const std::string& entry, const std::string& part) {
  const std::string carried = StrCat("(s32[], f32[4,4], f32[4,4], f32[2], ", data, ")");
  return StrCat(R"(HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }
sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
body {
  p = )",
                carried, R"( parameter(0)
  i = s32[] get-tuple-element(p), index=0
  gradient = f32[4,4] get-tuple-element(p), index=1
  wl = f32[4,4] get-tuple-element(p), index=2
  losses = f32[2] get-tuple-element(p), index=3
  xs = )",
                data, R"( get-tuple-element(p), index=4
  one = s32[] constant(1)
  three = s32[] constant(3)
  begin = s32[] constant(0)
  from = s32[] multiply(i, three)
  zero = f32[] constant(0)
)",
                part, R"(
  y = f32[3,4] dot(x, wl), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  s = f32[3,4] tanh(y)
  loss = f32[] reduce(s, zero), dimensions={0,1}, to_apply=sum
  g = f32[3,4] negate(s)
  dw = f32[4,4] dot(x, g), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  added = f32[4,4] add(gradient, dw)
  row = f32[1] reshape(loss)
  stacked = f32[2] dynamic-update-slice(losses, row, i)
  next = s32[] add(i, one)
  ROOT t = )",
                carried, R"( tuple(next, added, wl, stacked, xs)
}
cond {
  p = )",
                carried, R"( parameter(0)
  i = s32[] get-tuple-element(p), index=0
  two = s32[] constant(2)
  ROOT less = pred[] compare(i, two), direction=LT
}
ENTRY main {
  w = f32[4,4] parameter(0)
)",
                entry, R"(
  i = s32[] constant(0)
  zero = f32[] constant(0)
  none = f32[4,4] broadcast(zero), dimensions={}
  no_losses = f32[2] broadcast(zero), dimensions={}
  init = )",
                carried, R"( tuple(i, none, w, no_losses, xs)
  loop = )",
                carried, R"( while(init), condition=cond, body=body
  all = f32[4,4] get-tuple-element(loop), index=1
  each = f32[2] get-tuple-element(loop), index=3
  total = f32[] reduce(each, zero), dimensions={0}, to_apply=sum
  new = f32[4,4] subtract(w, all)
  ROOT r = (f32[4,4], f32[]) tuple(new, total)
}
)");
}

constexpr char kEntryOfTwo[] = "x = f32[6,4] parameter(1)\n xs = f32[2,3,4] reshape(x)";
constexpr char kPartOfTwo[] =
    "part = f32[1,3,4] dynamic-slice(xs, i, begin, begin), dynamic_slice_sizes={1,3,4}\n"
    "x = f32[3,4] reshape(part)";

TEST(OwnMicroBatchesTest, InALoopOverTheReshapedBatch) {
  const StepInParts step(InALoop("f32[2,3,4]", kEntryOfTwo, kPartOfTwo));
  ASSERT_TRUE(step.own.has_value());
  EXPECT_EQ(step.own->batch.size, 3);
  EXPECT_THAT(step.Data(), ElementsAre("part"));
  EXPECT_THAT(step.own->loops, ElementsAre(true));
  EXPECT_EQ(step.Role("y"), BatchRole::kSplit);
  EXPECT_EQ(step.Role("loss"), BatchRole::kAccumulated);
  EXPECT_EQ(step.Role("dw"), BatchRole::kAccumulated);
  EXPECT_EQ(step.Role("added"), BatchRole::kAccumulated);
  const ValueId weight = step.program.graph[step.Named("y")].operands[1];
  EXPECT_EQ(step.own->batch.roles[weight.index()], BatchRole::kConstant);
  EXPECT_EQ(step.Role("new"), BatchRole::kAfter);
  for (const char* op : {"part", "y", "s", "loss", "stacked"})
    EXPECT_EQ(step.PhaseOf(op), Phase::kForward) << op;
  for (const char* op : {"g", "dw", "added"}) EXPECT_EQ(step.PhaseOf(op), Phase::kBackward) << op;
  for (const char* op : {"total", "new"}) EXPECT_EQ(step.PhaseOf(op), Phase::kUpdate) << op;
}

TEST(OwnMicroBatchesTest, InALoopOverDataThatComesInParts) {
  const StepInParts step(InALoop("f32[2,3,4]", "xs = f32[2,3,4] parameter(1)", kPartOfTwo));
  ASSERT_TRUE(step.own.has_value());
  EXPECT_EQ(step.own->batch.size, 3);
  EXPECT_EQ(step.PhaseOf("y"), Phase::kForward);
  EXPECT_EQ(step.PhaseOf("dw"), Phase::kBackward);
}

// A loop over steps, which hands its weights on.
TEST(OwnMicroBatchesTest, InALoopOverSteps) {
  const StepInParts step(R"(HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }
sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
body {
  p = (s32[], f32[4,4], f32[2], f32[2,3,4], u32[2,2]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  wl = f32[4,4] get-tuple-element(p), index=1
  losses = f32[2] get-tuple-element(p), index=2
  xs = f32[2,3,4] get-tuple-element(p), index=3
  keys = u32[2,2] get-tuple-element(p), index=4
  one = s32[] constant(1)
  begin = s32[] constant(0)
  zero = f32[] constant(0)
  part = f32[1,3,4] dynamic-slice(xs, i, begin, begin), dynamic_slice_sizes={1,3,4}
  key = u32[1,2] dynamic-slice(keys, i, begin), dynamic_slice_sizes={1,2}
  x = f32[3,4] reshape(part)
  y = f32[3,4] dot(x, wl), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  s = f32[3,4] tanh(y)
  loss = f32[] reduce(s, zero), dimensions={0,1}, to_apply=sum
  g = f32[3,4] negate(s)
  dw = f32[4,4] dot(x, g), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  new = f32[4,4] subtract(wl, dw)
  row = f32[1] reshape(loss)
  stacked = f32[2] dynamic-update-slice(losses, row, i)
  next = s32[] add(i, one)
  ROOT t = (s32[], f32[4,4], f32[2], f32[2,3,4], u32[2,2]) tuple(next, new, stacked, xs, keys)
}
cond {
  p = (s32[], f32[4,4], f32[2], f32[2,3,4], u32[2,2]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  two = s32[] constant(2)
  ROOT less = pred[] compare(i, two), direction=LT
}
ENTRY main {
  w = f32[4,4] parameter(0)
  xs = f32[2,3,4] parameter(1)
  keys = u32[2,2] parameter(2)
  i = s32[] constant(0)
  zero = f32[] constant(0)
  no_losses = f32[2] broadcast(zero), dimensions={}
  init = (s32[], f32[4,4], f32[2], f32[2,3,4], u32[2,2]) tuple(i, w, no_losses, xs, keys)
  loop = (s32[], f32[4,4], f32[2], f32[2,3,4], u32[2,2]) while(init), condition=cond, body=body
  last = f32[4,4] get-tuple-element(loop), index=1
  each = f32[2] get-tuple-element(loop), index=2
  ROOT r = (f32[4,4], f32[2]) tuple(last, each)
})");
  ASSERT_TRUE(step.own.has_value());
  EXPECT_THAT(step.Data(), ElementsAre("part"));
  const ValueId weight = step.program.graph[step.Named("y")].operands[1];
  EXPECT_TRUE(step.own->constant[weight.index()]);
  EXPECT_FALSE(step.own->constant[step.program.graph[step.Named("xs")].results[0].index()]);
  EXPECT_EQ(step.Role("dw"), BatchRole::kAccumulated);
  EXPECT_EQ(step.Role("new"), BatchRole::kAfter);
  for (const char* op : {"y", "loss"}) EXPECT_EQ(step.PhaseOf(op), Phase::kForward) << op;
  for (const char* op : {"g", "dw"}) EXPECT_EQ(step.PhaseOf(op), Phase::kBackward) << op;
  EXPECT_EQ(step.PhaseOf("new"), Phase::kUpdate);
}

TEST(OwnMicroBatchesTest, InALoopThatTakesRowsOfTheBatch) {
  const StepInParts step(
      InALoop("f32[6,4]", "xs = f32[6,4] parameter(1)",
              "x = f32[3,4] dynamic-slice(xs, from, begin), dynamic_slice_sizes={3,4}"));
  ASSERT_TRUE(step.own.has_value());
  EXPECT_EQ(step.own->batch.size, 3);
  EXPECT_THAT(step.Data(), ElementsAre("x"));
  EXPECT_EQ(step.PhaseOf("dw"), Phase::kBackward);
}

// As `lines` say after w and x.
std::string InOneGo(const std::string& lines) {
  return StrCat(R"(HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }
sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
ENTRY main {
  w = f32[4,4] parameter(0)
  x = f32[6,4] parameter(1)
  zero = f32[] constant(0)
)",
                lines, "\n}\n");
}

// A part of the batch as an operator takes it, and what its gradient comes to.
std::string OnePart(const std::string& number, const std::string& rows, const std::string& from) {
  std::string lines = StrCat("  xN = f32[", rows, ",4] slice(", from, R"(
  yN = f32[R,4] dot(xN, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  sN = f32[R,4] tanh(yN)
  lN = f32[] reduce(sN, zero), dimensions={0,1}, to_apply=sum
  gN = f32[R,4] negate(sN)
  dwN = f32[4,4] dot(xN, gN), lhs_contracting_dims={0}, rhs_contracting_dims={0}
)");
  for (const auto& [letter, text] : {std::pair('N', number), std::pair('R', rows)}) {
    for (size_t at = 0; (at = lines.find(letter, at)) != std::string::npos; at += text.size())
      lines.replace(at, 1, text);
  }
  return lines;
}

constexpr char kBothParts[] = R"(  l = f32[] add(l1, l2)
  dw = f32[4,4] add(dw1, dw2)
  new = f32[4,4] subtract(w, dw)
  ROOT r = (f32[4,4], f32[]) tuple(new, l))";

TEST(OwnMicroBatchesTest, OneAfterTheOther) {
  const StepInParts step(InOneGo(StrCat(OnePart("1", "3", "x), slice={[0:3],[0:4]}"),
                                        OnePart("2", "3", "x), slice={[3:6],[0:4]}"), kBothParts)));
  ASSERT_TRUE(step.own.has_value());
  EXPECT_THAT(step.Data(), ElementsAre("x1", "x2"));
  for (const char* op : {"y1", "y2"}) EXPECT_EQ(step.PhaseOf(op), Phase::kForward) << op;
  for (const char* op : {"dw1", "dw2"}) EXPECT_EQ(step.PhaseOf(op), Phase::kBackward) << op;
  EXPECT_EQ(step.PhaseOf("new"), Phase::kUpdate);
}

// What other parts are taken from is none itself.
TEST(OwnMicroBatchesTest, PartsOfAPart) {
  const StepInParts step(
      InOneGo(StrCat("  rest = f32[4,4] slice(x), slice={[2:6],[0:4]}\n",
                     OnePart("1", "2", "rest), slice={[0:2],[0:4]}"),
                     OnePart("2", "2", "rest), slice={[2:4],[0:4]}"), kBothParts)));
  ASSERT_TRUE(step.own.has_value());
  EXPECT_EQ(step.own->batch.size, 2);
  EXPECT_THAT(step.Data(), ElementsAre("x1", "x2"));
}

TEST(OwnMicroBatchesTest, NoneWithoutPartsOfOneSize) {
  const auto found = [](const std::string& first, const std::string& second) {
    return StepInParts(InOneGo(StrCat(first, second, kBothParts))).own.has_value();
  };
  const std::string half = OnePart("1", "3", "x), slice={[0:3],[0:4]}");
  EXPECT_TRUE(found(half, OnePart("2", "3", "x), slice={[3:6],[0:4]}")));
  EXPECT_FALSE(found(half, OnePart("2", "2", "x), slice={[4:6],[0:4]}")));
  EXPECT_FALSE(found(OnePart("1", "5", "x), slice={[0:5],[0:4]}"),
                     OnePart("2", "5", "x), slice={[1:6],[0:4]}")));
}

TEST(OwnMicroBatchesTest, NoneOfOneSample) {
  const StepInParts step(InOneGo(R"(  xs = f32[6,1,4] reshape(x)
  part = f32[1,1,4] slice(xs), slice={[0:1],[0:1],[0:4]}
  l = f32[] reduce(part, zero), dimensions={0,1,2}, to_apply=sum
  ROOT r = (f32[4,4], f32[]) tuple(w, l))"));
  EXPECT_FALSE(step.own.has_value());
}

// Halves of what is computed with weights are no halves of the data.
TEST(OwnMicroBatchesTest, NoneBehindWeights) {
  const StepInParts step(InOneGo(
      StrCat("  z = f32[6,4] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n",
             OnePart("1", "3", "z), slice={[0:3],[0:4]}"),
             OnePart("2", "3", "z), slice={[3:6],[0:4]}"), kBothParts)));
  EXPECT_FALSE(step.own.has_value());
}

// A network that takes its data as a whole, and a loss that compares halves of it.
TEST(OwnMicroBatchesTest, NoneWhereWeightsMeetTheWhole) {
  const std::string parts = StrCat(OnePart("1", "3", "x), slice={[0:3],[0:4]}"),
                                   OnePart("2", "3", "x), slice={[3:6],[0:4]}"), kBothParts);
  EXPECT_TRUE(StepInParts(InOneGo(parts)).own.has_value());
  const std::string used = absl::StrReplaceAll(
      parts, {{"(f32[4,4], f32[]) tuple(new, l)", "(f32[4,4], f32[], f32[6,4]) tuple(new, l, z)"}});
  const StepInParts step(InOneGo(StrCat(
      "  z = f32[6,4] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n", used)));
  EXPECT_FALSE(step.own.has_value());
}

TEST(OwnMicroBatchesTest, NoneOfOtherDimensions) {
  const StepInParts step(InOneGo(R"(  left = f32[6,2] slice(x), slice={[0:6],[0:2]}
  s = f32[6,2] tanh(left)
  l = f32[] reduce(s, zero), dimensions={0,1}, to_apply=sum
  ROOT r = (f32[4,4], f32[]) tuple(w, l))"));
  EXPECT_FALSE(step.own.has_value());
}

}  // namespace
}  // namespace meshwright
