#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "meshwright.h"
#include "tests/testing/data.h"

namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::json;

struct Free {
  void operator()(mw_result* result) const { mw_free(result); }
};
using Result = std::unique_ptr<mw_result, Free>;

constexpr const char* kStep = R"(HloModule step

ENTRY main {
  w = f32[1024,512] parameter(0), metadata={op_name="state['w']"}
  x = f32[4096,1024] parameter(1), metadata={op_name="x"}
  y = f32[4096,512] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  g = f32[1024,512] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  wn = f32[1024,512] subtract(w, g)
  ROOT out = (f32[1024,512], f32[4096,512]) tuple(wn, y)
}
)";

Result PlanStep(const std::string& options) {
  return Result(mw_plan(kStep, std::string(kStep).size(), options.c_str()));
}

std::string Text(const Result& result, const char* name) {
  size_t size = 0;
  const char* const text = mw_text(result.get(), name, &size);
  return text == nullptr ? "" : std::string(text, size);
}

std::string ReadData(const std::string& name) {
  std::ifstream file(std::string(MESHWRIGHT_TEST_DATA) + "/" + name, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

TEST(Capi, Versions) {
  EXPECT_EQ(mw_abi_version(), MW_ABI_VERSION);
  EXPECT_THAT(mw_version(), ContainsRegex("^[0-9]+\\.[0-9]+\\.[0-9]+$"));
}

TEST(Capi, OptionsReachThePlanner) {
  const Result result = PlanStep(
      R"({"program": "mine", "cluster": "8xh100-sxm", "mesh": "x=2,y=4", "memory": 1000000000,
          "deadline": 5, "fix": ["x=[x,_]"], "threads": 1, "seed": 7})");
  ASSERT_EQ(mw_error(result.get()), nullptr) << mw_message(result.get());
  EXPECT_STREQ(mw_message(result.get()), "");
  const Json plan = Json::parse(Text(result, "plan"));
  EXPECT_EQ(plan["inputs"][0]["path"], "mine");
  EXPECT_EQ(plan["inputs"][0]["kind"], "hlo_text");
  EXPECT_EQ(plan["mesh"]["axes"], Json::parse(R"([{"name":"x","size":2},{"name":"y","size":4}])"));
  EXPECT_EQ(plan["budget_bytes"], 1000000000);
  EXPECT_EQ(plan["options"]["deadline_seconds"], 5);
  EXPECT_EQ(plan["options"]["fixes"], Json::parse(R"(["x=[x,_]"])"));
  EXPECT_EQ(plan["options"]["threads"], 1);
  EXPECT_EQ(plan["options"]["seed"], 7);
  EXPECT_EQ(plan["parameters"][1]["spec"], Json::parse(R"([["x"], []])"));
}

TEST(Capi, TheAnnotatedProgramHasTheFormatOfTheProgram) {
  const std::string options = R"({"cluster": "8xh100-sxm", "mesh": "8"})";
  const std::string text = Text(PlanStep(options), "program");
  EXPECT_THAT(text, StartsWith("HloModule step"));
  EXPECT_THAT(text, HasSubstr("sharding={"));

  const std::string proto = ReadData("hlo/tiny_gpt.train.hlo.pb.gz");
  const Result planned(mw_plan(proto.data(), proto.size(), options.c_str()));
  ASSERT_EQ(mw_error(planned.get()), nullptr) << mw_message(planned.get());
  const std::string annotated = Text(planned, "program");
  // Still a program, and of the same kind.
  const Result again(mw_plan(annotated.data(), annotated.size(), options.c_str()));
  ASSERT_EQ(mw_error(again.get()), nullptr) << mw_message(again.get());
  EXPECT_EQ(Json::parse(Text(again, "plan"))["inputs"][0]["kind"], "hlo_proto");
}

TEST(Capi, EstimateFollowsTheFixes) {
  const Result result(mw_estimate(kStep, std::string(kStep).size(),
                                  R"({"cluster": "8xh100-sxm", "mesh": "8",
                                      "fix": ["state['w']=replicated", "x=[x,_]"]})"));
  ASSERT_EQ(mw_error(result.get()), nullptr) << mw_message(result.get());
  const Json plan = Json::parse(Text(result, "plan"));
  EXPECT_EQ(plan["budget_bytes"], nullptr);
  EXPECT_EQ(plan["parameters"][0]["spec"], Json::parse("[[], []]"));
}

TEST(Capi, EstimateNeedsAMesh) {
  const Result result(
      mw_estimate(kStep, std::string(kStep).size(), R"({"cluster": "8xh100-sxm"})"));
  EXPECT_STREQ(mw_error(result.get()), "invalid argument");
  EXPECT_THAT(mw_message(result.get()), HasSubstr("\"mesh\": is required"));
}

TEST(Capi, PlansAModelByNameAndByItsConfiguration) {
  const std::string options = R"("cluster": "8xh100-sxm", "global-batch": 8, "seq": 1024})";
  const Result named(mw_plan(nullptr, 0, (R"({"program": "gpt2", )" + options).c_str()));
  ASSERT_EQ(mw_error(named.get()), nullptr) << mw_message(named.get());
  EXPECT_EQ(Json::parse(Text(named, "plan"))["transformer"]["model"], "gpt2");
  EXPECT_EQ(mw_text(named.get(), "program", nullptr), nullptr);

  const std::string config = R"({"model_type": "llama", "hidden_size": 512,
      "num_hidden_layers": 4, "num_attention_heads": 8, "intermediate_size": 1024,
      "vocab_size": 1000})";
  const Result given(
      mw_plan(config.data(), config.size(), (R"({"program": "mine", )" + options).c_str()));
  ASSERT_EQ(mw_error(given.get()), nullptr) << mw_message(given.get());
  EXPECT_EQ(Json::parse(Text(given, "plan"))["transformer"]["model"], "mine");

  const Result mistyped(mw_plan(nullptr, 0, (R"({"program": "gpt22", )" + options).c_str()));
  EXPECT_STREQ(mw_error(mistyped.get()), "not found");
  EXPECT_THAT(mw_message(mistyped.get()), HasSubstr("the nearest name is \"gpt2\""));
}

