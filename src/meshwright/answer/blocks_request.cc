#include "meshwright/answer/blocks_request.h"

#include <utility>

#include "meshwright/base/status.h"
#include "meshwright/hlo/program/program.h"
#include "meshwright/profile/block_program.h"

namespace meshwright {

Options BlocksOptionRows(BlocksAsked& asked) {
  return {
      {"cluster",
       &asked.cluster,
       "devices, like 8xh100-sxm, or a YAML file",
       {.required = true, .takes = "CLUSTER"}},
      {"mesh", &asked.mesh, "logical mesh, 8, 2x4 or x=2,y=4", {.required = true, .takes = "MESH"}},
      {"json", &asked.json, "print JSON, with the names of all members", {.output = true}},
      {"emit",
       &asked.folder,
       "make this folder, with every kind of block under every strategy as a program with "
       "shardings",
       {.output = true}},
  };
}

absl::StatusOr<BlocksAnswer> FindBlocks(const Subject& subject, const BlocksAsked& asked) {
  MW_ASSIGN_OR_RETURN(const Cluster cluster, ParseCluster(asked.cluster));
  MW_ASSIGN_OR_RETURN(const Mesh mesh, ParseMesh(asked.mesh, cluster));
  MW_ASSIGN_OR_RETURN(Program program,
                      subject.contents.has_value()
                          ? ParseProgram(std::string(*subject.contents), subject.name)
                          : ReadProgram(subject.name));
  BlocksAnswer answer{.report = ReportBlocks(std::move(program), mesh), .files = {}};
  if (asked.folder.empty()) return answer;
  MW_ASSIGN_OR_RETURN(BlockPrograms made, MakeBlockPrograms(*answer.report.program.module, mesh));
  answer.files = {{"index.json", BlockProgramsIndex(made)}};
  for (size_t r = 0; r < made.rows.size(); ++r)
    answer.files.push_back({BlockProtoName(r), std::move(made.rows[r].job.job.proto)});
  return answer;
}

}  // namespace meshwright
