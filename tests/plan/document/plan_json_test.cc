#include "meshwright/plan/document/plan_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>
#include <string>

#include "tests/plan/document/sample_plan.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;
using OrderedJson = nlohmann::ordered_json;

TEST(PlanJson, RoundTripKeepsEverything) {
  const std::pair<Plan, PlanKind> cases[] = {{SamplePlan(), PlanKind::kProgram},
                                             {SamplePipelinePlan(), PlanKind::kPipeline},
                                             {SampleModelPlan(), PlanKind::kModel}};
  for (const auto& [plan, kind] : cases) {
    EXPECT_EQ(plan.kind(), kind);
    const absl::StatusOr<Plan> read = ParsePlanJson(PlanToJson(plan), "plan.json");
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, plan);
    EXPECT_EQ(PlanToJson(*read), PlanToJson(plan));
  }
}

TEST(PlanJson, EmptyAndUnlimited) {
  Plan plan;
  const absl::StatusOr<Plan> read = ParsePlanJson(PlanToJson(plan), "plan.json");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, plan);
  EXPECT_TRUE(OrderedJson::parse(PlanToJson(plan))["budget_bytes"].is_null());
}

TEST(PlanJson, NumbersReadBackBitEqual) {
  constexpr uint64_t kSeed = 7;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 500; ++i) {
    Plan plan;
    do {
      plan.objective_seconds = std::bit_cast<double>(random());
    } while (!(plan.objective_seconds >= 0 && plan.objective_seconds <= 1e18) ||
             std::signbit(plan.objective_seconds));
    plan.peak_bytes = static_cast<int64_t>(random() >> 1);
    const absl::StatusOr<Plan> read = ParsePlanJson(PlanToJson(plan), "plan.json");
    ASSERT_TRUE(read.ok()) << read.status();
    ASSERT_EQ(std::bit_cast<uint64_t>(read->objective_seconds),
              std::bit_cast<uint64_t>(plan.objective_seconds));
    ASSERT_EQ(read->peak_bytes, plan.peak_bytes);
  }
}

TEST(PlanJson, KeysComeInTheOrderOfTheSchema) {
  const OrderedJson json = OrderedJson::parse(PlanToJson(SamplePipelinePlan()));
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  EXPECT_THAT(
      keys, testing::ElementsAre(
                "schema", "tool_version", "inputs", "options", "cluster", "mesh",
                "objective_seconds", "bound_seconds", "gap", "compute_seconds",
                "communication_seconds", "step_seconds", "time_use", "time_error", "memory_error",
                "time_classes", "peak_bytes", "budget_bytes", "peak_at", "memory_by_category",
                "collectives", "parameters", "outputs", "op_names", "source_files", "instructions",
                "memory_timeline", "schedule", "micro_batches", "chunks", "bubble_share", "stages",
                "cross_stage", "segments", "profile", "warnings", "planning_seconds"));
}

TEST(PlanJson, OneLineAnElement) {
  const std::string text = PlanToJson(SamplePlan());
  EXPECT_THAT(text, HasSubstr("\n    {\"name\":\"dot.1\",\"opcode\":\"dot\",\"dtype\":\"f32\","
                              "\"shape\":[4,8],\"operands\":[],\"op_name\":0,\"source\":[1,17],"));
  EXPECT_EQ(text.back(), '\n');
}

TEST(PlanJson, TextThatIsNotUtf8IsReplaced) {
  Plan plan = SamplePipelinePlan();
  plan.inputs[0].path = "caf\xe9.hlo";
  const absl::StatusOr<Plan> read = ParsePlanJson(PlanToJson(plan), "plan.json");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->inputs[0].path, "caf\xef\xbf\xbd.hlo");
}

// ---- what the reader refuses ----

// The JSON of a sample that has the place, with that replaced.
std::string Changed(const std::string& pointer, const OrderedJson& value) {
  bool pipeline = false;
  for (const char* const key :
       {"/stages", "/cross_stage", "/schedule", "/micro_batches", "/chunks"})
    pipeline = pipeline || pointer.starts_with(key);
  OrderedJson json = OrderedJson::parse(PlanToJson(pipeline ? SamplePipelinePlan() : SamplePlan()));
  json[OrderedJson::json_pointer(pointer)] = value;
  return json.dump();
}

