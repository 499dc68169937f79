#ifndef MESHWRIGHT_PLAN_DOCUMENT_DOCUMENT_CHECKS_H_
#define MESHWRIGHT_PLAN_DOCUMENT_DOCUMENT_CHECKS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/plan/document/plan.h"

// What holds in a plan of which every member has been read, beyond what the types say. Errors begin
// with the JSON path: "$.stages[3].mesh: ...".

namespace meshwright {

// Everything that is here.
absl::Status CheckDocument(const Plan& plan);

// Axes named in specs and collectives are those of `mesh`, each once in one array; a spec has the
// dimensions of its shape; positions of instructions, names and files are those of the lists that
// they point into. `path`: of what has the program.
absl::Status CheckProgram(const std::vector<PlanAxis>& mesh, const ProgramPart& program,
                          const std::string& path);
// Of a mesh at `path`: every axis has a size and a name of its own.
absl::Status CheckMeshAxes(const std::vector<PlanAxis>& mesh, const std::string& path);
// Of plans with a pipeline.
absl::Status CheckPipeline(const Plan& plan);
// Of plans over groups of nodes: every stage is on a group that has nodes, and the parts of the
// cluster are the groups that do.
absl::Status CheckOverGroups(const Plan& plan);
// Figures are ones that a plan can have.
absl::Status CheckAmounts(const Plan& plan);

template <typename... Pieces>
absl::Status JsonErrorAt(absl::string_view path, const Pieces&... message) {
  return absl::InvalidArgumentError(StrCat(path, ": ", message...));
}

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_DOCUMENT_DOCUMENT_CHECKS_H_
