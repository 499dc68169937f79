#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "meshwright/answer/export_request.h"
#include "meshwright/base/status.h"
#include "meshwright/cli/add_options.h"
#include "meshwright/cli/message.h"
#include "meshwright/cli/option_checks.h"
#include "meshwright/cli/verb.h"
#include "meshwright/export/artefact_folder.h"
#include "meshwright/hlo/program/program.h"
#include "meshwright/plan/document/plan_json.h"

namespace meshwright {
namespace {

struct ExportCommand {
  std::string plan;
  ExportAsked asked;
  Options rows;  // of `asked`
};

absl::Status RunExport(const std::string& path, const ExportAsked& asked) {
  MW_ASSIGN_OR_RETURN(const std::string text, ReadInput(path));
  MW_ASSIGN_OR_RETURN(const Plan plan, ParsePlanJson(text, path));
  const std::string folder = asked.folder.empty() ? UsualFolder(plan, asked) : asked.folder;
  MW_RETURN_IF_ERROR(CheckArtefactFolder(folder));
  MW_ASSIGN_OR_RETURN(const Artefacts files, Export(plan, asked));
  MW_RETURN_IF_ERROR(WriteArtefactFolder(folder, files));
  if (plan.of_model()) {
    for (const std::string& warning : plan.warnings) PrintWarning(warning);
  }
  std::string table = absl::StrCat("wrote ", folder, "\n");
  for (const Artefact& file : files) absl::StrAppend(&table, "  ", file.name, "\n");
  return PrintScreen(table);
}

}  // namespace

Action AddExportVerb(CLI::App& app) {
  auto command = std::make_shared<ExportCommand>();
  command->rows = ExportOptionRows(command->asked);
  app.add_option("PLAN", command->plan, "plan.json; - for standard input")
      ->required()
      ->check(IsFileOf(WantedFile::kPlan));
  AddOptions(app, command->rows);
  app.get_option("--nodes")->delimiter(',');
  return [command, &app] {
    command->asked.given = GivenOf(app, command->rows);
    return RunExport(command->plan, command->asked);
  };
}

}  // namespace meshwright
