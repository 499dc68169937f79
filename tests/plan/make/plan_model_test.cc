// Searches that are ended before they are over give the best so far, and say so.

#include "meshwright/plan/make/plan_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "meshwright/model/model_reader.h"
#include "meshwright/plan/document/plan_json.h"
#include "meshwright/plan/make/model_sweep.h"
#include "meshwright/plan/text/sweep_text.h"
#include "meshwright/plan/text/transformer_table.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ModelRequest LlamaRequest() {
  ModelRequest request;
  request.model = *transformer::LoadModel("llama3-8b");
  request.workload = {.sequence = 4096, .global_batch = 64};
  request.cluster = *ParseCluster("4x8xh100-sxm");
  request.budget_bytes = request.cluster.device.memory_bytes;
  request.top = 3;
  request.threads = 1;
  return request;
}

// Ends all searches once they have asked `most` times.
ModelRequest Ended(ModelRequest request, int64_t most) {
  request.stop = [most, asked = std::make_shared<int64_t>(0)] { return (*asked)++ >= most; };
  return request;
}

TEST(PlanModel, EndedTellsWhatMayBeBetter) {
  const Plan best = *PlanModel(LlamaRequest());
  EXPECT_EQ(best.gap, 0);
  EXPECT_FALSE(SearchWasEnded(best));
  EXPECT_THAT(TransformerTable(best), Not(HasSubstr("bound ")));
  int64_t ended = 0, nothing = 0;
  for (int64_t most = 0; most < 4000; most = 2 * most + 1) {
    SCOPED_TRACE(most);
    const absl::StatusOr<Plan> plan = PlanModel(Ended(LlamaRequest(), most));
    if (!plan.ok()) {
      EXPECT_TRUE(absl::IsDeadlineExceeded(plan.status())) << plan.status();
      ++nothing;
      continue;
    }
    EXPECT_LE(plan->bound_seconds, best.step_seconds);
    EXPECT_GE(plan->step_seconds, best.step_seconds);
    if (!SearchWasEnded(*plan)) continue;
    ++ended;
    EXPECT_THAT(TransformerTable(*plan), HasSubstr("bound     the search was ended before"));
    EXPECT_TRUE(ParsePlanJson(PlanToJson(*plan), "plan").ok());
  }
  EXPECT_GT(ended, 1);
  EXPECT_GT(nothing, 1);
}

TEST(PlanModel, DeadlineIsSaid) {
  ModelRequest request = LlamaRequest();
  request.deadline_seconds = 1e-9;
  const absl::Status late = PlanModel(request).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(late));
  EXPECT_EQ(late.message(),
            "a configuration of llama3-8b that fits was not found before the deadline; --deadline "
            "gives the search more time");
  const absl::Status interrupted = PlanModel(Ended(LlamaRequest(), 0)).status();
  EXPECT_EQ(interrupted.message(),
            "a configuration of llama3-8b that fits was not found before the interrupt");
  request.deadline_seconds = 1000;
  EXPECT_EQ(PlanModel(request)->options.deadline_seconds, 1000);
}

// Where memory is short and time, too, nothing is claimed of what was not searched.
TEST(PlanModel, ShortagesSayWhatIsKnown) {
  ModelRequest request = LlamaRequest();
  request.cluster = *ParseCluster("8xh100-sxm");
  request.budget_bytes = 1 << 30;
  EXPECT_THAT(PlanModel(request).status().message(), HasSubstr("the least that any of "));
  int64_t open = 0;
  for (int64_t most = 0; most < 3000; most = 2 * most + 1) {
    const absl::Status status = PlanModel(Ended(request, most)).status();
    if (absl::IsDeadlineExceeded(status)) continue;
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
    open += status.message().find("was not found before the interrupt") != std::string_view::npos
                ? 1
                : 0;
  }
  EXPECT_GT(open, 0);
}

TEST(PlanModel, SweepsEndWithWhatTheyHave) {
  int64_t noted = 0;
  for (int64_t most = 100; most < 3000; most = 5 * most / 4) {
    const ModelRequest request = Ended(LlamaRequest(), most);
    const absl::StatusOr<std::vector<SweepRow>> rows =
        SweepModel(request, {8, 1024}, /*weak=*/false);
    if (!rows.ok()) continue;
    SCOPED_TRACE(most);
    EXPECT_LT(rows->back().gpus, 1024);
    if (!rows->back().plan.has_value()) {
      EXPECT_FALSE(rows->back().in_time);
    } else if (SearchWasEnded(*rows->back().plan)) {
      EXPECT_THAT(SweepNotes(*rows, request.cluster).back(), HasSubstr("the search was ended"));
      ++noted;
    }
  }
  EXPECT_GT(noted, 0);
  SweepRow unfound;
  unfound.in_time = false;
  EXPECT_THAT(SweepTable({unfound}), HasSubstr("nothing that fits was found in time"));
}

}  // namespace
}  // namespace meshwright
