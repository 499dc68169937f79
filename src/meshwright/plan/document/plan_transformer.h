#ifndef MESHWRIGHT_PLAN_DOCUMENT_PLAN_TRANSFORMER_H_
#define MESHWRIGHT_PLAN_DOCUMENT_PLAN_TRANSFORMER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "meshwright/base/json_members.h"
#include "meshwright/base/words.h"
#include "meshwright/degrees/configuration.h"

// The part of a Plan that only plans of models without a program have: the degrees of a
// transformer's training. Each struct lists its members once, for the JSON form's writer and reader
// alike, in the order of the schema.

namespace meshwright {

// What the best plan of a model is the best in.
enum class ModelObjective {
  kTime,
  kGpus,    // the fewest that the batch fits on, and of these configurations the fastest
  kMemory,  // the least peak of any GPU
  kCost,    // over groups of nodes: the fewest dollars
  kPareto,  // over groups of nodes: one of those that nothing beats in both time and dollars
};
template <>
inline constexpr auto kWords<ModelObjective> =
    std::to_array<std::string_view>({"time", "gpus", "memory", "cost", "pareto"});

// Seconds of a step by what takes them; they add up to the step. As a difference they may be
// negative.
struct PlanStepParts {
  double compute = 0, tensor_communication = 0, context_communication = 0;
  double expert_communication = 0, data_communication = 0, pipeline_communication = 0;
  double host_communication = 0;
  double bubble = 0, optimizer = 0;

  MESHWRIGHT_MEMBERS_OF_FORM(PlanStepParts, kSigned, compute, tensor_communication,
                             context_communication, expert_communication, data_communication,
                             pipeline_communication, host_communication, bubble, optimizer)
};

// Bytes on one GPU of a pipeline group, and in its host's memory.
struct PlanGroupBytes {
  int64_t weights = 0, gradients = 0, optimizer = 0, activations = 0, logits = 0;
  int64_t communication = 0, framework = 0;
  int64_t host = 0;

  MESHWRIGHT_MEMBERS(PlanGroupBytes, weights, gradients, optimizer, activations, logits,
                     communication, framework, host)
};

// One of the next best, and what its parts take more than the plan's own.
struct PlanAlternative {
  transformer::Configuration configuration;
  double step_seconds = 0;
  int64_t peak_bytes = 0;
  double mfu = 0;
  PlanStepParts slower_by;

  template <typename Self, typename Visitor>
  static void VisitMembers(Self& self, const Visitor& visit) {
    visit("configuration", self.configuration);
    visit("step_seconds", self.step_seconds);
    visit("peak_bytes", self.peak_bytes);
    visit("mfu", self.mfu, kShare);
    visit("slower_by", self.slower_by);
  }
  friend bool operator==(const PlanAlternative&, const PlanAlternative&) = default;
};

// How the step of the same configuration changes with the hardware.
struct PlanSensitivity {
  std::string change;      // "nvlink4 bandwidth +10 %"
  double step_change = 0;  // relative: -0.012 is 1.2 % faster

  MESHWRIGHT_MEMBERS_OF_FORM(PlanSensitivity, (MemberForm{.least = -1}), change, step_change)
};

struct PlanSearchCounts {
  int64_t legal = 0, evaluated = 0, fitting = 0, pruned = 0;

  MESHWRIGHT_MEMBERS(PlanSearchCounts, legal, evaluated, fitting, pruned)
};

// Bytes that what the framework's options decide takes: of a parameter, and of a logit.
struct PlanState {
  int64_t gradient_bytes = 4, moment_bytes = 4;
  double logit_bytes = 12;

  MESHWRIGHT_MEMBERS(PlanState, gradient_bytes, moment_bytes, logit_bytes)
};

// What can launch the plan, of the targets of `meshwright export`.
struct PlanLaunch {
  std::string asked;  // that --for named; empty: it was left open
  // That launch the plan as it is, the one that it is for first.
  std::vector<std::string> targets;
  // That writes the launch for the first of them, of a plan in the file plan.json; empty where
  // there is none.
  std::string command;