struct BadPlan {
  std::string pointer;
  OrderedJson value;
  std::string message;
};

TEST(PlanJsonErrors, NamesThePlaceInPlansOfModels) {
  const std::vector<BadPlan> cases = {
      {"/transformer/configuration/tp", 4,
       "$.transformer.configuration: tp x cp x dp x pp is 8, but the cluster has 4 devices"},
      {"/cluster/parts/0/nodes", 0,
       "$.cluster.parts[0]: found 0 nodes of 4 devices, expected from 1"},
      {"/cluster/parts/0/nodes", 1 << 20,
       "$.cluster.parts[0]: found 1048576 nodes of 4 devices, expected from 1 to 1048576 devices"},
      {"/cluster/parts", OrderedJson::array(),
       "$.cluster.parts: found none, expected at least one"},
      {"/transformer/memory", OrderedJson::array(),
       "$.transformer.memory: found 0 groups, but pp is 2"},
      {"/transformer/memory/0/logits", -1, "$.transformer.memory[0].logits: found -1"},
      {"/transformer/alternatives/0/slower_by/bubble", "x",
       "$.transformer.alternatives[0].slower_by.bubble: found a string"},
      {"/transformer/search/more", 1, "$.transformer.search: unknown key \"more\""},
      {"/transformer/configuration/tp3", 1, "$.transformer.configuration: unknown key \"tp3\""},
      {"/transformer/configuration/inside/ep", 1,
       "$.transformer.configuration.inside: unknown key \"ep\""},
      {"/transformer/configuration/zero", 4,
       "$.transformer.configuration.zero: found 4, expected an integer from 0 to 3"},
      {"/transformer/configuration/schedule", "dualpipe",
       "$.transformer.configuration.schedule: found \"dualpipe\", expected one of 1f1b, "
       "interleaved, zero-bubble"},
      {"/transformer/configuration/ends_as_layers", "on",
       "$.transformer.configuration.ends_as_layers: found \"on\", expected true or false"},
      {"/transformer/configuration/inside/tp", -1,
       "$.transformer.configuration.inside.tp: found -1, expected an integer from 0 to"},
  };
  for (const BadPlan& bad : cases) {
    OrderedJson json = OrderedJson::parse(PlanToJson(SampleModelPlan()));
    json[OrderedJson::json_pointer(bad.pointer)] = bad.value;
    const absl::StatusOr<Plan> read = ParsePlanJson(json.dump(), "p.json");
    EXPECT_THAT(std::string(read.status().message()), HasSubstr(bad.message));
  }
}

