#ifndef MESHWRIGHT_PLAN_DOCUMENT_PIPELINE_PART_H_
#define MESHWRIGHT_PLAN_DOCUMENT_PIPELINE_PART_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "meshwright/plan/document/program_part.h"

// The part of a Plan that has stages: of a program that is cut into them, and of a model over
// groups of nodes.

namespace meshwright {

// Of one task or transfer: thirty years, and small enough for sums and microseconds of many.
inline constexpr MemberForm kStageSeconds = {.most = 1e9};

// Seconds of one stage: of one micro-batch, but `update` once a step.
struct PlanStageSeconds {
  double forward = 0, backward = 0;
  double weight_gradient = 0;  // of `backward`, what no other stage waits for
  double update = 0;           // reducing what was summed over micro-batches, and the optimizer

  MESHWRIGHT_MEMBERS_OF_FORM(PlanStageSeconds, kStageSeconds, forward, backward, weight_gradient,
                             update)
};

// Memory of one device of a stage.
struct PlanStageBytes {
  int64_t fixed = 0;          // whatever is in flight
  int64_t in_flight = 0;      // for each micro-batch between its forward and its backward phase
  int64_t peak = 0;           // of this stage by itself
  int64_t peak_of_group = 0;  // with the other stages that run on the same devices

  MESHWRIGHT_MEMBERS(PlanStageBytes, fixed, in_flight, peak, peak_of_group)
};

struct PlanStage {
  int64_t first_layer = 0, end_layer = 0;  // [first_layer, end_layer)
  std::string device;                      // type
  int64_t device_memory_bytes = 0;         // that a device has
  std::optional<int64_t> budget_bytes;     // that a device may use; none: unlimited
  std::vector<int64_t> devices;            // numbers, in the order of the mesh, row-major
  std::vector<PlanAxis> mesh;
  bool recompute = false;  // activations are computed again for the backward phase
  // Sums over the batch are made in so many parts and summed up once a step (SliceRequest).
  int64_t sum_parts = 1;
  PlanStageSeconds seconds;
  PlanStageBytes bytes;
  int64_t max_in_flight = 0;                 // micro-batches of this stage
  MemoryByCategory memory_by_category = {};  // what bytes.peak_of_group consists of
  // What the stage runs in a step; the memory is of the phases of one micro-batch, without overlap.
  // Empty if `same_as` names an earlier stage that runs the same, under other names.
  std::optional<int64_t> same_as;
  ProgramPart program;
  // With `same_as`: what its own parameters and outputs are called, in the order of that stage's.
  std::vector<std::string> parameter_names, output_names;

  template <typename Self, typename Visitor>
  static void VisitMembers(Self& self, const Visitor& visit) {
    visit("first_layer", self.first_layer);
    visit("end_layer", self.end_layer);
    visit("device", self.device);
    visit("device_memory_bytes", self.device_memory_bytes);
    visit("budget_bytes", self.budget_bytes);
    visit("devices", self.devices);
    visit("mesh", self.mesh);
    visit("recompute", self.recompute);
    visit("sum_parts", self.sum_parts);
    visit("seconds", self.seconds);
    visit("bytes", self.bytes);
    visit("max_in_flight", self.max_in_flight);
    visit("memory_by_category", self.memory_by_category);
    visit("same_as", self.same_as);
    ProgramPart::VisitBorders(self.program, visit);
    visit("parameter_names", self.parameter_names);
    visit("output_names", self.output_names);
    ProgramPart::VisitInside(self.program, visit);
  }
  friend bool operator==(const PlanStage&, const PlanStage&) = default;
};

// What one micro-batch's phase hands on to the next stage.
struct PlanTransfer {
  int64_t from = 0, to = 0;       // stages
  Phase phase = Phase::kForward;  // or backward
  int64_t bytes_per_device = 0;   // of the sending stage
  double seconds = 0;

  MESHWRIGHT_MEMBERS_OF_FORM(PlanTransfer, kStageSeconds, from, to, phase, bytes_per_device,
                             seconds)
};

struct PipelinePart {
  std::string schedule;  // of the stages' tasks: "1f1b", ...
  std::vector<PlanStage> stages;
  std::vector<PlanTransfer> cross_stage;
  friend bool operator==(const PipelinePart&, const PipelinePart&) = default;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_DOCUMENT_PIPELINE_PART_H_
