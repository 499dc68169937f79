// Plans as JSON: what reads is written and shown, as `explain` and `diff` do.

#include "meshwright/plan/document/plan_json.h"

#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace meshwright;
  const absl::StatusOr<Plan> plan = ParsePlanJson(fuzzing::Bytes(data, size), "input");
  fuzzing::ExpectAnswer(plan.status());
  if (plan.ok()) PlanToJson(*plan);
  return 0;
}
