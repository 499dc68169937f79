#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/base/quantity_text.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/cli/message.h"
#include "meshwright/cli/output.h"
#include "meshwright/cli/staged_outputs.h"
#include "meshwright/cli/verb.h"
#include "meshwright/export/artefact_folder.h"
#include "meshwright/hlo/program/program.h"
#include "meshwright/report/csv_tables.h"
#include "meshwright/report/device_programs.h"
#include "meshwright/report/documents.h"
#include "meshwright/report/report_page.h"
#include "meshwright/report/segment_dot.h"

namespace meshwright {
namespace {

struct ReportCommand {
  std::vector<std::string> files;
  std::string page, csv, dot;
};

absl::StatusOr<ReportDocuments> ReadDocuments(const std::vector<std::string>& files) {
  ReportDocuments documents;
  for (const std::string& file : files) {
    MW_ASSIGN_OR_RETURN(const std::string text, ReadInput(file));
    MW_RETURN_IF_ERROR(AddDocument(text, file, documents));
  }
  return documents;
}

absl::StatusOr<Artefacts> TablesOf(const ReportDocuments& documents) {
  if (documents.plans.empty())
    return absl::InvalidArgumentError("--csv: none of the files is a plan");
  Artefacts files;
  for (CsvFile& file : CsvTables(documents)) {
    files.push_back({std::move(file.name), std::move(file.contents)});
  }
  return files;
}

absl::StatusOr<std::string> GraphOf(const ReportDocuments& documents) {
  if (documents.plans.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("--dot takes one plan, found ", documents.plans.size()));
  }
  const Plan& plan = documents.plans[0].second;
  if (ProgramsOf(plan).programs.empty()) {
    return absl::InvalidArgumentError(
        "--dot: the plan of a model has no program, and so no segments; --csv and -o show what it "
        "has");
  }
  return SegmentDot(plan);
}

absl::Status RunReport(const ReportCommand& command) {
  if (command.page.empty() && command.csv.empty() && command.dot.empty()) {
    return absl::InvalidArgumentError(
        "nothing to write; -o FILE writes the report, --csv FOLDER its tables, --dot FILE the "
        "graph of segments");
  }
  if (std::count(command.files.begin(), command.files.end(), "-") > 1) {
    return absl::InvalidArgumentError("- is named more than once; standard input has one document");
  }
  const OutputFile page = {"-o", command.page}, dot = {"--dot", command.dot};
  MW_RETURN_IF_ERROR(CheckOutputs({page, dot}, command.files));
  if (!command.csv.empty()) {
    MW_RETURN_IF_ERROR(CheckFolderApart({"--csv", command.csv}, {page, dot}));
    MW_RETURN_IF_ERROR(CheckArtefactFolder(command.csv, "--csv"));
  }
  if (!page.path.empty()) {
    MW_RETURN_IF_ERROR(CheckReportPage());
  }
  MW_ASSIGN_OR_RETURN(const ReportDocuments documents, ReadDocuments(command.files));
  StagedOutputs outputs;
  std::string text;
  if (!page.path.empty()) {
    const std::string html = ReportPage(documents);
    MW_RETURN_IF_ERROR(outputs.Add(page, html));
    absl::StrAppend(&text, "wrote ", page.path, ", ", BytesText(static_cast<int64_t>(html.size())),
                    "\n");
  }
  if (!dot.path.empty()) {
    MW_ASSIGN_OR_RETURN(const std::string graph, GraphOf(documents));
    MW_RETURN_IF_ERROR(outputs.Add(dot, graph));
    absl::StrAppend(&text, "wrote ", dot.path, "\n");
  }
  if (!command.csv.empty()) {
    MW_ASSIGN_OR_RETURN(const Artefacts tables, TablesOf(documents));
    MW_RETURN_IF_ERROR(outputs.AddFolder({"--csv", command.csv}, tables));
    absl::StrAppend(&text, "wrote ", command.csv, "\n");
    for (const Artefact& file : tables) absl::StrAppend(&text, "  ", file.name, "\n");
  }
  MW_RETURN_IF_ERROR(outputs.Commit());
  return PrintScreen(text);
}

}  // namespace

Action AddReportVerb(CLI::App& app) {
  auto command = std::make_shared<ReportCommand>();
  app.add_option("FILE", command->files,
                 "plans to show, and to compare; also what verify --json and plan --sweep --csv "
                 "write; - for standard input")
      ->required();
  AddOutputOption(app, "-o,--output", command->page,
                  "write the report here: one HTML file that opens without a network");
  AddOutputOption(app, "--csv", command->csv, "make this folder with every table of the plans");
  AddOutputOption(app, "--dot", command->dot,
                  "write the graph of the plan's segments here, for Graphviz");
  return [command] { return RunReport(*command); };
}

}  // namespace meshwright
