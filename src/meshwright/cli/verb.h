#ifndef MESHWRIGHT_CLI_VERB_H_
#define MESHWRIGHT_CLI_VERB_H_

#include <functional>
#include <vector>

#include "absl/status/status.h"

namespace CLI {
class App;
}

namespace meshwright {

// Does what the parsed options ask for. The status decides the exit code (base/status.h), its
// message goes to standard error.
using Action = std::function<absl::Status()>;

// One command of the program.
struct Verb {
  const char* name;
  const char* summary;   // one line for the list of commands
  const char* examples;  // for --help: one a line, without indentation
  Action (*add_options)(CLI::App& app);
  // For --help: what it does at length, one paragraph a line; which exit codes mean what.
  const char* details = "";
  const char* exit_codes = "0 done, 2 bad input, 1 a bug in meshwright";
};

// Every command, in the order of --help.
const std::vector<Verb>& Verbs();

// One for each verb_*.cc.
Action AddPlanVerb(CLI::App& app);
Action AddEstimateVerb(CLI::App& app);
Action AddExplainVerb(CLI::App& app);
Action AddDiffVerb(CLI::App& app);
Action AddSimulateVerb(CLI::App& app);
Action AddVerifyVerb(CLI::App& app);
Action AddReportVerb(CLI::App& app);
Action AddExportVerb(CLI::App& app);
Action AddSolveVerb(CLI::App& app);
Action AddReproduceVerb(CLI::App& app);
Action AddCalibrateVerb(CLI::App& app);
Action AddModelVerb(CLI::App& app);
Action AddBlocksVerb(CLI::App& app);
Action AddProfileVerb(CLI::App& app);
Action AddDbVerb(CLI::App& app);
Action AddOpsVerb(CLI::App& app);
Action AddClustersVerb(CLI::App& app);
Action AddHelpVerb(CLI::App& app);
Action AddCompletionVerb(CLI::App& app);
Action AddManVerb(CLI::App& app);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_VERB_H_
