#ifndef TESTS_PLAN_SAMPLE_PLAN_H_
#define TESTS_PLAN_SAMPLE_PLAN_H_

#include "meshwright/plan/plan.h"

namespace meshwright {

// A small plan in which every field has a value of its own and every optional part is present.
inline Plan SamplePlan() {
  Plan plan;
  plan.tool_version = "0.1.0";
  plan.inputs = {{"a \"b\".hlo", "hlo_text", std::string(64, 'a')},
                 {"c.yaml", "cluster_yaml", std::string(64, '0')}};
  plan.options = {"x=2,y=4", "roofline", 12.5, 3, 18446744073709551615u, {"p[0]=[x,_]"}};
  plan.cluster = {"8xh100-sxm", "h100-sxm", 1, 8, int64_t{80} << 30};
  plan.mesh = {{"x", 2}, {"y", 4}};
  plan.objective_seconds = 0.1;
  plan.bound_seconds = 0.09999999999999999;
  plan.gap = 1.0 / 3;
  plan.compute_seconds = 0.07;
  plan.communication_seconds = 5e-324;
  plan.step_seconds = 0.08;
  plan.peak_bytes = int64_t{1} << 40;
  plan.budget_bytes = 9223372036854775807;
  plan.peak_at = "dot.1";
  plan.memory_by_category = {1, 2, 3, 4, 5, 6};
  plan.collectives = {{"all-reduce", {"x", "y"}, 7, 1024, 0.25}};
  plan.parameters = {
      {0, "state[0]['w']", "f32", {4, 0, 8}, {{"x"}, {}, {"y"}}, 64, MemoryCategory::kParameters},
      {1, "n", "s32", {}, {}, 4, MemoryCategory::kOptimizerState}};
  plan.outputs = {{0, "output", "bf16", {8}, {{"y", "x"}}, 2, MemoryCategory::kGradients}};
  plan.instructions = {
      {"dot.1", "dot", {{"x"}, {}}, {}, "m=x", 1, 0.5, {{"all-gather", {"y"}, 2, 9, 1e-9}}},
      {"sort.1", "sort", {{}}, {{{"x"}}, {{"y"}}}, "replicated", 32, 0, {}}};
  plan.warnings = {"trip count of loop \"while.1\" cannot be derived"};
  plan.planning_seconds = 1.5;
  return plan;
}

}  // namespace meshwright

#endif  // TESTS_PLAN_SAMPLE_PLAN_H_
