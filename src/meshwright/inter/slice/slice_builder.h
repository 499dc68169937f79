#ifndef MESHWRIGHT_INTER_SLICE_SLICE_BUILDER_H_
#define MESHWRIGHT_INTER_SLICE_SLICE_BUILDER_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/inter/slice/module_writer.h"
#include "meshwright/inter/slice/partial_sums.h"
#include "meshwright/inter/slice/slice_build.h"
#include "meshwright/inter/slice/slice_members.h"

namespace meshwright {

// Builds the module of one slice. Computations are built from operators, region by region
// (ProgramStructure::region): a loop's body and condition see what the loop carries; a branch takes
// what it reads from outside as elements of its parameter.
class SliceBuilder {
 public:
  SliceBuilder(const SliceContext& context, const SliceRequest& request,
               const SliceSelection& selection);

  // Call once.
  absl::StatusOr<BuiltSlice> Run();

 private:
  // slice_build.cc: the module's boundary, operators.
  void CopyTables();
  void AddAliases();
  void ListRegions();
  // The carries of a loop that the slice has.
  std::vector<int32_t> Carried(int32_t loop) const;
  void AddParameter(Scope& scope, const SliceValue& input);
  absl::StatusOr<InstructionId> Result(Scope& scope, const SliceValue& output);
  absl::StatusOr<InstructionId> Lookup(Scope& scope, ValueId v);
  absl::StatusOr<InstructionId> Resized(Scope& scope, ValueId v, const std::vector<int64_t>& dims);
  absl::StatusOr<InstructionId> Combine(Scope& scope, Opcode opcode, InstructionId value,
                                        int64_t number, OpId op);
  InstructionId Added(Scope& scope, Instruction instruction, OpId op);
  absl::Status BuildRegion(Scope& scope, const Computation* region);
  absl::Status BuildInstruction(Scope& scope, OpId id);
  absl::StatusOr<InstructionId> Number(Scope& scope, ElementType type, OpId op);
  absl::StatusOr<InstructionId> Numbered(Scope& scope, InstructionId iota, OpId op);
  absl::StatusOr<InstructionId> PartOfWhole(Scope& scope, InstructionId whole, ValueId value);
  absl::StatusOr<InstructionId> OwnKey(Scope& scope, InstructionId state, OpId op);
  // slice_build_parts.cc: sums over the batch in parts.
  absl::StatusOr<InstructionId> OperandInParts(Scope& scope, OpId op, size_t i);
  absl::Status BuildInParts(Scope& scope, OpId id);
  void SumUp(Scope& scope, ValueId v);
  bool IsInParts(const SliceValue& input) const {
    return input.role == SliceRole::kSum && partial_.sums[input.value.index()];
  }

  Shape MadeShape(const SliceRequest& request, ValueId value) const;
  InstructionId LayersOfWhole(Scope& scope, InstructionId made, ValueId value);
  bool IsStackIota(const Op& op) const;
  int64_t FirstOf(const Op& op) const;

  // slice_build_number.cc: what depends on the number of the micro-batch.
  // slice_build_control.cc: loops and conditionals.
  bool InPartOfLoop(const Op& op) const;
  LoopPart PartOfLoop(int32_t loop) const;
  absl::Status MoveIndex(Scope& scope, OpId id, int32_t dimension,
                         std::vector<InstructionId>& leaves);
  absl::Status BuildLoop(Scope& scope, int32_t loop);
  absl::StatusOr<InstructionId> Init(Scope& scope, int32_t c, const LoopPart& part);
  void Enter(Scope& scope, const Shape& shape, const std::vector<int32_t>& carried);
  absl::StatusOr<InstructionId> CountTo(Scope& scope, int32_t loop, const LoopPart& part);
  absl::Status BuildConditional(Scope& scope, OpId first);

  const SliceContext& c_;
  const Graph& graph_;
  const SliceRequest& request_;
  const SliceSelection& selection_;
  ModuleWriter writer_;
  BuiltSlice out_;
  absl::flat_hash_map<const Computation*, std::vector<OpId>> regions_;
  absl::flat_hash_map<int32_t, InstructionId> border_in_, border_out_;  // by carry; in the entry
  // By value: what the slice's layers give of it, see SliceValue::combine.
  absl::flat_hash_map<ValueId, InstructionId> combined_out_;
  PartialSums partial_;
  absl::flat_hash_set<OpId> statistics_;
  // Of several micro-batches: see BatchSplit.
  absl::flat_hash_set<OpId> numbered_, whole_, drawn_apart_;
  absl::flat_hash_set<int32_t> numbered_loops_;  // that have to carry the micro-batch's number
};

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_SLICE_SLICE_BUILDER_H_