TEST(PlanJsonErrors, NamesThePlace) {
  const std::vector<BadPlan> cases = {
      {"/stages/0/seconds/forward", "x", "$.stages[0].seconds.forward: found a string"},
      {"/stages/0/recompute", 1, "$.stages[0].recompute: found a number, expected a boolean"},
      {"/stages/1/sum_parts", 0,
       "$.stages[1].sum_parts: found 0, expected a number that divides the 2 devices"},
      {"/stages/1/first_layer", 2, "$.stages[1]: layers [2, 6) do not follow on layer 3"},
      {"/stages/1/devices", {2}, "$.stages[1]: 1 device, but the mesh has 2"},
      {"/stages/1/devices", {2, 2}, "$.stages[1].devices[1]: device 2 is listed twice"},
      {"/stages/1/devices",
       {1, 2},
       "$.stages[1].devices[0]: device 1 is one of stage 0 too, and groups of devices do not"},
      {"/stages/1/devices",
       {7, 8},
       "$.stages[1].devices[1]: found 8, expected a device of the cluster, from 0 to 7"},
      {"/stages/0/devices/0", -1, "$.stages[0].devices[0]: found -1"},
      {"/stages/1/device", "h200",
       "$.stages[1].device: found \"h200\", but device 2 of the cluster is of type \"h100-sxm\""},
      {"/stages/1/device_memory_bytes", 5,
       "$.stages[1].device_memory_bytes: found 5, but device 2"},
      {"/stages/1/same_as", 1, "$.stages[1].same_as: expected an earlier stage"},
      {"/stages/1/outputs", OrderedJson::parse(PlanToJson(SamplePlan()))["outputs"],
       "$.stages[1]: expected empty lists of collectives, parameters, outputs and instructions "
       "and"},
      {"/stages/1/memory_timeline", OrderedJson::parse(PlanToJson(SamplePlan()))["memory_timeline"],
       "$.stages[1]: expected empty lists of collectives, parameters, outputs and instructions "
       "and"},
      {"/stages/0/seconds/forward", -0.5,
       "$.stages[0].seconds.forward: found -0.5, expected a number from 0 to 1e+09"},
      {"/stages/0/seconds/update", 1e300,
       "$.stages[0].seconds.update: found 1e+300, expected a number from 0 to 1e+09"},
      {"/stages/0/seconds/weight_gradient", 0.03,
       "$.stages[0].seconds.weight_gradient: found 0.03, expected at most the 0.02 of backward"},
      {"/stages/1/bytes/in_flight", int64_t{1} << 60,
       "$: with 8 micro-batches in flight, a device of stage 1 would hold more than 2^63 - 1"},
      {"/stages/1/bytes/fixed", 9223372036854775807, "a device of stage 1 would hold more than"},
      {"/stages/1/max_in_flight", 9,
       "$.stages[1].max_in_flight: found 9, expected at most the number of micro-batches, 8"},
      {"/cross_stage/0/seconds", -1e-5, "$.cross_stage[0].seconds: found -1e-05, expected"},
      {"/cross_stage/0/seconds", 1e10, "$.cross_stage[0].seconds: found 1"},
      {"/cross_stage/0/phase", "sideways",
       "$.cross_stage[0].phase: found \"sideways\", expected forward, backward or update"},
      {"/cross_stage/0/phase", "update",
       "$.cross_stage[0].phase: found \"update\", expected forward or backward"},
      {"/cross_stage/0/phase", "backward",
       "$.cross_stage[0]: a backward transfer from stage 0 to 1; forward ones go to the next"},
      {"/cross_stage/1", OrderedJson::parse(PlanToJson(SamplePipelinePlan()))["cross_stage"][0],
       "$.cross_stage[1]: a second forward transfer from stage 0 to 1"},
      {"/schedule", "2f2b", "$.schedule: unknown schedule \"2f2b\"; there are gpipe, 1f1b"},
      {"/micro_batches", int64_t{1} << 31,
       "$.micro_batches: found 2147483648, expected from 1 to 2147483647"},
      {"/chunks", 2, "$: the schedule 1f1b takes one stage a group of devices, found 2"},
      {"/bubble_share", 1.5, "$.bubble_share: found 1.5, expected a number from 0 to 1"},
      {"/stages", OrderedJson::array(), "$.schedule: found one, expected null"},
      {"/stages/0/instructions/0/spec", {{"q"}}, "the mesh has no axis \"q\"; it has x"},
      {"/cross_stage/0/to", 2, "$.cross_stage[0]: there are 2 stages"},
      {"/schedule", nullptr, "$.schedule: found null, expected that of the stages"},
      {"/chunks", 3, "chunks divide the stages"},
      {"/time_use/bubble", 0.5,
       "p.json: $.time_use: its parts are 0.576 s together, expected the "
       "0.08 s of step_seconds"},
      {"/time_classes/0/seconds", 0.5,
       "p.json: $.time_classes: they are 0.526 s together, expected the 0.076 s of step_seconds "
       "without the bubble"},
      {"/time_classes/0/name", "magic", "$.time_classes[0].name: found \"magic\", expected"},
      {"/schema", 1, "p.json: $.schema: found version 1; this program reads version 13 only"},
      {"/schema", "one", "p.json: $.schema: found \"one\", expected an integer"},
      {"/objective_seconds", "fast",
       "p.json: $.objective_seconds: found a string, expected a number"},
      {"/objective_seconds", -1, "p.json: $.objective_seconds: found -1, expected a number from 0"},
      {"/parameters/1/bytes_per_device", 9223372036854775807,
       "p.json: $.parameters[1].bytes_per_device: the parameters are more than 2^63 - 1 bytes"},
      {"/instructions/0/seconds", -1, "p.json: $.instructions[0].seconds: found -1, expected"},
      {"/objective_seconds", nullptr, "p.json: $.objective_seconds: found null, expected a number"},
      {"/peak_bytes", -1, "p.json: $.peak_bytes: found -1, expected an integer from 0"},
      {"/peak_bytes", 1.5, "p.json: $.peak_bytes: found 1.5, expected an integer from 0"},
      {"/peak_bytes", 9223372036854775808u, "p.json: $.peak_bytes: found 9223372036854775808"},
      {"/budget_bytes", "much", "p.json: $.budget_bytes: found \"much\""},
      {"/memory_by_category/weights", 1, "p.json: $.memory_by_category: unknown key \"weights\""},
      {"/segments/0/basis", "guessed",
       "$.segments[0].basis: found \"guessed\", expected measured or predicted"},
      {"/segments/1/samples", 3, "$.segments[1].samples: found 3, though predicted"},
      {"/segments/0/seconds", -1,
       "$.segments[0].seconds: found -1, expected a number from 0 to 1e+18"},
      {"/profile/moves/0/occurrences", 0, "$.profile.moves[0].occurrences: found 0"},
      {"/profile/devices", 1, "$.profile: unknown key \"devices\""},
      {"/extra", 1, "p.json: $: unknown key \"extra\"; the keys here are schema, tool_version"},
      {"/inputs", OrderedJson::object(), "p.json: $.inputs: found an object, expected a list"},
      {"/inputs/1/sha256", "abc", "p.json: $.inputs[1].sha256: expected 64 lower-case hex digits"},
      {"/mesh/axes/1/name", "x", "p.json: $.mesh: two axes have the name \"x\""},
      {"/mesh/axes/1/size", 0, "p.json: $.mesh.axes[1].size: found 0, expected at least 1"},
      {"/collectives/0/axes/0", "q",
       "p.json: $.collectives[0].axes: the mesh has no axis \"q\"; it has x, y"},
      {"/parameters/0/spec/2/0", "x", "p.json: $.parameters[0].spec[2]: axis \"x\" is used twice"},
      {"/parameters/0/spec", OrderedJson::array(),
       "p.json: $.parameters[0].spec: found 0 dimensions, but the shape has 3"},
      {"/parameters/0/category", "stuff",
       "p.json: $.parameters[0].category: found \"stuff\", expected parameters, optimizer_state, "
       "inputs, "
       "gradients, activations or temporaries"},
      {"/instructions/1/other_specs/0/0/0", "z",
       "p.json: $.instructions[1].other_specs[0][0]: the mesh has no axis"},
      {"/instructions/1/operand_specs/0/0/0", "z",
       "p.json: $.instructions[1].operand_specs[0][0]: the mesh has no axis"},
      {"/instructions/1/computed_specs/2/0/0", "z",
       "p.json: $.instructions[1].computed_specs[2][0]: the mesh has no axis"},
      {"/instructions/1/operand_paths/1/0/0/0", "z",
       "p.json: $.instructions[1].operand_paths[1][0][0]: the mesh has no axis"},
      {"/instructions/1/result_paths/2/0/0/0", "z",
       "p.json: $.instructions[1].result_paths[2][0][0]: the mesh has no axis"},
      {"/instructions/0/shared_spec/1/0", "z",
       "p.json: $.instructions[0].shared_spec[1]: the mesh has no axis"},
      {"/instructions/1/pending_axes/0", "z",
       "p.json: $.instructions[1].pending_axes: the mesh has no axis"},
      {"/instructions/1/reduced_axes/0", "z",
       "p.json: $.instructions[1].reduced_axes: the mesh has no axis"},
      {"/instructions/0/spec", OrderedJson::array(),
       "$.instructions[0].spec: found 0 dimensions, but the shape has 2"},
      {"/instructions/0/batch_dimension", 2,
       "$.instructions[0].batch_dimension: found 2, but the shape has 2 dimensions"},
      {"/instructions/0/phase", "sideways",
       "$.instructions[0].phase: found \"sideways\", expected forward, backward or update"},
      {"/instructions/0/opcode", "dots",
       "$.instructions[0].opcode: found \"dots\", expected one of "},
      {"/instructions/0/opcode", "dots", " words, the nearest being \"dot\""},
      {"/instructions/1/operands/0", 2,
       "$.instructions[1].operands[0]: found 2, but the instructions are numbered from 0 to 1"},
      {"/instructions/1/operands/1", 1,
       "$.instructions[1].operands[1]: found 1, expected an instruction before 1"},
      {"/instructions/1/operand_results",
       {0},
       "$.instructions[1].operand_results: expected a number for each operand"},
      {"/instructions/1/op_name", 2,
       "$.instructions[1].op_name: found 2, but the op_names are numbered from 0 to 1"},
      {"/instructions/0/source/0", 9,
       "$.instructions[0].source[0]: found 9, but the source_files are numbered from 0 to 1"},
      {"/instructions/0/source",
       {1},
       "$.instructions[0].source: has 1 elements, expected 2 (a file and a line)"},
      {"/stages/0/source_files", OrderedJson::array(),
       "$.stages[0].instructions[0].source[0]: found 0, but there are no source_files"},
      {"/memory_timeline/instruction/1", 5,
       "$.memory_timeline.instruction[1]: found 5, but the instructions are numbered from 0 to 1"},
      {"/memory_timeline/time/1", 0,
       "$.memory_timeline.time[1]: found 0, expected ascending numbers below 2"},
      {"/memory_timeline/inputs", {1}, "$.memory_timeline: its lists are not equally long"},
      {"/memory_timeline/seconds/0", -1,
       "$.memory_timeline.seconds[0]: found -1, expected a number from 0 to"},
      {"/step_timeline/start",
       {0},
       "$.step_timeline.start: found 1, expected a time for each of the 2 instructions"},
      {"/step_timeline/collectives/0/positions",
       {0, 0},
       "$.step_timeline.collectives[0]: its lists are not equally long"},
      {"/step_timeline/collectives/0/instructions/0", 7,
       "$.step_timeline.collectives[0].instructions[0]: found 7, but the instructions are numbered "
       "from 0 to 1"},
      {"/step_timeline/collectives/0/positions/0", 1,
       "$.step_timeline.collectives[0].positions[0]: found 1, but the collectives of the "
       "instruction are numbered from 0 to 0"},
      {"/stages/1/parameter_names", OrderedJson::array(),
       "$.stages[1].parameter_names: found 0 names, expected "},
      {"/stages/0/output_names", {"a"}, "$.stages[0].output_names: found 1 name, expected 0"},
      {"/gap", 1.5, "$.gap: found 1.5, expected a number from 0 to 1"},
      {"/gap", -0.1, "$.gap: found -0.1, expected a number from 0 to 1"},
      {"/step_seconds", 1e300, "$.step_seconds: found 1e+300, expected a number from 0 to 1e+18"},
      {"/collectives/0/bytes_per_device", -5,
       "$.collectives[0].bytes_per_device: found -5, expected an integer from 0"},
      {"/collectives/0/seconds", -5, "$.collectives[0].seconds: found -5, expected a number"},
      {"/memory_by_category/inputs", int64_t{1} << 62,
       "$.memory_by_category.inputs: found 4611686018427387904, with which the categories are more "
       "than peak_bytes; expected at most "},
      {"/profile/segment_seconds", -1, "$.profile.segment_seconds: found -1, expected a number"},
      {"/instructions/0/collective/0/count", true,
       "p.json: $.instructions[0].collective[0].count: found true, expected an integer"},
      {"/options/seed", -1,
       "p.json: $.options.seed: found -1, expected an integer from 0 to 2^64 - 1"},
  };
  for (const BadPlan& bad : cases) {
    SCOPED_TRACE(bad.pointer);
    const absl::StatusOr<Plan> read = ParsePlanJson(Changed(bad.pointer, bad.value), "p.json");
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(read.status().message()), HasSubstr(bad.message));
  }
}

