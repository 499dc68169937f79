#ifndef MESHWRIGHT_CLI_REFERENCE_H_
#define MESHWRIGHT_CLI_REFERENCE_H_

#include <string>

namespace CLI {
class App;
}

namespace meshwright {

// Every command of `program` as JSON, from which the site's reference is made: an object with
// `version` and `commands`, a list of objects with `name`, `summary`, `details`, `exit_codes`,
// `examples` (list of lines), and `options`, a list of objects with the members of OptionFacts.
std::string ReferenceJson(const CLI::App& program);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_REFERENCE_H_
