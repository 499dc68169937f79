#include "meshwright/hlo/scaled_dot.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "meshwright/base/strings.h"
#include "meshwright/hlo/unique_names.h"

namespace meshwright {
namespace {

bool IsScaledDot(const Instruction& instruction) {
  return instruction.opcode == Opcode::kDot && instruction.operands.size() == kScaledDotOperands;
}

// A computation being written anew.
class Expansion {
 public:
  explicit Expansion(Computation& computation) : computation_(computation) {
    for (const Instruction& instruction : computation.instructions) names_.Take(instruction.name);
  }

  absl::Status Run() {
    std::vector<InstructionId> moved;
    for (Instruction& old : computation_.instructions) {
      for (InstructionId& operand : old.operands) operand = moved[operand.index()];
      if (IsScaledDot(old)) {
        for (const size_t side : {0, 1}) {
          absl::StatusOr<InstructionId> scaled = Scaled(old, side);
          if (!scaled.ok()) return scaled.status();
          old.operands[side] = *scaled;
        }
        old.operands.resize(2);
      }
      moved.emplace_back(instructions_.size());
      instructions_.push_back(std::move(old));
    }
    for (Instruction& instruction : instructions_) {
      for (InstructionId& id : instruction.control_predecessors) id = moved[id.index()];
    }
    for (InstructionId& id : computation_.parameters) id = moved[id.index()];
    computation_.root = moved[computation_.root.index()];
    computation_.instructions = std::move(instructions_);
    return absl::OkStatus();
  }

 private:
  const Shape& ShapeOf(InstructionId id) const { return instructions_[id.index()].shape; }

  InstructionId Add(const Instruction& dot, std::string_view name, Opcode opcode, Shape shape,
                    std::vector<InstructionId> operands, std::vector<int64_t> dimensions = {}) {
    Instruction& added = instructions_.emplace_back();
    added.name = names_.Take(StrCat(dot.name, ".", name));
    added.opcode = opcode;
    added.shape = std::move(shape);
    added.operands = std::move(operands);
    added.dimensions = std::move(dimensions);
    added.metadata = dot.metadata;
    added.place = dot.place;
    return InstructionId(instructions_.size() - 1);
  }

  // Operand `side` of `dot` times its scale.
  absl::StatusOr<InstructionId> Scaled(const Instruction& dot, size_t side) {
    const InstructionId operand = dot.operands[side], scale = dot.operands[side + 2];
    const Shape values = ShapeOf(operand), scales = ShapeOf(scale);
    bool fits = values.is_array() && scales.is_array() && dot.shape.is_array() &&
                (scales.dims.empty() || scales.rank() == values.rank());
    for (size_t d = 0; fits && d < scales.dims.size(); ++d) {
      fits = scales.dims[d] > 0 && values.dims[d] % scales.dims[d] == 0;
    }
    if (!fits) {
      return absl::InvalidArgumentError(StrCat(
          dot.name, ": operand ", side + 2, ", a scale, ", scales.ToString(false),
          ", does not divide operand ", side, ", ", values.ToString(false), ", into blocks"));
    }
    const ElementType type = dot.shape.type;
    const InstructionId converted =
        Add(dot, "convert", Opcode::kConvert, Shape::Array(type, values.dims), {operand});
    InstructionId factor =
        Add(dot, "scale", Opcode::kConvert, Shape::Array(type, scales.dims), {scale});
    if (scales.dims != values.dims) {
      // Every dimension of the scale, and behind it the block that it is repeated over.
      std::vector<int64_t> blocks, kept;
      for (size_t d = 0; d < scales.dims.size(); ++d) {
        kept.push_back(static_cast<int64_t>(blocks.size()));
        blocks.push_back(scales.dims[d]);
        const int64_t block = values.dims[d] / scales.dims[d];
        if (block > 1) blocks.push_back(block);
      }
      if (scales.dims.empty()) blocks = values.dims;
      factor =
          Add(dot, "broadcast", Opcode::kBroadcast, Shape::Array(type, blocks), {factor}, kept);
      if (blocks != values.dims) {
        factor = Add(dot, "reshape", Opcode::kReshape, Shape::Array(type, values.dims), {factor});
      }
    }
    return Add(dot, "scaled", Opcode::kMultiply, Shape::Array(type, values.dims),
               {converted, factor});
  }

  Computation& computation_;
  std::vector<Instruction> instructions_;
  UniqueNames names_;
};

}  // namespace

absl::Status ExpandScaledDots(Module& module) {
  for (Computation& computation : module.computations) {
    const bool has_any =
        std::any_of(computation.instructions.begin(), computation.instructions.end(), IsScaledDot);
    if (!has_any) continue;
    if (absl::Status status = Expansion(computation).Run(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace meshwright
