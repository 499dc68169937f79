#include "meshwright/inter/slice/slice.h"

#include <cmath>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <string>

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/program/reader.h"
#include "meshwright/hlo/text/reader.h"
#include "meshwright/hlo/text/writer.h"
#include "meshwright/inter/layers/whole_batch.h"
#include "meshwright/intra/planner.h"
#include "tests/inter/pipeline_run.h"
#include "tests/inter/run_program.h"
#include "tests/testing/data.h"
#include "tests/testing/exhaustive.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<SlicedProgram> Read(const std::string& path, int32_t layers = 0) {
  const absl::StatusOr<Module> module = ReadHlo(path);
  if (!module.ok()) {
    ADD_FAILURE() << module.status();
    return nullptr;
  }
  absl::StatusOr<std::unique_ptr<SlicedProgram>> program = PrepareProgram(*module, layers);
  EXPECT_TRUE(program.ok()) << path << ": " << program.status();
  return program.ok() ? *std::move(program) : nullptr;
}

// Positive, as second moments have to be; integers are below 6.
std::vector<Tensor> RandomInputs(const Graph& graph, bool equal_halves) {
  std::mt19937 random(7);
  std::vector<Tensor> inputs;
  for (OpId op : graph.parameters) {
    const Shape& shape = graph[graph[op].results[0]].shape;
    Tensor& tensor = inputs.emplace_back(Tensor{shape.dims, {}});
    for (int64_t i = shape.elements(); i > 0; --i) {
      const double x = std::uniform_real_distribution<>(0.1, 0.9)(random);
      tensor.data.push_back(IsInteger(shape.type) ? std::floor(6 * x) : x);
    }
    const size_t half = tensor.data.size() / 2;
    for (size_t i = 0; i < half && equal_halves; ++i) tensor.data[half + i] = tensor.data[i];
    if (const auto data = WholeBatchOf(graph, op); data.has_value()) tensor = inputs[*data];
  }
  return inputs;
}

void ExpectClose(const Graph& graph, const std::vector<Tensor>& actual,
                 const std::vector<Tensor>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_EQ(actual[i].dims, expected[i].dims);
    for (size_t k = 0; k < actual[i].data.size(); ++k) {
      const double error = std::abs(actual[i].data[k] - expected[i].data[k]);
      ASSERT_LT(error, 1e-8 * (1 + std::abs(expected[i].data[k])))
          << OutputName(graph, graph.outputs[i]) << " element " << k << ": " << actual[i].data[k]
          << " instead of " << expected[i].data[k];
    }
  }
}

// Every way to run the stages that `cuts` makes gives what the whole program gives.
void ExpectStagesCompute(const SlicedProgram& program, bool equal_halves = false) {
  const std::vector<Tensor> inputs = RandomInputs(program.graph, equal_halves);
  const std::vector<Tensor> expected = RunProgram(*program.module, program.graph, inputs);
  std::vector<std::vector<int32_t>> all_cuts = {{}};
  for (int32_t a = 1; a < program.layers.count; ++a) all_cuts.push_back({a});
  std::vector<int32_t>& each = all_cuts.emplace_back();
  for (int32_t a = 1; a < program.layers.count; ++a) each.push_back(a);
  for (const std::vector<int32_t>& cuts : all_cuts) {
    for (const int mode : {0, 1, 2, 3}) {
      PipelineRun run;
      run.cuts = cuts;
      run.micro_batches = mode == 0 ? 1 : 2;
      run.forward_with_backward = mode == 1;
      run.recompute = mode == 2;
      run.sum_parts = mode == 3 ? 2 : 1;
      run.update_in_parts = true;
      SCOPED_TRACE(StrCat(cuts.size(), " cuts, the first at ", cuts.empty() ? -1 : cuts[0],
                          ", mode ", mode));
      const absl::StatusOr<std::vector<Tensor>> outputs = RunInStages(program, run, inputs);
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      ASSERT_NO_FATAL_FAILURE(ExpectClose(program.graph, *outputs, expected));
    }
  }
}

TEST(SliceTest, TiedWeightsAndClipping) {
  const auto program = Read(HloData("pipeline/slice_tied.hlo.txt.gz"), 3);
  ASSERT_NE(program, nullptr);
  ExpectStagesCompute(*program);
}

TEST(SliceTest, BatchNormTakesStatisticsOfTheMicroBatch) {
  const auto program = Read(HloData("pipeline/slice_batch_norm.hlo.txt.gz"), 3);
  ASSERT_NE(program, nullptr);
  EXPECT_FALSE(program->batch.statistics.empty());
  ExpectStagesCompute(*program, /*equal_halves=*/true);
}

TEST(SliceTest, SkippedSteps) {
  const auto program = Read(HloData("pipeline/slice_skip.hlo.txt.gz"), 3);
  ASSERT_NE(program, nullptr);
  ExpectStagesCompute(*program);
}

