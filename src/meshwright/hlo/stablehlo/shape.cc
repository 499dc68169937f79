#include <algorithm>
#include <utility>

#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/element_value.h"
#include "meshwright/hlo/stablehlo/lowering.h"
#include "meshwright/hlo/stablehlo/mlir_literal.h"

// Constants, and operations that move elements about.

namespace meshwright {
namespace {

absl::Status LowerConstant(StablehloLowering& l, const MlirOperation& operation, Opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, 0, 1, 0));
  const MlirAttribute* const value = operation.Find("value");
  if (value == nullptr || value->kind != MlirAttribute::Kind::kElements) {
    return l.Error(operation, "lacks its value, dense<...>");
  }
  const Shape& shape = l.Type(operation.results[0]);
  if (value->type != shape) {
    return l.Error(operation, StrCat("the value is ", value->type.ToString(false), ", the result ",
                                     shape.ToString(false)));
  }
  MW_ASSIGN_OR_RETURN(MlirElements elements, ReadMlirElements(*value, l.text(), l.file_name()));
  const Metadata metadata = l.MetadataOf(operation);
  ComputationBuilder& builder = l.builder();
  const InstructionId id =
      elements.splat ? builder.AddFilled(shape, std::move(elements.literal.data), metadata)
                     : builder.AddConstant(shape, std::move(elements.literal), metadata);
  l.Bind(operation.results[0], id);
  return absl::OkStatus();
}

// `chlo.constant_like(%a) <{value = 1.0 : f32}>`
absl::Status LowerConstantLike(StablehloLowering& l, const MlirOperation& operation, Opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, 1, 1, 0));
  MW_RETURN_IF_ERROR(l.ExpectArray(operation, operation.results[0]));
  const MlirAttribute* const value = operation.Find("value");
  const Shape& shape = l.Type(operation.results[0]);
  std::string element;
  if (value == nullptr || !AppendElement(shape.type, value->text, element)) {
    return l.Error(operation, StrCat("lacks its value, a number of ", ElementTypeName(shape.type)));
  }
  l.Bind(operation.results[0],
         l.builder().AddFilled(shape, std::move(element), l.MetadataOf(operation)));
  return absl::OkStatus();
}

// Adds dimensions in front.
absl::Status LowerBroadcast(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, 1, 1, 0));
  MW_RETURN_IF_ERROR(l.ExpectArray(operation, operation.operands[0]));
  MW_ASSIGN_OR_RETURN(Instruction broadcast, l.Prepare(operation, opcode));
  const int64_t rank = l.OperandType(operation, 0).rank();
  for (int64_t d = broadcast.shape.rank() - rank; d < broadcast.shape.rank(); ++d) {
    broadcast.dimensions.push_back(d);
  }
  return l.Emit(operation, std::move(broadcast));
}

// HLO counts along one dimension; the others are broadcast.
absl::Status LowerIota(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, 0, 1, 0));
  MW_RETURN_IF_ERROR(l.ExpectArray(operation, operation.results[0]));
  MW_ASSIGN_OR_RETURN(const int64_t dimension, l.Integer(operation, {"dim", "iota_dimension"}));
  MW_ASSIGN_OR_RETURN(Instruction iota, l.Prepare(operation, opcode));
  const Shape shape = iota.shape;
  if (dimension < 0 || dimension >= shape.rank()) {
    return l.Error(operation, StrCat("dimension ", dimension, " of ", shape.ToString(false)));
  }
  iota.iota_dimension = 0;
  if (shape.rank() == 1) return l.Emit(operation, std::move(iota));
  const Metadata metadata = iota.metadata;
  std::string sharding = std::exchange(iota.sharding, {});
  iota.shape.dims = {shape.dims[static_cast<size_t>(dimension)]};
  const InstructionId count = l.builder().Add(std::move(iota));
  const InstructionId id = l.builder().AddBroadcastInDim(count, shape, {dimension}, metadata);
  l.builder()[id].sharding = std::move(sharding);
  l.Bind(operation.results[0], id);
  return absl::OkStatus();
}

