#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/stablehlo/lowering.h"
#include "meshwright/hlo/stablehlo/mlir_literal.h"

// Collectives, which only programs have that are partitioned already (partitioned.h). They are read
// so far that these are recognised as those in HLO are.

namespace meshwright {
namespace {

// `dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>` as `{{0,1},{2,3}}`; -1 fills up shorter groups.
absl::StatusOr<std::string> GroupsText(StablehloLowering& l, const MlirAttribute& groups) {
  MW_ASSIGN_OR_RETURN(const std::vector<int64_t> numbers, l.ToIntegers(groups));
  const std::vector<int64_t>& dims = groups.type.dims;
  const size_t width = dims.size() == 2 ? static_cast<size_t>(dims[1]) : numbers.size();
  std::vector<std::string> texts;
  for (size_t begin = 0; width > 0 && begin < numbers.size(); begin += width) {
    std::vector<int64_t> group;
    for (size_t i = begin; i < std::min(begin + width, numbers.size()); ++i) {
      if (numbers[i] >= 0) group.push_back(numbers[i]);
    }
    texts.push_back(StrCat("{", absl::StrJoin(group, ","), "}"));
  }
  return StrCat("{", absl::StrJoin(texts, ","), "}");
}

absl::Status LowerCollective(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  MW_ASSIGN_OR_RETURN(Instruction collective, l.Prepare(operation, opcode));
  if (const MlirAttribute* const channel = operation.Find("channel_handle")) {
    const MlirAttribute* const handle = channel->Find("handle");
    collective.other.emplace_back("channel_id", StrCat(handle == nullptr ? 1 : handle->integer));
  }
  for (const std::string_view name : {"replica_groups", "source_target_pairs"}) {
    const MlirAttribute* const groups = operation.Find(name);
    if (groups == nullptr) continue;
    // Groups along the axes of a mesh have a text of their own.
    std::string text(groups->text);
    if (groups->kind == MlirAttribute::Kind::kElements) {
      MW_ASSIGN_OR_RETURN(text, GroupsText(l, *groups));
    }
    collective.other.emplace_back(name, std::move(text));
  }
  if (l.IntegerOr(operation, "use_global_device_ids", 0) != 0) {
    collective.other.emplace_back("use_global_device_ids", "true");
  }
  for (const std::string_view name : {"all_gather_dim", "scatter_dimension", "split_dimension"}) {
    const int64_t dimension = l.IntegerOr(operation, name, -1);
    if (dimension >= 0) collective.dimensions = {dimension};
  }
  if (operation.regions.empty()) return l.Emit(operation, std::move(collective));
  return LowerWithReducer(l, operation, std::move(collective));
}

constexpr StablehloOperation kCollectiveOperations[] = {
    {"stablehlo.all_gather", Opcode::kAllGather, LowerCollective},
    {"stablehlo.all_reduce", Opcode::kAllReduce, LowerCollective},
    {"stablehlo.all_to_all", Opcode::kAllToAll, LowerCollective},
    {"stablehlo.collective_broadcast", Opcode::kCollectiveBroadcast, LowerCollective},
    {"stablehlo.collective_permute", Opcode::kCollectivePermute, LowerCollective},
    {"stablehlo.collective_reduce", Opcode::kAllReduce, LowerCollective},
    {"stablehlo.cross-replica-sum", Opcode::kAllReduce, LowerCollective},
    {"stablehlo.reduce_scatter", Opcode::kReduceScatter, LowerCollective},
};

}  // namespace

absl::Span<const StablehloOperation> StablehloCollectiveOperations() {
  return kCollectiveOperations;
}

}  // namespace meshwright
