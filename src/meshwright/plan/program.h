#ifndef MESHWRIGHT_PLAN_PROGRAM_H_
#define MESHWRIGHT_PLAN_PROGRAM_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/hlo/module.h"
#include "meshwright/plan/plan.h"

namespace meshwright {

// A program as read: the module, its graph (which points into it), and where it came from.
struct Program {
  PlanInput input;
  std::unique_ptr<const Module> module;
  Graph graph;
};

// Reads HLO text or a binary HloModuleProto, either of them gzipped or not, told apart by content.
// "-" is standard input. Errors name the file, and line and column where there are some.
absl::StatusOr<Program> ReadProgram(const std::string& path);

// Bytes of the file at `path`, or of standard input up to its end if that is "-". A directory is an
// error.
absl::StatusOr<std::string> ReadInput(const std::string& path);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_PROGRAM_H_
