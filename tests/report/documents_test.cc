#include "meshwright/report/documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "meshwright/plan/document/plan_json.h"
#include "tests/plan/document/sample_plan.h"

namespace meshwright {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kVerified = R"({
  "plan": "8xh100-sxm, mesh x=2,y=4", "devices": "8 x host devices", "passed": true,
  "checks": [
    {"name": "numerics", "outcome": "ok", "planned": "<= 0.005", "measured": "2e-05",
     "remark": "", "notes": ["one"], "figures": {"error": 2e-05, "tolerance": 0.005}},
    {"name": "all-reduce y", "outcome": "ok", "planned": "1 x, 8 MiB", "measured": "1 x, 8 MiB",
     "remark": "", "notes": [], "figures": {"planned_bytes": 8, "compiled_bytes": 9}},
    {"name": "step time", "outcome": "shown", "planned": "1 ms", "measured": "2 ms",
     "remark": "not judged", "notes": [], "figures": {"planned": 0.001, "measured": 0.002}}]})";

constexpr const char* kSweep =
    "gpus,global_batch,sequence,tp,cp,pp,dp,ep,micro_batch,zero,recompute,step_seconds,"
    "tokens_per_second,mfu,efficiency,peak_bytes\n"
    "8,64,4096,8,1,1,1,1,1,0,none,2.5,1000,0.4,1,99\n"
    "16,64,4096,,,,,,,,,,,,,\n";

absl::Status Read(const std::string& text, ReportDocuments& documents) {
  return AddDocument(text, "f", documents);
}

std::string Fault(const std::string& text) {
  ReportDocuments documents;
  const absl::Status status = Read(text, documents);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  return std::string(status.message());
}

TEST(Documents, EachKindIsToldByWhatItHolds) {
  ReportDocuments documents;
  for (const std::string& text :
       {PlanToJson(SamplePlan()), std::string(kVerified), std::string(kSweep)}) {
    const absl::Status status = Read(text, documents);
    ASSERT_TRUE(status.ok()) << status;
  }
  ASSERT_EQ(documents.plans.size(), 1);
  EXPECT_EQ(documents.plans[0].second, SamplePlan());
  ASSERT_EQ(documents.verifications.size(), 1);
  const auto& checks = documents.verifications[0].checks;
  ASSERT_EQ(checks.size(), 3);
  EXPECT_FALSE(checks[0].planned_value.has_value());
  EXPECT_EQ(checks[1].measured_value, 9);
  EXPECT_EQ(checks[2].planned_value, 0.001);
  ASSERT_EQ(documents.sweeps.size(), 1);
  ASSERT_EQ(documents.sweeps[0].rows.size(), 1);  // nothing fits on 16
  EXPECT_EQ(documents.sweeps[0].rows[0].sequence, 4096);
  EXPECT_EQ(documents.sweeps[0].rows[0].degrees, "tp=8 micro_batch=1 zero=0 recompute=none");
}

TEST(Documents, WhatIsNoneOfThemIsRefused) {
  EXPECT_THAT(Fault(""), HasSubstr("f: is no JSON; a report takes what plan, estimate"));
  EXPECT_THAT(Fault("HloModule m"), HasSubstr("is no JSON"));
  EXPECT_THAT(Fault("[1]"), HasSubstr("is none of our documents"));
  EXPECT_THAT(Fault("{}"), HasSubstr("is none of our documents"));
  EXPECT_THAT(Fault(R"({"schema": 1})"), HasSubstr("f: $.schema"));
  EXPECT_THAT(Fault(std::string(kSweep) + "x,1,1,1,1,1,1,1,1,1,none,1,1,1,1,1\n"),
              HasSubstr("f:4: gpus: found \"x\", expected an integer from 0 up"));
  EXPECT_THAT(Fault("gpus,global_batch,sequence,tp\n1,1,1,1\n"),
              HasSubstr("f:2: the column step_seconds is missing"));
}

TEST(Documents, FaultsSayWhere) {
  std::string text = kVerified;
  text.replace(text.find("\"ok\""), 4, "7");
  EXPECT_THAT(Fault(text), HasSubstr("f: $.checks[0].outcome"));
}

// Any part left out: an error, or a document; never a crash.
TEST(Documents, CutShort) {
  for (const std::string whole : {kVerified, kSweep}) {
    for (size_t length = 0; length < whole.size(); length += 7) {
      ReportDocuments documents;
      const absl::Status status = Read(whole.substr(0, length), documents);
      EXPECT_TRUE(status.ok() || !status.message().empty());
    }
  }
}

// As Python's verify calls plans.
TEST(Documents, VerificationsFindTheirPlans) {
  ReportDocuments documents;
  documents.plans = {
      {"a.json", SampleModelPlan()}, {"b.json", SamplePlan()}, {"c.json", SamplePipelinePlan()}};
  const auto plan_of = [&](const std::string& plan) {
    Verification verification;
    verification.plan = plan;
    return VerifiedPlan(verification, documents);
  };
  EXPECT_EQ(plan_of("Plan for 8xh100-sxm, mesh x=2,y=4: 80 ms, 1.02e+03 GiB"), 1);
  EXPECT_EQ(plan_of("Plan for 8xh100-sxm, 2 stages, 8 micro-batches: 80 ms, 1.02e+03 GiB"), 2);
  EXPECT_EQ(plan_of("Plan for 8xh100-sxm, mesh x=2,y=4: 81 ms, 1.02e+03 GiB"), std::nullopt);
  EXPECT_EQ(plan_of(""), std::nullopt);
}

}  // namespace
}  // namespace meshwright
