// `meshwright explain` and `meshwright diff` as users run them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/cli/run_binary.h"
#include "tests/testing/data.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::json;

const std::string kMlp = HloData("mlp_4096x4.train.hlo.txt.gz");

class ExplainCommandTest : public testing::Test {
 protected:
  void SetUp() override {
    const RunResult run = RunMeshwright({"plan", kMlp, "--cluster", "8xh100-sxm", "--mesh", "2x4",
                                         "--cost-model", "roofline", "-o", plan_});
    ASSERT_EQ(run.exit_code, 0) << run.err;
  }

  RunResult Explain(std::vector<std::string> more) const {
    std::vector<std::string> arguments = {"explain", plan_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunMeshwright(arguments);
  }

  void ExpectRefused(const RunResult& run, const std::string& message) const {
    EXPECT_EQ(run.exit_code, 2) << run.err;
    EXPECT_THAT(run.out, IsEmpty());
    EXPECT_THAT(run.err, HasSubstr(message));
  }

  const ScratchFolder folder_;
  const std::string plan_ = folder_.Path("plan.json");
};

TEST_F(ExplainCommandTest, SaysWhatThePlanDoes) {
  const RunResult run = Explain({});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  for (const char* part : {"in short  ", "parallelism", "time      ", "optimal   ", "memory    ",
                           "traffic   ", "lower_all.py:"})
    EXPECT_THAT(run.out, HasSubstr(part));
  const RunResult from_input = RunMeshwright({"explain", "-"}, ReadText(plan_));
  EXPECT_EQ(from_input.out, run.out);
  EXPECT_THAT(Json::parse(Explain({"--json"}).out)["parts"][0]["headline"].get<std::string>(),
              HasSubstr("parallelism"));
}

TEST_F(ExplainCommandTest, TensorsAndParameters) {
  const RunResult tensor = Explain({"--tensor", "p[*]"});
  ASSERT_EQ(tensor.exit_code, 0) << tensor.err;
  EXPECT_THAT(tensor.out, HasSubstr("p[3]\n  f32[4096,4096] kept as "));
  EXPECT_THAT(tensor.out,
              HasSubstr("    dot_general.14: dot, forward, lower_all.py:89; as it is\n"));
  EXPECT_EQ(Json::parse(Explain({"--tensor", "p[0]", "--json"}).out)["tensors"].size(), 1u);
  const RunResult parameters = Explain({"--parameters"});
  ASSERT_EQ(parameters.exit_code, 0) << parameters.err;
  for (int i = 0; i < 4; ++i) EXPECT_THAT(parameters.out, HasSubstr(absl::StrCat("p[", i, "]")));
  EXPECT_EQ(Json::parse(Explain({"--parameters", "--json"}).out)["parameters"].size(), 6u);
}

TEST_F(ExplainCommandTest, WhyNotAsksThePlanner) {
  const RunResult run = Explain({"--why-not", "p[0]=[_,_]"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("why not p[0]=[_,_]\n  it "));
  const Json json =
      Json::parse(Explain({"--why-not", "p[0]=[_,_]", "--program", kMlp, "--json"}).out);
  EXPECT_THAT(json["verdict"].get<std::string>(),
              testing::AnyOf("worse", "equal", "better", "chosen"));
  // What cannot be had is an answer, too.
  const std::string thirds = folder_.Path("thirds.json");
  ASSERT_EQ(RunMeshwright({"plan", kMlp, "--cluster", "3xh100-sxm", "--mesh", "3", "-o", thirds})
                .exit_code,
            0);
  const RunResult impossible = RunMeshwright({"explain", thirds, "--why-not", "p[0]=[x,_]"});
  EXPECT_EQ(impossible.exit_code, 0) << impossible.err;
  EXPECT_THAT(impossible.out, HasSubstr("it cannot be had"));
  EXPECT_THAT(impossible.out, HasSubstr("does not divide into 3 shards"));
}

TEST_F(ExplainCommandTest, RefusesWhatItCannotAnswer) {
  ExpectRefused(Explain({"--tensor", "q"}), "\"q\" matches no parameter, output or instruction");
  ExpectRefused(Explain({"--why-not", "q=[x,_]"}), "\"q\" matches no parameter");
  ExpectRefused(Explain({"--why-not", "p[0]=[q,_]"}), "--why-not (p[0]=[q,_])");
  ExpectRefused(Explain({"--why-not", "p[0]=[x,_]", "--program", plan_}),
                "is not the program that the plan was made from");
  ExpectRefused(Explain({"--program", kMlp}), "--program is for --why-not");
  ExpectRefused(Explain({"--parameters", "--tensor", "p"}), "--parameters");
  ExpectRefused(RunMeshwright({"explain", kMlp}), "this is a program, not a plan");
  ExpectRefused(RunMeshwright({"explain", folder_.Write("bad.json", "{\"schema\": 5}")}),
                "$.schema: found version 5; this program reads version 13 only");
  ExpectRefused(RunMeshwright({"explain", folder_.Path("nowhere")}), "nowhere");
  ExpectRefused(RunMeshwright({"diff", plan_, folder_.Path("nowhere")}), "nowhere");
  ExpectRefused(RunMeshwright({"diff", "-", "-"}), "only one of the plans");
}

TEST_F(ExplainCommandTest, DiffSaysWhatChanged) {
  EXPECT_EQ(RunMeshwright({"diff", plan_, plan_}).out, "the plans are identical\n");
  const std::string other = folder_.Path("other.json");
  ASSERT_EQ(RunMeshwright({"plan", kMlp, "--cluster", "8xh100-sxm", "--mesh", "8", "--cost-model",
                           "roofline", "-o", other})
                .exit_code,
            0);
  const RunResult run = RunMeshwright({"diff", plan_, other});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("mesh: x=2,y=4 -> x=8"));
  EXPECT_EQ(Json::parse(RunMeshwright({"diff", plan_, other, "--json"}).out)["identical"], false);
}

}  // namespace
}  // namespace meshwright
