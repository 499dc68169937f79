#include "meshwright/sharding/sdy_sharding.h"

#include "absl/strings/str_join.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

std::string AxesText(const AxisList& axes, const Mesh& mesh) {
  return StrCat("{",
                absl::StrJoin(axes, ", ",
                              [&](std::string* out, AxisIndex axis) {
                                StrAppend(out, "\"", mesh.axes[axis].name, "\"");
                              }),
                "}");
}

}  // namespace

std::string SdyMeshText(const Mesh& mesh) {
  return StrCat("<[",
                absl::StrJoin(mesh.axes, ", ",
                              [](std::string* out, const MeshAxis& axis) {
                                StrAppend(out, "\"", axis.name, "\"=", axis.size);
                              }),
                "]>");
}

std::string SdyShardingText(const Sharding& sharding, const Mesh& mesh,
                            std::string_view mesh_name) {
  std::string text = StrCat("<@", mesh_name, ", [",
                            absl::StrJoin(sharding.dims, ", ",
                                          [&](std::string* out, const AxisList& axes) {
                                            StrAppend(out, AxesText(axes, mesh));
                                          }),
                            "]");
  if (!sharding.unreduced.empty()) {
    StrAppend(&text, ", unreduced=", AxesText(sharding.unreduced, mesh));
  }
  return StrCat(text, ">");
}

std::string OpenSdyShardingText(int64_t rank, std::string_view mesh_name) {
  std::string text = StrCat("<@", mesh_name, ", [");
  for (int64_t d = 0; d < rank; ++d) StrAppend(&text, d == 0 ? "{?}" : ", {?}");
  return StrCat(text, "]>");
}

}  // namespace meshwright
