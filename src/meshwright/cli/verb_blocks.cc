#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "meshwright/base/status.h"
#include "meshwright/cli/output.h"
#include "meshwright/cli/verb.h"
#include "meshwright/plan/blocks_report.h"

namespace meshwright {
namespace {

struct BlocksCommand {
  std::string program, cluster, mesh;
  bool json = false;
};

absl::Status RunBlocks(const BlocksCommand& command) {
  MW_ASSIGN_OR_RETURN(const BlocksReport report,
                      ReportBlocks(command.program, command.cluster, command.mesh));
  return PrintOutput(command.json ? BlocksJson(report) : BlocksTable(report));
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
  return [command] { return RunBlocks(*command); };
}

}  // namespace meshwright
