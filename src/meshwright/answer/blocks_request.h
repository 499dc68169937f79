#ifndef MESHWRIGHT_ANSWER_BLOCKS_REQUEST_H_
#define MESHWRIGHT_ANSWER_BLOCKS_REQUEST_H_

#include <string>

#include "absl/status/statusor.h"
#include "meshwright/export/artefact.h"
#include "meshwright/plan/text/blocks_report.h"
#include "meshwright/request/option.h"
#include "meshwright/request/subject.h"

namespace meshwright {

// What `blocks` is asked of a program.
struct BlocksAsked {
  std::string cluster, mesh;
  std::string folder;  // for programs of blocks; empty: none
  bool json = false;
};
Options BlocksOptionRows(BlocksAsked& asked);

struct BlocksAnswer {
  BlocksReport report;
  Artefacts files;  // if a folder is asked for, what goes into it: docs/blocks.md
};

// `program`: its name or path, and what it holds where that is not to be read. Errors: of the
// program, the cluster or the mesh.
absl::StatusOr<BlocksAnswer> FindBlocks(const Subject& program, const BlocksAsked& asked);

}  // namespace meshwright

#endif  // MESHWRIGHT_ANSWER_BLOCKS_REQUEST_H_
