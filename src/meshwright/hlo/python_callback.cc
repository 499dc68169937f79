#include "meshwright/hlo/python_callback.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace meshwright {
namespace {

// jax/_src/callback.py and buffer_callback.py, and before XLA's FFI xla_python_*.
constexpr std::string_view kCallbackTargets[] = {
    "xla_ffi_python_cpu_callback",    "xla_ffi_python_gpu_callback",
    "xla_python_cpu_callback",        "xla_python_gpu_callback",
    "xla_buffer_python_cpu_callback", "xla_buffer_python_gpu_callback",
};

}  // namespace

bool IsPythonCallback(const Instruction& instruction) {
  return instruction.opcode == Opcode::kCustomCall &&
         std::find(std::begin(kCallbackTargets), std::end(kCallbackTargets),
                   instruction.custom_call_target) != std::end(kCallbackTargets);
}

}  // namespace meshwright
