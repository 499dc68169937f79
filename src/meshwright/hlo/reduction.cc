#include "meshwright/hlo/reduction.h"

namespace meshwright {
namespace {

struct Entry {
  Opcode opcode;
  BodyKind kind;          // of numbers
  BodyKind kind_of_pred;  // of truth values
};

constexpr Entry kBodies[] = {
    {Opcode::kAdd, BodyKind::kAdd, BodyKind::kOr},
    {Opcode::kMultiply, BodyKind::kMultiply, BodyKind::kAnd},
    {Opcode::kMaximum, BodyKind::kMaximum, BodyKind::kOr},
    {Opcode::kMinimum, BodyKind::kMinimum, BodyKind::kAnd},
    {Opcode::kAnd, BodyKind::kAnd, BodyKind::kAnd},
    {Opcode::kOr, BodyKind::kOr, BodyKind::kOr},
};

// The instruction whose value `id` hands on, through converts, copies and bitcasts.
const Instruction* Source(const Computation& computation, InstructionId id) {
  // A chain cannot be longer than the computation; the bound ends malformed cycles.
  for (size_t steps = 0; steps <= computation.instructions.size(); ++steps) {
    if (!id.valid() || id.index() >= computation.instructions.size()) return nullptr;
    const Instruction& instruction = computation[id];
    const bool forwards = instruction.opcode == Opcode::kConvert ||
                          instruction.opcode == Opcode::kCopy ||
                          instruction.opcode == Opcode::kBitcast;
    if (!forwards) return &instruction;
    if (instruction.operands.size() != 1) return nullptr;
    id = instruction.operands[0];
  }
  return nullptr;
}

}  // namespace

BodyKind ClassifyBody(const Module& module, ComputationId body) {
  if (!body.valid() || body.index() >= module.computations.size()) return BodyKind::kOther;
  const Computation& computation = module[body];
  if (computation.parameters.size() != 2) return BodyKind::kOther;
  const Instruction* root = Source(computation, computation.root);
  if (root == nullptr || root->operands.size() != 2) return BodyKind::kOther;
  const Instruction* lhs = Source(computation, root->operands[0]);
  const Instruction* rhs = Source(computation, root->operands[1]);
  const bool joins_both = lhs != nullptr && rhs != nullptr && lhs != rhs &&
                          lhs->opcode == Opcode::kParameter && rhs->opcode == Opcode::kParameter;
  if (!joins_both) return BodyKind::kOther;
  for (const Entry& entry : kBodies) {
    if (entry.opcode != root->opcode) continue;
    return root->shape.type == ElementType::kPred ? entry.kind_of_pred : entry.kind;
  }
  return BodyKind::kOther;
}

}  // namespace meshwright