  template <typename Self, typename Visitor>
  static void VisitMembers(Self& self, const Visitor& visit) {
    visit("for", self.asked);
    visit("targets", self.targets);
    visit("command", self.command);
  }
  friend bool operator==(const PlanLaunch&, const PlanLaunch&) = default;
};

// Work that is left after failures and checkpoints.
struct PlanGoodput {
  double mtbf_seconds = 0;        // of the whole job
  double checkpoint_seconds = 0;  // that training stands still for each
  double restart_seconds = 0;
  double interval_seconds = 0;  // of training between checkpoints
  double share = 0;             // of the time that is spent on steps which count
  double tokens_per_second = 0;

  template <typename Self, typename Visitor>
  static void VisitMembers(Self& self, const Visitor& visit) {
    visit("mtbf_seconds", self.mtbf_seconds);
    visit("checkpoint_seconds", self.checkpoint_seconds);
    visit("restart_seconds", self.restart_seconds);
    visit("interval_seconds", self.interval_seconds);
    visit("share", self.share, kShare);
    visit("tokens_per_second", self.tokens_per_second);
  }
  friend bool operator==(const PlanGoodput&, const PlanGoodput&) = default;
};

// The best on another number of GPUs, of another batch or of longer sequences, and the plan's own
// among them.
struct PlanSweepRow {
  int64_t gpus = 0, global_batch = 0, sequence = 0;
  transformer::Configuration configuration;
  double step_seconds = 0, tokens_per_second = 0, mfu = 0;
  double efficiency = 0;  // tokens/s/GPU, relative to the first row's
  int64_t peak_bytes = 0;

  template <typename Self, typename Visitor>
  static void VisitMembers(Self& self, const Visitor& visit) {
    visit("gpus", self.gpus);
    visit("global_batch", self.global_batch);
    visit("sequence", self.sequence);
    visit("configuration", self.configuration);
    visit("step_seconds", self.step_seconds);
    visit("tokens_per_second", self.tokens_per_second);
    visit("mfu", self.mfu, kShare);
    visit("efficiency", self.efficiency);
    visit("peak_bytes", self.peak_bytes);
  }
  friend bool operator==(const PlanSweepRow&, const PlanSweepRow&) = default;
};

struct PlanTransformer {
  std::string model;
  std::string description;  // that the model was read from: the text of its config.json or YAML
  int64_t parameters = 0;
  double model_flops = 0;  // of a step, forward and backward
  int64_t sequence = 0, global_batch = 0;
  ModelObjective objective = ModelObjective::kTime;
  transformer::Configuration configuration;
  // That the step was costed by, at its release; "" in plans of published models, and the attention
  // kernel where it is not the release's.
  std::string framework, release, attention;
  std::optional<int64_t> mtp;  // modules of multi-token prediction that are trained, where asked
  PlanState state;
  PlanLaunch launch;
  double mfu = 0, hfu = 0;
  PlanStepParts seconds;
  std::vector<PlanGroupBytes> memory;  // by pipeline group
  PlanSearchCounts search;
  std::vector<PlanAlternative> alternatives;
  std::vector<PlanSensitivity> sensitivity;
  std::vector<PlanSweepRow> sweep;  // with --sweep: what fits, the smallest first
  std::optional<PlanGoodput> goodput;

  template <typename Self, typename Visitor>
  static void VisitMembers(Self& self, const Visitor& visit) {
    visit("model", self.model);
    visit("description", self.description);
    visit("parameters", self.parameters);
    visit("model_flops", self.model_flops, {.most = 1e30});
    visit("sequence", self.sequence);
    visit("global_batch", self.global_batch);
    visit("objective", self.objective);
    visit("configuration", self.configuration);
    visit("framework", self.framework);
    visit("release", self.release);
    visit("attention", self.attention);
    visit("mtp", self.mtp);
    visit("state", self.state);
    visit("launch", self.launch);
    visit("mfu", self.mfu, kShare);
    visit("hfu", self.hfu, kShare);
    visit("seconds", self.seconds);
    visit("memory", self.memory);
    visit("search", self.search);
    visit("alternatives", self.alternatives);
    visit("sensitivity", self.sensitivity);
    visit("sweep", self.sweep);
    visit("goodput", self.goodput);
  }
  friend bool operator==(const PlanTransformer&, const PlanTransformer&) = default;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_DOCUMENT_PLAN_TRANSFORMER_H_
