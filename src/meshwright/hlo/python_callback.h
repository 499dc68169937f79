#ifndef MESHWRIGHT_HLO_PYTHON_CALLBACK_H_
#define MESHWRIGHT_HLO_PYTHON_CALLBACK_H_

#include "meshwright/hlo/module.h"

namespace meshwright {

// A call into Python, as JAX lowers its callbacks for CPUs and GPUs (`jax.debug.print`,
// `pure_callback`, `io_callback`). It sees whole arrays; a sharding on it says on which device it
// runs, not how its results lie.
bool IsPythonCallback(const Instruction& instruction);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_PYTHON_CALLBACK_H_
