#ifndef MESHWRIGHT_INTER_LAYERS_PROGRAM_STRUCTURE_H_
#define MESHWRIGHT_INTER_LAYERS_PROGRAM_STRUCTURE_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/hlo/graph.h"

namespace meshwright {

// What a graph leaves out about loops and conditionals, so that a program can be built from
// operators again. Made once a graph, in linear time.
struct ProgramStructure {
  std::vector<int32_t> carry;        // by OpId: of loop parameters and exits; else -1
  std::vector<int32_t> first_carry;  // by loop: its carries are consecutive
  std::vector<int32_t> carry_count;
  std::vector<OpId> first_exit;            // by loop
  std::vector<ValueId> condition;          // by loop: whether it goes on
  std::vector<const Computation*> region;  // by OpId: the computation to build it in; fusions are
                                           // part of the one they stand in
  // By OpId: what the op can only be taken with as a whole, as its first op of that: the exit of
  // the outermost loop, the result of the outermost conditional; else the op itself.
  std::vector<OpId> whole;
  std::vector<bool> live;  // by OpId: an output depends on it

  // Users beside Value::users, by ValueId: loop parameters that start from the value and results of
  // conditionals that it decides.
  std::vector<std::vector<OpId>> more_users;
};

// Error: the module has calls, or instructions that a program cannot be rebuilt from (asynchronous
// ones).
absl::StatusOr<ProgramStructure> FindStructure(const Graph& graph);

// What `op` reads: operands, what decides a conditional, and for a loop's carried value where it
// comes from before and in the loop, and what keeps the loop going.
void ForEachRead(const Graph& graph, const ProgramStructure& structure, OpId op,
                 const std::function<void(ValueId)>& visit);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_LAYERS_PROGRAM_STRUCTURE_H_
