#ifndef MESHWRIGHT_EXPLAIN_TENSOR_FACTS_H_
#define MESHWRIGHT_EXPLAIN_TENSOR_FACTS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/explain/plan_part.h"

namespace meshwright {

// How one operator, of equal ones of repeated layers, reads a tensor.
struct TensorReader {
  std::string name, opcode, source, phase;  // the name folded, see FoldedName
  bool exact = true;                        // likewise
  PlanSpec needed;                          // how it wants the tensor
  bool moves = false;                       // that is another than the one it is kept in
  std::string through;                      // reads a view of it: by which operator, folded
  std::vector<PlanCollective> collectives;  // that bring it there, of all readers together
  int64_t count = 0;
};

// A tensor, or equal ones of repeated layers.
struct TensorFacts {
  std::string name;     // folded
  bool exact = true;    // see FoldedName
  std::string op_name;  // folded; that of its maker in the program's metadata; may be empty
  std::string opcode, strategy, source, phase;  // of what makes it
  std::string parallelism;                      // of parameters: see RolesText; else empty
  std::string state_of;         // of optimizer state, where known: its weight, folded
  std::vector<int64_t> layers;  // ascending; empty: not known
  PlanType type;
  PlanSpec spec, computed;
  bool moved_when_made = false;  // `computed` is not `spec`, or it is summed up first
  std::vector<std::string> reduced_axes;
  std::vector<PlanCollective> collectives;  // that move it once for all who read it
  int64_t bytes_per_device = 0;             // each
  double replicas = 1;
  int64_t count = 0;
  // In program order of the first. Of what reads it through views (conversions, transposes) only
  // those that have it moved.
  std::vector<TensorReader> readers;
  std::vector<size_t> stages;  // that have it, ascending
};

// Those of `plan` whose parameter's, output's or instruction's name matches `pattern`; if there are
// none, those whose name in the metadata does. Errors: none at all (names the nearest); a plan
// without instructions.
absl::StatusOr<std::vector<TensorFacts>> FindTensors(const Plan& plan, std::string_view pattern);

// Bytes of one device's part of an array, uneven parts padded.
int64_t BytesPerDevice(const PlanPart& part, const PlanType& type, const PlanSpec& spec);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPLAIN_TENSOR_FACTS_H_
