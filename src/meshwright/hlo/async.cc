#include "meshwright/hlo/async.h"

#include <optional>

#include "meshwright/hlo/opcode.h"

namespace meshwright {

bool CallsWrappedOperation(const Instruction& start) {
  const std::optional<Opcode> wrapped = OpcodeFromName(start.async_name);
  return !start.called.empty() && !(wrapped.has_value() && IsCollective(*wrapped));
}

}  // namespace meshwright