// Each layer in a conditional that gives the forward phase its result, and the backward phase what
// that was computed from; the weights' gradients are chosen by the weights.
TEST(SliceTest, LayersInConditionals) {
  const auto program = Read(HloData("pipeline/slice_cond.hlo.txt.gz"));
  ASSERT_NE(program, nullptr);
  ExpectStagesCompute(*program);
}

TEST(SliceTest, LoopOverLayers) {
  const auto program = Read(HloData("pipeline/slice_scan.hlo.txt.gz"));
  ASSERT_NE(program, nullptr);
  ASSERT_EQ(program->layers.loops.size(), 2u);
  ExpectStagesCompute(*program);
}

TEST(SliceTest, ClippingByTheNormOfStackedGradients) {
  const auto program = Read(HloData("pipeline/slice_scan_clip.hlo.txt.gz"));
  ASSERT_NE(program, nullptr);
  ASSERT_EQ(program->layers.loops.size(), 2u);
  ExpectStagesCompute(*program);
}

TEST(SliceTest, LoopThatNumbersItsLayers) {
  const auto program = Read(HloData("pipeline/slice_scan_numbered.hlo.txt.gz"));
  ASSERT_NE(program, nullptr);
  ASSERT_EQ(program->layers.loops.size(), 2u);
  ExpectStagesCompute(*program);
}

TEST(SliceTest, LoopThatComputesAgain) {
  const auto program = Read(HloData("pipeline/slice_scan_remat.hlo.txt.gz"));
  ASSERT_NE(program, nullptr);
  ASSERT_EQ(program->layers.loops.size(), 2u);
  ExpectStagesCompute(*program);
}

std::unique_ptr<SlicedProgram> FromText(const std::string& text, int32_t layers) {
  const absl::StatusOr<Module> module = ParseHloText(text, "test");
  EXPECT_TRUE(module.ok()) << module.status();
  absl::StatusOr<std::unique_ptr<SlicedProgram>> program = PrepareProgram(*module, layers);
  EXPECT_TRUE(program.ok()) << program.status();
  return program.ok() ? *std::move(program) : nullptr;
}

// Two layers, with a conditional and a loop that is no loop over layers between them.
constexpr char kControl[] =
    R"(HloModule m, input_output_alias={ {0}: (0, {}, may-alias), {1}: (1, {}, may-alias) }
sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
yes {
  p = (f32[8,4], f32[4,4]) parameter(0)
  x = f32[8,4] get-tuple-element(p), index=0
  w = f32[4,4] get-tuple-element(p), index=1
  two = f32[] constant(2)
  twos = f32[8,4] broadcast(two), dimensions={}
  y = f32[8,4] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT z = f32[8,4] multiply(y, twos)
}
no {
  p = f32[8,4] parameter(0)
  ROOT z = f32[8,4] tanh(p)
}
body {
  p = (s32[], f32[8,4], f32[4,4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  h = f32[8,4] get-tuple-element(p), index=1
  w = f32[4,4] get-tuple-element(p), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  d = f32[8,4] dot(h, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  k = f32[8,4] tanh(d)
  ROOT t = (s32[], f32[8,4], f32[4,4]) tuple(j, k, w)
}
condition {
  p = (s32[], f32[8,4], f32[4,4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  three = s32[] constant(3)
  ROOT c = pred[] compare(i, three), direction=LT
}
ENTRY main {
  w0 = f32[4,4] parameter(0)
  w1 = f32[4,4] parameter(1)
  switch = f32[] parameter(2)
  x = f32[8,4] parameter(3)
  zero = f32[] constant(0)
  half = f32[] constant(0.5)
  which = pred[] compare(switch, half), direction=LT
  a = f32[8,4] dot(x, w0), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  pair = (f32[8,4], f32[4,4]) tuple(a, w0)
  b = f32[8,4] conditional(which, pair, a), true_computation=yes, false_computation=no
  start = s32[] constant(0)
  init = (s32[], f32[8,4], f32[4,4]) tuple(start, b, w1)
  run = (s32[], f32[8,4], f32[4,4]) while(init), condition=condition, body=body
  h = f32[8,4] get-tuple-element(run), index=1
  g1 = f32[4,4] dot(b, h), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  back = f32[8,4] dot(h, w1), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  g0 = f32[4,4] dot(x, back), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  n0 = f32[4,4] subtract(w0, g0)
  n1 = f32[4,4] subtract(w1, g1)
  loss = f32[] reduce(h, zero), dimensions={0,1}, to_apply=sum
  ROOT out = (f32[4,4], f32[4,4], f32[], f32[8,4]) tuple(n0, n1, loss, h)
})";

// Dimensions of the sums that leave the backward phase of all layers, by name.
std::map<std::string, std::vector<int64_t>> SumsOf(const SlicedProgram& program,
                                                   int64_t micro_batches, int64_t parts) {
  std::map<std::string, std::vector<int64_t>> sums;
  const absl::StatusOr<ProgramSlice> slice = program.slicer->Slice({.end = program.layers.count,
                                                                    .forward = false,
                                                                    .update = false,
                                                                    .micro_batches = micro_batches,
                                                                    .sum_parts = parts});
  EXPECT_TRUE(slice.ok()) << slice.status();
  for (size_t o = 0; slice.ok() && o < slice->outputs.size(); ++o) {
    if (slice->outputs[o].role == SliceRole::kSum)
      sums[slice->outputs[o].name] = slice->graph[OutputOf(*slice, o)].shape.dims;
  }
  return sums;
}

// Two layers whose gradients come by a transposed product in bf16 and another, a sum over
// the batch, and a product of which the program also gives the gradient
// itself away.
constexpr char kGradients[] =
    R"(HloModule m, input_output_alias={ {0}: (0, {}, may-alias), {1}: (1, {}, may-alias), {2}: (2, {}, may-alias) }
sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
ENTRY main {
  w0 = f32[4,6] parameter(0)
  w1 = f32[6,4] parameter(1)
  b1 = f32[4] parameter(2)
  x = f32[16,4] parameter(3)
  zero = f32[] constant(0)
  rate = f32[] constant(0.1)
  h0 = f32[16,6] dot(x, w0), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t0 = f32[16,6] tanh(h0)
  bias = f32[16,4] broadcast(b1), dimensions={1}
  d1 = f32[16,4] dot(t0, w1), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  h1 = f32[16,4] add(d1, bias)
  t1 = f32[16,4] tanh(h1)
  loss = f32[] reduce(t1, zero), dimensions={0,1}, to_apply=sum
  s1 = f32[16,4] multiply(t1, t1)
  g1 = f32[16,4] multiply(s1, t1)
  gb = f32[4] reduce(g1, zero), dimensions={0}, to_apply=sum
  gw = bf16[4,6] dot(g1, t0), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  gw_t = bf16[6,4] transpose(gw), dimensions={1,0}
  gw1 = f32[6,4] convert(gw_t)
  gw2 = f32[6,4] dot(t0, t1), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  gw1_all = f32[6,4] add(gw1, gw2)
  gt0 = f32[16,6] dot(g1, w1), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  g0 = f32[16,6] multiply(gt0, t0)
  gw0 = f32[4,6] dot(x, g0), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  r0 = f32[4,6] broadcast(rate), dimensions={}
  r1 = f32[6,4] broadcast(rate), dimensions={}
  rb = f32[4] broadcast(rate), dimensions={}
  u0 = f32[4,6] multiply(r0, gw0)
  u1 = f32[6,4] multiply(r1, gw1_all)
  q1 = f32[6,4] multiply(u1, gw1_all)
  ub = f32[4] multiply(gb, gb)
  n0 = f32[4,6] subtract(w0, u0)
  n1 = f32[6,4] subtract(w1, q1)
  nb = f32[4] subtract(b1, ub)
  ROOT t = (f32[4,6], f32[6,4], f32[4], f32[], GIVEN) tuple(n0, n1, nb, loss, given)
})";

std::string GradientsWith(const std::string& given, const std::string& shape) {
  return absl::StrReplaceAll(kGradients, {{"GIVEN", shape}, {"given", given}});
}

TEST(SliceTest, SumsInPartsLeaveTheirSumToTheUpdate) {
  const auto program = FromText(GradientsWith("loss", "f32[]"), 2);
  ASSERT_NE(program, nullptr);
  ExpectStagesCompute(*program);
  using Dims = std::vector<int64_t>;
  EXPECT_THAT(SumsOf(*program, 2, 4),
              ::testing::UnorderedElementsAre(::testing::Pair("gw0", Dims{4, 4, 6}),
                                              ::testing::Pair("gw1_all", Dims{4, 6, 4}),
                                              ::testing::Pair("gb", Dims{4, 4})));
  // Three parts of eight samples there are none.
  EXPECT_EQ(SumsOf(*program, 2, 3), SumsOf(*program, 2, 1));
  EXPECT_EQ(SumsOf(*program, 1, 4), SumsOf(*program, 1, 1));
}

TEST(SliceTest, SumsThatTheProgramGivesAwayAreWhole) {
  const auto program = FromText(GradientsWith("gw0", "f32[4,6]"), 2);
  ASSERT_NE(program, nullptr);
  ExpectStagesCompute(*program);
  EXPECT_EQ(SumsOf(*program, 2, 4)["gw0"], (std::vector<int64_t>{4, 6}));
}

TEST(SliceTest, ConditionalsAndOtherLoopsStayWhole) {
  const auto program = FromText(kControl, 2);
  ASSERT_NE(program, nullptr);
  ExpectStagesCompute(*program);
}

// A PyTorch-style loss, and weights of samples by their number and from a table; in a loop too,
// and for a layer's gradient. What is indexed by counting is batched.
constexpr char kNumbers[] =
    R"(HloModule m, input_output_alias={ {0}: (0, {}, may-alias), {1}: (1, {}, may-alias) }
sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
body {
  p = (s32[], f32[8,4], f32[4,4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  h = f32[8,4] get-tuple-element(p), index=1
  w = f32[4,4] get-tuple-element(p), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  d = f32[8,4] dot(h, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  n = f32[8,4] iota(), iota_dimension=0
  k = f32[8,4] multiply(d, n)
  ROOT t = (s32[], f32[8,4], f32[4,4]) tuple(j, k, w)
}
condition {
  p = (s32[], f32[8,4], f32[4,4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  three = s32[] constant(3)
  ROOT c = pred[] compare(i, three), direction=LT
}
ENTRY main {
  w0 = f32[4,4] parameter(0)
  w1 = f32[4,4] parameter(1)
  x = f32[8,4] parameter(2)
  labels = s32[8] parameter(3)
  zero = f32[] constant(0)
  a = f32[8,4] dot(x, w0), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  table = f32[8] constant({3,1,4,1,5,9,2,6})
  turned = f32[8] reverse(table), dimensions={0}
  weights = f32[8,4] broadcast(turned), dimensions={0}
  b = f32[8,4] multiply(a, weights)
  start = s32[] constant(0)
  init = (s32[], f32[8,4], f32[4,4]) tuple(start, b, w1)
  run = (s32[], f32[8,4], f32[4,4]) while(init), condition=condition, body=body
  h = f32[8,4] get-tuple-element(run), index=1
  three = s32[] constant(3)
  most = s32[8] broadcast(three), dimensions={}
  label = s32[8] minimum(labels, most)
  label1 = s32[8,1] reshape(label)
  count = s32[8] iota(), iota_dimension=0
  nought = s32[8] broadcast(start), dimensions={}
  below = pred[8] compare(count, nought), direction=LT
  eight = s32[] constant(8)
  eights = s32[8] broadcast(eight), dimensions={}
  wrapped = s32[8] add(count, eights)
  row = s32[8] select(below, wrapped, count)
  row1 = s32[8,1] reshape(row)
  index = s32[8,2] concatenate(row1, label1), dimensions={1}
  hit = f32[8] gather(h, index), offset_dims={}, collapsed_slice_dims={0,1}, start_index_map={0,1}, index_vector_dim=1, slice_sizes={1,1}
  loss = f32[] reduce(hit, zero), dimensions={0}, to_apply=sum
  none = f32[8,4] broadcast(zero), dimensions={}
  dh = f32[8,4] scatter(none, index, hit), update_window_dims={}, inserted_window_dims={0,1}, scatter_dims_to_operand_dims={0,1}, index_vector_dim=1, to_apply=sum
  g1 = f32[4,4] dot(b, dh), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  back = f32[8,4] dot(dh, w1), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  weighted = f32[8,4] multiply(back, weights)
  g0 = f32[4,4] dot(x, weighted), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  n0 = f32[4,4] subtract(w0, g0)
  n1 = f32[4,4] subtract(w1, g1)
  ROOT out = (f32[4,4], f32[4,4], f32[], f32[8]) tuple(n0, n1, loss, hit)
})";

TEST(SliceTest, SamplesThatAreToldApartByTheirNumbers) {
  const auto program = FromText(kNumbers, 2);
  ASSERT_NE(program, nullptr);
  EXPECT_THAT(program->batch.warnings, ::testing::IsEmpty());
  EXPECT_EQ(program->batch.numbered.size(), 1u) << "indices that only count are gone";
  EXPECT_EQ(program->batch.whole.size(), 1u);
  ExpectStagesCompute(*program);
}

// A loss over the samples whose label is not 0, weighted by their importance and divided by the sum
// of what counts; how many do, and the largest label, are results.
constexpr char kMasked[] =
    R"(HloModule m, input_output_alias={ {0}: (0, {}, may-alias), {1}: (1, {}, may-alias) }
sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
most { a = s32[] parameter(0) b = s32[] parameter(1) ROOT c = s32[] maximum(a, b) }
ENTRY main {
  w0 = f32[4,4] parameter(0)
  w1 = f32[4,4] parameter(1)
  x = f32[8,4] parameter(2)
  labels = s32[8] parameter(3)
  importance = f32[8] parameter(4)
  zero = f32[] constant(0)
  none = s32[] constant(0)
  nones = s32[8] broadcast(none), dimensions={}
  counts = pred[8] compare(labels, nones), direction=GT
  mask = f32[8] convert(counts)
  share = f32[8] multiply(mask, importance)
  all = f32[] reduce(share, zero), dimensions={0}, to_apply=sum
  number = f32[] reduce(mask, zero), dimensions={0}, to_apply=sum
  largest = s32[] reduce(labels, none), dimensions={0}, to_apply=most
  a = f32[8,4] dot(x, w0), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  h = f32[8,4] dot(a, w1), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  error = f32[8] reduce(h, zero), dimensions={1}, to_apply=sum
  counted = f32[8] multiply(error, share)
  total = f32[] reduce(counted, zero), dimensions={0}, to_apply=sum
  loss = f32[] divide(total, all)
  alls = f32[8] broadcast(all), dimensions={}
  derror = f32[8] divide(share, alls)
  dh = f32[8,4] broadcast(derror), dimensions={0}
  g1 = f32[4,4] dot(a, dh), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  da = f32[8,4] dot(dh, w1), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  g0 = f32[4,4] dot(x, da), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  n0 = f32[4,4] subtract(w0, g0)
  n1 = f32[4,4] subtract(w1, g1)
  ROOT out = (f32[4,4], f32[4,4], f32[], f32[], s32[]) tuple(n0, n1, loss, number, largest)
})";

TEST(SliceTest, WhatDataSayOfTheWholeBatch) {
  const auto program = FromText(kMasked, 2);
  ASSERT_NE(program, nullptr);
  EXPECT_THAT(program->batch.statistics, ::testing::IsEmpty());
  EXPECT_THAT(program->batch.several_warnings, ::testing::IsEmpty());
  ASSERT_NO_FATAL_FAILURE(ExpectStagesCompute(*program));
  // The program with more parameters computes what the one without them does.
  const absl::StatusOr<Module> module = ParseHloText(kMasked, "masked");
  ASSERT_TRUE(module.ok()) << module.status();
  const absl::StatusOr<Graph> graph = BuildGraph(*module);
  ASSERT_TRUE(graph.ok()) << graph.status();
  std::vector<Tensor> inputs = RandomInputs(program->graph, /*equal_halves=*/false);
  ASSERT_EQ(inputs.size(), 7u) << "labels and importance, of all samples";
  const std::vector<Tensor> actual = RunProgram(*program->module, program->graph, inputs);
  inputs.resize(graph->parameters.size());
  ExpectClose(*graph, actual, RunProgram(*module, *graph, inputs));
}

// A sum for which samples go through a layer first is each micro-batch's own.
TEST(SliceTest, StatisticsThatNeedALayerStay) {
  const auto program = FromText(
      absl::StrReplaceAll(
          kMasked,
          {{"reduce(share, zero)", "reduce(early, zero)"},
           {"  all = ",
            R"(  first = f32[8,4] dot(x, w0), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  early = f32[8] reduce(first, zero), dimensions={1}, to_apply=sum
  all = )"}}),
      2);
  ASSERT_NE(program, nullptr);
  EXPECT_EQ(program->batch.statistics.size(), 1u);
  EXPECT_EQ(program->batch.several_warnings.size(), 1u);
  EXPECT_EQ(program->graph.parameters.size(), 6u) << "labels, for the largest";
}

TEST(SliceTest, NamesAliasesAndLabels) {
  const auto program = Read(HloData("pipeline/slice_scan.hlo.txt.gz"));
  ASSERT_NE(program, nullptr);
  ASSERT_EQ(program->layers.count, 6) << "the input, four iterations, the output";
  SliceRequest request;
  request.begin = 2;
  request.end = 4;
  request.micro_batches = 2;
  const absl::StatusOr<ProgramSlice> slice = program->slicer->Slice(request);
  ASSERT_TRUE(slice.ok()) << slice.status();
  int states = 0, activations = 0;
  for (size_t i = 0; i < slice->inputs.size(); ++i) {
    const SliceValue& v = slice->inputs[i];
    const OpId parameter = slice->graph.parameters[i];
    const Shape& shape = slice->graph[slice->graph[parameter].results[0]].shape;
    EXPECT_EQ(ParameterName(slice->graph, parameter), v.name);
    if (v.role == SliceRole::kState && v.name.find("layers") != std::string::npos) {
      ++states;
      EXPECT_EQ(v.layer_dimension, 0) << v.name;
      EXPECT_EQ(v.first, 1) << v.name;
      EXPECT_EQ(v.count, 2) << v.name;
      EXPECT_EQ(shape.dims[0], 2) << v.name;
    }
    if (v.role != SliceRole::kActivation || v.layer < 0) continue;
    ++activations;
    EXPECT_EQ(v.layer, 2);
    EXPECT_THAT(shape.dims, ::testing::ElementsAre(3, 4)) << "half of the batch";
  }
  EXPECT_EQ(states, 9) << "three weights with their moments";
  EXPECT_EQ(activations, 1);
  int replaced = 0;
  for (size_t o = 0; o < slice->outputs.size(); ++o) {
    const int32_t input = slice->graph.output_alias[o];
    if (input < 0) continue;
    ++replaced;
    EXPECT_EQ(slice->outputs[o].role, SliceRole::kState);
    EXPECT_EQ(program->graph.output_alias[slice->outputs[o].output],
              slice->inputs[input].parameter);
  }
  EXPECT_EQ(replaced, 10) << "and the number of the step";
  for (const Loop& loop : slice->graph.loops) {
    EXPECT_TRUE(loop.trip_count_known);
    EXPECT_EQ(loop.trip_count, 2);
  }
}

TEST(SliceTest, Errors) {
  const auto program = FromText(kControl, 2);
  ASSERT_NE(program, nullptr);
  const auto message = [&](int32_t begin, int32_t end, int64_t micro_batches) {
    SliceRequest request;
    request.begin = begin;
    request.end = end;
    request.micro_batches = micro_batches;
    return std::string(program->slicer->Slice(request).status().message());
  };
  EXPECT_THAT(message(0, 3, 1), HasSubstr("there are no layers [0, 3); the program has 2"));
  EXPECT_THAT(message(1, 1, 1), HasSubstr("there are no layers [1, 1)"));
  EXPECT_THAT(message(0, 1, 0), HasSubstr("number of micro-batches is 0"));
  EXPECT_THAT(message(0, 1, 3), HasSubstr("cannot be divided into 3 micro-batches"));
  SliceRequest part;
  part.end = 1;
  part.part = UpdatePart::kAfterShared;
  EXPECT_THAT(std::string(program->slicer->Slice(part).status().message()),
              HasSubstr("only an update phase"));
}

TEST(SliceTest, SamplesPickedByHandCannotBeDivided) {
  // What BatchSplit would have to promise is not true of this program.
  auto program = FromText(R"(HloModule m, input_output_alias={ {}: (0, {}, may-alias) }
ENTRY main {
  w = f32[4,4] parameter(0)
  x = f32[8,4] parameter(1)
  h = f32[8,4] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  few = f32[4,4] slice(h), slice={[2:6], [0:4]}
  ROOT y = f32[4,4] dot(few, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})",
                          1);
  ASSERT_NE(program, nullptr);
  program->batch.indivisible.clear();
  SliceRequest request;
  request.end = 1;
  request.micro_batches = 2;
  EXPECT_THAT(std::string(program->slicer->Slice(request).status().message()),
              HasSubstr("\"few\" cannot be divided: it takes some samples only"));
}

// A call of cuDNN's attention repeats shapes in its layouts and in its configuration; its workspace
// is nobody's.
TEST(SliceTest, FusedAttentionIsDividedByItsSamples) {
  auto program = FromText(R"(HloModule m, input_output_alias={ {}: (0, {}, may-alias) }
ENTRY main {
  w = f32[4,4] parameter(0)
  x = f32[8,2,2,4] parameter(1)
  q = f32[8,2,2,4] dot(x, w), lhs_contracting_dims={3}, rhs_contracting_dims={0}
  call = (f32[8,2,2,4], u8[0]) custom-call(q, x, x), custom_call_target="__cudnn$fmhaSoftmax", operand_layout_constraints={f32[8,2,2,4]{3,2,1,0}, f32[8,2,2,4]{3,2,1,0}, f32[8,2,2,4]{3,2,1,0}}, backend_config={"cudnn_fmha_backend_config": {"mask_type": "CAUSAL", "bmm1_dot_dimension_numbers": {"lhs_batch_dimensions": ["0", "2"]}, "intermediate_tensor_shape": {"dimensions": ["8", "2", "2", "2"]}}}
  o = f32[8,2,2,4] get-tuple-element(call), index=0
  dw = f32[4,4] dot(x, o), lhs_contracting_dims={0,1,2}, rhs_contracting_dims={0,2,1}
  ROOT new = f32[4,4] subtract(w, dw)
})",
                          1);
  ASSERT_NE(program, nullptr);
  ASSERT_TRUE(program->batch.indivisible.empty());
  SliceRequest request;
  request.end = 1;
  request.micro_batches = 4;
  const auto slice = program->slicer->Slice(request);
  ASSERT_TRUE(slice.ok()) << slice.status();
  const std::string text = ToHloText(*slice->module);
  EXPECT_THAT(text, HasSubstr("(f32[2,2,2,4], u8[0]) custom-call("));
  EXPECT_THAT(text, HasSubstr("operand_layout_constraints={f32[2,2,2,4]{3,2,1,0}, "));
  EXPECT_THAT(text, HasSubstr(R"("dimensions": ["2", "2", "2", "2"])"));
}

// A loop over weights that the program stacks itself.
constexpr char kStacked[] = R"(HloModule m
body {
  p = (s32[], f32[8,4], f32[2,4,4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  h = f32[8,4] get-tuple-element(p), index=1
  ws = f32[2,4,4] get-tuple-element(p), index=2
  zero = s32[] constant(0)
  one = s32[] constant(1)
  layer = f32[1,4,4] dynamic-slice(ws, i, zero, zero), dynamic_slice_sizes={1,4,4}
  wl = f32[4,4] reshape(layer)
  d = f32[8,4] dot(h, wl), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  k = f32[8,4] tanh(d)
  j = s32[] add(i, one)
  ROOT t = (s32[], f32[8,4], f32[2,4,4]) tuple(j, k, ws)
}
condition {
  p = (s32[], f32[8,4], f32[2,4,4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  two = s32[] constant(2)
  ROOT c = pred[] compare(i, two), direction=LT
}
ENTRY main {
  v = f32[1,4,4] parameter(0)
  w = f32[1,4,4] parameter(1)
  x = f32[8,4] parameter(2)
  zero = s32[] constant(0)
  stack = f32[2,4,4] concatenate(v, w), dimensions={0}
  start = (s32[], f32[8,4], f32[2,4,4]) tuple(zero, x, stack)
  loop = (s32[], f32[8,4], f32[2,4,4]) while(start), condition=condition, body=body
  ROOT y = f32[8,4] get-tuple-element(loop), index=1
})";

TEST(SliceTest, StacksThatNeedAllLayers) {
  const auto program = FromText(kStacked, 0);
  ASSERT_NE(program, nullptr);
  SliceRequest request;
  request.end = 1;
  EXPECT_EQ(program->slicer->Slice(request).status().message(),
            "\"stack\" needs all layers: its loop cannot be cut between layers, as pipelines and "
            "profiles need; plan without them");
}

// Of what takes less than itself to compute every slice makes all, and takes its layers.
TEST(SliceTest, StacksThatAreMadeWhole) {
  const std::string mixed = R"(
  table = f32[2] constant({0.5, 0.25})
  scale = f32[2,4,4] broadcast(table), dimensions={0}
  vs = f32[1,4,4] broadcast(v), dimensions={1}
  filled = f32[1,4,4] broadcast(w), dimensions={2}
  stacked = f32[2,4,4] concatenate(vs, filled), dimensions={0}
  turning = (s32[], f32[2,4,4]) tuple(zero, stacked)
  turned = (s32[], f32[2,4,4]) while(turning), condition=turns_left, body=turn
  mixed = f32[2,4,4] get-tuple-element(turned), index=1
  stack = f32[2,4,4] multiply(mixed, scale))";
  const auto program =
      FromText(absl::StrReplaceAll(
                   kStacked, {{"\n  stack = f32[2,4,4] concatenate(v, w), dimensions={0}", mixed},
                              {"v = f32[1,4,4]", "v = f32[4]"},
                              {"w = f32[1,4,4]", "w = f32[4]"},
                              {"ENTRY main", R"(turn {
  q = (s32[], f32[2,4,4]) parameter(0)
  t = s32[] get-tuple-element(q), index=0
  s = f32[2,4,4] get-tuple-element(q), index=1
  back = f32[2,4,4] reverse(s), dimensions={0}
  sum = f32[2,4,4] add(s, back)
  half = f32[] constant(0.5)
  halves = f32[2,4,4] broadcast(half), dimensions={}
  less = f32[2,4,4] multiply(sum, halves)
  more = f32[2,4,4] add(less, s)
  unit = s32[] constant(1)
  u = s32[] add(t, unit)
  ROOT r = (s32[], f32[2,4,4]) tuple(u, more)
}
turns_left {
  q = (s32[], f32[2,4,4]) parameter(0)
  t = s32[] get-tuple-element(q), index=0
  three = s32[] constant(3)
  ROOT c = pred[] compare(t, three), direction=LT
}
ENTRY main)"}}),
               0);
  ASSERT_NE(program, nullptr);
  ASSERT_EQ(program->layers.count, 2);
  ExpectStagesCompute(*program);
}

// What a slice takes of all layers is what the program gives: the sum, not its layers' part of it.
TEST(SliceTest, ResultsThatCombineLayersOfAStack) {
  const auto program =
      FromText(absl::StrReplaceAll(
                   kStacked, {{"\n  stack = f32[2,4,4] concatenate(v, w), dimensions={0}", ""},
                              {"v = f32[1,4,4]", "stack = f32[2,4,4]"},
                              {"w = f32[1,4,4]", "w = f32[2,4,4]"},
                              {"ENTRY main", R"(plus {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
larger {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] maximum(a, b)
}
ENTRY main)"},
                              {"ROOT y = f32[8,4] get-tuple-element(loop), index=1",
                               R"(y = f32[8,4] get-tuple-element(loop), index=1
  none = f32[] constant(0)
  squares = f32[2,4,4] multiply(stack, stack)
  all = f32[] reduce(squares, none), dimensions={0,1,2}, to_apply=plus
  each = f32[4] reduce(squares, none), dimensions={0,1}, to_apply=plus
  most = f32[4,4] reduce(stack, none), dimensions={0}, to_apply=larger
  ROOT results = (f32[8,4], f32[], f32[4], f32[4,4]) tuple(y, all, each, most))"}}),
               0);
  ASSERT_NE(program, nullptr);
  ASSERT_EQ(program->layers.count, 2);
  ExpectStagesCompute(*program);
}

// Every phase of all stages of some layers each: what one slice needs, another one has.
void ExpectSlices(const SlicedProgram& program, int32_t layers, int64_t micro_batches) {
  using Key = std::tuple<ValueId, int32_t, int32_t, int32_t>;
  std::set<Key> made;
  std::map<ValueId, int32_t> combined;  // layers that outputs to be combined are made of
  std::vector<std::pair<Key, std::string>> needed;
  std::vector<int64_t> delivered(program.graph.outputs.size());
  for (int32_t layer = 0; layer < program.layers.count; layer += layers) {
    for (const Phase phase : {Phase::kForward, Phase::kBackward, Phase::kUpdate}) {
      SliceRequest request;
      request.begin = layer;
      request.end = std::min(layer + layers, program.layers.count);
      request.forward = phase == Phase::kForward;
      request.backward = phase == Phase::kBackward;
      request.update = phase == Phase::kUpdate;
      request.micro_batches = micro_batches;
      const absl::StatusOr<ProgramSlice> slice = program.slicer->Slice(request);
      ASSERT_TRUE(slice.ok()) << "layer " << layer << ": " << slice.status();
      const auto key = [](const SliceValue& v) { return Key{v.value, v.layer, v.first, v.count}; };
      for (const SliceValue& v : slice->inputs) {
        if (v.parameter < 0) needed.emplace_back(key(v), StrCat("layer ", layer, ": ", v.name));
      }
      for (size_t i = 0; i < slice->outputs.size(); ++i) {
        const SliceValue& v = slice->outputs[i];
        made.insert(key(v));
        if (v.combine != Reduction::kNone) {
          // Those of all layers are the whole.
          made.insert(Key{v.value, -1, 0, combined[v.value] += v.count});
        }
        const Op& output = slice->graph[slice->graph.outputs[i]];
        if (v.output >= 0) delivered[v.output] += slice->graph[output.operands[0]].shape.elements();
      }
      for (size_t i = 0; i < slice->graph.ops.size(); ++i) {
        EXPECT_EQ(slice->phase[i], phase) << slice->graph.ops[i].name << " of layer " << layer;
        const OpId origin = slice->origin[i];
        if (!origin.valid()) continue;
        ASSERT_EQ(program.graph[origin].kind, slice->graph.ops[i].kind);
        ASSERT_EQ(program.graph[origin].instruction->opcode,
                  slice->graph.ops[i].instruction->opcode);
      }
    }
  }
  for (const auto& [key, what] : needed) EXPECT_TRUE(made.contains(key)) << what;
  for (size_t i = 0; i < delivered.size(); ++i) {
    const Shape& shape = program.graph[program.graph[program.graph.outputs[i]].operands[0]].shape;
    EXPECT_GE(delivered[i], shape.elements() / (shape.rank() > 0 ? micro_batches : 1))
        << OutputName(program.graph, program.graph.outputs[i]);
  }
}

void ExpectSlices(const std::string& path, int32_t most_stages) {
  SCOPED_TRACE(path);
  const auto program = Read(path);
  ASSERT_NE(program, nullptr);
  const int32_t layers = (program->layers.count + most_stages - 1) / most_stages;
  for (const int64_t micro_batches : {1, 2}) {
    ASSERT_NO_FATAL_FAILURE(ExpectSlices(*program, layers, micro_batches));
  }
}

TEST(SliceTest, OwnPrograms) {
  for (const char* name :
       {"tiny_gpt.train.hlo.txt.gz", "mlp_4096x4.train.hlo.txt.gz",
        "llama3_8b.scan.train.hlo.txt.gz", "mlp_adam.train.hlo.txt",
        "pipeline/encoder_decoder.scan.train.hlo.txt.gz", "pipeline/reversed.scan.train.hlo.txt.gz",
        "pipeline/funnel.train.hlo.txt.gz", "pipeline/tied_clip.train.hlo.txt.gz",
        "pipeline/alternating.train.hlo.txt.gz"}) {
    ExpectSlices(HloData(name), /*most_stages=*/kMostLayers);
  }
}

TEST(SliceTest, ReferencePrograms) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  size_t count = 0;
  const std::string path = MESHWRIGHT_SHARED "/hlo";
  if (std::filesystem::exists(path)) {
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (!entry.path().string().ends_with(".hlo.txt.gz")) continue;
      ExpectSlices(entry.path().string(), /*most_stages=*/4);
      ++count;
    }
  }
  std::printf("%zu reference programs in ../shared\n", count);
}

}  // namespace
}  // namespace meshwright
