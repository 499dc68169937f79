#ifndef MESHWRIGHT_INTER_SLICE_MODULE_WRITER_H_
#define MESHWRIGHT_INTER_SLICE_MODULE_WRITER_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/hlo/module.h"
#include "meshwright/hlo/unique_names.h"

namespace meshwright {

// A computation under construction, with the values of a graph that it has so far.
struct Scope {
  Computation computation;
  absl::flat_hash_map<ValueId, InstructionId> values;
  // Filled tensors in other sizes than their own.
  std::map<std::pair<ValueId, std::vector<int64_t>>, InstructionId> resized;
  Scope* outer = nullptr;         // of branches: where captured values come from
  std::vector<ValueId> captured;  // by element of the parameter

  const Shape& ShapeOf(InstructionId id) const { return computation[id].shape; }
};

// Writes computations into a module. Names of instructions and computations become unique.
class ModuleWriter {
 public:
  // `from`: where functions of scalars (bodies of reductions) are taken from.
  explicit ModuleWriter(const Module& from) : from_(from), functions_(from.computations.size()) {}

  Module& module() { return module_; }

  Scope Begin(const Computation& like);
  // Closes a computation; with several results it is one that results in a tuple.
  ComputationId Finish(Scope scope, InstructionId root);
  ComputationId Finish(Scope scope, const std::vector<InstructionId>& results);
  // The function of scalars `id` of the other module.
  ComputationId Function(ComputationId id);
  // The function of two scalars that adds them.
  ComputationId Addition(ElementType type);

  InstructionId Add(Scope& scope, Instruction instruction);
  InstructionId AddTuple(Scope& scope, const std::vector<InstructionId>& elements);
  // Named and labelled as `of`.
  InstructionId AddElement(Scope& scope, InstructionId tuple, int64_t index, const Shape& shape,
                           const Instruction& of);
  InstructionId AddNumber(Scope& scope, ElementType type, int64_t number);
  InstructionId AddBroadcast(Scope& scope, InstructionId scalar, const Shape& shape);
  // The only parameter of a loop's or branch's computation.
  InstructionId AddArgument(Scope& scope, const Shape& shape);

  // A value of the structure of `like` made of leaves from `next` on.
  InstructionId Join(Scope& scope, const Shape& like, const std::vector<InstructionId>& leaves,
                     size_t* next);
  // The leaves of a value.
  std::vector<InstructionId> Split(Scope& scope, InstructionId id);

 private:
  void Split(Scope& scope, InstructionId id, std::vector<InstructionId>* leaves);

  const Module& from_;
  Module module_;
  UniqueNames names_, computation_names_;
  std::vector<ComputationId> functions_;  // by computation of `from_`
  absl::flat_hash_map<ElementType, ComputationId> additions_;
};

// `like` with its leaves replaced by those from `next` on.
Shape WithLeaves(const Shape& like, const std::vector<Shape>& leaves, size_t* next);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_SLICE_MODULE_WRITER_H_
