#ifndef MESHWRIGHT_BASE_PYTHON_WORKER_H_
#define MESHWRIGHT_BASE_PYTHON_WORKER_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace meshwright {

// What needs JAX is done by the Python package: the start of a command line, to which arguments may
// be added, that runs `main` of one of its modules. The Python is that of MESHWRIGHT_PYTHON, else
// python3; where the package is missing the command says what to install and exits with 2.
std::vector<std::string> PythonWorker(std::string_view module);

// Error, one line that names it: `python` cannot be run, or is a program that runs no Python code.
absl::Status CheckPython(const std::string& python);

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_PYTHON_WORKER_H_
