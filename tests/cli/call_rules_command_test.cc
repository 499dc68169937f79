#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/cli/run_binary.h"

// Kernels that a program calls and nobody knows: listed by `ops`, named by warnings, and given
// rules by `plan --rules`.

namespace meshwright {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kProgram = R"(HloModule m
ENTRY e {
  x = f32[4096,1024] parameter(0)
  w = f32[1024,1024] parameter(1)
  y = f32[4096,1024] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT c = f32[4096,1024] custom-call(y), custom_call_target="my_norm"
}
)";
constexpr const char* kDraft = "my_norm  ([a, b])->([a, b]) need_replication={a, b}";

class CallRulesCommand : public testing::Test {
 protected:
  const ScratchFolder folder_;
  const std::string program_ = folder_.Write("step.hlo", kProgram);
};

TEST_F(CallRulesCommand, OpsBeginsAFileOfRules) {
  const RunResult ops = RunMeshwright({"ops", program_});
  EXPECT_EQ(ops.exit_code, 0) << ops.err;
  EXPECT_THAT(ops.out, HasSubstr(kDraft));
  EXPECT_THAT(ops.out, HasSubstr("# 1 call, as c: (f32[4096,1024]) -> (f32[4096,1024])"));
  // It is one as it stands.
  const std::string rules = folder_.Write("draft.txt", ops.out);
  const RunResult plan =
      RunMeshwright({"plan", program_, "--cluster", "8xh100-sxm", "--mesh", "8", "--rules", rules});
  EXPECT_EQ(plan.exit_code, 0) << plan.err;
  EXPECT_THAT(plan.out + plan.err, Not(HasSubstr("no sharding rule")));
}

TEST_F(CallRulesCommand, AWarningNamesTheLineToAdd) {
  const RunResult plan =
      RunMeshwright({"plan", program_, "--cluster", "8xh100-sxm", "--mesh", "8", "--json"});
  EXPECT_EQ(plan.exit_code, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("no sharding rule for custom-call to my_norm"));
  EXPECT_THAT(plan.out, HasSubstr(kDraft));
}

TEST_F(CallRulesCommand, RulesShardCalls) {
  const std::string rules =
      folder_.Write("rules.txt", "my_*  ([s, h])->([s, h]) need_replication={h}\n");
  const RunResult plan = RunMeshwright({"plan", program_, "--cluster", "8xh100-sxm", "--mesh",
                                        "x=8", "--fix", "x=[x,_]", "--rules", rules, "--json"});
  ASSERT_EQ(plan.exit_code, 0) << plan.err;
  EXPECT_THAT(plan.out, Not(HasSubstr("all-gather")));
  EXPECT_THAT(plan.out, HasSubstr("\"call_rules\""));
}

TEST_F(CallRulesCommand, WhyNotPlansWithTheRulesOfThePlan) {
  const std::string rules =
      folder_.Write("rules.txt", "my_*  ([s, h])->([s, h]) need_replication={h}\n");
  const std::string plan = folder_.Path("plan.json");
  ASSERT_EQ(RunMeshwright({"plan", program_, "--cluster", "8xh100-sxm", "--mesh", "x=8", "--rules",
                           rules, "-o", plan})
                .exit_code,
            0);
  const RunResult same = RunMeshwright({"explain", plan, "--why-not", "x=[x,_]"});
  EXPECT_EQ(same.exit_code, 0) << same.err;
  EXPECT_THAT(same.out, HasSubstr("it is what the plan does"));
  folder_.Write("rules.txt", "my_*  ([s, h])->([s, h])\n");
  const RunResult changed = RunMeshwright({"explain", plan, "--why-not", "x=[x,_]"});
  EXPECT_EQ(changed.exit_code, 2);
  EXPECT_THAT(changed.err, HasSubstr("rules.txt: is not the file that the plan was made from"));
}

TEST_F(CallRulesCommand, BadRules) {
  const auto fails = [&](const char* text, const char* message) {
    const std::string rules = folder_.Write("rules.txt", text);
    const RunResult plan = RunMeshwright(
        {"plan", program_, "--cluster", "8xh100-sxm", "--mesh", "8", "--rules", rules});
    EXPECT_EQ(plan.exit_code, 2);
    EXPECT_THAT(plan.err, HasSubstr(message));
  };
  fails("\nmy_norm ([a b])->\n", "rules.txt:2:");
  fails("my_norm ([a])->([a])\n", "the rule for my_norm gives operand 0");
}

}  // namespace
}  // namespace meshwright
