#include "meshwright/request/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "tests/testing/data.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;

const std::string kProgram = HloData("tiny_gpt.train.hlo.pb.gz");

// What was asked, in JSON over the defaults of `plan`.
AskedOptions Asked(const std::string& json) {
  AskedOptions asked;
  const absl::StatusOr<GivenOptions> given = ReadOptions(json, PlanOptionRows(asked));
  EXPECT_TRUE(given.ok()) << given.status();
  if (given.ok()) asked.given = *given;
  return asked;
}

absl::StatusOr<Kinds> Kind(const std::string& subject, const std::string& options) {
  return KindOf({.name = subject}, Asked(options));
}

TEST(Request, TheKindFollowsFromSubjectAndOptions) {
  struct Case {
    std::string subject, options;
    Kinds kind;
  };
  for (const Case& c : std::vector<Case>{
           {kProgram, R"({"cluster": "8xh100-sxm"})", kProgramAlone},
           {kProgram, R"({"cluster": "8xh100-sxm", "pipeline": 2})", kPipeline},
           {kProgram, R"({"cluster": "8xh100-sxm", "db": "p.sqlite"})", kProfiled},
           {"llama3-8b", R"({"cluster": "8xh100-sxm", "global-batch": 8})", kModel},
           {"llama3-8b", R"({"cluster": "8xh100-sxm", "global-batch": 8, "cost-model": "nersc"})",
            kNersc},
           {"llama3-8b", R"({"cluster": "8xh100-sxm+8xa100-80g", "global-batch": 8})", kGroups},
           {"llama3-8b", R"({"cluster": "8xh100-sxm", "global-batch": 8, "tokens": "3B"})",
            kGroups},
           {"gpt2XL", R"({"cluster": "1x4xa100-40g", "cost-model": "fasop"})", kFasop}}) {
    SCOPED_TRACE(c.options);
    const absl::StatusOr<Kinds> kind = Kind(c.subject, c.options);
    ASSERT_TRUE(kind.ok()) << kind.status();
    EXPECT_EQ(*kind, c.kind);
  }
}

TEST(Request, AModelMayBeGivenAsText) {
  const Subject subject = {.name = "mine", .contents = "\n {\"model_type\": \"llama\"}"};
  const absl::StatusOr<Kinds> kind =
      KindOf(subject, Asked(R"({"cluster": "8xh100-sxm", "global-batch": 8})"));
  ASSERT_TRUE(kind.ok()) << kind.status();
  EXPECT_EQ(*kind, kModel);
}

TEST(Request, AMistypedModelGetsOneAnswerWhateverElseIsAsked) {
  for (const char* options :
       {R"({"cluster": "8xh100-sxm"})", R"({"cluster": "8xh100-sxm", "global-batch": 8})",
        R"({"cluster": "8xh100-sxm", "cost-model": "nersc"})",
        R"({"cluster": "8xh100-sxm", "pipeline": "auto"})",
        R"({"cluster": "8xh100-sxm+8xa100-80g", "mesh": "8"})"}) {
    const absl::Status status = Kind("llama3-8bb", options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("neither a file nor a model that is known by name; the nearest name is "
                          "\"llama3-8b\""));
  }
}

TEST(Request, RefusesWhatTheKindDoesNotTake) {
  struct Case {
    std::string subject, options, message;
  };
  for (const Case& c : std::vector<Case>{
           {kProgram, R"({"cluster": "8xh100-sxm", "top": 3})",
            "--top is for models, but this is a program"},
           {kProgram, R"({"cluster": "8xh100-sxm", "layers": 3})", "--layers is of pipelines"},
           {kProgram, R"({"cluster": "8xh100-sxm", "pipeline": "auto", "db": "x"})",
            "--db cannot be combined with --pipeline"},
           {"llama3-8b", R"({"cluster": "8xh100-sxm", "seed": 3})", "--seed is for programs"},
           {"llama3-8b", R"({"cluster": "8xh100-sxm"})", "--global-batch is required"},
           {"llama3-8b",
            R"({"cluster": "8xh100-sxm", "global-batch": 8, "cost-model": "nersc",
                "launchable": true})",
            "--launchable does not go with --cost-model nersc"},
           {"llama3-8b", R"({"cluster": "8xh100-sxm", "global-batch": 8, "max-cost": 9, "top": 1})",
            "--top does not go with --max-cost, which is planned over groups of nodes"},
           {"llama3-8b", R"({"cluster": "8xh100-sxm+1x8xv100", "global-batch": 8, "top": 1})",
            "--top does not go with a cluster of groups of nodes"},
           {"llama3-8b",
            R"({"cluster": "8xh100-sxm", "global-batch": 8, "fix": ["layers=16-16"], "top": 1})",
            "--top does not go with --fix layers, which is planned over groups of nodes"},
           {"gpt2XL", R"({"cluster": "1x4xa100-40g", "cost-model": "fasop", "seq": 8})",
            "--seq does not go with --cost-model fasop"}}) {
    SCOPED_TRACE(c.options);
    EXPECT_THAT(std::string(Kind(c.subject, c.options).status().message()), HasSubstr(c.message));
  }
}

// Every row is taken by some kind, and every kind by some row of its own or of others.
TEST(Request, EveryOptionIsOfSomeKind) {
  AskedOptions asked;
  Kinds all = 0;
  for (const Option& row : PlanOptionRows(asked)) {
    EXPECT_NE(row.kinds, 0u) << row.name;
    EXPECT_FALSE(row.help.empty()) << row.name;
    all |= row.kinds;
  }
  EXPECT_EQ(all, kPrograms | kModels);
}

// Over groups of nodes every option either is one of theirs or is refused by its name: none passes
// without effect.
TEST(Request, EveryOptionIsTakenOverGroupsOrRefusedByName) {
  AskedOptions known;
  int taken = 0, refused = 0;
  for (const Option& row : PlanOptionRows(known)) {
    AskedOptions asked = Asked(R"({"cluster": "8xh100-sxm+1x8xv100", "global-batch": 8})");
    asked.given.insert(row.name);
    const absl::StatusOr<Kinds> kind = KindOf({.name = "llama3-8b"}, asked);
    if ((row.kinds & kGroups) != 0) {
      const bool of_the_front = row.name == "csv" || row.name == "plot";
      EXPECT_EQ(kind.ok(), !of_the_front) << row.name << ": " << kind.status();
      ++taken;
      continue;
    }
    ASSERT_FALSE(kind.ok()) << row.name;
    EXPECT_THAT(std::string(kind.status().message()), HasSubstr("--" + row.name));
    ++refused;
  }
  EXPECT_GT(taken, 20);
  EXPECT_GT(refused, 20);
}

}  // namespace
}  // namespace meshwright
