#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/python_worker.h"
#include "meshwright/cli/option_checks.h"
#include "meshwright/cli/verb.h"

namespace meshwright {
namespace {

struct VerifyCommand {
  std::string plan, program, stages;
  bool pipeline = false;
  std::string trace;
  std::string devices;
  int repeats = 5;
  uint64_t seed = 0;
  bool json = false;
};

absl::Status CannotVerify(absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(
      why, "; verify needs Python 3.10 or newer with JAX, MESHWRIGHT_PYTHON says which"));
}

// Becomes the worker, whose exit code is the command's; returns only if that fails.
absl::Status RunVerify(const VerifyCommand& command) {
  std::vector<std::string> arguments = PythonWorker("meshwright.verify.__main__");
  const std::string python = arguments[0];
  // A program that is no Python would end well without having verified anything.
  if (const absl::Status status = CheckPython(python); !status.ok())
    return CannotVerify(status.message());
  // Values behind `=`, and the plan behind `--`: files may be named like options.
  const auto add = [&arguments](const char* option, const std::string& value) {
    arguments.push_back(absl::StrCat(option, "=", value));
  };
  add("--program", command.program);
  if (!command.stages.empty()) add("--stages", command.stages);
  if (command.pipeline) arguments.emplace_back("--pipeline");
  if (!command.trace.empty()) add("--trace", command.trace);
  if (!command.devices.empty()) add("--devices", command.devices);
  add("--repeats", absl::StrCat(command.repeats));
  add("--seed", absl::StrCat(command.seed));
  if (command.json) arguments.emplace_back("--json");
  arguments.insert(arguments.end(), {"--", command.plan});
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  execvp(python.c_str(), argv.data());
  return CannotVerify(absl::StrCat("cannot run ", python, ": ", std::strerror(errno)));
}

}  // namespace

Action AddVerifyVerb(CLI::App& app) {
  constexpr int kMaxRepeats = 1000;
  const auto command = std::make_shared<VerifyCommand>();
  app.add_option("PLAN", command->plan, "plan.json, as plan and estimate write it")
      ->required()
      ->check(IsFileOf(WantedFile::kPlan));
  app.add_option("--program", command->program, "the program that was planned")
      ->required()
      ->check(IsFileOf(WantedFile::kProgram));
  app.add_option("--stages", command->stages,
                 "of a plan with a pipeline: the folder that plan --emit wrote");
  app.add_flag("--pipeline", command->pipeline,
               "show when every phase of a pipeline was planned to start and end, and when it did");
  app.add_option("--trace", command->trace,
                 "of a plan with a pipeline: write both schedules here, for Perfetto");
  app.add_option(
      "--devices", command->devices,
      "host:N, N devices of the CPU, host, as many as the plan has, or gpu; default: the "
      "GPUs that the plan is for if they are here, else the host's");
  app.add_option("--repeats", command->repeats, "steps to time; 0: none")
      ->check(CLI::Range(0, kMaxRepeats))
      ->capture_default_str();
  app.add_option("--seed", command->seed, "seed of the random inputs")
      ->check(IsSeed())
      ->capture_default_str();
  app.add_flag("--json", command->json, "print JSON instead of a table");
  return [command] { return RunVerify(*command); };
}

}  // namespace meshwright