// Every key but these: the reader misses it and says so.
TEST(PlanJsonErrors, EveryKeyIsRequired) {
  for (const Plan& plan : {SamplePlan(), SamplePipelinePlan()}) {
    const OrderedJson sample = OrderedJson::parse(PlanToJson(plan));
    const OrderedJson flat = sample.flatten();
    std::set<std::string> pointers;
    for (const auto& [pointer, value] : flat.items()) {
      for (OrderedJson::json_pointer p(pointer); !p.empty(); p.pop_back()) {
        if (sample.at(p.parent_pointer()).is_object()) pointers.insert(p.to_string());
      }
    }
    ASSERT_GT(pointers.size(), 60u);
    for (const std::string& pointer : pointers) {
      SCOPED_TRACE(pointer);
      const OrderedJson::json_pointer p(pointer);
      static const std::set<std::string> kOptional = {
          "other_types",     "operand_results", "op_name",      "source",      "layer",
          "phase",           "batch_dimension", "at_peak",      "other_specs", "operand_specs",
          "computed_specs",  "operand_paths",   "result_paths", "shared_spec", "pending_axes",
          "reduced_axes",    "value",           "database",     "segments",    "profile",
          "micro_batch_rng", "step_timeline"};
      // A transfer's phase is required.
      if (kOptional.contains(p.back()) && pointer.find("cross_stage") == std::string::npos)
        continue;
      OrderedJson json = sample;
      json.at(p.parent_pointer()).erase(p.back());
      const absl::StatusOr<Plan> read = ParsePlanJson(json.dump(), "p.json");
      ASSERT_FALSE(read.ok());
      EXPECT_THAT(std::string(read.status().message()), HasSubstr(p.back()));
    }
  }
}

