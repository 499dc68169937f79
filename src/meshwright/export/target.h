#ifndef MESHWRIGHT_EXPORT_TARGET_H_
#define MESHWRIGHT_EXPORT_TARGET_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/export/artefact.h"
#include "meshwright/export/export_options.h"
#include "meshwright/export/findings.h"
#include "meshwright/export/model_launch.h"
#include "meshwright/plan/document/plan.h"

// Frameworks that plans are launched with, one row and one source file each.

namespace meshwright {

// Plans over groups of nodes (StagesOverGroups) that a target takes.
enum class TakesGroups {
  kNone,
  kAlike,  // stages with the same degrees, as many processes on every node, ranks along the
           // pipeline
  kAny,
};

struct ExportTarget {
  const char* name;
  const char* summary;
  // Of plans of models; null where those of programs are taken. Which rules keep the framework from
  // running the model at all, and from running it in a configuration.
  void (*check_model)(const ModelLaunch& launch, Findings& findings);
  void (*check_configuration)(const ModelLaunch& launch, const transformer::Configuration& c,
                              Findings& findings);
  // Both checks have passed.
  absl::StatusOr<Artefacts> (*write_model)(const ModelLaunch& launch, const ExportOptions& options);
  // Of plans of programs; null where those of models are taken.
  absl::StatusOr<Artefacts> (*write_program)(const Plan& plan, const ExportOptions& options);
  std::vector<std::string>
      options;  // of the command line that it reads, beside those of all targets
  TakesGroups groups = TakesGroups::kNone;
  bool writes_state = false;  // the types of gradients and moments, and the fused loss
  // Whether it runs a configuration by a program of the user's own only; null: never.
  bool (*needs_script)(const ModelLaunch& launch, const transformer::Configuration& c) = nullptr;
};

// Every target, in the order of --help.
const std::vector<ExportTarget>& ExportTargets();
std::string ExportTargetNames();  // "megatron, torchtitan, ..."
// An error names the nearest and all others; `option` is where the name was given.
absl::StatusOr<const ExportTarget*> FindExportTarget(std::string_view name,
                                                     std::string_view option = "--to");
// Whether the target can express the launch's model in some configuration. An error says which
// rules it breaks, and which targets take it.
absl::Status CheckTargetTakesModel(const ModelLaunch& launch, const ExportTarget& target,
                                   std::string_view option);

// The targets that launch `plan` as it is, without further options, in their order, that of the
// framework by which the plan was costed first.
std::vector<std::string> TargetsThatLaunch(const Plan& plan);

// The artefacts of `plan` (of its best configuration, or with `alternative` of another). A plan
// that the target cannot express is an invalid argument that names the rules and the nearest plan
// that it can.
absl::StatusOr<Artefacts> ExportPlan(const Plan& plan, const ExportTarget& target,
                                     int64_t alternative, const ExportOptions& options);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPORT_TARGET_H_
