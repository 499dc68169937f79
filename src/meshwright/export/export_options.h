#ifndef MESHWRIGHT_EXPORT_EXPORT_OPTIONS_H_
#define MESHWRIGHT_EXPORT_EXPORT_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace meshwright {

// What a launch needs beyond the plan. Empty text and 0: not given; a script that needs it then
// asks for an environment variable and ends if that is not set.
struct ExportOptions {
  std::vector<std::string> nodes;              // host names in the order of ranks
  std::string nodes_option = "--nodes";        // that they come from
  std::string partition, account, time_limit;  // of Slurm
  std::string image;       // container that Slurm starts (pyxis: --container-image)
  std::string framework;   // folder with the framework's sources
  std::string data_path;   // "mock": made up by the framework, for a trial run
  std::string tokenizer;   // of Hugging Face: a name or a folder
  std::string checkpoint;  // folder to save to
  std::string script;      // the user's own program
  std::string program;     // that a plan of a program was made from: its path
  std::string stages;      // of a plan with a pipeline: the folder that plan --emit wrote
  int64_t steps = 0;
  std::string learning_rate;  // as written, a number above 0
};

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPORT_EXPORT_OPTIONS_H_
