#ifndef MESHWRIGHT_HLO_STABLEHLO_LOWERING_H_
#define MESHWRIGHT_HLO_STABLEHLO_LOWERING_H_

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/hlo/computation_builder.h"
#include "meshwright/hlo/op_sharding_rule.h"
#include "meshwright/hlo/stablehlo/mlir_location.h"
#include "meshwright/hlo/stablehlo/mlir_module.h"
#include "meshwright/hlo/stablehlo/reader.h"

namespace meshwright {

class StablehloLowering;

// How one operation becomes instructions. For most, `opcode` says it and `lower` adds attributes.
struct StablehloOperation {
  std::string_view name;
  Opcode opcode;
  absl::Status (*lower)(StablehloLowering& lowering, const MlirOperation& operation, Opcode opcode);
};
// The row of an operation, or nullptr.
const StablehloOperation* FindStablehloOperation(std::string_view name);
// The tables it looks in, by family.
absl::Span<const StablehloOperation> StablehloElementwiseOperations();
absl::Span<const StablehloOperation> StablehloShapeOperations();
absl::Span<const StablehloOperation> StablehloDimensionOperations();
absl::Span<const StablehloOperation> StablehloControlOperations();
absl::Span<const StablehloOperation> StablehloOtherOperations();
absl::Span<const StablehloOperation> StablehloCollectiveOperations();
absl::Span<const StablehloOperation> ChloBroadcastingOperations();
absl::Span<const StablehloOperation> SdyOperations();
absl::Span<const StablehloOperation> OlderOperations();

// Makes an HLO module of an MLIR module: the walk over functions and regions, and what the rows of
// the tables use to look at operations and to add instructions.
class StablehloLowering {
 public:
  // All must outlive the object.
  StablehloLowering(const MlirModule& mlir, std::string_view text, std::string_view file_name,
                    const MlirAliases& aliases)
      : mlir_(mlir),
        text_(text),
        file_name_(file_name),
        aliases_(aliases),
        locations_(text, aliases) {}

  absl::StatusOr<StablehloProgram> Lower();

  // ---- looking at operations: stablehlo_attributes.cc ----
  absl::Status Error(const MlirOperation& operation, std::string_view message) const;
  absl::Status ErrorAt(size_t position, std::string_view message) const;
  // The attribute under the first of `names` that is there (short and generic forms differ).
  const MlirAttribute* Find(const MlirOperation& operation,
                            std::initializer_list<std::string_view> names) const;
  // `size` integers of an attribute, or any number if that is negative; `missing` if not there.
  absl::StatusOr<std::vector<int64_t>> Integers(const MlirOperation& operation,
                                                std::initializer_list<std::string_view> names,
                                                int64_t size,
                                                const std::vector<int64_t>& missing = {}) const;
  // Error if it is not there.
  absl::StatusOr<std::vector<int64_t>> RequiredIntegers(
      const MlirOperation& operation, std::initializer_list<std::string_view> names,
      int64_t size) const;
  absl::StatusOr<std::vector<int64_t>> ToIntegers(const MlirAttribute& attribute) const;
  absl::StatusOr<int64_t> Integer(const MlirOperation& operation,
                                  std::initializer_list<std::string_view> names) const;
  int64_t IntegerOr(const MlirOperation& operation, std::string_view name, int64_t missing) const;
  // The last word of `#stablehlo<comparison_direction GT>`, `GT`; empty if there is none.
  static std::string Word(const MlirAttribute* attribute);
  // The text of a sharding as HLO spells it; see HloShardingsFromSdy.
  absl::StatusOr<std::string> SdySharding(const MlirAttribute& attribute) const;
  absl::StatusOr<OpShardingRule> ShardingRule(const MlirAttribute& attribute) const;
  const Shape& Type(MlirValue value) const { return *state_->function->types[Index(value)]; }
  const Shape& OperandType(const MlirOperation& operation, size_t i) const {
    return Type(operation.operands[i]);
  }
  // Error unless the operation has this many operands, results and regions; -1: any number.
  absl::Status Expect(const MlirOperation& operation, int64_t operands, int64_t results,
                      int64_t regions) const;
  // Error unless the value is an array.
  absl::Status ExpectArray(const MlirOperation& operation, MlirValue value) const;
  std::string_view text() const { return text_; }
  std::string_view file_name() const { return file_name_; }
  Metadata MetadataOf(const MlirOperation& operation) {
    return locations_.Find(operation.location);
  }

  // ---- adding instructions ----
  ComputationBuilder& builder() { return state_->frames.back().builder; }
  // The instruction that has the value; a constant from outside of the region is made anew in it.
  absl::StatusOr<InstructionId> Operand(const MlirOperation& operation, MlirValue value);
  absl::StatusOr<std::vector<InstructionId>> Operands(const MlirOperation& operation);
  // An instruction with the operation's operands, the type of its results (a tuple if there are
  // several or none), metadata and sharding.
  absl::StatusOr<Instruction> Prepare(const MlirOperation& operation, Opcode opcode);
  // Adds it, and makes it (or its elements) the operation's results.
  absl::Status Emit(const MlirOperation& operation, Instruction instruction);
  void Bind(MlirValue value, InstructionId instruction);
  // Region `index` as a computation whose parameters are the region's arguments. It may use
  // constants from outside only.
  absl::StatusOr<ComputationId> LowerReducer(const MlirOperation& operation, size_t index);
  // The computation of the function with this name. `given`: its arguments, if they are known.
  absl::StatusOr<ComputationId> LowerFunction(const MlirOperation& caller, std::string_view name,
                                              absl::Span<const MlirValue> given);
  absl::Status LowerWhile(const MlirOperation& operation);
  absl::Status LowerBranches(const MlirOperation& operation);
  // The branch that a conditional always takes, if what chooses is a constant. It is lowered in the
  // conditional's place, unless that asks for shardings of its own.
  std::optional<size_t> KnownBranch(const MlirOperation& operation) const;
  // The operations of a region, whose arguments are bound, as if they stood here; what it returns
  // are the results of `operation`.
  absl::Status LowerInPlace(const MlirOperation& operation, const MlirRegion& region);
  // A region that runs where it stands, with the operands as its arguments, in the shardings that
  // it asks for.
  absl::Status LowerNamedComputation(const MlirOperation& operation);
  // A custom call that is named after the operation and does not run its regions, which may use
  // nothing but their arguments.
  // `config`: what the call says of itself beyond its name.
  absl::Status LowerAsCall(const MlirOperation& operation, std::string_view config = "");
  ComputationId AddComputation(Computation computation);
  std::string ComputationName(std::string_view base) { return computation_names_.Unique(base); }
  NameTable& names() { return names_; }

