// Models planned over groups of nodes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "meshwright/base/csv.h"
#include "meshwright/base/file.h"
#include "tests/cli/run_binary.h"

namespace meshwright {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kMixedYaml[] = R"yaml(
groups:
  - name: fast
    device: a100-40g
    nodes: 2
    devices_per_node: 4
    available: {on_demand: 1, spot: 1}
    price_per_hour: {on_demand: 4.1, spot: 1.3}
  - {name: slow, device: a10g, nodes: 2, devices_per_node: 4, price_per_hour: 1.2}
between_groups: {bandwidth: 5GB/s, latency: 20us}
)yaml";

class PlanGroupsCommand : public testing::Test {
 protected:
  RunResult Plan(const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"plan",           "gpt2-large", "--cluster", cluster_,
                                          "--global-batch", "32",         "--seq",     "1024"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunMeshwright(arguments);
  }

  ScratchFolder folder_;
  std::string cluster_ = folder_.Write("mixed.yaml", kMixedYaml);
};

TEST_F(PlanGroupsCommand, TheFastestAndTheCheapest) {
  const RunResult fastest = Plan({});
  EXPECT_EQ(fastest.exit_code, 0) << fastest.err;
  EXPECT_THAT(fastest.out, AllOf(HasSubstr("nodes     "), HasSubstr("degrees   "),
                                 HasSubstr("(gap 0.00 %)"), HasSubstr("an hour\n")));
  const RunResult cheapest = Plan({"--objective", "cost", "--tokens", "1B"});
  EXPECT_EQ(cheapest.exit_code, 0) << cheapest.err;
  EXPECT_THAT(cheapest.out, AllOf(HasSubstr("run       30518 steps: "), HasSubstr(", $")));
}

