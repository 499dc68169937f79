#include "meshwright/profile/choice.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/status.h"

namespace meshwright {

std::string SegmentChoice::Key(const std::string& entry, const std::vector<std::string>& texts,
                               const std::string& exit) {
  return absl::StrCat(entry.empty() ? "-" : entry, " > ", absl::StrJoin(texts, " | "), " > ",
                      exit.empty() ? "-" : exit);
}

std::string ProfileMeshText(const Mesh& mesh) {
  return absl::StrJoin(mesh.axes, ",", [](std::string* out, const MeshAxis& axis) {
    absl::StrAppend(out, axis.name, "=", axis.size);
  });
}

absl::StatusOr<std::string> ProfileMeshText(std::string_view spec) {
  Cluster any;  // of as many devices
  MW_ASSIGN_OR_RETURN(any.devices_per_node, ParseMeshDevices(spec));
  MW_ASSIGN_OR_RETURN(const Mesh mesh, ParseMesh(spec, any));
  return ProfileMeshText(mesh);
}

ProfileKey ReshardingKey(const std::string& shape, const Mesh& mesh, const std::string& from,
                         const std::string& to) {
  return {absl::StrCat("reshard ", shape), ProfileMeshText(mesh), absl::StrCat(from, " > ", to)};
}

}  // namespace meshwright
