#ifndef TESTS_EXPORT_MEGATRON_CHECKER_H_
#define TESTS_EXPORT_MEGATRON_CHECKER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

// The rules that Megatron-LM checks at its start, written a second time from its sources and
// without the exporter's code: what a launch script passes is read back and judged.

namespace meshwright {

// Options of the script's array `arguments`, each with its values.
using MegatronArguments = std::map<std::string, std::vector<std::string>>;
MegatronArguments ReadMegatronArguments(const std::string& launch_script);

// One sentence for each rule that is broken; `gpus` is how many the launch starts.
std::vector<std::string> BrokenMegatronRules(const std::string& launch_script, int64_t gpus);

}  // namespace meshwright

#endif  // TESTS_EXPORT_MEGATRON_CHECKER_H_
