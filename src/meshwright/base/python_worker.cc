#include "meshwright/base/python_worker.h"

#include <cstdlib>

#include "absl/strings/str_replace.h"

namespace meshwright {
namespace {

constexpr const char* kWorker = R"(import sys
try:
    from MODULE import main
except ModuleNotFoundError as error:
    if error.name != "meshwright":
        raise
    print(f"meshwright: {sys.executable} has no package meshwright; in the repository, run "
          f"{sys.executable} -m pip install '.[jax]', or name another Python in MESHWRIGHT_PYTHON",
          file=sys.stderr)
    sys.exit(2)
sys.exit(main())
)";

}  // namespace

std::vector<std::string> PythonWorker(std::string_view module) {
  const char* const named = std::getenv("MESHWRIGHT_PYTHON");
  return {named != nullptr && *named != '\0' ? named : "python3", "-c",
          absl::StrReplaceAll(kWorker, {{"MODULE", {module.data(), module.size()}}})};
}

}  // namespace meshwright
