#include "meshwright/hlo/text/attributes.h"

#include <array>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/attribute_tables.h"
#include "meshwright/hlo/text/dimensions.h"
#include "meshwright/hlo/text/metadata.h"

namespace meshwright {
namespace {

constexpr auto IsConvolution = Is<Opcode::kConvolution>;
constexpr auto IsWindowed =
    Is<Opcode::kConvolution, Opcode::kReduceWindow, Opcode::kSelectAndScatter>;
constexpr auto IsGather = Is<Opcode::kGather>;
constexpr auto IsScatter = Is<Opcode::kScatter>;

std::string IntegersText(const std::vector<int64_t>& values) {
  return StrCat("{", absl::StrJoin(values, ","), "}");
}

// Readers and writers of fields, made from an accessor `Field(instruction) -> member&`.
template <auto kField>
absl::Status ReadIntegers(TextCursor& cursor, Instruction& instruction) {
  MW_ASSIGN_OR_RETURN(kField(instruction), cursor.IntegerList());
  return absl::OkStatus();
}
template <auto kField>
std::string WriteIntegers(const Instruction& instruction) {
  return IntegersText(kField(const_cast<Instruction&>(instruction)));
}
template <auto kField>
std::string WriteListUnlessEmpty(const Instruction& instruction) {
  const auto& values = kField(const_cast<Instruction&>(instruction));
  return values.empty() ? "" : IntegersText(values);
}
template <auto kField>
absl::Status ReadInteger(TextCursor& cursor, Instruction& instruction) {
  MW_ASSIGN_OR_RETURN(kField(instruction), cursor.Integer());
  return absl::OkStatus();
}
template <auto kField>
std::string WriteInteger(const Instruction& instruction) {
  return StrCat(kField(const_cast<Instruction&>(instruction)));
}
template <auto kField>
std::string WriteIntegerUnlessOne(const Instruction& instruction) {
  const int64_t value = kField(const_cast<Instruction&>(instruction));
  return value == 1 ? "" : StrCat(value);
}
template <auto kField>
absl::Status ReadBool(TextCursor& cursor, Instruction& instruction) {
  kField(instruction) = cursor.ConsumeWord("true");
  if (!kField(instruction) && !cursor.ConsumeWord("false")) return cursor.Expected("true or false");
  return absl::OkStatus();
}
template <auto kField>
std::string WriteBoolIfTrue(const Instruction& instruction) {
  return kField(const_cast<Instruction&>(instruction)) ? "true" : "";
}
template <auto kField>
absl::Status ReadWord(TextCursor& cursor, Instruction& instruction) {
  const std::string_view word = cursor.Name();
  if (word.empty()) return cursor.Expected("a word");
  kField(instruction) = std::string(word);
  return absl::OkStatus();
}
template <auto kField>
std::string WriteWord(const Instruction& instruction) {
  return kField(const_cast<Instruction&>(instruction));
}

#define MW_FIELD(path) \
  [](Instruction & i) -> auto& { return i.path; }

absl::Status ReadDirection(TextCursor& cursor, Instruction& instruction) {
  static constexpr std::string_view kDirections[] = {"EQ", "NE", "GE", "GT", "LE", "LT"};
  cursor.SkipSpace();
  const size_t at = cursor.position();
  const std::string_view word = cursor.Name();
  for (const std::string_view direction : kDirections) {
    if (word == direction) {
      instruction.direction = std::string(word);
      return absl::OkStatus();
    }
  }
  cursor.set_position(at);
  return cursor.Expected("one of the directions EQ, NE, GE, GT, LE, LT");
}

// Opcodes that print `dimensions` even if there are none.
bool AlwaysPrintsDimensions(Opcode opcode) {
  return Is<Opcode::kBroadcast, Opcode::kReduce, Opcode::kTranspose, Opcode::kReverse,
            Opcode::kSort, Opcode::kMap>(opcode);
}

constexpr TypedAttribute kTyped[] = {
    {"index", Is<Opcode::kGetTupleElement>, ReadInteger<MW_FIELD(tuple_index)>,
     WriteInteger<MW_FIELD(tuple_index)>},
    {"dimensions", TakesDimensions, ReadIntegers<MW_FIELD(dimensions)>,
     [](const Instruction& i) -> std::string {
       const bool print = !i.dimensions.empty() || AlwaysPrintsDimensions(i.opcode);
       return print ? IntegersText(i.dimensions) : "";
     }},
    {"iota_dimension", Is<Opcode::kIota>, ReadInteger<MW_FIELD(iota_dimension)>,
     WriteInteger<MW_FIELD(iota_dimension)>},
    {"direction", Is<Opcode::kCompare>, ReadDirection, WriteWord<MW_FIELD(direction)>},
    {"lhs_batch_dims", IsDot, ReadIntegers<MW_FIELD(dot.lhs_batch)>,
     WriteListUnlessEmpty<MW_FIELD(dot.lhs_batch)>},
    {"lhs_contracting_dims", IsDot, ReadIntegers<MW_FIELD(dot.lhs_contracting)>,
     WriteIntegers<MW_FIELD(dot.lhs_contracting)>},
    {"rhs_batch_dims", IsDot, ReadIntegers<MW_FIELD(dot.rhs_batch)>,
     WriteListUnlessEmpty<MW_FIELD(dot.rhs_batch)>},
    {"rhs_contracting_dims", IsDot, ReadIntegers<MW_FIELD(dot.rhs_contracting)>,
     WriteIntegers<MW_FIELD(dot.rhs_contracting)>},
    {"window", IsWindowed,
     [](TextCursor& cursor, Instruction& i) { return ReadWindow(cursor, i.window); },
     [](const Instruction& i) { return i.window.empty() ? std::string() : WindowText(i.window); }},
    {"dim_labels", IsConvolution,
     [](TextCursor& cursor, Instruction& i) { return ReadDimLabels(cursor, i.convolution); },
     [](const Instruction& i) { return DimLabelsText(i.convolution); }},
    {"feature_group_count", IsConvolution, ReadInteger<MW_FIELD(feature_group_count)>,
     WriteIntegerUnlessOne<MW_FIELD(feature_group_count)>},
    {"batch_group_count", IsConvolution, ReadInteger<MW_FIELD(batch_group_count)>,
     WriteIntegerUnlessOne<MW_FIELD(batch_group_count)>},
    {"slice", Is<Opcode::kSlice>,
     [](TextCursor& cursor, Instruction& i) { return ReadSlice(cursor, i.slice); },
     [](const Instruction& i) { return SliceText(i.slice); }},
    {"dynamic_slice_sizes", Is<Opcode::kDynamicSlice>, ReadIntegers<MW_FIELD(dynamic_slice_sizes)>,
     WriteIntegers<MW_FIELD(dynamic_slice_sizes)>},
    {"padding", Is<Opcode::kPad>,
     [](TextCursor& cursor, Instruction& i) { return ReadPadding(cursor, i.padding); },
     [](const Instruction& i) { return PaddingText(i.padding); }},
    {"offset_dims", IsGather, ReadIntegers<MW_FIELD(gather.offset_dims)>,
     WriteIntegers<MW_FIELD(gather.offset_dims)>},
    {"collapsed_slice_dims", IsGather, ReadIntegers<MW_FIELD(gather.collapsed_slice_dims)>,
     WriteIntegers<MW_FIELD(gather.collapsed_slice_dims)>},
    {"start_index_map", IsGather, ReadIntegers<MW_FIELD(gather.start_index_map)>,
     WriteIntegers<MW_FIELD(gather.start_index_map)>},
    {"operand_batching_dims", IsGather, ReadIntegers<MW_FIELD(gather.operand_batching_dims)>,
     WriteListUnlessEmpty<MW_FIELD(gather.operand_batching_dims)>},
    {"start_indices_batching_dims", IsGather,
     ReadIntegers<MW_FIELD(gather.start_indices_batching_dims)>,
     WriteListUnlessEmpty<MW_FIELD(gather.start_indices_batching_dims)>},
    {"index_vector_dim", IsGather, ReadInteger<MW_FIELD(gather.index_vector_dim)>,
     WriteInteger<MW_FIELD(gather.index_vector_dim)>},
    {"slice_sizes", IsGather, ReadIntegers<MW_FIELD(gather.slice_sizes)>,
     WriteIntegers<MW_FIELD(gather.slice_sizes)>},
    {"indices_are_sorted", IsGather, ReadBool<MW_FIELD(gather.indices_are_sorted)>,
     WriteBoolIfTrue<MW_FIELD(gather.indices_are_sorted)>},
    {"update_window_dims", IsScatter, ReadIntegers<MW_FIELD(scatter.update_window_dims)>,
     WriteIntegers<MW_FIELD(scatter.update_window_dims)>},
    {"inserted_window_dims", IsScatter, ReadIntegers<MW_FIELD(scatter.inserted_window_dims)>,
     WriteIntegers<MW_FIELD(scatter.inserted_window_dims)>},
    {"scatter_dims_to_operand_dims", IsScatter,
     ReadIntegers<MW_FIELD(scatter.scatter_dims_to_operand_dims)>,
     WriteIntegers<MW_FIELD(scatter.scatter_dims_to_operand_dims)>},
    {"input_batching_dims", IsScatter, ReadIntegers<MW_FIELD(scatter.input_batching_dims)>,
     WriteListUnlessEmpty<MW_FIELD(scatter.input_batching_dims)>},
    {"scatter_indices_batching_dims", IsScatter,
     ReadIntegers<MW_FIELD(scatter.scatter_indices_batching_dims)>,
     WriteListUnlessEmpty<MW_FIELD(scatter.scatter_indices_batching_dims)>},
    {"index_vector_dim", IsScatter, ReadInteger<MW_FIELD(scatter.index_vector_dim)>,
     WriteInteger<MW_FIELD(scatter.index_vector_dim)>},
    {"indices_are_sorted", IsScatter, ReadBool<MW_FIELD(scatter.indices_are_sorted)>,
     WriteBoolIfTrue<MW_FIELD(scatter.indices_are_sorted)>},
    {"unique_indices", IsScatter, ReadBool<MW_FIELD(scatter.unique_indices)>,
     WriteBoolIfTrue<MW_FIELD(scatter.unique_indices)>},
    {"kind", Is<Opcode::kFusion>, ReadWord<MW_FIELD(fusion_kind)>,
     WriteWord<MW_FIELD(fusion_kind)>},
    {"custom_call_target", Is<Opcode::kCustomCall>,
     [](TextCursor& cursor, Instruction& i) -> absl::Status {
       MW_ASSIGN_OR_RETURN(i.custom_call_target, cursor.QuotedString());
       return absl::OkStatus();
     },
     [](const Instruction& i) { return QuotedText(i.custom_call_target); }},
    {"sharding", Any,
     [](TextCursor& cursor, Instruction& i) -> absl::Status {
       MW_ASSIGN_OR_RETURN(const std::string_view text, cursor.RawValue());
       if (!text.starts_with("{")) return cursor.Error("expected '{' before a sharding");
       i.sharding = CanonicalText(text);
       return absl::OkStatus();
     },
     WriteWord<MW_FIELD(sharding)>},
    {"frontend_attributes", Any,
     [](TextCursor& cursor, Instruction& i) {
       return ReadFrontendAttributes(cursor, i.frontend_attributes);
     },
     [](const Instruction& i) {
       return i.frontend_attributes.empty() ? std::string()
                                            : FrontendAttributesText(i.frontend_attributes);
     }},
    {"metadata", Any,
     [](TextCursor& cursor, Instruction& i) { return ReadMetadata(cursor, i.metadata); },
     [](const Instruction& i) {
       return i.metadata.empty() ? std::string() : MetadataText(i.metadata);
     }},
    {"backend_config", Any,
     [](TextCursor& cursor, Instruction& i) -> absl::Status {
       MW_ASSIGN_OR_RETURN(const std::string_view text, cursor.RawValue());
       i.backend_config = std::string(text);
       return absl::OkStatus();
     },
     WriteWord<MW_FIELD(backend_config)>},
};

#undef MW_FIELD

constexpr auto IsWhile = Is<Opcode::kWhile>;
constexpr auto IsConditional = Is<Opcode::kConditional>;
constexpr auto IsSelectAndScatter = Is<Opcode::kSelectAndScatter>;

constexpr CalledAttribute kCalled[] = {
    {"condition", IsWhile, 0},
    {"body", IsWhile, 1},
    {"select", IsSelectAndScatter, 0},
    {"scatter", IsSelectAndScatter, 1},
    {"true_computation", IsConditional, 0},
    {"false_computation", IsConditional, 1},
    {"branch_computations", IsConditional, 0},
    {"called_computations", Is<Opcode::kCustomCall>, 0},
    {"to_apply", TakesToApply, 0},
    {"calls", [](Opcode opcode) { return opcode == Opcode::kFusion || IsAsync(opcode); }, 0},
};

struct Requirement {
  Opcode opcode;
  std::string_view names[5];
};

constexpr Requirement kRequired[] = {
    {Opcode::kAllGather, {"dimensions"}},
    {Opcode::kAllReduce, {"to_apply"}},
    {Opcode::kBatchNormGrad, {"epsilon", "feature_index"}},
    {Opcode::kBatchNormInference, {"epsilon", "feature_index"}},
    {Opcode::kBatchNormTraining, {"epsilon", "feature_index"}},
    {Opcode::kCall, {"to_apply"}},
    {Opcode::kCompare, {"direction"}},
    {Opcode::kConcatenate, {"dimensions"}},
    {Opcode::kConditional, {"branch_computations|true_computation"}},
    {Opcode::kConvolution, {"dim_labels"}},
    {Opcode::kCustomCall, {"custom_call_target"}},
    {Opcode::kDynamicSlice, {"dynamic_slice_sizes"}},
    {Opcode::kFft, {"fft_type", "fft_length"}},
    {Opcode::kFusion, {"kind", "calls"}},
    {Opcode::kGather,
     {"offset_dims", "collapsed_slice_dims", "start_index_map", "index_vector_dim", "slice_sizes"}},
    {Opcode::kGetDimensionSize, {"dimensions"}},
    {Opcode::kGetTupleElement, {"index"}},
    {Opcode::kIota, {"iota_dimension"}},
    {Opcode::kMap, {"to_apply"}},
    {Opcode::kPad, {"padding"}},
    {Opcode::kReduce, {"dimensions", "to_apply"}},
    {Opcode::kReducePrecision, {"exponent_bits", "mantissa_bits"}},
    {Opcode::kReduceScatter, {"dimensions", "to_apply"}},
    {Opcode::kReduceWindow, {"to_apply"}},
    {Opcode::kReverse, {"dimensions"}},
    {Opcode::kRng, {"distribution"}},
    {Opcode::kRngBitGenerator, {"algorithm"}},
    {Opcode::kRngGetAndUpdateState, {"delta"}},
    {Opcode::kScatter,
     {"update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims",
      "index_vector_dim", "to_apply"}},
    {Opcode::kSelectAndScatter, {"select", "scatter"}},
    {Opcode::kSetDimensionSize, {"dimensions"}},
    {Opcode::kSlice, {"slice"}},
    {Opcode::kSort, {"dimensions", "to_apply"}},
    {Opcode::kTopK, {"k"}},
    {Opcode::kTranspose, {"dimensions"}},
    {Opcode::kWhile, {"condition", "body"}},
};

}  // namespace

Opcode AttributeOpcode(const Instruction& instruction) {
  if (instruction.opcode != Opcode::kAsyncStart) return instruction.opcode;
  return OpcodeFromName(instruction.async_name).value_or(instruction.opcode);
}

absl::Span<const TypedAttribute> TypedAttributes() { return kTyped; }

const TypedAttribute* FindTypedAttribute(std::string_view name, Opcode opcode) {
  static const auto& rows = *[] {
    auto* map = new absl::flat_hash_map<std::string_view, std::vector<const TypedAttribute*>>();
    for (const TypedAttribute& row : kTyped) (*map)[row.name].push_back(&row);
    return map;
  }();
  const auto it = rows.find(name);
  if (it == rows.end()) return nullptr;
  for (const TypedAttribute* row : it->second) {
    if (row->applies(opcode)) return row;
  }
  return nullptr;
}

const CalledAttribute* FindCalledAttribute(std::string_view name, Opcode opcode) {
  for (const CalledAttribute& row : kCalled) {
    if (row.name == name && row.applies(opcode)) return &row;
  }
  return nullptr;
}

std::vector<CalledText> CalledTexts(const Instruction& instruction, bool predicate) {
  const size_t count = instruction.called.size();
  if (count == 0) return {};
  const Opcode opcode = AttributeOpcode(instruction);
  switch (opcode) {
    case Opcode::kWhile:
      return {{"condition", 0, 1}, {"body", 1, 2}};
    case Opcode::kSelectAndScatter:
      return {{"select", 0, 1}, {"scatter", 1, 2}};
    case Opcode::kConditional:
      if (predicate && count == 2) return {{"true_computation", 0, 1}, {"false_computation", 1, 2}};
      return {{"branch_computations", 0, count, true}};
    case Opcode::kCustomCall:
      return {{"called_computations", 0, count, true}};
    case Opcode::kFusion:
    case Opcode::kAsyncStart:
    case Opcode::kAsyncUpdate:
    case Opcode::kAsyncDone:
      return {{"calls", 0, count, count > 1}};
    default:
      return {{"to_apply", 0, count, count > 1}};
  }
}

absl::Span<const std::string_view> RequiredAttributes(Opcode opcode) {
  static const auto& rows = *[] {
    auto* by_opcode = new std::array<absl::Span<const std::string_view>, kOpcodeCount>();
    for (const Requirement& row : kRequired) {
      size_t count = 0;
      while (count < std::size(row.names) && !row.names[count].empty()) ++count;
      (*by_opcode)[static_cast<size_t>(row.opcode)] = absl::MakeConstSpan(row.names, count);
    }
    return by_opcode;
  }();
  return rows[static_cast<size_t>(opcode)];
}

}  // namespace meshwright
