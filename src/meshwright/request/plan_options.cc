#include "meshwright/request/plan_options.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "meshwright/base/strings.h"
#include "meshwright/degrees/degree_table.h"
#include "meshwright/degrees/framework.h"
#include "meshwright/inter/layers/layers.h"
#include "meshwright/inter/schedule/schedule.h"
#include "meshwright/intra/cost_model_table.h"
#include "meshwright/model/model.h"
#include "meshwright/plan/make/plan_model.h"

namespace meshwright {
namespace {

constexpr double kMostAlternatives = 1000, kLastPoint = 1e6;
constexpr double kMostDollars = 1e15, kMostRunSteps = static_cast<double>(int64_t{1} << 40);

template <typename Table, typename Text>
std::string Names(const Table& table, Text text) {
  return absl::StrJoin(table, ", ", [&](std::string* out, const auto& row) {
    StrAppend(out, row.name, " (", text(row), ")");
  });
}

template <typename Enum>
std::vector<std::string> WordsOrAuto() {
  std::vector<std::string> words = {"auto"};
  words.insert(words.end(), kWords<Enum>.begin(), kWords<Enum>.end());
  return words;
}

std::vector<std::string> FrameworkNames() {
  std::vector<std::string> names;
  for (const transformer::Framework& row : transformer::FrameworkTable())
    names.emplace_back(row.name);
  return names;
}

// What programs and models are asked alike, in the words of `estimate`.
Options CommonRows(AskedOptions& a) {
  return {
      {"cluster",
       &a.cluster,
       "NxDEVICE, NODESxNxDEVICE or a YAML file; `meshwright clusters` lists devices",
       {.kinds = kPrograms | kModels, .required = true, .takes = "CLUSTER"}},
      {"cost-model",
       &a.cost_model,
       absl::StrCat(
           Names(CostModelTable(), [](const CostModelRow& row) { return row.summary; }),
           ", or auto (what the cluster's file says, else calibrated where the device is)"),
       {.kinds = kPrograms | kModel | kNersc | kFasop, .takes = "NAME"}},
      {"deadline",
       &a.deadline,
       "time for the search, like 30s or 5min; auto: programs and groups of nodes are "
       "searched with as much work on every machine, however busy, all else has 30s",
       {.kinds = kPrograms | kModel | kGroups, .unit = "seconds"}},
      {"fix",
       &a.fixes,
       "NAME=SPEC: shard the parameter, output or instruction NAME (* and ? match any "
       "characters) like SPEC, say [x,_]",
       {.kinds = kPrograms | kModel | kNersc | kGroups, .takes = "FIX"}},
      {"fix-file",
       &a.fix_files,
       "file with one NAME=SPEC a line, # comments",
       {.kinds = kPrograms, .path = true}},
      {"rules",
       &a.rule_files,
       "file with the sharding rules and costs of calls that a program makes of other kernels, one "
       "a line, # comments; `meshwright ops PROGRAM` begins one",
       {.kinds = kPrograms, .path = true}},
      {"threads",
       &a.threads,
       "threads of the search",
       {.kinds = kPrograms | kModels, .least = 1, .most = kMaxThreads}},
      {"seed", &a.seed, "equal seeds give equal plans", {.kinds = kPrograms, .takes = "SEED"}},
      {"output",
       &a.plan_path,
       "write the plan (JSON, docs/plan-schema.md) here",
       {.kinds = kPrograms | kModel | kNersc | kGroups, .output = true, .letter = "o"}},
      {"emit",
       &a.emit_path,
       "write the program with sharding annotations here",
       {.kinds = kPrograms, .output = true}},
      {"json",
       &a.json,
       "print the plan instead of a table",
       {.kinds = kPrograms | kModel | kNersc | kGroups, .output = true}},
  };
}

Option MemoryRow(AskedOptions& a) {
  return {"memory",
          &a.memory,
          "memory a device may use, like 60GiB; device: all it has; or unlimited",
          {.kinds = kPrograms | kModel | kNersc | kGroups, .unit = "bytes"}};
}

Options ProgramRows(AskedOptions& a) {
  return {
      {"mesh",
       &a.mesh,
       "logical mesh, of every stage with --pipeline: 8, 2x4 or x=2,y=4; auto tries those "
       "that suit the cluster",
       {.kinds = kPrograms, .takes = "MESH"}},
      {"db",
       &a.db,
       "profile database of `meshwright profile`: what was measured of the program's "
       "segments goes before what is predicted of them",
       {.kinds = kProfiled, .path = true}},
      {"db-environment",
       &a.db_environment,
       "number of the environment in that database whose measurements count (see `db "
       "list`); needed where several have some of the program",
       {.kinds = kProfiled, .least = 1, .needs = "db"}},
      {"explain",
       &a.explain,
       "print the plan in words, as `meshwright explain` does, in place of the table",
       {.kinds = kPrograms | kModel | kNersc | kGroups, .excludes = {"json"}, .output = true}},
      MemoryRow(a),
  };
}

Options PipelineRows(AskedOptions& a) {
  return {
      {"pipeline",
       &a.pipeline,
       "off; auto: cut the program into as many stages as is best; or their number (of "
       "groups of devices where a schedule gives a group several)",
       {.kinds = kPrograms, .unit = "stages", .takes = "STAGES"}},
      {"micro-batches",
       &a.micro_batches,
       "auto, or the number of parts of the batch",
       {.kinds = kPipeline, .unit = "micro-batches", .takes = "COUNT"}},
      {"micro-batch-rng",
       &a.micro_batch_rng,
       "random bits of a micro-batch, where the program draws them for the whole batch: exact, its "
       "samples' part of the same bits; or independent, its own, where a generator "
       "(rng-bit-generator) cannot make a part without the whole",
       {.kinds = kPipeline, .takes = "WORD"}},
      {"schedule",
       &a.schedule,
       absl::StrCat(
           Names(ScheduleTable(), [](const ScheduleKind& kind) { return kind.description; }),
           ", or auto"),
       {.kinds = kPipeline, .takes = "NAME"}},
      {"layers",
       &a.layers,
       "layers to cut the program into; 0: as it repeats",
       {.kinds = kPipeline, .most = kMostLayers}},
      {"data",
       &a.data,
       "parameters that hold the batch in their first dimension (* and ? match any "
       "characters); else those that the outputs do not replace",
       {.kinds = kPipeline, .takes = "NAME"}},
      {"no-recompute",
       &a.no_recompute,
       "keep all activations for the backward phase",
       {.kinds = kPipeline}},
  };
}

Options ModelRows(AskedOptions& a) {
  constexpr Kinds kOneCluster = kModel | kNersc, kAllButFasop = kOneCluster | kGroups;
  return {
      {"global-batch",
       &a.global_batch,
       "sequences of a step; models need it",
       {.kinds = kAllButFasop, .least = 1, .most = static_cast<double>(kMaxGlobalBatch)}},
      {"seq",
       &a.sequence,
       "tokens per sequence; without it the model's longest, at most 4096",
       {.kinds = kAllButFasop, .least = 1, .most = static_cast<double>(transformer::kMaxSequence)}},
      {"dtype",
       &a.dtype,
       "type of matmuls: bf16, fp16, fp8, mxfp8, nvfp4 or f32 (TF32 where the device has it)",
       {.kinds = kAllButFasop, .known = absl::StrSplit(transformer::PrecisionNames(), ", ")}},
      {"top",
       &a.top,
       "how many of the best to list",
       {.kinds = kOneCluster | kFasop, .least = 1, .most = kMostAlternatives}},
      {"objective",
       &a.objective,
       "what is best: the least time; gpus, the fewest that it fits on; memory; or, with "
       "prices, cost",
       {.kinds = kAllButFasop, .known = {"time", "gpus", "memory", "cost"}}},
      {"tp",
       &a.tensor,
       "kind of tensor parallelism; 1d: over outputs; 2d: SUMMA on a grid; seqp: heads "
       "over tp and the sequence over cp, with gathered keys; auto: any",
       {.kinds = kOneCluster, .known = {"1d", "2d", "seqp", "auto"}}},
      {"launchable",
       &a.launchable,
       "the same as --for any",
       {.kinds = kModel | kGroups, .excludes = {"for"}}},
      {"for",
       &a.launch_targets,
       "models: only what `export` can write for each of these targets, like megatron,nemo; any: "
       "for a framework at least (GPUs numbered in order, context parallelism by rings, nothing "
       "offloaded unless fixed, whole layers or attention recomputed; over groups of nodes the "
       "same degrees everywhere); none: whatever is best; without it any, or none where no "
       "framework can and over groups of nodes",
       {.kinds = kModel | kGroups, .takes = "TARGETS"}},
      {"framework",
       &a.framework,
       absl::StrCat(
           "what runs the training, and by whose measured kernels, overlap and state it is "
           "costed: ",
           Names(transformer::FrameworkTable(),
                 [](const transformer::Framework& row) { return row.summary; }),
           "; without it what --for names, else megatron, or the first that takes the model"),
       {.kinds = kModel | kGroups, .known = FrameworkNames(), .takes = "NAME"}},
      {"release",
       &a.release,
       "release of the framework: of Megatron-LM and NeMo the year and month of NVIDIA's "
       "container, "
       "like 25.09",
       {.kinds = kModel | kGroups, .takes = "RELEASE"}},
      {"attention",
       &a.attention,
       "what computes attention: eager (scores go through memory), flash, flash2 or cudnn; auto: "
       "as "
       "the framework's release",
       {.kinds = kModel | kGroups, .known = WordsOrAuto<transformer::AttentionKernel>()}},
      {"grads",
       &a.gradients,
       "type that gradients are kept and summed in: f32 or bf16; auto: as the framework",
       {.kinds = kAllButFasop, .known = {"auto", "f32", "bf16"}}},
      {"moments",
       &a.moments,
       "type of Adam's moments: f32 or bf16; auto: as the framework",
       {.kinds = kAllButFasop, .known = {"auto", "f32", "bf16"}}},
      {"loss",
       &a.loss,
       "loss: f32; fused (one kernel makes the gradient of the logits in place); chunked (of "
       "some tokens at once, as Liger's); auto: as the framework",
       {.kinds = kAllButFasop,
        .known = WordsOrAuto<transformer::Loss>(),
        .excludes = {"fused-loss"}}},
      {"fused-loss", &a.fused_loss, "the same as --loss fused", {.kinds = kAllButFasop}},
      {"mtp",
       &a.mtp,
       "modules of multi-token prediction that are trained; without it those that the model has, "
       "if "
       "the framework trains any",
       {.kinds = kAllButFasop, .least = 0, .most = 16}},
      {"network",
       &a.network,
       "bandwidth between nodes of each GPU, like 100Gbit/s, in place of the device's",
       {.kinds = kOneCluster, .unit = "bytes a second"}},
      {"mtbf",
       &a.mtbf,
       "mean time between failures of a GPU with its share of the node, like 50000h: what "
       "failures and checkpoints leave",
       {.kinds = kOneCluster, .unit = "seconds"}},
      {"checkpoint-bandwidth",
       &a.checkpoint_bandwidth,
       "bandwidth at which a GPU writes checkpoints",
       {.kinds = kOneCluster, .unit = "bytes a second", .needs = "mtbf"}},
      {"restart",
       &a.restart,
       "time from a failure until training goes on",
       {.kinds = kOneCluster, .unit = "seconds", .needs = "mtbf"}},
      {"sweep",
       &a.sweep,
       "gpus=64..4096: the best plan on 64, 128, ... GPUs in nodes like the cluster's, "
       "also on more than it has; batch=64..1024 likewise over sequences of a step, "
       "seq=2048..16384 over tokens of a sequence; -o has the last, and all in short",
       {.kinds = kOneCluster, .takes = "RANGE"}},
      {"weak",
       &a.weak,
       "let the global batch grow with the GPUs of --sweep",
       {.kinds = kOneCluster, .needs = "sweep"}},
      {"csv",
       &a.csv_path,
       "write the table of --sweep or --pareto here",
       {.kinds = kModels, .output = true}},
      {"max-cost",
       &a.max_cost,
       "dollars that a whole run may cost",
       {.kinds = kGroups, .unit = "dollars", .least = 1e-6, .most = kMostDollars}},
      {"max-time",
       &a.max_time,
       "time that a whole run may take, like 10d",
       {.kinds = kGroups, .unit = "seconds"}},
      {"tokens",
       &a.tokens,
       "tokens of a whole run, like 300B",
       {.kinds = kGroups, .unit = "tokens"}},
      {"steps",
       &a.steps,
       "steps of a whole run",
       {.kinds = kGroups, .least = 1, .most = kMostRunSteps}},
      {"pareto",
       &a.pareto,
       "every plan than which none is both faster and cheaper",
       {.kinds = kGroups | kFasop}},
      {"point",
       &a.point,
       "the plan of the front that -o, --json and --explain give; 0: the fastest",
       {.kinds = kGroups, .most = kLastPoint, .needs = "pareto"}},
      {"profile",
       &a.profile,
       "measured layer times as CSV (gpu, tp, layer_id, forward_seconds), in place of the "
       "model's",
       {.kinds = kGroups, .path = true}},
      {"plot",
       &a.plot_path,
       "write a Vega-Lite chart here: of --pareto time and cost of all choices of nodes, "
       "of --sweep tokens a second",
       {.kinds = kAllButFasop, .output = true}},
  };
}

void Append(Options& all, Options more, const char* group) {
  for (Option& option : more) {
    option.group = group;
    all.push_back(std::move(option));
  }
}

// What rows of both commands say about `plan`, which takes models too.
constexpr std::pair<const char*, const char*> kHelpOfPlan[] = {
    {"deadline",
     "time for the search, like 30s or 5min; auto: programs and groups of nodes are "
     "searched with as much work on every machine, however busy, all else has 30s. Models: at "
     "its end, and after an interrupt (Ctrl-C, SIGTERM), the best plan so far is given, and by how "
     "much others may be better; exit code 3 if none was found. A second interrupt ends the "
     "program at "
     "once"},
    {"fix",
     "programs: NAME=SPEC shards the parameter, output or instruction NAME (* and ? match any "
     "characters) like SPEC, say [x,_]; models: degrees like tp=8,pp=4"},
    {"emit",
     "write the program with sharding annotations here; with --pipeline a folder with the "
     "programs of its stages"}};

}  // namespace

Options PlanOptionRows(AskedOptions& asked) {
  Options rows = CommonRows(asked);
  for (Option& row : rows) {
    for (const auto& [name, help] : kHelpOfPlan) {
      if (row.name == name) row.help = help;
    }
  }
  Append(rows, ProgramRows(asked), "");
  Append(rows, PipelineRows(asked), "Options of pipelines");
  Append(rows, ModelRows(asked), "Options of models");
  return rows;
}

Options EstimateOptionRows(AskedOptions& asked) {
  asked.mesh = "";
  asked.memory = "unlimited";
  asked.completion = "xla";
  Options rows = CommonRows(asked);
  rows.push_back({"mesh",
                  &asked.mesh,
                  "logical mesh, 8, 2x4 or x=2,y=4",
                  {.kinds = kPrograms, .required = true, .takes = "MESH"}});
  rows.push_back(MemoryRow(asked));
  rows.push_back({"rest",
                  &asked.completion,
                  "shardings that are not given: xla (as its partitioner propagates those "
                  "that are), or least-cost",
                  {.kinds = kPrograms, .words = {"xla", "least-cost"}}});
  return rows;
}

}  // namespace meshwright