TEST_F(PlanGroupsCommand, AnyPlanOfTheFrontIsWritten) {
  const RunResult first = Plan({"--pareto", "--json"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const auto choices = nlohmann::json::parse(first.out)["transformer"]["over_groups"]["choices"];
  size_t points = 0;
  for (const auto& choice : choices) points += choice["on_front"].get<bool>() ? 1 : 0;
  ASSERT_GE(points, 2u);
  const size_t last = points - 1;
  const RunResult run = Plan({"--pareto", "--point", std::to_string(last), "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto plan = nlohmann::json::parse(run.out);
  EXPECT_EQ(plan["step_seconds"], choices[last]["step_seconds"]);
  const auto& over_groups = plan["transformer"]["over_groups"];
  size_t group = 0;
  for (const auto& nodes : choices[last]["nodes"]) {
    EXPECT_EQ(over_groups["groups"][group++]["used_nodes"], nodes);
  }
  EXPECT_EQ(over_groups["choices"], choices);
  const RunResult beyond = Plan({"--pareto", "--point", std::to_string(points)});
  EXPECT_EQ(beyond.exit_code, 2);
  EXPECT_THAT(beyond.err, HasSubstr("--point: found"));
  EXPECT_EQ(Plan({"--point", "1"}).exit_code, 2);
  const RunResult both = Plan({"--pareto", "--objective", "cost"});
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_THAT(both.err, HasSubstr("leave --objective out"));
}

TEST_F(PlanGroupsCommand, TheFrontAsTextCsvChartAndJson) {
  const std::string csv = folder_.Path("front.csv"), plot = folder_.Path("front.json");
  const RunResult run =
      Plan({"--pareto", "--steps", "1000", "--csv", csv, "--plot", plot, "--json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const auto over = nlohmann::json::parse(run.out)["transformer"]["over_groups"];
  EXPECT_TRUE(over["proven"].get<bool>());
  EXPECT_EQ(over["steps"], 1000);
  const auto& choices = over["choices"];
  // Every choice of up to two nodes of each.
  EXPECT_EQ(choices.size(), 8u);
  size_t plans = 0;
  for (; choices[plans]["on_front"].get<bool>(); ++plans) {
    EXPECT_TRUE(choices[plans]["beaten_by"].is_null());
    if (plans == 0) continue;
    EXPECT_GT(choices[plans]["step_seconds"], choices[plans - 1]["step_seconds"]);
    EXPECT_LT(choices[plans]["step_dollars"], choices[plans - 1]["step_dollars"]);
  }
  EXPECT_GT(plans, 0u);
  for (size_t i = plans; i < choices.size(); ++i) {
    const auto& by = choices[choices[i]["beaten_by"].get<size_t>()];
    EXPECT_TRUE(by["on_front"].get<bool>());
    // Of bounds what was looked at is beaten, which takes more than they say.
    if (choices[i]["is_bound"].get<bool>()) continue;
    EXPECT_LE(by["step_seconds"], choices[i]["step_seconds"]);
    EXPECT_LE(by["step_dollars"], choices[i]["step_dollars"]);
  }
  const auto table = ParseCsv(*ReadFile(csv), csv);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->rows.size(), 8u);
  const auto chart = nlohmann::json::parse(*ReadFile(plot));
  EXPECT_EQ(chart["data"]["values"].size(), 8u);
  EXPECT_EQ(chart["mark"], "point");
}

TEST_F(PlanGroupsCommand, ThePlanIsRead) {
  const std::string plan = folder_.Path("plan.json");
  EXPECT_EQ(Plan({"-o", plan}).exit_code, 0);
  const auto json = nlohmann::json::parse(*ReadFile(plan));
  EXPECT_EQ(json["inputs"][0]["kind"], "cluster_yaml");
  const RunResult simulated = RunMeshwright({"simulate", plan, "--json"});
  EXPECT_EQ(simulated.exit_code, 0) << simulated.err;
  EXPECT_NEAR(nlohmann::json::parse(simulated.out)["seconds"].get<double>(),
              json["step_seconds"].get<double>(), 1e-9);
}

TEST_F(PlanGroupsCommand, WithinLimits) {
  const RunResult dear = Plan({"--steps", "100000", "--max-cost", "1"});
  EXPECT_EQ(dear.exit_code, 3);
  EXPECT_THAT(dear.out, IsEmpty());
  EXPECT_THAT(dear.err, AllOf(HasSubstr("no plan within $1.00; the cheapest that works takes "),
                              HasSubstr(" on 1 of ")));
  const RunResult late = Plan({"--steps", "100000", "--max-time", "1s"});
  EXPECT_EQ(late.exit_code, 3);
  EXPECT_THAT(late.err, HasSubstr("the fastest takes "));
  EXPECT_EQ(Plan({"--steps", "100000", "--max-time", "1000d"}).exit_code, 0);
  const RunResult large = Plan({"--memory", "3GiB"});
  EXPECT_EQ(large.exit_code, 3);
  EXPECT_THAT(large.err, HasSubstr("does not fit into the memory of any choice of nodes"));
}

TEST_F(PlanGroupsCommand, MeasuredLayers) {
  std::string profile = "gpu,tp,layer_id,forward_seconds\n";
  for (int layer = 0; layer < 38; ++layer) {
    profile +=
        "A100,1," + std::to_string(layer) + ",0.002\nA10G,1," + std::to_string(layer) + ",0.004\n";
  }
  const std::string file = folder_.Write("layers.csv", profile);
  const RunResult run = Plan({"--profile", file, "--fix", "tp=1,pp=1,dp=4,mbs=1,recompute=none"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("76.0 ms"), HasSubstr("152 ms"))) << "38 entries of 2 ms";
  const RunResult other = RunMeshwright(
      {"plan", "gpt2-xl", "--cluster", cluster_, "--global-batch", "32", "--profile", file});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("found 38 entries, but gpt2-xl has 48 layers"));
}

// What was found by the deadline is given, with how far it may be from the best; nothing, if it is
// too early for anything.
TEST_F(PlanGroupsCommand, Deadlines) {
  const RunResult early = Plan({"--deadline", "1ns"});
  EXPECT_EQ(early.exit_code, 3);
  EXPECT_THAT(early.out, IsEmpty());
  EXPECT_THAT(early.err, HasSubstr("gpt2-large over groups of nodes was not found before the "
                                   "deadline; --deadline gives the search more time"));
  const RunResult late = Plan({"--deadline", "10min", "--json"});
  ASSERT_EQ(late.exit_code, 0) << late.err;
  EXPECT_EQ(nlohmann::json::parse(late.out)["options"]["deadline_seconds"], 600);
}

TEST_F(PlanGroupsCommand, BadInput) {
  const auto expect = [&](const std::vector<std::string>& arguments, const std::string& text) {
    const RunResult run = Plan(arguments);
    EXPECT_EQ(run.exit_code, 2) << text;
    EXPECT_THAT(run.out, IsEmpty());
    EXPECT_THAT(run.err, HasSubstr(text));
  };
  expect({"--max-cost", "5"}, "--max-cost is of a whole run; give --tokens or --steps");
  expect({"--steps", "5", "--tokens", "5B"}, "give one of them");
  expect({"--tokens", "many"}, "--tokens: found \"many\"");
  expect({"--steps", "5", "--max-time", "soon"}, "--max-time: ");
  expect({"--objective", "memory"}, "expected time or cost over groups of nodes");
  expect({"--csv", folder_.Path("x.csv")}, "--pareto");
  expect({"--fix", "cp=2"}, "cp=2 is not planned over groups of nodes");
  expect({"--sweep", "gpus=1..2"}, "--sweep does not go with a cluster of groups of nodes");
  cluster_ = folder_.Write("free.yaml", "groups: [{device: a100-40g, nodes: 1, name: old}]\n");
  expect({"--objective", "cost"}, "free.yaml:1:10: no price of old is known");
  cluster_ = folder_.Write("new.yaml", "groups: [{device: z9000, nodes: 1}]\n");
  expect({}, "unknown device \"z9000\"");
  cluster_ = folder_.Write("apart.yaml",
                           "groups: [{device: a10g, nodes: 1}, {device: a100-40g, nodes: 1}]\n");
  expect({}, "no link between a10g and a100-40g");
}

TEST_F(PlanGroupsCommand, AsFasop) {
  const RunResult run = RunMeshwright({"plan", "gpt2-xl", "--cluster", "1x4xa100-40g+7x4xa10g",
                                       "--cost-model", "fasop", "--top", "1"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("BBBBBBBA"), HasSubstr("4-3-3-3-2-3-3-3-3-3-3-3-3-3-4-4\n"),
                             HasSubstr("592 configurations")));
  const RunResult wrong =
      RunMeshwright({"plan", "gpt2-xl", "--cluster", "8xh100-sxm", "--cost-model", "fasop"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("FASOP has up to 8 nodes of A100 and of A10"));
}

}  // namespace
}  // namespace meshwright