TEST(Capi, AsksAPlanOfAModel) {
  const Result planned(
      mw_plan(nullptr, 0, R"({"program": "gpt2", "cluster": "8xh100-sxm", "global-batch": 8})"));
  const std::string plan = Text(planned, "plan");
  ASSERT_FALSE(plan.empty()) << mw_message(planned.get());

  const Result why(mw_explain(plan.data(), plan.size(), nullptr, 0, R"({"why-not": ["tp=2"]})"));
  ASSERT_EQ(mw_error(why.get()), nullptr) << mw_message(why.get());
  EXPECT_TRUE(Json::parse(Text(why, "json")).contains("verdict"));
  EXPECT_THAT(Text(why, "text"), HasSubstr("tp=2"));

  const Result diff(mw_diff(plan.data(), plan.size(), plan.data(), plan.size()));
  EXPECT_EQ(Json::parse(Text(diff, "json"))["identical"], true);

  const Result launch(mw_export(plan.data(), plan.size(), R"({"to": "megatron"})"));
  ASSERT_EQ(mw_error(launch.get()), nullptr) << mw_message(launch.get());
  EXPECT_EQ(Text(launch, "folder"), "gpt2-megatron");
  EXPECT_FALSE(Json::parse(Text(launch, "files")).empty());
  const Result nowhere(mw_export(plan.data(), plan.size(), nullptr));
  EXPECT_STREQ(mw_message(nowhere.get()), "option \"to\": is required");

  const Result report(mw_report(Json::array({{{"name", "p"}, {"text", plan}}}).dump().c_str()));
  EXPECT_FALSE(Json::parse(Text(report, "tables")).empty());
  EXPECT_EQ(mw_text(report.get(), "dot", nullptr), nullptr);

  const Result model(mw_model(nullptr, 0, R"({"model": "gpt2", "seq": 128})"));
  EXPECT_EQ(Json::parse(Text(model, "json"))["tokens"], 128);
}

TEST(Capi, FindsBlocks) {
  const std::string program = kStep;
  const Result blocks(mw_blocks(program.data(), program.size(),
                                R"({"cluster": "4xh100-sxm", "mesh": "4", "emit": "blocks"})"));
  ASSERT_EQ(mw_error(blocks.get()), nullptr) << mw_message(blocks.get());
  EXPECT_FALSE(Json::parse(Text(blocks, "json"))["blocks"].empty());
  for (const std::string name : Json::parse(Text(blocks, "names")))
    EXPECT_FALSE(Text(blocks, name.c_str()).empty());
  const Result none(mw_blocks(nullptr, 0, R"({"cluster": "4xh100-sxm", "mesh": "4"})"));
  EXPECT_STREQ(mw_message(none.get()), "option \"program\": is required");
}