absl::Status LowerBroadcastInDim(StablehloLowering& l, const MlirOperation& operation, Opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, 1, 1, 0));
  MW_RETURN_IF_ERROR(l.ExpectArray(operation, operation.operands[0]));
  MW_RETURN_IF_ERROR(l.ExpectArray(operation, operation.results[0]));
  const Shape& from = l.OperandType(operation, 0);
  const Shape& to = l.Type(operation.results[0]);
  MW_ASSIGN_OR_RETURN(const std::vector<int64_t> dims,
                      l.RequiredIntegers(operation, {"dims", "broadcast_dimensions"}, from.rank()));
  std::vector<int64_t> sorted = dims;
  std::sort(sorted.begin(), sorted.end());
  bool fits =
      from.type == to.type && std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
  for (size_t i = 0; i < dims.size() && fits; ++i) {
    fits = dims[i] >= 0 && dims[i] < to.rank() &&
           (from.dims[i] == 1 || from.dims[i] == to.dims[static_cast<size_t>(dims[i])]);
  }
  if (!fits) {
    return l.Error(operation, StrCat("cannot make ", to.ToString(false), " of ",
                                     from.ToString(false), " along these dimensions"));
  }
  MW_ASSIGN_OR_RETURN(const Instruction prepared, l.Prepare(operation, Opcode::kBroadcast));
  ComputationBuilder& builder = l.builder();
  const size_t before = builder.size();
  const InstructionId id =
      builder.AddBroadcastInDim(prepared.operands[0], to, dims, prepared.metadata);
  if (id.index() >= before) {
    builder[id].sharding = prepared.sharding;
    builder[id].place = prepared.place;
  }
  l.Bind(operation.results[0], id);
  return absl::OkStatus();
}

absl::Status LowerTranspose(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, 1, 1, 0));
  MW_ASSIGN_OR_RETURN(Instruction transpose, l.Prepare(operation, opcode));
  MW_ASSIGN_OR_RETURN(transpose.dimensions, l.RequiredIntegers(operation, {"dims", "permutation"},
                                                               l.OperandType(operation, 0).rank()));
  return l.Emit(operation, std::move(transpose));
}

absl::Status LowerConcatenate(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, -1, 1, 0));
  MW_ASSIGN_OR_RETURN(Instruction concatenate, l.Prepare(operation, opcode));
  MW_ASSIGN_OR_RETURN(concatenate.dimensions.emplace_back(),
                      l.Integer(operation, {"dim", "dimension"}));
  return l.Emit(operation, std::move(concatenate));
}

absl::Status LowerReverse(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, 1, 1, 0));
  MW_ASSIGN_OR_RETURN(Instruction reverse, l.Prepare(operation, opcode));
  MW_ASSIGN_OR_RETURN(reverse.dimensions,
                      l.RequiredIntegers(operation, {"dims", "dimensions"}, -1));
  return l.Emit(operation, std::move(reverse));
}

absl::Status LowerPad(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, 2, 1, 0));
  const int64_t rank = l.OperandType(operation, 0).rank();
  MW_ASSIGN_OR_RETURN(Instruction pad, l.Prepare(operation, opcode));
  MW_ASSIGN_OR_RETURN(const std::vector<int64_t> low,
                      l.RequiredIntegers(operation, {"low", "edge_padding_low"}, rank));
  MW_ASSIGN_OR_RETURN(const std::vector<int64_t> high,
                      l.RequiredIntegers(operation, {"high", "edge_padding_high"}, rank));
  MW_ASSIGN_OR_RETURN(const std::vector<int64_t> interior,
                      l.RequiredIntegers(operation, {"interior", "interior_padding"}, rank));
  for (size_t d = 0; d < low.size(); ++d) pad.padding.push_back({low[d], high[d], interior[d]});
  return l.Emit(operation, std::move(pad));
}

// `[0:4, 2:8:3]`
absl::Status ReadRanges(StablehloLowering& l, const MlirAttribute& ranges,
                        std::vector<SliceDimension>& slice) {
  TextCursor cursor(l.text(), l.file_name());
  cursor.set_position(ranges.position);
  MW_RETURN_IF_ERROR(cursor.Expect("["));
  if (cursor.Consume(']')) return absl::OkStatus();
  do {
    SliceDimension& dimension = slice.emplace_back();
    MW_ASSIGN_OR_RETURN(dimension.start, cursor.Integer());
    MW_RETURN_IF_ERROR(cursor.Expect(":", "before the end of a range"));
    MW_ASSIGN_OR_RETURN(dimension.limit, cursor.Integer());
    if (!cursor.Consume(':')) continue;
    MW_ASSIGN_OR_RETURN(dimension.stride, cursor.Integer());
  } while (cursor.Consume(','));
  return cursor.Expect("]", "after the ranges");
}

