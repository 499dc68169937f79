#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/status.h"
#include "meshwright/cli/message.h"
#include "meshwright/cli/output.h"
#include "meshwright/cli/verb.h"
#include "meshwright/export/artefact_folder.h"
#include "meshwright/plan/text/blocks_report.h"
#include "meshwright/profile/block_program.h"

namespace meshwright {
namespace {

struct BlocksCommand {
  std::string program, cluster, mesh;
  std::string folder;  // for programs of blocks; empty: none
  bool json = false;
};

// Before long work.
absl::Status CheckEmission(const BlocksCommand& command) {
  if (command.folder.empty()) return absl::OkStatus();
  if (command.program == "-") {
    return absl::InvalidArgumentError("--emit reads the program a second time: name a file");
  }
  return CheckArtefactFolder(command.folder, "--emit");
}

absl::Status EmitBlocks(const BlocksCommand& command) {
  MW_ASSIGN_OR_RETURN(BlockPrograms programs,
                      MakeBlockPrograms(command.program, command.cluster, command.mesh));
  Artefacts files = {{"index.json", BlockProgramsIndex(programs)}};
  for (size_t r = 0; r < programs.rows.size(); ++r)
    files.push_back({BlockProtoName(r), std::move(programs.rows[r].job.job.proto)});
  return WriteArtefactFolder(command.folder, files, "--emit");
}

absl::Status RunBlocks(const BlocksCommand& command) {
  MW_RETURN_IF_ERROR(CheckEmission(command));
  MW_ASSIGN_OR_RETURN(const BlocksReport report,
                      ReportBlocks(command.program, command.cluster, command.mesh));
  if (!command.folder.empty()) MW_RETURN_IF_ERROR(EmitBlocks(command));
  return command.json ? PrintOutput(BlocksJson(report)) : PrintScreen(BlocksTable(report));
}

}  // namespace

Action AddBlocksVerb(CLI::App& app) {
  const auto command = std::make_shared<BlocksCommand>();
  app.add_option("PROGRAM", command->program,
                 "HLO text, HloModuleProto or StableHLO, also gzipped; - for standard input")
      ->required();
  app.add_option("--cluster", command->cluster, "devices, like 8xh100-sxm, or a YAML file")
      ->required();
  app.add_option("--mesh", command->mesh, "logical mesh, 8, 2x4 or x=2,y=4")->required();
  app.add_flag("--json", command->json, "print JSON, with the names of all members");
  AddOutputOption(app, "--emit", command->folder,
                  "make this folder, with every kind of block under every strategy as a program "
                  "with shardings");
  return [command] { return RunBlocks(*command); };
}

}  // namespace meshwright
