#include "meshwright/hlo/text/attribute_order.h"

#include <iterator>

namespace meshwright {
namespace {

// An attribute's place in the order. Rows with a condition hold only for instructions that meet it;
// the first row that holds counts.
struct Place {
  std::string_view name;
  bool (*holds)(const Instruction& instruction) = nullptr;
};

bool IsAllGather(const Instruction& i) {
  return i.opcode == Opcode::kAllGather || i.opcode == Opcode::kAllGatherStart;
}
bool IsNoAsyncStart(const Instruction& i) { return !OpcodeName(i.opcode).ends_with("-start"); }

// Attributes that are not listed print where kUnlisted stands.
constexpr std::string_view kUnlisted = "*";

constexpr Place kPrintOrder[] = {
    {"index"},
    {"parameter_replication"},
    {"iota_dimension"},
    // Communication.
    {"channel_id"},
    {"is_host_transfer"},
    {"replica_groups"},
    {"source_target_pairs"},
    {"collective_device_list"},
    {"constrain_layout"},
    {"dimensions", IsAllGather},
    {"use_global_device_ids"},
    // Dimensions of the data.
    {"dimensions"},
    {"is_stable"},
    {"direction"},
    {"type"},
    {"slice"},
    {"dynamic_slice_sizes"},
    {"padding"},
    {"window"},
    {"dim_labels"},
    {"feature_group_count"},
    {"batch_group_count"},
    {"lhs_batch_dims"},
    {"lhs_contracting_dims"},
    {"rhs_batch_dims"},
    {"rhs_contracting_dims"},
    {"lhs_ragged_dims"},
    {"rhs_group_dims"},
    {"operand_precision"},
    {"algorithm"},
    {"offset_dims"},
    {"collapsed_slice_dims"},
    {"start_index_map"},
    {"operand_batching_dims"},
    {"start_indices_batching_dims"},
    {"update_window_dims"},
    {"inserted_window_dims"},
    {"scatter_dims_to_operand_dims"},
    {"input_batching_dims"},
    {"scatter_indices_batching_dims"},
    {"index_vector_dim"},
    {"slice_sizes"},
    {"indices_are_sorted"},
    {"unique_indices"},
    {"kind"},
    {"padding_type"},
    {"custom_call_target"},
    {"operand_layout_constraints"},
    {"custom_call_has_side_effect"},
    {"literal"},
    {"output_to_operand_aliasing", IsNoAsyncStart},
    {"schedule"},
    {"api_version"},
    {kUnlisted},
    // Called computations.
    {"condition"},
    {"body"},
    {"select"},
    {"scatter"},
    {"true_computation"},
    {"false_computation"},
    {"branch_computations"},
    {"called_computations"},
    {"calls"},
    {"to_apply"},
    {"is_composite"},
    {"output_to_operand_aliasing"},
    {"async_execution_thread"},
    // For all opcodes.
    {"sharding"},
    {"frontend_attributes"},
    {"control-predecessors"},
    {"statistics"},
    {"origin"},
    {"original_value"},
    {"metadata"},
    {"backend_config"},
};

}  // namespace

int AttributeRank(const Instruction& instruction, std::string_view name) {
  int unlisted = 0;
  for (size_t i = 0; i < std::size(kPrintOrder); ++i) {
    const Place& place = kPrintOrder[i];
    if (place.name == kUnlisted) unlisted = static_cast<int>(i);
    if (place.name == name && (place.holds == nullptr || place.holds(instruction))) {
      return static_cast<int>(i);
    }
  }
  return unlisted;
}

}  // namespace meshwright
