#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/cli/message.h"
#include "meshwright/cli/output.h"
#include "meshwright/cli/verb.h"
#include "meshwright/export/artefact_folder.h"
#include "meshwright/export/quoting.h"
#include "meshwright/export/target.h"
#include "meshwright/hlo/program/program.h"
#include "meshwright/plan/document/plan_json.h"

namespace meshwright {
namespace {

constexpr int64_t kMostSteps = 1'000'000'000;
constexpr int64_t kLastAlternative = 1000;

struct ExportCommand {
  std::string plan, target, folder, hostfile;
  int64_t alternative = 0;
  ExportOptions options;
};

std::string TargetList() {
  return absl::StrJoin(ExportTargets(), "; ", [](std::string* out, const ExportTarget& target) {
    absl::StrAppend(out, target.name, " (", target.summary, ")");
  });
}

// CLI11's own checks take what is not a number for any number.
CLI::Validator IsLearningRate() {
  return {[](std::string& text) {
            double rate = 0;
            if (absl::SimpleAtod(text, &rate) && std::isfinite(rate) && rate > 0) {
              return std::string();
            }
            return absl::StrCat("found \"", text, "\", expected a number above 0");
          },
          ""};
}

// Names in the order of ranks: the first word of every line that is no comment.
absl::StatusOr<std::vector<std::string>> ReadHostFile(const std::string& path) {
  MW_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  std::vector<std::string> names;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<std::string> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    if (!words.empty() && words[0][0] != '#') names.push_back(words[0]);
  }
  if (names.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--hostfile: ", path, " lists no node; one a line is needed"));
  }
  return names;
}

// Scripts run in the folder of the launch, so what is here by a relative name is named whole.
void NameWhole(std::string& path) {
  std::error_code error;
  if (path.empty() || !std::filesystem::exists(path, error)) return;
  const std::filesystem::path whole = std::filesystem::absolute(path, error);
  if (!error) path = whole.lexically_normal().string();
}

// Nothing that was asked for is left out without a word.
absl::Status CheckTargetTakes(const ExportTarget& target, const CLI::App& app) {
  std::vector<std::string> all;
  for (const ExportTarget& one : ExportTargets()) {
    all.insert(all.end(), one.options.begin(), one.options.end());
  }
  for (const std::string& option : all) {
    const auto& own = target.options;
    if (app.get_option(option)->count() == 0) continue;
    if (std::find(own.begin(), own.end(), option) != own.end()) continue;
    return absl::InvalidArgumentError(absl::StrCat(option, " is not for --to ", target.name,
                                                   ", which takes ", absl::StrJoin(own, ", ")));
  }
  return absl::OkStatus();
}

// What is given says something.
absl::Status CheckNothingEmpty(const CLI::App& app) {
  for (const char* const option :
       {"--nodes", "--hostfile", "--partition", "--account", "--time", "--image", "--framework",
        "--data-path", "--tokenizer", "--checkpoint", "--script", "--program", "--stages"}) {
    for (const std::string& value : app.get_option(option)->results()) {
      if (!value.empty()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(option, ": found \"\"; leave the option out, or say what it is"));
    }
  }
  return absl::OkStatus();
}

absl::Status RunExport(ExportCommand command, const CLI::App& app) {
  MW_ASSIGN_OR_RETURN(const ExportTarget* const target, FindExportTarget(command.target));
  MW_RETURN_IF_ERROR(CheckTargetTakes(*target, app));
  MW_RETURN_IF_ERROR(CheckNothingEmpty(app));
  MW_ASSIGN_OR_RETURN(const std::string text, ReadInput(command.plan));
  MW_ASSIGN_OR_RETURN(const Plan plan, ParsePlanJson(text, command.plan));
  if (!command.hostfile.empty()) {
    MW_ASSIGN_OR_RETURN(command.options.nodes, ReadHostFile(command.hostfile));
    command.options.nodes_option = absl::StrCat("--hostfile: ", command.hostfile);
  }
  for (std::string* const path :
       {&command.options.framework, &command.options.data_path, &command.options.tokenizer,
        &command.options.checkpoint, &command.options.script}) {
    NameWhole(*path);
  }
  if (command.folder.empty()) {
    const std::string of =
        plan.transformer.has_value() ? PlainName(plan.transformer->model) : "program";
    command.folder = absl::StrCat(of, "-", target->name);
  }
  MW_RETURN_IF_ERROR(CheckArtefactFolder(command.folder));
  MW_ASSIGN_OR_RETURN(const Artefacts files,
                      ExportPlan(plan, *target, command.alternative, command.options));
  MW_RETURN_IF_ERROR(WriteArtefactFolder(command.folder, files));
  if (plan.transformer.has_value()) {
    for (const std::string& warning : plan.warnings) PrintWarning(warning);
  }
  std::string table = absl::StrCat("wrote ", command.folder, "\n");
  for (const Artefact& file : files) absl::StrAppend(&table, "  ", file.name, "\n");
  return PrintScreen(table);
}

}  // namespace

Action AddExportVerb(CLI::App& app) {
  auto command = std::make_shared<ExportCommand>();
  ExportOptions& options = command->options;
  app.add_option("PLAN", command->plan, "plan.json; - for standard input")->required();
  app.add_option("--to", command->target, TargetList())->required();
  AddOutputOption(app, "-o,--output", command->folder,
                  "the folder to make; without it MODEL-TARGET here");
  app.add_option("--alternative", command->alternative,
                 "export this one of the plan's alternatives; 0: its best")
      ->check(CLI::Range(int64_t{0}, kLastAlternative))
      ->capture_default_str();
  CLI::Option* const nodes =
      app.add_option("--nodes", options.nodes, "host names in the order of ranks: node1,node2")
          ->delimiter(',')
          ->allow_extra_args(false);
  app.add_option("--hostfile", command->hostfile, "the same from a file, one node a line")
      ->excludes(nodes);
  app.add_option("--partition", options.partition, "Slurm's partition");
  app.add_option("--account", options.account, "Slurm's account");
  app.add_option("--time", options.time_limit, "Slurm's time limit, like 24:00:00");
  app.add_option("--image", options.image, "container that Slurm starts with pyxis");
  app.add_option("--framework", options.framework, "folder with the framework's sources");
  app.add_option("--data-path", options.data_path,
                 "training data as the framework takes it; mock: made up, for a trial");
  app.add_option("--tokenizer", options.tokenizer, "tokenizer of Hugging Face: a name or a folder");
  app.add_option("--checkpoint", options.checkpoint, "folder to save checkpoints to");
  app.add_option("--steps", options.steps, "steps to train")
      ->check(CLI::Range(int64_t{1}, kMostSteps));
  app.add_option("--learning-rate", options.learning_rate, "the highest learning rate")
      ->check(IsLearningRate());
  app.add_option("--script", options.script, "your own training program");
  app.add_option("--program", options.program, "jax: the program that was planned");
  app.add_option("--stages", options.stages,
                 "jax, of a pipeline: the folder that plan --emit wrote");
  return [command, &app] { return RunExport(*command, app); };
}

}  // namespace meshwright
