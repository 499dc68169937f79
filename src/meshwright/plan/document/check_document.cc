#include <limits>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/status.h"
#include "meshwright/cluster/cluster.h"
#include "meshwright/plan/document/document_checks.h"

namespace meshwright {
namespace {

absl::Status CheckInputs(const std::vector<InputFile>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string& hash = inputs[i].sha256;
    if (hash.size() == 64 && hash.find_first_not_of("0123456789abcdef") == std::string::npos)
      continue;
    return JsonErrorAt(StrCat("$.inputs[", i, "].sha256"), "expected 64 lower-case hex digits");
  }
  return absl::OkStatus();
}

absl::Status CheckCluster(const PlanCluster& cluster) {
  if (cluster.parts.empty())
    return JsonErrorAt("$.cluster.parts", "found none, expected at least one");
  for (size_t i = 0; i < cluster.parts.size(); ++i) {
    const PlanClusterPart& part = cluster.parts[i];
    const double devices =
        static_cast<double>(part.nodes) * static_cast<double>(part.devices_per_node);
    if (devices >= 1 && devices <= kMaxDevices) continue;
    return JsonErrorAt(StrCat("$.cluster.parts[", i, "]"), "found ", Counted(part.nodes, "node"),
                       " of ", Counted(part.devices_per_node, "device"), ", expected from 1 to ",
                       kMaxDevices, " devices");
  }
  return absl::OkStatus();
}

// A plan has the parts of its kind and no others.
absl::Status CheckParts(const Plan& plan) {
  const PlanKind kind = plan.kind();
  if (kind != PlanKind::kProgram && !plan.program.empty()) {
    return JsonErrorAt("$", "found a program beside ",
                       plan.of_model() ? "a model" : "the stages, which have their own",
                       "; expected collectives, parameters, outputs, op_names, source_files and "
                       "instructions to be empty and memory_timeline to be null");
  }
  if (kind == PlanKind::kModel && plan.pipeline.has_value())
    return JsonErrorAt("$.stages", "found some, but a model has them over groups of nodes only");
  if (!plan.pipeline.has_value() && plan.cluster.parts.size() > 1)
    return JsonErrorAt("$.cluster.parts", "found several, expected one as there are no stages");
  return absl::OkStatus();
}

// Tables add these up.
absl::Status CheckParameterBytes(const Plan& plan) {
  int64_t left = std::numeric_limits<int64_t>::max();
  for (size_t i = 0; i < plan.program.parameters.size(); ++i) {
    const int64_t bytes = plan.program.parameters[i].bytes_per_device;
    if (bytes > left) {
      return JsonErrorAt(absl::StrCat("$.parameters[", i, "].bytes_per_device"),
                         "the parameters are more than 2^63 - 1 bytes together");
    }
    left -= bytes;
  }
  return absl::OkStatus();
}

// The degrees are those of the cluster, and every pipeline group has its memory.
absl::Status CheckTransformer(const Plan& plan) {
  const transformer::Configuration& degrees = plan.model->configuration;
  const size_t groups = plan.model->memory.size();
  if (groups == 0 || static_cast<double>(groups) != static_cast<double>(degrees.pp)) {
    return JsonErrorAt("$.transformer.memory",
                       StrCat("found ", Counted(static_cast<int64_t>(groups), "group"),
                              ", but pp is ", degrees.pp));
  }
  if (plan.kind() == PlanKind::kGroups) return CheckOverGroups(plan);
  double gpus = 1;
  for (const int64_t degree : {degrees.tp, degrees.cp, degrees.dp, degrees.pp}) {
    gpus *= static_cast<double>(degree);
  }
  const auto devices = static_cast<double>(plan.cluster.parts[0].devices());
  if (gpus == devices) return absl::OkStatus();
  return JsonErrorAt("$.transformer.configuration",
                     absl::StrFormat("tp x cp x dp x pp is %.0f, but the cluster has %.0f devices",
                                     gpus, devices));
}

// Of something with basis, occurrences and samples.
template <typename Part>
absl::Status CheckBasis(const Part& part, const std::string& path) {
  if ((part.basis == PlanBasis::kMeasured) != (part.samples > 0)) {
    return JsonErrorAt(StrCat(path, ".samples"), "found ", part.samples, ", though ",
                       Word(part.basis));
  }
  if (part.occurrences >= 1) return absl::OkStatus();
  return JsonErrorAt(StrCat(path, ".occurrences"), "found 0, expected at least 1");
}

absl::Status CheckProfile(const Plan& plan) {
  if (!plan.profile.has_value()) {
    return plan.segments.empty()
               ? absl::OkStatus()
               : JsonErrorAt("$.segments", "found some, but there is no key \"profile\"");
  }
  for (size_t i = 0; i < plan.segments.size(); ++i)
    MW_RETURN_IF_ERROR(CheckBasis(plan.segments[i], absl::StrCat("$.segments[", i, "]")));
  const std::vector<PlanBorderMove>& moves = plan.profile->moves;
  for (size_t i = 0; i < moves.size(); ++i)
    MW_RETURN_IF_ERROR(CheckBasis(moves[i], absl::StrCat("$.profile.moves[", i, "]")));
  if (plan.profile->step.has_value() && plan.profile->step->samples < 1)
    return JsonErrorAt("$.profile.step.samples", "found 0, expected at least 1");
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckMeshAxes(const std::vector<PlanAxis>& mesh, const std::string& path) {
  absl::flat_hash_set<std::string_view> names;
  for (size_t i = 0; i < mesh.size(); ++i) {
    if (mesh[i].size < 1)
      return JsonErrorAt(StrCat(path, ".axes[", i, "].size"), "found 0, expected at least 1");
    if (!names.insert(mesh[i].name).second)
      return JsonErrorAt(path, "two axes have the name \"", mesh[i].name, "\"");
  }
  return absl::OkStatus();
}

absl::Status CheckDocument(const Plan& plan) {
  MW_RETURN_IF_ERROR(CheckInputs(plan.inputs));
  MW_RETURN_IF_ERROR(CheckCluster(plan.cluster));
  MW_RETURN_IF_ERROR(CheckParts(plan));
  MW_RETURN_IF_ERROR(CheckMeshAxes(plan.mesh, "$.mesh"));
  MW_RETURN_IF_ERROR(CheckProgram(plan.mesh, plan.program, "$"));
  MW_RETURN_IF_ERROR(CheckParameterBytes(plan));
  if (plan.pipeline.has_value()) MW_RETURN_IF_ERROR(CheckPipeline(plan));
  if (plan.of_model()) MW_RETURN_IF_ERROR(CheckTransformer(plan));
  MW_RETURN_IF_ERROR(CheckAmounts(plan));
  return CheckProfile(plan);
}

}  // namespace meshwright
