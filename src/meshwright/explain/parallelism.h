#ifndef MESHWRIGHT_EXPLAIN_PARALLELISM_H_
#define MESHWRIGHT_EXPLAIN_PARALLELISM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/explain/plan_part.h"

// What kind of parallelism a plan is, told from its shardings alone.
//
// An axis of the mesh plays one part for each weight. It is found at the operator that uses the
// weight first in the forward phase: a contraction (dot, convolution) if there is one, behind
// operators that only convert, transpose, slice or broadcast it.
//
//  * The operator needs the weight cut along the axis: the axis cuts a dimension that is summed
//  over
//    (tensor row), one that every other operand has too (expert), or one that only the weight has
//    (tensor column). Where the weight is used elementwise (a bias, the scale of a norm) there is
//    no telling these apart (tensor).
//  * It needs the weight whole along the axis, and the axis cuts the other operand or the result:
//    the batch (data), or another of its dimensions (sequence). If the weight is nevertheless kept
//    in parts along the axis, it is put together for its use (FSDP, ZeRO-3); if only its optimizer
//    state is, that is ZeRO-1.
//  * Else all devices of the axis do the same work (replicated), or keep a part each and put it
//    together for all (stored).
//
// Narayanan et al. 2021 (section 2.3) for column and row, Lepikhin et al. 2021 (GShard) for
// experts, Rajbhandari et al. 2020 for ZeRO's stages.

namespace meshwright {

enum class AxisRole : uint8_t {
  kReplicated,
  kData,
  kSequence,
  kColumn,
  kRow,
  kTensor,
  kExpert,
  kFsdp,
  kZero1,
  kStored,
};
// "replicated", "data", "sequence", "tensor column", "tensor row", "tensor", "expert", "FSDP",
// "ZeRO-1", "stored".
std::string_view AxisRoleName(AxisRole role);

// What a parameter of the program is to its parallelism.
struct ParameterParallelism {
  std::vector<AxisRole> roles;  // by axis of the mesh; kReplicated for axes of one device
  // Instruction that it was judged by, and the layer of that.
  std::optional<int64_t> use, layer;
  // Optimizer state: the parameter (position in the part's list) whose state it is.
  std::optional<size_t> state_of;
};

// By position in part.parameters. Optimizer state has the roles of its weight where it is cut like
// that, kFsdp or kZero1 where it is cut and the weight's use is not, kStored where its weight is
// cut otherwise or not at all. Inputs have kData for axes that cut their batch, kSequence for
// others. Linear in the program.
std::vector<ParameterParallelism> JudgeParameters(const PlanPart& part);

// Column and row are both tensor parallelism; the others stand for themselves.
AxisRole FamilyOf(AxisRole role);

// In the field's words: "data", "sequence", "tensor", "tensor column", "tensor row", "expert",
// "FSDP", "ZeRO-1"; "mixed" of several of these (column and row are both tensor); "replicated".
std::string KindName(const std::vector<AxisRole>& roles);
// "FSDP x, tensor column (y,z)"; "replicated".
std::string RolesText(const std::vector<AxisRole>& roles, const std::vector<PlanAxis>& mesh);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPLAIN_PARALLELISM_H_