// A plan is of one kind: parts of another beside it are none that anybody would look at.
TEST(PlanJsonErrors, PartsOfOtherKindsAreRefused) {
  const auto error = [](OrderedJson json, const Plan& other, const char* key) {
    json[key] = OrderedJson::parse(PlanToJson(other))[key];
    return std::string(ParsePlanJson(json.dump(), "p.json").status().message());
  };
  const OrderedJson program = OrderedJson::parse(PlanToJson(SamplePlan())),
                    pipeline = OrderedJson::parse(PlanToJson(SamplePipelinePlan())),
                    model = OrderedJson::parse(PlanToJson(SampleModelPlan()));
  EXPECT_THAT(error(pipeline, SamplePlan(), "instructions"),
              HasSubstr("p.json: $: found a program beside the stages, which have their own"));
  EXPECT_THAT(error(program, SampleModelPlan(), "transformer"),
              HasSubstr("p.json: $: found a program beside a model"));
  OrderedJson staged = model;
  staged["schedule"] = "1f1b";
  EXPECT_THAT(error(staged, SamplePipelinePlan(), "stages"),
              HasSubstr("p.json: $.stages: found some, but a model has them over groups of nodes"));
}

TEST(PlanJsonErrors, NotJson) {
  for (const std::string text : {"", "{", "plan", "{\"schema\": 1,}", "\xff\xfe", "[1, 2"}) {
    const absl::StatusOr<Plan> read = ParsePlanJson(text, "p.json");
    ASSERT_FALSE(read.ok()) << text;
    const std::string message(read.status().message());
    EXPECT_THAT(message, HasSubstr("p.json: not valid JSON, at $"));
    EXPECT_THAT(message, HasSubstr(": parse error at line 1, column"));
    EXPECT_EQ(message.find('\n'), std::string::npos);
  }
  EXPECT_THAT(std::string(ParsePlanJson("[]", "p.json").status().message()),
              HasSubstr("$: found a list, expected an object"));
  EXPECT_THAT(std::string(ParsePlanJson("{}", "p.json").status().message()),
              HasSubstr("this is no plan"));
}

