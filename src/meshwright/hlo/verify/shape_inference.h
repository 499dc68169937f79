#ifndef MESHWRIGHT_HLO_VERIFY_SHAPE_INFERENCE_H_
#define MESHWRIGHT_HLO_VERIFY_SHAPE_INFERENCE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "meshwright/hlo/module.h"

// The typing rules of HLO, one function an opcode or a family of them. A rule sees an instruction
// with its operands and called computations and says what is wrong, or nothing. The same rules tell
// the type of a result that the program leaves out (infer_shape.h). The table from opcodes to rules
// is in verifier.cc.

namespace meshwright {

// An instruction in its surroundings.
struct TypedInstruction {
  const Module& module;
  const Computation& computation;
  const Instruction& instruction;
  // If there is one, the instruction has no type yet: the rule writes here what its operands give
  // instead of comparing. Where they leave the element type open, it is operand 0's.
  Shape* inferred = nullptr;

  const Instruction* operator->() const { return &instruction; }
  const Shape& result() const { return instruction.shape; }
  size_t operand_count() const { return instruction.operands.size(); }
  const Shape& operand(size_t i) const { return computation[instruction.operands[i]].shape; }
  const Computation& called(size_t i) const { return module[instruction.called[i]]; }
};

// What is wrong, one line without the instruction's name; empty if nothing is.
using Problem = std::string;
using TypingRule = Problem (*)(const TypedInstruction& i);
// nullptr where there is none.
TypingRule TypingRuleOf(Opcode opcode);

// --- shape_inference_elementwise.cc ---
Problem CheckElementwise(const TypedInstruction& i);  // same type in and out (mixed floats allowed)
Problem CheckSameDimensions(const TypedInstruction& i);  // convert, complex, is-finite, ...
Problem CheckCompare(const TypedInstruction& i);
Problem CheckSelect(const TypedInstruction& i);
Problem CheckClamp(const TypedInstruction& i);
Problem CheckSameAsFirst(const TypedInstruction& i);  // result is of the first operand's type

// --- shape_inference_rearrange.cc ---
Problem CheckBroadcast(const TypedInstruction& i);
Problem CheckTranspose(const TypedInstruction& i);
Problem CheckReshape(const TypedInstruction& i);
Problem CheckConcatenate(const TypedInstruction& i);
Problem CheckSlice(const TypedInstruction& i);
Problem CheckPad(const TypedInstruction& i);
Problem CheckIota(const TypedInstruction& i);
Problem CheckReverse(const TypedInstruction& i);

// --- shape_inference_contract.cc ---
Problem CheckDot(const TypedInstruction& i);
Problem CheckConvolution(const TypedInstruction& i);
Problem CheckFft(const TypedInstruction& i);

// --- shape_inference_reduce.cc ---
Problem CheckReduce(const TypedInstruction& i);
Problem CheckReduceWindow(const TypedInstruction& i);
Problem CheckSelectAndScatter(const TypedInstruction& i);
Problem CheckSort(const TypedInstruction& i);

// --- shape_inference_index.cc ---
Problem CheckDynamicSlice(const TypedInstruction& i);
Problem CheckDynamicUpdateSlice(const TypedInstruction& i);
Problem CheckGather(const TypedInstruction& i);
Problem CheckScatter(const TypedInstruction& i);

// --- shape_inference_control.cc ---
Problem CheckTuple(const TypedInstruction& i);
Problem CheckGetTupleElement(const TypedInstruction& i);
Problem CheckCall(const TypedInstruction& i);  // call and fusion
Problem CheckMap(const TypedInstruction& i);
Problem CheckWhile(const TypedInstruction& i);
Problem CheckConditional(const TypedInstruction& i);

// --- shape_inference_call.cc ---
Problem CheckCustomCall(const TypedInstruction& i);  // the sharding rule that comes with it

// --- shared by the rules: shape_inference.cc ---

// Equal, or both floating: XLA lets instructions mix floating-point precisions.
bool SameElementType(ElementType a, ElementType b);
// Same structure and dimensions, element types as SameElementType.
bool Compatible(const Shape& a, const Shape& b);
// "shape mismatch: is f32[2,3], its operands give f32[2,4]"
Problem Mismatch(const Shape& is, const Shape& given);
// A problem unless the result is Compatible with `given`, which is what the operands give.
Problem CheckResult(const TypedInstruction& i, const Shape& given);
// A problem unless the result is an array of dimensions `dims` and of `type` (kInvalid: of any).
Problem CheckResult(const TypedInstruction& i, absl::Span<const int64_t> dims, ElementType type);
// A problem unless operands [begin, end) are arrays.
Problem CheckArrays(const TypedInstruction& i, size_t begin, size_t end);
// A problem unless each of `dims` is in [0, rank) and none occurs twice. `what` names the list.
Problem CheckDimensionList(absl::Span<const int64_t> dims, int64_t rank, std::string_view what);
// Of a complex type its parts', of a real one the complex: c64 and f32, c128 and f64.
ElementType RealOf(ElementType type);
ElementType ComplexOf(ElementType type);
bool Contains(absl::Span<const int64_t> values, int64_t value);
// `a`, then `b`.
std::vector<int64_t> Joined(std::vector<int64_t> a, const std::vector<int64_t>& b);

// Size of a windowed dimension of size `size`; -1 if it would be negative or beyond 2^62.
int64_t WindowedSize(int64_t size, const WindowDimension& window);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_VERIFY_SHAPE_INFERENCE_H_
