#ifndef MESHWRIGHT_EXPORT_LAUNCH_FILTER_H_
#define MESHWRIGHT_EXPORT_LAUNCH_FILTER_H_

#include <functional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/export/model_launch.h"
#include "meshwright/export/target.h"

// Planning for certain targets: `plan --for megatron,nemo`.

namespace meshwright {

// The targets of a list "megatron,nemo". Errors: one that there is not, is there twice, or takes
// plans of programs only.
absl::StatusOr<std::vector<const ExportTarget*>> ParseLaunchTargets(std::string_view list);

// Whether all of them can express a configuration of a model, on as many GPUs as it has. `launch`:
// the model, its batch and the kinds of nodes; the rest is not used. Errors: one cannot express the
// model at all; the message says why, and which targets can.
absl::StatusOr<std::function<bool(const transformer::Configuration&)>> LaunchFilter(
    const std::vector<const ExportTarget*>& targets, ModelLaunch launch);

// The targets of frameworks that take the launch's model and state in some configuration.
std::vector<const ExportTarget*> TargetsOfFrameworks(const ModelLaunch& launch);

// Whether one of `targets` runs a configuration by what `export` writes alone, or, of a model for
// which it writes no program, with one of the user's own: `plan --for any`.
std::function<bool(const transformer::Configuration&)> AnyLaunchFilter(
    const std::vector<const ExportTarget*>& targets, ModelLaunch launch);

// Whether the target, which launches `plan`, runs it by a program of the user's own only.
bool RunsOwnProgram(const Plan& plan, const ExportTarget& target);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPORT_LAUNCH_FILTER_H_
