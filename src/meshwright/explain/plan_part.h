#ifndef MESHWRIGHT_EXPLAIN_PLAN_PART_H_
#define MESHWRIGHT_EXPLAIN_PLAN_PART_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "meshwright/plan/document/plan.h"

namespace meshwright {

// What one mesh runs: a plan without stages, or a stage. Refers to the plan, which must outlive it.
struct PlanPart {
  const std::vector<PlanAxis>& mesh;
  const std::vector<PlanCollective>& collectives;
  const std::vector<PlanTensor>& parameters;
  const std::vector<PlanTensor>& outputs;
  const std::vector<PlanInstruction>& instructions;
  const std::vector<std::string>& op_names;
  const std::vector<std::string>& source_files;
  const std::optional<PlanMemoryTimeline>& memory_timeline;
  const std::optional<PlanStepTimeline>& step_timeline;
  // By parameter: it comes from another stage and is none of the program.
  std::vector<bool> received;
  // Stages that are this part, ascending; empty: the plan has none.
  std::vector<size_t> stages = {};
  // By member, which are the stages or the whole plan: how many layers it comes after the first,
  // and what its parameters and outputs are called. Those of the first are in `parameters` and
  // `outputs`.
  std::vector<int64_t> layer_offset = {0};
  std::vector<const std::vector<std::string>*> parameter_names = {nullptr};
  std::vector<const std::vector<std::string>*> output_names = {nullptr};
  bool recompute = false;  // the forward phase runs once more, for the backward phase

  // How often the part is there: as stages, or once.
  size_t members() const { return layer_offset.size(); }
  bool is_stage() const { return !stages.empty(); }
  // "stage 3"; "" if it is none.
  std::string StageName(size_t member = 0) const;
  const std::string& ParameterName(size_t member, size_t parameter) const;
  const std::string& OutputName(size_t member, size_t output) const;
};

// The parts of `plan` that differ: stages that are the same as others come with those. Takes what
// the plan's reader checks for granted.
std::vector<PlanPart> PartsOf(const Plan& plan);

// "model.py:17"; "" if the program does not say it. Folders in front of the file are left out.
std::string SourceText(const PlanPart& part, const PlanInstruction& instruction);
// The metadata's name of it; "" if it has none.
const std::string& MetadataName(const PlanPart& part, const PlanInstruction& instruction);
// The same, else its own.
const std::string& NameOf(const PlanPart& part, const PlanInstruction& instruction);

// Which devices an array is cut over: all axes of its spec.
std::vector<std::string> AxesOfSpec(const PlanSpec& spec);
bool Uses(const PlanSpec& spec, const std::string& axis);

// How `instruction` needs its `k`-th operand: as it says, else as that is kept. nullptr: the plan
// does not say it.
const PlanSpec* NeededSpec(const PlanPart& part, const PlanInstruction& instruction, size_t k);
// How it computes its first result, before that is moved to where it is kept.
const PlanSpec& ComputedSpec(const PlanInstruction& instruction);

// A matmul or convolution.
bool IsContraction(const PlanInstruction& instruction);

// a + b, both at least 0; what is more than 2^63 - 1 stays there.
int64_t AddCapped(int64_t a, int64_t b);

// Devices along `axes`: the product of their sizes.
double DevicesOf(const PlanPart& part, const std::vector<std::string>& axes);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPLAIN_PLAN_PART_H_
