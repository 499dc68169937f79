#include "meshwright/answer/export_request.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/export/quoting.h"
#include "meshwright/export/target.h"

namespace meshwright {
namespace {

constexpr double kMostSteps = 1e9, kLastAlternative = 1000;

std::string TargetList() {
  return absl::StrJoin(ExportTargets(), "; ", [](std::string* out, const ExportTarget& target) {
    absl::StrAppend(out, target.name, " (", target.summary, ")");
  });
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
absl::Status CheckTargetTakes(const ExportTarget& target, const GivenOptions& given) {
  const auto& own = target.options;
  for (const ExportTarget& one : ExportTargets()) {
    for (const std::string& option : one.options) {
      if (!given.contains(option.substr(2))) continue;  // without its dashes
      if (std::find(own.begin(), own.end(), option) != own.end()) continue;
      return absl::InvalidArgumentError(absl::StrCat(option, " is not for --to ", target.name,
                                                     ", which takes ", absl::StrJoin(own, ", ")));
    }
  }
  return absl::OkStatus();
}

// What is given says something.
absl::Status CheckNothingEmpty(ExportAsked& asked) {
  for (const Option& row : ExportOptionRows(asked)) {
    if (!asked.given.contains(row.name) || row.output) continue;
    const auto* const text = std::get_if<std::string*>(&row.value);
    const auto* const texts = std::get_if<std::vector<std::string>*>(&row.value);
    if ((text == nullptr || !(*text)->empty()) &&
        (texts == nullptr || std::count((*texts)->begin(), (*texts)->end(), "") == 0))
      continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--", row.name, ": found \"\"; leave the option out, or say what it is"));
  }
  const std::string& rate = asked.launch.learning_rate;
  double value = 0;
  if (rate.empty() || (absl::SimpleAtod(rate, &value) && std::isfinite(value) && value > 0))
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--learning-rate: found \"", rate, "\", expected a number above 0"));
}

}  // namespace

Options ExportOptionRows(ExportAsked& asked) {
  ExportOptions& launch = asked.launch;
  return {
      {"to", &asked.target, TargetList(), {.required = true, .takes = "TARGET"}},
      {"output",
       &asked.folder,
       "the folder to make; without it MODEL-TARGET here",
       {.output = true, .letter = "o"}},
      {"alternative",
       &asked.alternative,
       "export this one of the plan's alternatives; 0: its best",
       {.most = kLastAlternative}},
      {"nodes", &launch.nodes, "host names in the order of ranks: node1,node2", {.takes = "NODES"}},
      {"hostfile",
       &asked.hostfile,
       "the same from a file, one node a line",
       {.path = true, .excludes = {"nodes"}}},
      {"partition", &launch.partition, "Slurm's partition", {.takes = "NAME"}},
      {"account", &launch.account, "Slurm's account", {.takes = "NAME"}},
      {"time", &launch.time_limit, "Slurm's time limit, like 24:00:00", {.takes = "TIME"}},
      {"image", &launch.image, "container that Slurm starts with pyxis", {.takes = "IMAGE"}},
      {"framework", &launch.framework, "folder with the framework's sources", {.path = true}},
      {"data-path", &launch.data_path,
       "training data as the framework takes it; mock: made up, for a trial"},
      {"tokenizer",
       &launch.tokenizer,
       "tokenizer of Hugging Face: a name or a folder",
       {.takes = "NAME"}},
      {"checkpoint", &launch.checkpoint, "folder to save checkpoints to", {.path = true}},
      {"steps", &launch.steps, "steps to train", {.least = 1, .most = kMostSteps}},
      {"learning-rate", &launch.learning_rate, "the highest learning rate", {.unit = "1"}},
      {"script", &launch.script, "your own training program", {.path = true}},
      {"program", &launch.program, "jax: the program that was planned", {.path = true}},
      {"stages",
       &launch.stages,
       "jax, of a pipeline: the folder that plan --emit wrote",
       {.path = true}},
  };
}

std::string UsualFolder(const Plan& plan, const ExportAsked& asked) {
  const std::string of = plan.of_model() ? PlainName(plan.model->model) : "program";
  return absl::StrCat(of, "-", asked.target);
}

absl::StatusOr<Artefacts> Export(const Plan& plan, ExportAsked asked) {
  MW_ASSIGN_OR_RETURN(const ExportTarget* const target, FindExportTarget(asked.target));
  MW_RETURN_IF_ERROR(CheckTargetTakes(*target, asked.given));
  MW_RETURN_IF_ERROR(CheckNothingEmpty(asked));
  ExportOptions& launch = asked.launch;
  if (!asked.hostfile.empty()) {
    MW_ASSIGN_OR_RETURN(launch.nodes, ReadHostFile(asked.hostfile));
    launch.nodes_option = absl::StrCat("--hostfile: ", asked.hostfile);
  }
  for (std::string* const path : {&launch.framework, &launch.data_path, &launch.tokenizer,
                                  &launch.checkpoint, &launch.script}) {
    NameWhole(*path);
  }
  return ExportPlan(plan, *target, asked.alternative, launch);
}

}  // namespace meshwright
