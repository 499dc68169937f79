#ifndef MESHWRIGHT_CLI_HELP_FORMATTER_H_
#define MESHWRIGHT_CLI_HELP_FORMATTER_H_

#include <memory>

namespace CLI {
class FormatterBase;
}

namespace meshwright {

// Lays out what --help prints: lines that fit the screen (ScreenColumns), of every option what it
// takes, its limits and its default. Of a verb, what it does at length stands above, exit codes and
// examples below.
std::shared_ptr<CLI::FormatterBase> MakeHelpFormatter();

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_HELP_FORMATTER_H_