absl::Status LowerSlice(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, 1, 1, 0));
  const int64_t rank = l.OperandType(operation, 0).rank();
  MW_ASSIGN_OR_RETURN(Instruction slice, l.Prepare(operation, opcode));
  if (!operation.unnamed.empty()) {
    MW_RETURN_IF_ERROR(ReadRanges(l, operation.unnamed[0], slice.slice));
  } else {
    MW_ASSIGN_OR_RETURN(const std::vector<int64_t> starts,
                        l.RequiredIntegers(operation, {"start_indices"}, rank));
    MW_ASSIGN_OR_RETURN(const std::vector<int64_t> limits,
                        l.RequiredIntegers(operation, {"limit_indices"}, rank));
    MW_ASSIGN_OR_RETURN(const std::vector<int64_t> strides,
                        l.RequiredIntegers(operation, {"strides"}, rank));
    for (size_t d = 0; d < starts.size(); ++d) {
      slice.slice.push_back({starts[d], limits[d], strides[d]});
    }
  }
  return l.Emit(operation, std::move(slice));
}

absl::Status LowerDynamicSlice(StablehloLowering& l, const MlirOperation& operation,
                               Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, -1, 1, 0));
  MW_ASSIGN_OR_RETURN(Instruction slice, l.Prepare(operation, opcode));
  MW_ASSIGN_OR_RETURN(slice.dynamic_slice_sizes,
                      l.RequiredIntegers(operation, {"sizes", "slice_sizes"}, -1));
  return l.Emit(operation, std::move(slice));
}

absl::Status LowerDimensionSize(StablehloLowering& l, const MlirOperation& operation,
                                Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, OpcodeArity(opcode), 1, 0));
  MW_ASSIGN_OR_RETURN(Instruction instruction, l.Prepare(operation, opcode));
  MW_ASSIGN_OR_RETURN(instruction.dimensions.emplace_back(),
                      l.Integer(operation, {"dim", "dimension"}));
  return l.Emit(operation, std::move(instruction));
}

constexpr StablehloOperation kShapeOperations[] = {
    {"stablehlo.constant", Opcode::kConstant, LowerConstant},
    {"chlo.constant", Opcode::kConstant, LowerConstant},
    {"sdy.constant", Opcode::kConstant, LowerConstant},
    {"arith.constant", Opcode::kConstant, LowerConstant},
    {"chlo.constant_like", Opcode::kConstant, LowerConstantLike},
    {"stablehlo.broadcast", Opcode::kBroadcast, LowerBroadcast},
    {"stablehlo.iota", Opcode::kIota, LowerIota},
    {"stablehlo.broadcast_in_dim", Opcode::kBroadcast, LowerBroadcastInDim},
    {"stablehlo.reshape", Opcode::kReshape, LowerPlain},
    {"stablehlo.transpose", Opcode::kTranspose, LowerTranspose},
    {"stablehlo.concatenate", Opcode::kConcatenate, LowerConcatenate},
    {"stablehlo.reverse", Opcode::kReverse, LowerReverse},
    {"stablehlo.pad", Opcode::kPad, LowerPad},
    {"stablehlo.slice", Opcode::kSlice, LowerSlice},
    {"stablehlo.dynamic_slice", Opcode::kDynamicSlice, LowerDynamicSlice},
    {"stablehlo.dynamic_update_slice", Opcode::kDynamicUpdateSlice, LowerPlain},
    {"stablehlo.get_dimension_size", Opcode::kGetDimensionSize, LowerDimensionSize},
    {"stablehlo.set_dimension_size", Opcode::kSetDimensionSize, LowerDimensionSize},
};

}  // namespace

absl::Span<const StablehloOperation> StablehloShapeOperations() { return kShapeOperations; }

}  // namespace meshwright
