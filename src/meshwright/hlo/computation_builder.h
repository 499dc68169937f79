#ifndef MESHWRIGHT_HLO_COMPUTATION_BUILDER_H_
#define MESHWRIGHT_HLO_COMPUTATION_BUILDER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// Gives out names that are unique in a module: "add.1", "add.2", ...
class NameTable {
 public:
  std::string Unique(std::string_view base);
  // `base` with anything that is no character of an HLO name replaced by '_'.
  static std::string Valid(std::string_view base);

 private:
  absl::flat_hash_map<std::string, int64_t> counts_;
};

// A computation under construction, kept as XLA's conversion of StableHLO would leave it: equal
// constants are one, elementwise operators and broadcasts of filled tensors are filled tensors,
// operators that change nothing are not there, a constant stands right of a commutative operator.
class ComputationBuilder {
 public:
  // A new instruction, or what it folds to. Operands, shape and attributes are set. The name is
  // chosen by Finish.
  InstructionId Add(Instruction instruction);
  // The same without folding.
  InstructionId AddAsIs(Instruction instruction);
  // `name`, unique among the parameters, is what the parameter is called if its metadata has no
  // name for it; if it is empty any will do.
  InstructionId AddParameter(const Shape& shape, Metadata metadata, std::string_view name);
  InstructionId AddConstant(const Shape& shape, Literal literal, const Metadata& metadata);
  // A tensor filled with one element; if it has no other it is just a constant.
  InstructionId AddFilled(const Shape& shape, std::string element, const Metadata& metadata);
  InstructionId AddElement(InstructionId tuple, int64_t index, const Metadata& metadata);
  InstructionId AddTuple(absl::Span<const InstructionId> elements, const Metadata& metadata);
  InstructionId AddReshape(InstructionId operand, std::vector<int64_t> dims,
                           const Metadata& metadata);
  // What `broadcast_in_dim` comes to: nothing, a reshape, a transpose, or broadcasts.
  InstructionId AddBroadcastInDim(InstructionId operand, const Shape& shape,
                                  const std::vector<int64_t>& dimensions, const Metadata& metadata);

  const Instruction& operator[](InstructionId id) const { return computation_[id]; }
  Instruction& operator[](InstructionId id) { return computation_[id]; }
  size_t size() const { return computation_.instructions.size(); }
  // The element that fills the value, if it is a filled tensor or a constant of one element.
  std::optional<std::string> FilledWith(InstructionId id) const;
  // The value is a constant or a filled tensor. Copies it to `other` and returns its id there.
  bool IsConstant(InstructionId id) const;
  InstructionId CopyConstant(InstructionId id, ComputationBuilder& other) const;

  // The computation with the given root: what the result does not need and has no effect is gone,
  // the rest is in the order in which XLA prints it, and named. `moved[i]` is where instruction i
  // has gone; invalid if it is gone.
  Computation Finish(std::string name, InstructionId root, NameTable& names,
                     std::vector<InstructionId>* moved);

 private:
  // Type, dimensions and bytes of a constant; filled: the bytes are those of one element.
  using ConstantKey = std::tuple<ElementType, std::vector<int64_t>, std::string, bool>;

  InstructionId Fold(Instruction& instruction);
  InstructionId FoldEmpty(Instruction& instruction);
  InstructionId FoldElementwise(const Instruction& instruction);
  InstructionId FoldRearranged(const Instruction& instruction);
  // Bytes of element `i` of a constant or filled tensor.
  std::string_view ElementAt(InstructionId id, size_t i) const;
  std::vector<size_t> Order(InstructionId root) const;

  Computation computation_;
  absl::flat_hash_map<ConstantKey, InstructionId> constants_;
  std::vector<std::string> parameter_names_;  // by parameter number
};

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_COMPUTATION_BUILDER_H_