TEST(Capi, SolvesAssignmentProblems) {
  const std::string problem =
      R"({"problem": {"nodes": {"intervals": [[0, 1]], "costs": [[3, 1]], "usages": [[1, 5]]},
                      "edges": {"nodes": [], "costs": []}, "usage_limit": 4}})";
  const Result solved(mw_solve(problem.data(), problem.size(), R"({"deadline": 5})"));
  ASSERT_EQ(mw_error(solved.get()), nullptr) << mw_message(solved.get());
  EXPECT_THAT(Text(solved, "text"), HasSubstr("optimal: cost 3, bound 3"));
  EXPECT_EQ(Json::parse(Text(solved, "json"))["choice"], Json({0}));
}

TEST(Capi, DatabasesThatAreNotThere) {
  const Result list(mw_db("list", R"({"database": "/nowhere/profiles.sqlite"})"));
  EXPECT_THAT(mw_message(list.get()), HasSubstr("/nowhere/profiles.sqlite"));
  const Result other(mw_db("drop", R"({"database": "a"})"));
  EXPECT_STREQ(mw_message(other.get()),
               "found \"drop\", expected list, show, merge, export or prune");
}

TEST(Capi, AsksAPlanOfAProgram) {
  const std::string plan = Text(PlanStep(R"({"cluster": "8xh100-sxm", "mesh": "8"})"), "plan");
  const std::string program = kStep;
  const Result why(mw_explain(plan.data(), plan.size(), program.data(), program.size(),
                              R"({"why-not": ["x=[_,_]"]})"));
  ASSERT_EQ(mw_error(why.get()), nullptr) << mw_message(why.get());
  const Result other(
      mw_explain(plan.data(), plan.size(), "HloModule x", 11, R"({"why-not": ["x=[_,_]"]})"));
  EXPECT_THAT(mw_message(other.get()), HasSubstr("is not the program that the plan was made from"));
  const Result both(
      mw_explain(plan.data(), plan.size(), nullptr, 0, R"({"tensor": "x", "parameters": true})"));
  EXPECT_STREQ(mw_message(both.get()), "option \"tensor\": excludes \"parameters\"");

  const Result step(mw_simulate(plan.data(), plan.size(), nullptr));
  ASSERT_EQ(mw_error(step.get()), nullptr) << mw_message(step.get());
  EXPECT_TRUE(Json::parse(Text(step, "trace")).contains("traceEvents"));
  const Result report(mw_report(Json::array({{{"name", "p"}, {"text", plan}}}).dump().c_str()));
  EXPECT_THAT(Text(report, "dot"), HasSubstr("digraph"));
}

TEST(Capi, ListsTheOptionsOfEveryCommand) {
  const Result tables(mw_tables());
  const Json options = Json::parse(Text(tables, "options"));
  for (const char* command : {"plan", "estimate", "explain", "export", "model", "simulate"})
    EXPECT_FALSE(options[command].empty()) << command;
}

struct ErrorCase {
  const char* options;
  const char* error;
  const char* message;
};

TEST(Capi, ErrorsNameTheOption) {
  for (const ErrorCase& c : {
           ErrorCase{"{", "invalid argument", "options: "},
           ErrorCase{"[]", "invalid argument", "options: found array, expected a JSON object"},
           ErrorCase{"{}", "invalid argument", "\"cluster\": is required"},
           ErrorCase{R"({"clutser": "8xh100-sxm"})", "invalid argument",
                     "option \"clutser\": there is no such option; did you mean \"cluster\"?"},
           ErrorCase{R"({"cluster": 8})", "invalid argument",
                     "option \"cluster\": found number, expected a string"},
           ErrorCase{R"({"cluster": "8xh100-sxm", "threads": 0})", "invalid argument",
                     "option \"threads\": found 0, expected an integer from 1 to 1024"},
           ErrorCase{R"({"cluster": "8xh100-sxm", "global-batch": 8})", "invalid argument",
                     "\"global-batch\" is for models, but this is a program"},
           ErrorCase{R"({"cluster": "8xh100-sxm", "seed": -1})", "invalid argument",
                     "option \"seed\": found -1"},
           ErrorCase{R"({"cluster": "8xh100-sxm", "fix": "x=[x,_]"})", "invalid argument",
                     "option \"fix\": found string, expected a list of strings"},
           ErrorCase{R"({"cluster": "8xh100-sxm", "memory": true})", "invalid argument",
                     "option \"memory\": found boolean"},
           ErrorCase{R"({"cluster": "8xh100-sxm", "memory": "60Gb"})", "invalid argument",
                     "\"memory\": "},
           ErrorCase{R"({"cluster": "8xh100-sxm", "deadline": 0})", "invalid argument",
                     "\"deadline\": must be more than 0 seconds"},
           ErrorCase{R"({"cluster": "8xh100-sxm", "mesh": "3x3"})", "invalid argument", "3x3"},
           ErrorCase{R"({"cluster": "8xh100-sxm", "fix-file": ["/no/such/file"]})", "not found",
                     "/no/such/file"},
           ErrorCase{R"({"cluster": "8xh100-sxm", "memory": "1MiB", "mesh": "8"})", "infeasible",
                     "nothing fits into 1.00 MiB"},
       }) {
    SCOPED_TRACE(c.options);
    const Result result = PlanStep(c.options);
    ASSERT_NE(mw_error(result.get()), nullptr);
    EXPECT_STREQ(mw_error(result.get()), c.error);
    EXPECT_THAT(mw_message(result.get()), HasSubstr(c.message));
    EXPECT_EQ(mw_text(result.get(), "plan", nullptr), nullptr);
  }
}

