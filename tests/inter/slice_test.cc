#include "meshwright/inter/slice.h"

#include <cmath>
#include <filesystem>
#include <random>
#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/reader.h"
#include "meshwright/hlo/text_reader.h"
#include "meshwright/hlo/text_writer.h"
#include "meshwright/intra/planner.h"
#include "tests/inter/pipeline_run.h"
#include "tests/inter/run_program.h"

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
std::string Data(const std::string& file) { return StrCat(MESHWRIGHT_TEST_DATA "/hlo/", file); }

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
    for (const int mode : {0, 1, 2}) {
      PipelineRun run;
      run.cuts = cuts;
      run.micro_batches = mode == 0 ? 1 : 2;
      run.forward_with_backward = mode == 1;
      run.recompute = mode == 2;
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
  const auto program = Read(Data("pipeline/slice_tied.hlo.txt.gz"), 3);
  ASSERT_NE(program, nullptr);
  ExpectStagesCompute(*program);
}

TEST(SliceTest, BatchNormTakesStatisticsOfTheMicroBatch) {
  const auto program = Read(Data("pipeline/slice_batch_norm.hlo.txt.gz"), 3);
  ASSERT_NE(program, nullptr);
  EXPECT_FALSE(program->batch.statistics.empty());
  ExpectStagesCompute(*program, /*equal_halves=*/true);
}

TEST(SliceTest, LoopOverLayers) {
  const auto program = Read(Data("pipeline/slice_scan.hlo.txt.gz"));
  ASSERT_NE(program, nullptr);
  ASSERT_EQ(program->layers.loops.size(), 2u);
  ExpectStagesCompute(*program);
}

TEST(SliceTest, ClippingByTheNormOfStackedGradients) {
  const auto program = Read(Data("pipeline/slice_scan_clip.hlo.txt.gz"));
  ASSERT_NE(program, nullptr);
  ASSERT_EQ(program->layers.loops.size(), 2u);
  ExpectStagesCompute(*program);
}

TEST(SliceTest, LoopThatComputesAgain) {
  const auto program = Read(Data("pipeline/slice_scan_remat.hlo.txt.gz"));
  ASSERT_NE(program, nullptr);
  ASSERT_EQ(program->layers.loops.size(), 2u);
  ExpectStagesCompute(*program);
}

// Every phase of all stages of some layers each: what one slice needs, another one has.
void ExpectSlices(const SlicedProgram& program, int32_t layers, int64_t micro_batches) {
  using Key = std::tuple<ValueId, int32_t, int32_t, int32_t>;
  std::set<Key> made;
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
        const Op& output = slice->graph[slice->graph.outputs[i]];
        if (v.output >= 0) delivered[v.output] += slice->graph[output.operands[0]].shape.elements();
      }
      for (size_t i = 0; i < slice->graph.ops.size(); ++i) {
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
  for (const char* name : {"tiny_gpt.train.hlo.txt.gz", "mlp_4096x4.train.hlo.txt.gz",
                           "llama3_8b.scan.train.hlo.txt.gz", "mlp_adam.train.hlo.txt"}) {
    ExpectSlices(Data(name), /*most_stages=*/kMostLayers);
  }
}

TEST(SliceTest, ReferencePrograms) {
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
