#include "meshwright/explain/parameter_groups.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/strings.h"
#include "meshwright/plan/document/spec_text.h"
#include "meshwright/plan/text/folded_names.h"

namespace meshwright {
namespace {

class ParameterGrouper {
 public:
  void Add(const JudgedPart& in) {
    for (size_t p = 0; p < in.part.parameters.size(); ++p) {
      if (in.part.received[p]) continue;
      for (size_t m = 0; m < in.part.members(); ++m) Add(in, p, m);
    }
  }

  std::vector<ParameterGroup> Take() {
    for (size_t i = 0; i < groups_.size(); ++i) {
      groups_[i].name = names_[i].text();
      groups_[i].exact = names_[i].exact();
      groups_[i].count = names_[i].names();
    }
    const auto rank = [](const ParameterGroup& group) {
      return group.category == MemoryCategory::kParameters ? 0
             : group.category == MemoryCategory::kInputs   ? 1
                                                           : 2;
    };
    std::stable_sort(
        groups_.begin(), groups_.end(), [&](const ParameterGroup& a, const ParameterGroup& b) {
          return rank(a) != rank(b) ? rank(a) < rank(b) : a.whole_bytes > b.whole_bytes;
        });
    return std::move(groups_);
  }

 private:
  void Add(const JudgedPart& in, size_t p, size_t member) {
    const PlanPart& part = in.part;
    const PlanTensor& tensor = part.parameters[p];
    const std::string& name = part.ParameterName(member, p);
    std::string roles = RolesText(in.judged[p].roles, part.mesh);
    const std::string key =
        StrCat(FoldedName::Key(name), "|", tensor.dtype, "|", absl::StrJoin(tensor.shape, ","), "|",
               SpecText(tensor.spec), "|", roles, "|", Word(tensor.category));
    const auto [it, inserted] = index_.try_emplace(key, groups_.size());
    if (inserted) {
      names_.emplace_back();
      ParameterGroup& group = groups_.emplace_back();
      group.type = {tensor.dtype, tensor.shape};
      group.spec = tensor.spec;
      group.category = tensor.category;
      group.roles = in.judged[p].roles;
      group.parallelism = std::move(roles);
      double devices = 1;
      for (const PlanAxis& axis : part.mesh) devices *= static_cast<double>(axis.size);
      group.replicas = devices / DevicesOf(part, AxesOfSpec(tensor.spec));
    }
    names_[it->second].Add(name);
    ParameterGroup& group = groups_[it->second];
    if (member == 0) group.bytes += static_cast<double>(tensor.bytes_per_device);
    group.whole_bytes += WholeBytes(part, tensor);
  }

  std::vector<ParameterGroup> groups_;
  std::vector<FoldedName> names_;
  absl::flat_hash_map<std::string, size_t> index_;
};

}  // namespace

double WholeBytes(const PlanPart& part, const PlanTensor& tensor) {
  return static_cast<double>(tensor.bytes_per_device) * DevicesOf(part, AxesOfSpec(tensor.spec));
}

std::vector<ParameterGroup> GroupParameters(const std::vector<JudgedPart>& parts) {
  ParameterGrouper grouper;
  for (const JudgedPart& part : parts) grouper.Add(part);
  return grouper.Take();
}

}  // namespace meshwright