TEST(Capi, ErrorsInTheProgramSayWhere) {
  const std::string options = R"({"program": "a.hlo", "cluster": "8xh100-sxm", "mesh": "8"})";
  for (const std::string& program :
       {std::string(), std::string("HloModule m\n\nENTRY e {\n  ROOT x = f32[2] frobnicate()\n}\n"),
        std::string("\x1f\x8b\x08 damaged"), std::string(64, '\0')}) {
    const Result result(mw_plan(program.data(), program.size(), options.c_str()));
    ASSERT_NE(mw_error(result.get()), nullptr);
    EXPECT_STREQ(mw_error(result.get()), "invalid argument");
    EXPECT_THAT(mw_message(result.get()), StartsWith("a.hlo"));
  }
  EXPECT_STREQ(mw_error(Result(mw_plan(nullptr, 5, "{}")).get()), "invalid argument");
  EXPECT_STREQ(mw_error(Result(mw_plan(kStep, 5, nullptr)).get()), "invalid argument");
}

TEST(Capi, AnnotatesTheProgramFromThePlanAlone) {
  const Result made = PlanStep(R"({"cluster": "8xh100-sxm", "mesh": "2x4"})");
  const std::string plan = Text(made, "plan");
  const Result annotated(mw_annotate(kStep, std::string(kStep).size(), plan.data(), plan.size()));
  ASSERT_EQ(mw_error(annotated.get()), nullptr) << mw_message(annotated.get());
  EXPECT_EQ(Text(annotated, "program"), Text(made, "program"));
  EXPECT_EQ(Text(annotated, "proto"), Text(made, "proto"));
  EXPECT_EQ(Text(annotated, "runnable"), Text(annotated, "proto"));

  const std::string other = ReadData("hlo/tiny_gpt.train.hlo.pb.gz");
  const Result mismatch(mw_annotate(other.data(), other.size(), plan.data(), plan.size()));
  EXPECT_STREQ(mw_error(mismatch.get()), "invalid argument");
  EXPECT_THAT(mw_message(mismatch.get()), HasSubstr("the plan is of another program"));
}

// What a plan decides inside of a function, it decides for every call by itself.
TEST(Capi, WhatRunsHasAFunctionForEveryCall) {
  const std::string program = R"(module @m {
  func.func @main(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
    %0 = call @f(%a) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = call @f(%b) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    return %0, %1 : tensor<8x8xf32>, tensor<8x8xf32>
  }
  func.func private @f(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %0 = stablehlo.negate %x : tensor<8x8xf32>
    %1 = stablehlo.exponential %0 : tensor<8x8xf32>
    return %1 : tensor<8x8xf32>
  }
}
)";
  const Result made(
      mw_plan(program.data(), program.size(),
              R"({"cluster": "2xh100-sxm", "mesh": "2", "fix": ["*negate.1=[x,_]", "?=[_,x]"]})"));
  ASSERT_EQ(mw_error(made.get()), nullptr) << mw_message(made.get());
  const std::string plan = Text(made, "plan");
  const Result annotated(mw_annotate(program.data(), program.size(), plan.data(), plan.size()));
  ASSERT_EQ(mw_error(annotated.get()), nullptr) << mw_message(annotated.get());
  EXPECT_THAT(Text(annotated, "program"), Not(HasSubstr("sdy.sharding_constraint %x")));
  const std::string text = Text(annotated, "runnable");
  EXPECT_THAT(text, HasSubstr("call @f(%a)"));
  EXPECT_THAT(text, HasSubstr("call @f_1(%b)"));
  EXPECT_THAT(text, HasSubstr("func.func private @f_1(%x: tensor<8x8xf32>)"));
  // Each function moves its argument, in two steps: gathered, then sliced.
  const std::string_view moved = "sdy.sharding_constraint %x <@mesh, [{}, {}]>";
  const size_t inside = text.find(moved);
  ASSERT_NE(inside, std::string::npos) << text;
  EXPECT_NE(text.find(moved, inside + 1), std::string::npos);
}

