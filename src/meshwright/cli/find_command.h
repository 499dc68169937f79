#ifndef MESHWRIGHT_CLI_FIND_COMMAND_H_
#define MESHWRIGHT_CLI_FIND_COMMAND_H_

#include <string>

#include "absl/status/statusor.h"

namespace CLI {
class App;
}

namespace meshwright {

// The command `name` of `parent`, which help calls `title`. Error: there is none; it says which is
// nearest.
absl::StatusOr<const CLI::App*> FindCommand(const CLI::App& parent, const std::string& name,
                                            const std::string& title);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_FIND_COMMAND_H_