// Numbers that JSON cannot hold are named by their place, as wrong values are.
TEST(PlanJsonErrors, WhatIsNoNumberIsNamedByItsPath) {
  const std::string text = PlanToJson(SamplePlan());
  const std::string key = "\"seconds\":";
  const size_t at = text.find(key, text.find("\"collectives\"")) + key.size();
  ASSERT_LT(at, text.size());
  for (const std::string wrong : {"1e999", "NaN", "-Infinity", "inf"}) {
    SCOPED_TRACE(wrong);
    std::string damaged = text;
    damaged.replace(at, damaged.find_first_of(",}", at) - at, wrong);
    const std::string message(ParsePlanJson(damaged, "p.json").status().message());
    EXPECT_THAT(message, HasSubstr("p.json: not valid JSON, at $.collectives[0].seconds: "));
  }
}

// A plan without stages is for all devices of its cluster.
TEST(PlanJsonErrors, MeshesHaveTheDevicesOfTheCluster) {
  Plan plan = SamplePlan();
  for (const int64_t size : {int64_t{1}, int64_t{3}, int64_t{1} << 62}) {
    plan.mesh[0].size = size;
    const absl::StatusOr<Plan> read = ParsePlanJson(PlanToJson(plan), "p.json");
    EXPECT_THAT(std::string(read.status().message()),
                HasSubstr("p.json: $.mesh.axes: found a mesh of "));
  }
}

