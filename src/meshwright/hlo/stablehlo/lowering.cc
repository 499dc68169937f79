#include "meshwright/hlo/stablehlo/lowering.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "meshwright/base/nearest_name.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/element_value.h"
#include "meshwright/hlo/instruction_folder.h"
#include "meshwright/hlo/stablehlo/names.h"
#include "meshwright/hlo/stablehlo/platform_index.h"
#include "meshwright/hlo/text/metadata.h"
#include "meshwright/hlo/verify/verifier.h"

namespace meshwright {
namespace {

// Functions that call each other deeper than this are refused: each costs stack.
constexpr size_t kMaxFunctionDepth = 128;

}  // namespace

const StablehloOperation* FindStablehloOperation(std::string_view name) {
  static const auto& rows = *[] {
    auto* map = new absl::flat_hash_map<std::string_view, const StablehloOperation*>();
    for (const auto& table : {StablehloElementwiseOperations(), StablehloShapeOperations(),
                              StablehloDimensionOperations(), StablehloControlOperations(),
                              StablehloOtherOperations(), StablehloCollectiveOperations(),
                              ChloBroadcastingOperations(), SdyOperations(), OlderOperations()}) {
      for (const StablehloOperation& row : table) map->emplace(row.name, &row);
    }
    return map;
  }();
  const auto found = rows.find(name);
  return found == rows.end() ? nullptr : found->second;
}

// ---- adding instructions ----

std::optional<StablehloLowering::Known> StablehloLowering::FindKnown(MlirValue value,
                                                                     size_t frames) const {
  const Place place = state_->places[Index(value)];
  for (size_t f = frames; f-- > 0;) {
    const Frame& frame = state_->frames[f];
    if (place.frame == static_cast<int32_t>(f)) return Known{&frame.builder, place.instruction};
    if (const auto found = frame.captured.find(value); found != frame.captured.end()) {
      return Known{&frame.builder, found->second};
    }
  }
  return std::nullopt;
}

absl::StatusOr<InstructionId> StablehloLowering::Operand(const MlirOperation& operation,
                                                         MlirValue value) {
  Frame& frame = state_->frames.back();
  const std::optional<Known> known = FindKnown(value, state_->frames.size());
  if (known.has_value() && known->builder == &frame.builder) return known->instruction;
  if (known.has_value() && known->constant()) {
    const InstructionId copy = known->builder->CopyConstant(known->instruction, frame.builder);
    frame.captured.emplace(value, copy);
    return copy;
  }
  return Error(operation, StrCat("uses the value %", state_->function->value_names[Index(value)],
                                 " from outside of the region; only constants can be"));
}

absl::StatusOr<std::vector<InstructionId>> StablehloLowering::Operands(
    const MlirOperation& operation) {
  std::vector<InstructionId> operands;
  for (const MlirValue value : operation.operands) {
    MW_ASSIGN_OR_RETURN(operands.emplace_back(), Operand(operation, value));
  }
  return operands;
}

absl::StatusOr<Instruction> StablehloLowering::Prepare(const MlirOperation& operation,
                                                       Opcode opcode) {
  Instruction instruction;
  instruction.opcode = opcode;
  MW_ASSIGN_OR_RETURN(instruction.operands, Operands(operation));
  if (operation.results.size() == 1) {
    instruction.shape = Type(operation.results[0]);
  } else {
    instruction.shape.type = ElementType::kTuple;
    for (const MlirValue result : operation.results) {
      instruction.shape.tuple.push_back(Type(result));
    }
  }
  instruction.metadata = MetadataOf(operation);
  instruction.place = operation.place;
  MW_ASSIGN_OR_RETURN(instruction.sharding,
                      ShardingOf(operation.attributes, operation.results.size()));
  return instruction;
}

void StablehloLowering::Bind(MlirValue value, InstructionId instruction) {
  state_->places[Index(value)] = {static_cast<int32_t>(state_->frames.size()) - 1, instruction, -1,
                                  0};
}

absl::Status StablehloLowering::Emit(const MlirOperation& operation, Instruction instruction) {
  const Metadata metadata = instruction.metadata;
  // An annotated instruction must stay, however little it computes.
  const InstructionId id = instruction.sharding.empty() ? builder().Add(std::move(instruction))
                                                        : builder().AddAsIs(std::move(instruction));
  if (operation.results.size() == 1) {
    Bind(operation.results[0], id);
    return absl::OkStatus();
  }
  for (size_t i = 0; i < operation.results.size(); ++i) {
    Bind(operation.results[i], builder().AddElement(id, static_cast<int64_t>(i), metadata));
  }
  return absl::OkStatus();
}

// ---- functions and regions ----

ComputationId StablehloLowering::AddComputation(Computation computation) {
  program_.module.computations.push_back(std::move(computation));
  return ComputationId(program_.module.computations.size() - 1);
}

absl::StatusOr<ComputationId> StablehloLowering::FinishFrame(std::string name, InstructionId root) {
  Frame& frame = state_->frames.back();
  std::vector<InstructionId> moved;
  const ComputationId id =
      AddComputation(frame.builder.Finish(std::move(name), root, names_, &moved));
  for (const Placed& placed : frame.placed) {
    const InstructionId instruction = moved[placed.instruction.index()];
    if (!instruction.valid()) continue;
    program_.source.results.push_back(
        {placed.operation, placed.result, id, instruction, placed.handed_on});
  }
  state_->frames.pop_back();
  return id;
}

absl::StatusOr<InstructionId> StablehloLowering::Root(const MlirOperation& terminator) {
  MW_ASSIGN_OR_RETURN(const std::vector<InstructionId> values, Operands(terminator));
  if (values.size() == 1) return values[0];
  return builder().AddTuple(values, {});
}

namespace {

// Whether all values that `region` uses are numbered `least` or above.
bool UsesOnlyFrom(const MlirRegion& region, MlirValue least) {
  for (const MlirOperation& operation : region.operations) {
    for (const MlirValue operand : operation.operands) {
      if (operand < least) return false;
    }
    for (const MlirRegion& inner : operation.regions) {
      if (!UsesOnlyFrom(inner, least)) return false;
    }
  }
  return true;
}

}  // namespace

absl::Status StablehloLowering::LowerAsCall(const MlirOperation& operation,
                                            std::string_view config) {
  // A region that uses nothing but its arguments says how elements are computed; where it uses
  // more, what the operation depends on is not all among its operands.
  for (const MlirRegion& region : operation.regions) {
    if (!UsesOnlyFrom(region, operation.inner)) {
      return Error(operation,
                   "has a region that uses values from outside; nothing can be said about what it "
                   "depends on");
    }
  }
  MW_ASSIGN_OR_RETURN(Instruction instruction, Prepare(operation, Opcode::kCustomCall));
  instruction.custom_call_target = std::string(operation.name);
  if (!config.empty()) instruction.backend_config = QuotedText(config);
  const bool has_token =
      std::any_of(operation.results.begin(), operation.results.end(),
                  [this](MlirValue value) { return Type(value).type == ElementType::kToken; });
  if (has_token) instruction.other.emplace_back("custom_call_has_side_effect", "true");
  return Emit(operation, std::move(instruction));
}

void StablehloLowering::AddOperands(const MlirOperation& operation,
                                    std::vector<std::pair<size_t, size_t>>& places,
                                    std::vector<Shape>& types) const {
  const std::vector<MlirUse>& uses = state_->function->uses;
  auto use =
      std::lower_bound(uses.begin(), uses.end(), operation.position,
                       [](const MlirUse& left, size_t position) { return left.begin < position; });
  const std::vector<MlirValue>& operands = operation.operands;
  const auto written = [&](size_t number, MlirValue value) {
    const auto place = use + static_cast<std::ptrdiff_t>(number);
    return static_cast<size_t>(uses.end() - use) > number && place->begin < operation.end &&
           place->value == value;
  };
  // Where operand `k` stands among what is written: in order, or in the pairs that some short forms
  // print, `(%a init: %c), (%b init: %d)`.
  const size_t count = operands.size(), half = count / 2;
  const auto in_order = [](size_t k) { return k; };
  const auto in_pairs = [half](size_t k) { return k < half ? 2 * k : 2 * (k - half) + 1; };
  const auto stand = [&](const auto& number) {
    for (size_t k = 0; k < count; ++k) {
      if (!written(number(k), operands[k])) return false;
    }
    for (size_t k = 0; k < count; ++k) {
      const auto place = use + static_cast<std::ptrdiff_t>(number(k));
      places.emplace_back(place->begin, place->end);
      types.push_back(Type(operands[k]));
    }
    return true;
  };
  if (!stand(in_order) && count % 2 == 0) stand(in_pairs);
}

int32_t StablehloLowering::SameAs(const MlirOperation& operation) const {
  if (operation.results.size() != 1 || !operation.regions.empty()) return -1;
  const Place& made = state_->places[Index(operation.results[0])];
  for (size_t k = 0; k < operation.operands.size(); ++k) {
    const Place& place = state_->places[Index(operation.operands[k])];
    if (place.frame == made.frame && place.instruction == made.instruction)
      return static_cast<int32_t>(k);
  }
  return -1;
}

absl::Status StablehloLowering::LowerOperations(const MlirRegion& region) {
  for (size_t i = 0; i + 1 < region.operations.size(); ++i) {
    const MlirOperation& operation = region.operations[i];
    const StablehloOperation* const row = FindStablehloOperation(operation.name);
    if (row == nullptr) return Error(operation, WhyUnknown(operation.name));
    MW_RETURN_IF_ERROR(row->lower(*this, operation, row->opcode));
    Frame& frame = state_->frames.back();
    if (!frame.annotatable || operation.results.empty()) continue;
    const auto number = static_cast<int32_t>(program_.source.operations.size());
    StablehloSource::Operation& source = program_.source.operations.emplace_back();
    source.begin = operation.position;
    source.end = operation.end;
    source.anchor = operation.anchor;
    source.definitions = operation.definitions;
    AddOperands(operation, source.operands, source.operand_types);
    const bool is_conditional = row->opcode == Opcode::kConditional;
    source.same_as = SameAs(operation);
    const bool handed_on =
        source.same_as >= 0 || (is_conditional && KnownBranch(operation).has_value()) ||
        operation.name == "sdy.named_computation" || row->opcode == Opcode::kOptimizationBarrier;
    source.is_constraint =
        operation.name == "sdy.sharding_constraint" || operation.name == "sdy.reshard";
    if (source.is_constraint && !operation.unnamed.empty()) {
      const MlirAttribute& sharding = operation.unnamed.back();
      source.anchor = {MlirAnchor::Form::kReplace,
                       sharding.position,
                       sharding.position + sharding.text.size(),
                       {}};
    }
    for (size_t r = 0; r < operation.results.size(); ++r) {
      const MlirValue value = operation.results[r];
      source.types.push_back(Type(value));
      Place& place = state_->places[Index(value)];
      place.operation = number;
      place.result = static_cast<int32_t>(r);
      frame.placed.push_back({number, place.result, place.instruction, handed_on});
    }
    if (IsCommutative(row->opcode) && source.operands.size() == 2) {
      // As the instruction has them: a constant stands right.
      const auto lowered = [this](MlirValue value) {
        const std::optional<Known> known = FindKnown(value, state_->frames.size());
        return known.has_value() ? known->instruction : InstructionId();
      };
      const Instruction& made = frame.builder[lowered(operation.results[0])];
      if (made.opcode == row->opcode && made.operands[0] == lowered(operation.operands[1]) &&
          made.operands[1] == lowered(operation.operands[0])) {
        std::swap(source.operands[0], source.operands[1]);
        std::swap(source.operand_types[0], source.operand_types[1]);
      }
    }
    if (!is_conditional || handed_on) continue;
    for (size_t branch = 0; branch < operation.regions.size(); ++branch) {
      const MlirOperation& terminator = operation.regions[branch].operations.back();
      StablehloSource::BranchEnd& end = program_.source.branch_ends.emplace_back();
      end.conditional = number;
      end.branch = static_cast<int32_t>(branch);
      end.begin = terminator.position;
      AddOperands(terminator, end.operands, end.operand_types);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<ComputationId> StablehloLowering::LowerReducer(const MlirOperation& operation,
                                                              size_t index) {
  const MlirRegion& region = operation.regions[index];
  Frame& frame = state_->frames.emplace_back();
  frame.annotatable = false;
  for (const MlirValue argument : region.arguments) {
    Bind(argument, frame.builder.AddParameter(Type(argument), {}, ""));
  }
  MW_RETURN_IF_ERROR(LowerOperations(region));
  MW_ASSIGN_OR_RETURN(const InstructionId root, Root(region.operations.back()));
  return FinishFrame(ComputationName("region"), root);
}

absl::StatusOr<ComputationId> StablehloLowering::LowerFunction(const MlirOperation& caller,
                                                               std::string_view name,
                                                               absl::Span<const MlirValue> given) {
  Specialized key(name, {});
  for (size_t i = 0; i < given.size(); ++i) {
    if (state_->platform_index.contains(given[i])) key.second.push_back(i);
  }
  if (const auto found = lowered_.find(key); found != lowered_.end()) return found->second;
  if (active_.contains(name)) {
    return Error(caller, StrCat("calls @", name, ", which is being called; recursion is not run"));
  }
  if (active_.size() > kMaxFunctionDepth) {
    return Error(caller,
                 StrCat("functions call each other more than ", kMaxFunctionDepth, " deep"));
  }
  std::vector<std::string> names;
  for (const MlirFunction& function : mlir_.functions) {
    if (function.name == name) return LowerBody(function, /*is_main=*/false, key);
    names.emplace_back(function.name);
  }
  return Error(caller, StrCat("no function ", QuoteForError(StrCat("@", name)),
                              "; the nearest is \"@", NearestName(name, names), "\""));
}

absl::StatusOr<ComputationId> StablehloLowering::LowerBody(const MlirFunction& function,
                                                           bool is_main, const Specialized& key) {
  if (function.is_declaration) {
    return ErrorAt(function.position, StrCat("function @", function.name, " has no body"));
  }
  active_.insert(function.name);
  State state;
  state.function = &function;
  state.places.resize(function.types.size());
  State* const caller = std::exchange(state_, &state);
  Frame& frame = state.frames.emplace_back();
  for (size_t i = 0; i < function.arguments.size(); ++i) {
    const MlirPort& port = function.arguments[i];
    const MlirValue argument = function.body.arguments[i];
    if (is_main && IsPlatformIndex(port)) {
      MW_RETURN_IF_ERROR(BindPlatformIndex(port, argument));
      continue;
    }
    const InstructionId id = frame.builder.AddParameter(*port.type, locations_.Find(port.location),
                                                        function.value_names[Index(argument)]);
    frame.builder[id].place = function.place;
    MW_ASSIGN_OR_RETURN(frame.builder[id].sharding, ShardingOf(port.attributes, 1));
    Bind(argument, id);
  }
  for (const size_t i : key.second) {
    if (i >= function.arguments.size()) continue;  // the verifier counts them
    MW_RETURN_IF_ERROR(BindPlatformIndex(function.arguments[i], function.body.arguments[i]));
  }
  MW_RETURN_IF_ERROR(LowerOperations(function.body));
  const MlirOperation& terminator = function.body.operations.back();
  if (terminator.operands.size() != function.results.size()) {
    return Error(terminator, StrCat("returns ", terminator.operands.size(), " values; function @",
                                    function.name, " has ", function.results.size(), " results"));
  }
  for (size_t i = 0; i < terminator.operands.size(); ++i) {
    if (Type(terminator.operands[i]) == *function.results[i].type) continue;
    return Error(terminator,
                 StrCat("value ", i, " is ", Type(terminator.operands[i]).ToString(false),
                        "; the result of function @", function.name, " is ",
                        function.results[i].type->ToString(false)));
  }
  if (is_main) {
    StablehloSource::BranchEnd& end = program_.source.main_end;
    end.begin = terminator.position;
    AddOperands(terminator, end.operands, end.operand_types);
  }
  MW_ASSIGN_OR_RETURN(const InstructionId root, is_main ? MainRoot(terminator) : Root(terminator));
  MW_ASSIGN_OR_RETURN(const ComputationId id, FinishFrame(ComputationName(function.name), root));
  for (const MlirUse& use : function.uses) {
    if (!use.is_part) continue;
    const Place& place = state.places[Index(use.value)];
    if (place.operation < 0) continue;
    program_.source.part_uses.push_back({use.begin, use.end, place.operation, place.result});
  }
  state_ = caller;
  active_.erase(function.name);
  lowered_.emplace(key, id);
  return id;
}

absl::Status StablehloLowering::BindPlatformIndex(const MlirPort& port, MlirValue argument) {
  std::string element;
  if (!port.type->is_array() || port.type->rank() != 0 || !IsInteger(port.type->type) ||
      !AppendElement(port.type->type, StrCat(platform_), element)) {
    return ErrorAt(state_->function->position,
                   StrCat("the platform index is an integer, not ", port.type->ToString(false)));
  }
  Bind(argument, builder().AddFilled(*port.type, std::move(element), {}));
  state_->platform_index.insert(argument);
  return absl::OkStatus();
}

// ---- the module ----

absl::StatusOr<InstructionId> StablehloLowering::MainRoot(const MlirOperation& terminator) {
  MW_ASSIGN_OR_RETURN(std::vector<InstructionId> values, Operands(terminator));
  for (size_t i = 0; i < values.size(); ++i) {
    const MlirPort& port = state_->function->results[i];
    MW_ASSIGN_OR_RETURN(std::string sharding, ShardingOf(port.attributes, 1));
    if (sharding.empty()) continue;
    Instruction wanted;
    wanted.opcode = Opcode::kCustomCall;
    wanted.custom_call_target = "xla.sdy.FuncResultSharding";
    wanted.shape = *port.type;
    wanted.operands = {values[i]};
    wanted.sharding = std::move(sharding);
    wanted.place = terminator.place;
    values[i] = builder().AddAsIs(std::move(wanted));
  }
  if (values.size() == 1) return values[0];
  return builder().AddTuple(values, {});
}

absl::Status StablehloLowering::LowerInterface(const MlirFunction& main) {
  StablehloSource& source = program_.source;
  const bool tuple = main.results.size() != 1;
  for (size_t i = 0; i < main.arguments.size(); ++i) {
    const MlirPort& port = main.arguments[i];
    if (IsPlatformIndex(port)) continue;
    const auto parameter = static_cast<int64_t>(source.arguments.size());
    source.arguments.push_back(port.anchor);
    const std::string_view name = main.value_names[Index(main.body.arguments[i])];
    const auto begin = static_cast<size_t>(name.data() - text_.data()) - 1;
    source.argument_names.emplace_back(begin, begin + 1 + name.size());
    for (const auto& [name, value] : port.attributes) {
      if (name == "jax.buffer_donor" && value.integer != 0) {
        program_.module.buffer_donors.emplace_back(parameter, std::vector<int64_t>());
      }
      if (name == "jax.global_constant") {
        return ErrorAt(value.position,
                       StrCat("an argument that JAX gives the function when it is called, ",
                              QuoteForError(value.string),
                              ": it was exported for sizes that are not known; export it for known "
                              "sizes"));
      }
      if (name != "tf.aliasing_output") continue;
      if (value.kind != MlirAttribute::Kind::kInteger || value.integer < 0 ||
          value.integer >= static_cast<int64_t>(main.results.size())) {
        return ErrorAt(value.position, StrCat("tf.aliasing_output names no result; there are ",
                                              main.results.size()));
      }
      InputOutputAlias& alias = program_.module.input_output_alias.emplace_back();
      if (tuple) alias.output = {value.integer};
      alias.parameter = parameter;
    }
  }
  for (const MlirPort& port : main.results) source.outputs.push_back(port.anchor);
  source.main_begin = main.body.operations.front().position;
  return absl::OkStatus();
}

void StablehloLowering::FindPartitions() {
  // What is no number is for CheckNotPartitioned to refuse.
  static constexpr std::string_view kPartitions = "num_partitions";
  const auto say = [this](std::string_view count, const MlirAttribute& value) {
    const bool number = value.kind == MlirAttribute::Kind::kInteger;
    if (number && value.integer == 1) return;
    Module& module = program_.module;
    module.other.emplace_back(count, number ? StrCat(value.integer) : value.text);
    if (count == kPartitions || module.devices_place.line == 0) {
      module.devices_place = TextCursor(text_, file_name_).PlaceAt(value.position);
    }
  };
  for (const auto& [name, value] : mlir_.attributes) {
    if (name == "mhlo.num_replicas") say("replica_count", value);
    if (name != "mhlo.num_partitions") continue;
    say(kPartitions, value);
    program_.source.partitions_begin = value.position;
    program_.source.partitions_end = value.position + value.text.size();
  }
}

absl::StatusOr<StablehloProgram> StablehloLowering::Lower() {
  const MlirFunction* main = nullptr;
  absl::flat_hash_set<std::string_view> names;
  for (const MlirFunction& function : mlir_.functions) {
    if (!names.insert(function.name).second) {
      return ErrorAt(function.position, StrCat("function @", function.name, " is defined twice"));
    }
    if (function.name == "main") main = &function;
  }
  if (main == nullptr && mlir_.functions.size() == 1) main = &mlir_.functions[0];
  if (main == nullptr) {
    // Artifacts have private functions beside it, for composites.
    const auto is_public = [](const MlirFunction& function) { return !function.is_private; };
    const auto first = std::find_if(mlir_.functions.begin(), mlir_.functions.end(), is_public);
    if (std::count_if(mlir_.functions.begin(), mlir_.functions.end(), is_public) == 1) {
      main = &*first;
    }
  }
  if (main == nullptr) {
    return ErrorAt(0, StrCat("no function @main among the ", mlir_.functions.size(),
                             " functions of the module"));
  }
  Module& module = program_.module;
  module.name = mlir_.name.empty() ? "module" : mlir_.name;
  const PlatformChoice platform = ChoosePlatform(mlir_, *main);
  platform_ = platform.index;
  if (!platform.warning.empty()) program_.warnings.push_back(platform.warning);
  MW_ASSIGN_OR_RETURN(module.entry, LowerBody(*main, /*is_main=*/true, {main->name, {}}));
  MW_RETURN_IF_ERROR(LowerInterface(*main));
  FindPartitions();
  program_.source.meshes = mlir_.meshes;
  program_.source.module_body = mlir_.body;
  MW_RETURN_IF_ERROR(VerifyModule(module, file_name_));
  return std::move(program_);
}

}  // namespace meshwright
