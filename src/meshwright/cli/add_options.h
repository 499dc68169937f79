#ifndef MESHWRIGHT_CLI_ADD_OPTIONS_H_
#define MESHWRIGHT_CLI_ADD_OPTIONS_H_

#include "meshwright/request/option.h"

namespace CLI {
class App;
}

namespace meshwright {

// Registers every row with `app`, whose parsing fills what the rows point to.
void AddOptions(CLI::App& app, const Options& rows);

// Which of the rows the parsed command line has.
GivenOptions GivenOf(const CLI::App& app, const Options& rows);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_ADD_OPTIONS_H_
