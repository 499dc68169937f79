#ifndef MESHWRIGHT_PLAN_DOCUMENT_PLAN_OPCODE_H_
#define MESHWRIGHT_PLAN_DOCUMENT_PLAN_OPCODE_H_

#include "meshwright/base/words.h"
#include "meshwright/hlo/opcode.h"

namespace meshwright {

// What an instruction of a plan is: an opcode of HLO under its name there, or the part it plays
// around control flow (OpKind).
enum class PlanOpcode {
#define MESHWRIGHT_PLAN_OPCODE(name, text, arity, opcode_class) name,
  MESHWRIGHT_OPCODES(MESHWRIGHT_PLAN_OPCODE)
#undef MESHWRIGHT_PLAN_OPCODE
      kLoopParameter,
  kLoopExit,
  kSelectBranch,
  kOutput,
};
template <>
inline constexpr auto kWords<PlanOpcode> = std::to_array<std::string_view>({
#define MESHWRIGHT_PLAN_OPCODE(name, text, arity, opcode_class) text,
    MESHWRIGHT_OPCODES(MESHWRIGHT_PLAN_OPCODE)
#undef MESHWRIGHT_PLAN_OPCODE
        "loop-parameter",
    "loop-exit",
    "select-branch",
    "output",
});

inline PlanOpcode ToPlanOpcode(Opcode opcode) { return static_cast<PlanOpcode>(opcode); }

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_DOCUMENT_PLAN_OPCODE_H_