TEST(Capi, ReadsAProgram) {
  const Result program(mw_read_program(kStep, std::string(kStep).size()));
  ASSERT_EQ(mw_error(program.get()), nullptr) << mw_message(program.get());
  EXPECT_EQ(Text(program, "format"), "hlo_text");
  EXPECT_EQ(Json::parse(Text(program, "parameters")),
            Json::parse(
                R"([{"name": "state['w']", "dtype": "f32", "shape": [1024, 512], "donated": false},
                            {"name": "x", "dtype": "f32", "shape": [4096, 1024], "donated": false}])"));
  EXPECT_EQ(Json::parse(Text(program, "outputs"))[1],
            Json::parse(R"({"name": "output[1]", "dtype": "f32", "shape": [4096, 512]})"));
  const std::string proto = Text(program, "proto");
  const Result again(mw_read_program(proto.data(), proto.size()));
  ASSERT_EQ(mw_error(again.get()), nullptr) << mw_message(again.get());
  EXPECT_EQ(Text(again, "format"), "hlo_proto");
  EXPECT_EQ(Text(again, "parameters"), Text(program, "parameters"));
}

TEST(Capi, WritesBytecodeAsText) {
  std::ifstream file(meshwright::HloData("bytecode/sharded.jax_export"), std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  const Result program(mw_read_program(bytes.data(), bytes.size()));
  ASSERT_EQ(mw_error(program.get()), nullptr) << mw_message(program.get());
  EXPECT_EQ(Text(program, "format"), "stablehlo");
  const std::string text = Text(program, "stablehlo");
  EXPECT_THAT(text, HasSubstr("func.func public @main(%arg0: tensor<16x8xf32>"));
  const Result again(mw_read_program(text.data(), text.size()));
  ASSERT_EQ(mw_error(again.get()), nullptr) << mw_message(again.get());
  EXPECT_EQ(Text(again, "stablehlo"), text);
  EXPECT_EQ(Text(again, "parameters"), Text(program, "parameters"));
}

TEST(Capi, ReadPlanChecksTheSchema) {
  const std::string plan = R"({"schema": 0})";
  const Result result(mw_read_plan(plan.data(), plan.size()));
  EXPECT_STREQ(mw_error(result.get()), "invalid argument");
  EXPECT_THAT(mw_message(result.get()), HasSubstr("schema"));
}

TEST(Capi, ReadPlanExplains) {
  const Result planned = PlanStep(R"({"cluster": "8xh100-sxm"})");
  const std::string plan = Text(planned, "plan");
  const Result result(mw_read_plan(plan.data(), plan.size()));
  ASSERT_EQ(mw_error(result.get()), nullptr) << mw_message(result.get());
  EXPECT_THAT(Text(result, "explanation"), HasSubstr("in short  "));
}

TEST(Capi, TablesListWhatThereIs) {
  const Result result(mw_tables());
  const Json devices = Json::parse(Text(result, "devices"));
  ASSERT_FALSE(devices.empty());
  for (const Json& device : devices) {
    EXPECT_GT(device["memory_bytes"].get<int64_t>(), 0);
    const std::string cluster = "{\"cluster\": \"" + device["name"].get<std::string>() + "\"}";
    EXPECT_EQ(mw_error(PlanStep(cluster).get()), nullptr) << cluster;
  }
  for (const Json& row : Json::parse(Text(result, "operators"))) {
    EXPECT_FALSE(row["opcode"].get<std::string>().empty());
  }
}

TEST(Capi, ThreadsDoNotMeet) {
  std::vector<std::string> plans(4);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < plans.size(); ++i) {
    threads.emplace_back([&plan = plans[i], i] {
      const std::string mesh = i % 2 == 0 ? "8" : "2x4";
      Json made = Json::parse(
          Text(PlanStep(R"({"cluster": "8xh100-sxm", "mesh": ")" + mesh + "\"}"), "plan"));
      made.erase("planning_seconds");
      plan = made.dump();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(plans[0], plans[2]);
  EXPECT_EQ(plans[1], plans[3]);
  EXPECT_NE(plans[0], plans[1]);
}

}  // namespace