TEST(PlanJsonErrors, AmountsOfModelsAreAmounts) {
  const OrderedJson sample = OrderedJson::parse(PlanToJson(SampleModelPlan()));
  const std::vector<std::pair<std::string, double>> cases = {
      {"/transformer/mfu", 1.01},
      {"/transformer/hfu", -0.1},
      {"/transformer/model_flops", -1},
      {"/transformer/seconds/bubble", -1e-3},
      {"/transformer/seconds/compute", 1e300},
  };
  for (const auto& [pointer, value] : cases) {
    SCOPED_TRACE(pointer);
    OrderedJson json = sample;
    json[OrderedJson::json_pointer(pointer)] = value;
    EXPECT_THAT(std::string(ParsePlanJson(json.dump(), "p.json").status().message()),
                HasSubstr(", expected a number from "));
  }
}

TEST(PlanJsonErrors, DeepNestingIsNoCrash) {
  const std::string deep(200000, '[');
  EXPECT_FALSE(ParsePlanJson(deep, "p.json").ok());
  std::string nested = PlanToJson(SamplePlan());
  nested.replace(nested.find("[[\"x\"],[]]"), 10, deep + std::string(200000, ']'));
  EXPECT_FALSE(ParsePlanJson(nested, "p.json").ok());
}

TEST(PlanJsonErrors, RandomDamageIsNoCrash) {
  constexpr uint64_t kSeed = 20260;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937_64 random(kSeed);
  const std::string text = PlanToJson(SamplePipelinePlan());
  int refused = 0;
  for (int i = 0; i < 1000; ++i) {
    std::string damaged = text;
    for (uint64_t n = 1 + random() % 3; n > 0; --n) {
      const size_t at = random() % damaged.size();
      switch (random() % 3) {
        case 0:
          damaged[at] = static_cast<char>(random());
          break;
        case 1:
          damaged.erase(at, 1 + random() % 20);
          break;
        default:
          damaged.resize(at + 1);
      }
      if (damaged.empty()) damaged = "{";
    }
    const absl::StatusOr<Plan> read = ParsePlanJson(damaged, "p.json");
    refused += read.ok() ? 0 : 1;
  }
  // Changed letters inside names and numbers leave a valid plan.
  EXPECT_GT(refused, 300);
}

// ---- the documentation ----

void CollectKeys(const OrderedJson& json, std::set<std::string>& keys) {
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) keys.insert(key);
  }
  if (json.is_structured()) {
    for (const auto& value : json) CollectKeys(value, keys);
  }
}

TEST(PlanSchemaPage, DocumentsEveryKey) {
  std::ifstream file(MESHWRIGHT_DOCS "/plan-schema.md");
  std::stringstream page;
  page << file.rdbuf();
  ASSERT_FALSE(page.str().empty());
  std::set<std::string> keys;
  for (const Plan& plan : {SamplePlan(), SamplePipelinePlan(), SampleModelPlan()})
    CollectKeys(OrderedJson::parse(PlanToJson(plan)), keys);
  ASSERT_GT(keys.size(), 50u);
  for (const std::string& key : keys) {
    EXPECT_THAT(page.str(), HasSubstr("`" + key + "`"))
        << "docs/plan-schema.md does not document it";
  }
}

}  // namespace
}  // namespace meshwright
