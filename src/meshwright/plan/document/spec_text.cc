#include "meshwright/plan/document/spec_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace meshwright {

std::string SpecText(const PlanSpec& spec) {
  std::string text = "[";
  for (size_t d = 0; d < spec.size(); ++d) {
    if (d > 0) absl::StrAppend(&text, ",");
    if (spec[d].empty()) {
      absl::StrAppend(&text, "_");
    } else if (spec[d].size() == 1) {
      absl::StrAppend(&text, spec[d][0]);
    } else {
      absl::StrAppend(&text, "(", absl::StrJoin(spec[d], ","), ")");
    }
  }
  return absl::StrCat(text, "]");
}

std::string MeshText(const std::vector<PlanAxis>& mesh) {
  return absl::StrJoin(mesh, ",", [](std::string* out, const PlanAxis& axis) {
    absl::StrAppend(out, axis.name, "=", axis.size);
  });
}

std::string TypeText(const PlanType& type) {
  return absl::StrCat(type.dtype, "[", absl::StrJoin(type.shape, ","), "]");
}

std::string CategoryText(MemoryCategory category) {
  return absl::StrReplaceAll(kWords<MemoryCategory>[static_cast<size_t>(category)].data(),
                             {{"_", " "}});
}

}  // namespace meshwright
