#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "meshwright/answer/blocks_request.h"
#include "meshwright/base/status.h"
#include "meshwright/cli/add_options.h"
#include "meshwright/cli/message.h"
#include "meshwright/cli/option_checks.h"
#include "meshwright/cli/output.h"
#include "meshwright/cli/verb.h"
#include "meshwright/export/artefact_folder.h"

namespace meshwright {
namespace {

struct BlocksCommand {
  std::string program;
  BlocksAsked asked;
};

absl::Status RunBlocks(const BlocksCommand& command) {
  const std::string& folder = command.asked.folder;
  if (!folder.empty()) MW_RETURN_IF_ERROR(CheckArtefactFolder(folder, "--emit"));
  MW_ASSIGN_OR_RETURN(const BlocksAnswer answer, FindBlocks({command.program}, command.asked));
  if (!folder.empty()) MW_RETURN_IF_ERROR(WriteArtefactFolder(folder, answer.files, "--emit"));
  return command.asked.json ? PrintOutput(BlocksJson(answer.report))
                            : PrintScreen(BlocksTable(answer.report));
}

}  // namespace

Action AddBlocksVerb(CLI::App& app) {
  const auto command = std::make_shared<BlocksCommand>();
  app.add_option("PROGRAM", command->program,
                 "HLO text, HloModuleProto or StableHLO, also gzipped; - for standard input")
      ->required()
      ->check(IsFileOf(WantedFile::kProgram));
  AddOptions(app, BlocksOptionRows(command->asked));
  return [command] { return RunBlocks(*command); };
}

}  // namespace meshwright
