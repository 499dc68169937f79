#ifndef MESHWRIGHT_TESTS_PLAN_DOCUMENT_SAMPLE_PLAN_H_
#define MESHWRIGHT_TESTS_PLAN_DOCUMENT_SAMPLE_PLAN_H_

#include "meshwright/plan/document/plan.h"

namespace meshwright {

// A small plan in which every field has a value of its own and every optional part is present.
inline Plan SamplePlan() {
  Plan plan;
  plan.tool_version = "0.1.0";
  plan.inputs = {{"a \"b\".hlo", "hlo_text", std::string(64, 'a')},
                 {"c.yaml", "cluster_yaml", std::string(64, '0')}};
  plan.options = {"x=2,y=4",
                  "64",
                  "2",
                  "8",
                  MicroBatchRng::kIndependent,
                  "auto",
                  6,
                  {"x*"},
                  false,
                  "roofline",
                  Completion::kPropagate,
                  12.5,
                  3,
                  18446744073709551615u,
                  {"p[0]=[x,_]"},
                  {}};
  plan.cluster = {"8xh100-sxm", {{"h100-sxm", 1, 8, int64_t{80} << 30}}};
  plan.mesh = {{"x", 2}, {"y", 4}};
  plan.objective_seconds = 0.1;
  plan.bound_seconds = 0.09999999999999999;
  plan.gap = 1.0 / 3;
  plan.compute_seconds = 0.07;
  plan.communication_seconds = 5e-324;
  plan.step_seconds = 0.08;
  plan.time_use = PlanTimeUse{0.02, 0.01, 0.015, 0.005, 0.02, 0.004, 0.006};
  plan.time_error = 0.125;
  plan.memory_error = 0.0625;
  plan.time_classes = {{TimeClass::kMatmul, 0.05, 0.2, true},
                       {TimeClass::kUnknownCall, 0.026, 1, false}};
  plan.peak_bytes = int64_t{1} << 40;
  plan.budget_bytes = 9223372036854775807;
  plan.peak_at = "dot.1";
  plan.memory_by_category = {1, 2, 3, 4, 5, 6};
  plan.program.collectives = {{"all-reduce", {"x", "y"}, 7, 1024, 0.25, ""}};
  plan.program.parameters = {
      {0, "state[0]['w']", "f32", {4, 0, 8}, {{"x"}, {}, {"y"}}, 64, MemoryCategory::kParameters},
      {1, "n", "s32", {}, {}, 4, MemoryCategory::kOptimizerState}};
  plan.program.outputs = {{0, "output", "bf16", {8}, {{"y", "x"}}, 2, MemoryCategory::kGradients}};
  plan.program.op_names = {"jit(step)/dot_general", "jit(step)/sort"};
  plan.program.source_files = {"model.py", "train.py"};
  PlanInstruction dot;
  dot.name = "dot.1";
  dot.opcode = PlanOpcode::kDot;
  dot.type = {"f32", {4, 8}};
  dot.op_name = 0;
  dot.source = {1, 17};
  dot.layer = 3;
  dot.phase = Phase::kForward;
  dot.batch_dimension = 1;
  dot.at_peak = PlanResident{64, MemoryCategory::kActivations};
  dot.spec = {{"x"}, {}};
  dot.shared_spec = PlanSpec{{}, {"y"}};
  dot.strategy = "m=x";
  dot.seconds = 0.5;
  dot.collective = {{"all-gather", {"y"}, 2, 9, 1e-9, "w"}};
  PlanInstruction sort;
  sort.name = "sort.1";
  sort.opcode = PlanOpcode::kSort;
  sort.type = {"f32", {4}};
  sort.other_types = {{"s32", {8}}, {"pred", {}}};
  sort.operands = {0, 0};
  sort.operand_results = {0, 1};
  sort.op_name = 1;
  sort.spec = {{}};
  sort.other_specs = {{{"x"}}, {{"y"}}};
  sort.operand_specs = {{{"y"}}};
  sort.computed_specs = {{{}}, {{}}, {{"x"}}};
  sort.operand_paths = {{}, {{{"x"}}, {{}}}};
  sort.result_paths = {{}, {}, {{{"y"}}}};
  sort.pending_axes = {"x"};
  sort.reduced_axes = {"y"};
  sort.strategy = "replicated";
  sort.executions = 32;
  plan.program.instructions = {dot, sort};
  plan.program.memory_timeline = {
      2, {{0, 1, 0, {1, 2, 3, 4, 5, 6}}, {1, 0, 0.25, {6, 5, 4, 3, 2, 1}}}};
  plan.program.step_timeline = {0.125, 0.0625, {0.25, 0}, {{0, 0.25, {0}, {0}}}};
  plan.options.database = "p.sqlite";
  plan.segments = {
      {std::string(64, 'b'), 3, "[x] > m=x > [_]", PlanBasis::kMeasured, 0.01, 0.001, 12, 0.02,
       4096, 7},
      {std::string(64, 'c'), 1, "- > n=y > -", PlanBasis::kPredicted, 0.02, 0, 0, 0.03, 8192, 1}};
  plan.profile = {PlanEnvironment{"NVIDIA H100", "h100-sxm", "cuda 12080", "jax 0.6.0", 2},
                  0.06,
                  0.05,
                  true,
                  99,
                  -0.001,
                  {{"f32[8]", "[x]", "[_]", 2, PlanBasis::kMeasured, 0.001, 0.0001, 5}},
                  std::nullopt};
  plan.warnings = {"trip count of loop \"while.1\" cannot be derived"};
  plan.planning_seconds = 1.5;
  return plan;
}

// The same with a pipeline of two stages that run the same.
inline Plan SamplePipelinePlan() {
  Plan plan = SamplePlan();
  plan.program = {};
  PipelinePart& pipeline = plan.pipeline.emplace();
  pipeline.schedule = "1f1b";
  plan.micro_batches = 8;
  plan.bubble_share = 0.125;
  PlanStage stage;
  stage.end_layer = 3;
  stage.device = "h100-sxm";
  stage.device_memory_bytes = int64_t{80} << 30;
  stage.budget_bytes = int64_t{75} << 30;
  stage.devices = {0, 1};
  stage.mesh = {{"x", 2}};
  stage.recompute = true;
  stage.seconds = {0.01, 0.02, 0.005, 0.001};
  stage.bytes = {int64_t{1} << 30, 1 << 20, (int64_t{1} << 30) + (2 << 20), int64_t{2} << 30};
  stage.max_in_flight = 2;
  stage.program.collectives = {{"all-reduce", {"x"}, 7, 1024, 0.25, ""}};
  stage.program.parameters = {{0, "w", "f32", {4}, {{"x"}}, 8, MemoryCategory::kParameters}};
  stage.program.outputs = {{0, "output", "f32", {}, {}, 4, MemoryCategory::kTemporaries}};
  stage.memory_by_category = {3, 1, 4, 1, 5, 9};
  PlanInstruction add;
  add.name = "add.7";
  add.opcode = PlanOpcode::kAdd;
  add.type = {"f32", {4}};
  add.op_name = 0;
  add.source = {0, 7};
  add.spec = {{"x"}};
  add.strategy = "m=x";
  add.executions = 8;
  add.seconds = 0.125;
  stage.program.instructions = {add};
  stage.program.op_names = {"add"};
  stage.program.source_files = {"layer.py"};
  stage.program.memory_timeline = {1, {{0, 0, 0, {9, 8, 7, 6, 5, 4}}}};
  PlanStage next = stage;
  next.first_layer = 3;
  next.end_layer = 6;
  next.devices = {2, 3};
  next.same_as = 0;
  for (const PlanTensor& parameter : stage.program.parameters)
    next.parameter_names.push_back(parameter.name + ".next");
  for (const PlanTensor& output : stage.program.outputs)
    next.output_names.push_back(output.name + ".next");
  next.program = {};
  pipeline.stages = {stage, next};
  pipeline.cross_stage = {{0, 1, Phase::kForward, 4096, 1e-5},
                          {1, 0, Phase::kBackward, 4096, 1e-5}};
  return plan;
}

// A plan of a model on two pipeline groups.
inline Plan SampleModelPlan() {
  Plan plan;
  plan.tool_version = "0.1.0";
  plan.cluster = {"4xh100-sxm", {{"h100-sxm", 1, 4, int64_t{80} << 30}}};
  plan.mesh = {{"pp", 2}, {"dp", 1}, {"cp", 1}, {"tp", 2}};
  plan.step_seconds = 2;
  plan.peak_bytes = int64_t{28} << 30;
  plan.budget_bytes = int64_t{80} << 30;
  plan.micro_batches = 8;
  PlanTransformer& part = plan.model.emplace();
  part.model = "small";
  part.description = "model: {layers: 4}\n";
  part.parameters = 8'030'261'248;
  part.model_flops = 1.5e15;
  part.sequence = 4096;
  part.global_batch = 16;
  part.objective = ModelObjective::kTime;
  part.configuration = {.tp = 2,
                        .sequence_parallel = true,
                        .pp = 2,
                        .virtual_stages = 2,
                        .schedule = transformer::PipelineKind::kInterleaved,
                        .ends_as_layers = true,
                        .micro_batch = 2,
                        .recompute = transformer::Recompute::kSelective,
                        .recompute_stages = 1,
                        .inside = {.tp = 2, .cp = 1, .dp = 1, .pp = 2, .tp2 = 1},
                        .offload_activations = true,
                        .offload_layers = 3};
  part.state = {4, 2, 12};
  part.goodput = PlanGoodput{36000, 30, 600, 1400, 0.93, 12345.5};
  part.mfu = 0.4;
  part.hfu = 0.45;
  part.seconds = {1.5, 0.25, 0, 0, 0, 0.05, 0.01, 0.14, 0.05};
  part.memory = {{int64_t{8} << 30, int64_t{4} << 30, int64_t{16} << 30, 6, 5, 4, 3, 9},
                 {1, 2, 3, 4, 5, 6, 7, 8}};
  part.search = {100, 40, 30, 60};
  PlanAlternative& other = part.alternatives.emplace_back();
  other.configuration = part.configuration;
  other.configuration.recompute = transformer::Recompute::kFull;
  other.step_seconds = 2.5;
  other.peak_bytes = 7;
  other.mfu = 0.32;
  other.slower_by = {0.6, 0, 0, 0, 0, 0, 0, -0.1, 0};
  part.sensitivity = {{"nvlink4 bandwidth +10 %", -0.012}};
  part.sweep = {{2, 8, 4096, part.configuration, 4, 8192, 0.5, 1, 6},
                {4, 16, 4096, part.configuration, 2, 32768, 0.4, 0.95, int64_t{28} << 30}};
  return plan;
}

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_PLAN_DOCUMENT_SAMPLE_PLAN_H_