 private:
  // Where a value is: in which frame of the function and which instruction; and which result of
  // which operation of the source, if that is annotated.
  struct Place {
    int32_t frame = -1;
    InstructionId instruction;
    int32_t operation = -1, result = 0;
  };
  struct Placed {
    int32_t operation, result;
    InstructionId instruction;
    bool handed_on;
  };
  // A computation under construction.
  struct Frame {
    ComputationBuilder builder;
    absl::flat_hash_map<MlirValue, InstructionId> captured;
    std::vector<Placed> placed;
    bool annotatable = true;  // annotations of its instructions mean something
  };
  // A function being lowered.
  struct State {
    const MlirFunction* function = nullptr;
    std::vector<Place> places;  // by value
    std::deque<Frame> frames;
    absl::flat_hash_set<MlirValue> platform_index;  // values that are it
  };
  static size_t Index(MlirValue value) { return static_cast<size_t>(value); }
  // A value as one of the frames knows it.
  struct Known {
    const ComputationBuilder* builder = nullptr;
    InstructionId instruction;
    bool constant() const { return builder->IsConstant(instruction); }
  };
  // How the innermost of the first `frames` frames that knows `value` does, computed there or
  // handed in; nullopt if none does.
  std::optional<Known> FindKnown(MlirValue value, size_t frames) const;

  // A function and which of its arguments are the platform index: they are constants in its body.
  using Specialized = std::pair<std::string_view, std::vector<size_t>>;
  absl::StatusOr<ComputationId> LowerBody(const MlirFunction& function, bool is_main,
                                          const Specialized& key);
  absl::Status BindPlatformIndex(const MlirPort& port, MlirValue argument);
  absl::Status LowerOperations(const MlirRegion& region);
  // StablehloSource::Operation::same_as of `operation`, which has been lowered.
  int32_t SameAs(const MlirOperation& operation) const;
  // Where the operands of `operation` stand, and their types; nothing unless in their order.
  void AddOperands(const MlirOperation& operation, std::vector<std::pair<size_t, size_t>>& places,
                   std::vector<Shape>& types) const;
  // The values of a terminator as one root: the value itself or a tuple.
  absl::StatusOr<InstructionId> Root(const MlirOperation& terminator);
  absl::StatusOr<InstructionId> MainRoot(const MlirOperation& terminator);
  absl::StatusOr<ComputationId> FinishFrame(std::string name, InstructionId root);
  absl::Status LowerInterface(const MlirFunction& main);
  void FindPartitions();
  // In stablehlo_attributes.cc too.
  absl::StatusOr<std::string> ShardingOf(const MlirAttributes& attributes, size_t leaves) const;

  // Values from outside that the regions of an operation use and that are no constants, in order
  // of use. `replaced`: values of the regions that stand for values outside.
  std::vector<MlirValue> Captures(const MlirOperation& operation,
                                  absl::Span<const MlirRegion* const> regions,
                                  const absl::flat_hash_map<MlirValue, MlirValue>& replaced) const;
  // A frame whose one parameter is the tuple of `values` (or the only one of them), which the
  // region knows as `names`.
  void PushRegion(absl::Span<const MlirValue> values, absl::Span<const MlirValue> names);

  const MlirModule& mlir_;
  std::string_view text_, file_name_;
  const MlirAliases& aliases_;
  MlirLocations locations_;
  StablehloProgram program_;
  NameTable names_, computation_names_;
  State* state_ = nullptr;
  absl::flat_hash_map<Specialized, ComputationId> lowered_;
  int64_t platform_ = 0;                          // the platform index
  absl::flat_hash_set<std::string_view> active_;  // functions being lowered
};

// Lowerings that several families share.
// Elementwise and other operations without attributes that matter.
absl::Status LowerPlain(StablehloLowering& lowering, const MlirOperation& operation, Opcode opcode);
// The direction and, unless it is the usual one, the type of a comparison.
absl::Status ReadComparison(StablehloLowering& lowering, const MlirOperation& operation,
                            Instruction& compare);
// A function of numbers that HLO has no opcode for: a map of one that is called by `name`. `map`
// has its operands, all of the size of its result.
absl::Status LowerAsMap(StablehloLowering& lowering, const MlirOperation& operation,
                        std::string_view name, Instruction map);
// Reads region 0 as the computation to apply, then as LowerPlain.
absl::Status LowerWithReducer(StablehloLowering& lowering, const MlirOperation& operation,
                              Instruction instruction);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_STABLEHLO_LOWERING_H_
