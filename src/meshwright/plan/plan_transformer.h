#ifndef MESHWRIGHT_PLAN_PLAN_TRANSFORMER_H_
#define MESHWRIGHT_PLAN_PLAN_TRANSFORMER_H_

#include <cstdint>
#include <string>
#include <vector>

// The part of a Plan that only plans of models without a program have: the degrees of a
// transformer's training. Each struct lists its members once, for the JSON form's writer and reader
// alike, in the order of the schema.

namespace meshwright {

// transformer::Configuration with choices by name.
struct PlanDegrees {
  int64_t tp = 1;
  bool sequence_parallel = false;
  int64_t cp = 1, dp = 1, pp = 1, virtual_stages = 1;
  std::string schedule;
  int64_t ep = 1, etp = 1, micro_batch = 1, zero = 0, shard = 0;
  std::string recompute, precision;

  template <typename Self, typename Visitor>
  static void VisitMembers(Self& self, const Visitor& visit) {
    visit("tp", self.tp);
    visit("sequence_parallel", self.sequence_parallel);
    visit("cp", self.cp);
    visit("dp", self.dp);
    visit("pp", self.pp);
    visit("virtual_stages", self.virtual_stages);
    visit("schedule", self.schedule);
    visit("ep", self.ep);
    visit("etp", self.etp);
    visit("micro_batch", self.micro_batch);
    visit("zero", self.zero);
    visit("shard", self.shard);
    visit("recompute", self.recompute);
    visit("precision", self.precision);
  }
  friend bool operator==(const PlanDegrees&, const PlanDegrees&) = default;
};

// Seconds of a step by what takes them; they add up to the step. As a difference they may be
// negative.
struct PlanStepParts {
  double compute = 0, tensor_communication = 0, context_communication = 0;
  double expert_communication = 0, data_communication = 0, pipeline_communication = 0;
  double bubble = 0, optimizer = 0;

  template <typename Self, typename Visitor>
  static void VisitMembers(Self& self, const Visitor& visit) {
    visit("compute", self.compute);
    visit("tensor_communication", self.tensor_communication);
    visit("context_communication", self.context_communication);
    visit("expert_communication", self.expert_communication);
    visit("data_communication", self.data_communication);
    visit("pipeline_communication", self.pipeline_communication);
    visit("bubble", self.bubble);
    visit("optimizer", self.optimizer);
  }
  friend bool operator==(const PlanStepParts&, const PlanStepParts&) = default;
};

// Bytes on one GPU of a pipeline group.
struct PlanGroupBytes {
  int64_t weights = 0, gradients = 0, optimizer = 0, activations = 0, logits = 0;
  int64_t communication = 0, framework = 0;

  template <typename Self, typename Visitor>
  static void VisitMembers(Self& self, const Visitor& visit) {
    visit("weights", self.weights);
    visit("gradients", self.gradients);
    visit("optimizer", self.optimizer);
    visit("activations", self.activations);
    visit("logits", self.logits);
    visit("communication", self.communication);
    visit("framework", self.framework);
  }
  friend bool operator==(const PlanGroupBytes&, const PlanGroupBytes&) = default;
};

// One of the next best, and what its parts take more than the plan's own.
struct PlanAlternative {
  PlanDegrees configuration;
  double step_seconds = 0;
  int64_t peak_bytes = 0;
  double mfu = 0;
  PlanStepParts slower_by;

  template <typename Self, typename Visitor>
  static void VisitMembers(Self& self, const Visitor& visit) {
    visit("configuration", self.configuration);
    visit("step_seconds", self.step_seconds);
    visit("peak_bytes", self.peak_bytes);
    visit("mfu", self.mfu);
    visit("slower_by", self.slower_by);
  }
  friend bool operator==(const PlanAlternative&, const PlanAlternative&) = default;
};

// How the step of the same configuration changes with the hardware.
struct PlanSensitivity {
  std::string change;      // "nvlink4 bandwidth +10 %"
  double step_change = 0;  // relative: -0.012 is 1.2 % faster

  template <typename Self, typename Visitor>
  static void VisitMembers(Self& self, const Visitor& visit) {
    visit("change", self.change);
    visit("step_change", self.step_change);
  }
  friend bool operator==(const PlanSensitivity&, const PlanSensitivity&) = default;
};

struct PlanSearchCounts {
  int64_t legal = 0, evaluated = 0, fitting = 0, pruned = 0;

  template <typename Self, typename Visitor>
  static void VisitMembers(Self& self, const Visitor& visit) {
    visit("legal", self.legal);
    visit("evaluated", self.evaluated);
    visit("fitting", self.fitting);
    visit("pruned", self.pruned);
  }
  friend bool operator==(const PlanSearchCounts&, const PlanSearchCounts&) = default;
};

struct PlanTransformer {
  std::string model;
  std::string description;  // that the model was read from: the text of its config.json or YAML
  int64_t parameters = 0;
  double model_flops = 0;  // of a step, forward and backward
  int64_t sequence = 0, global_batch = 0;
  std::string objective;
  PlanDegrees configuration;
  double mfu = 0, hfu = 0;
  PlanStepParts seconds;
  std::vector<PlanGroupBytes> memory;  // by pipeline group
  PlanSearchCounts search;
  std::vector<PlanAlternative> alternatives;
  std::vector<PlanSensitivity> sensitivity;

  template <typename Self, typename Visitor>
  static void VisitMembers(Self& self, const Visitor& visit) {
    visit("model", self.model);
    visit("description", self.description);
    visit("parameters", self.parameters);
    visit("model_flops", self.model_flops);
    visit("sequence", self.sequence);
    visit("global_batch", self.global_batch);
    visit("objective", self.objective);
    visit("configuration", self.configuration);
    visit("mfu", self.mfu);
    visit("hfu", self.hfu);
    visit("seconds", self.seconds);
    visit("memory", self.memory);
    visit("search", self.search);
    visit("alternatives", self.alternatives);
    visit("sensitivity", self.sensitivity);
  }
  friend bool operator==(const PlanTransformer&, const PlanTransformer&) = default;
};

// A struct of this file.
template <typename T>
concept ListsItsMembers = requires(T& value) {
  T::VisitMembers(value, [](const char*, auto&) {});
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_PLAN_TRANSFORMER_H_
