#include "meshwright/hlo/proto/attributes.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/attribute_tables.h"
#include "meshwright/hlo/proto/attribute_text.h"
#include "meshwright/hlo/proto/shape.h"
#include "meshwright/hlo/proto/sharding.h"
#include "meshwright/hlo/text/metadata.h"
#include "meshwright/hlo/text/shape.h"
#include "meshwright/hlo/text_cursor.h"

// One row an attribute: how its text comes out of the proto and how it goes back.

namespace meshwright {
namespace {

using proto::HloInstructionProto;

constexpr auto IsCustomCall = Is<Opcode::kCustomCall>;
constexpr auto IsBatchNorm =
    Is<Opcode::kBatchNormTraining, Opcode::kBatchNormInference, Opcode::kBatchNormGrad>;
constexpr auto IsChannel = Is<Opcode::kSend, Opcode::kSendDone, Opcode::kRecv, Opcode::kRecvDone>;
bool TakesReplicaGroups(Opcode opcode) {
  return Is<Opcode::kAllGather, Opcode::kAllGatherStart, Opcode::kAllReduce,
            Opcode::kAllReduceStart, Opcode::kAllToAll, Opcode::kCollectiveBroadcast,
            Opcode::kRaggedAllToAll, Opcode::kReduceScatter>(opcode);
}
bool TakesChannel(Opcode opcode) { return IsCollective(opcode) || IsChannel(opcode); }
bool TakesPrecision(Opcode opcode) {
  return IsDot(opcode) || Is<Opcode::kConvolution, Opcode::kCustomCall>(opcode);
}
bool TakesAliasing(Opcode opcode) {
  return Is<Opcode::kAsyncStart, Opcode::kCustomCall, Opcode::kFusion>(opcode);
}
bool TakesAccuracy(Opcode opcode) {
  return Is<Opcode::kAcos, Opcode::kAcosh, Opcode::kAsin, Opcode::kAsinh, Opcode::kAtanh,
            Opcode::kCbrt, Opcode::kCos, Opcode::kCosh, Opcode::kErf, Opcode::kExp, Opcode::kExpm1,
            Opcode::kLog, Opcode::kLog1p, Opcode::kLogistic, Opcode::kRsqrt, Opcode::kSin,
            Opcode::kSinh, Opcode::kSqrt, Opcode::kTan, Opcode::kTanh>(opcode);
}
bool TakesPermutation(Opcode opcode) {
  return Is<Opcode::kCollectivePermute, Opcode::kCollectivePermuteStart>(opcode);
}

// Spellings by number.
constexpr std::string_view kAlgorithms[] = {"",
                                            "dot_any_f8_any_f8_f32",
                                            "dot_any_f8_any_f8_f32_fast_accum",
                                            "dot_f16_f16_f16",
                                            "dot_f16_f16_f32",
                                            "dot_bf16_bf16_bf16",
                                            "dot_bf16_bf16_f32",
                                            "dot_bf16_bf16_f32_x3",
                                            "dot_bf16_bf16_f32_x6",
                                            "dot_tf32_tf32_f32",
                                            "dot_tf32_tf32_f32_x3",
                                            "dot_f32_f32_f32",
                                            "dot_f64_f64_f64",
                                            "dot_bf16_bf16_f32_x9"};
constexpr std::string_view kRngAlgorithms[] = {"rng_default", "rng_three_fry", "rng_philox"};
constexpr std::string_view kDistributions[] = {"rng_invalid", "rng_uniform", "rng_normal"};
constexpr std::string_view kFftTypes[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
constexpr std::string_view kTransposes[] = {"", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};
constexpr std::string_view kPaddingTypes[] = {"", "PADDING_VALID", "PADDING_SAME"};
constexpr std::string_view kSchedules[] = {"", "SCHEDULE_LATEST", "SCHEDULE_EARLIEST"};

// ---- texts of simple types, by field ----

// What a row may look at.
struct Context {
  const HloInstructionProto& proto;
  Opcode opcode;
  ElementType operand;  // of the first operand
};

struct Row {
  std::string_view name;
  bool (*applies)(Opcode opcode);
  std::string (*text)(const Context& context);  // empty: not printed
  bool (*read)(TextCursor& cursor, HloInstructionProto* out);
};

template <auto kText>
std::string FromProto(const Context& context) {
  return kText(context.proto);
}

template <auto kGet>
std::string NumberText(const Context& context) {
  return StrCat((context.proto.*kGet)());
}
template <auto kGet>
std::string NumberUnlessZero(const Context& context) {
  return (context.proto.*kGet)() == 0 ? "" : StrCat((context.proto.*kGet)());
}
template <auto kSet>
bool ReadNumber(TextCursor& cursor, HloInstructionProto* out) {
  const absl::StatusOr<int64_t> value = cursor.Integer();
  if (!value.ok()) return false;
  (out->*kSet)(*value);
  return true;
}

template <auto kGet>
std::string TrueText(const Context& context) {
  return (context.proto.*kGet)() ? "true" : "";
}
template <auto kSet>
bool ReadTrue(TextCursor& cursor, HloInstructionProto* out) {
  (out->*kSet)(true);
  return cursor.ConsumeWord("true");
}

template <auto kGet, const auto& kNames>
std::string NameText(const Context& context) {
  return EnumText(kNames, (context.proto.*kGet)());
}
template <auto kSet, const auto& kNames>
bool ReadName(TextCursor& cursor, HloInstructionProto* out) {
  int32_t number = 0;
  if (!ReadEnum(cursor, kNames, &number)) return false;
  (out->*kSet)(number);
  return true;
}

template <auto kGet>
std::string QuotedUnlessEmpty(const Context& context) {
  const std::string& value = (context.proto.*kGet)();
  return value.empty() ? "" : QuotedText(value);
}
template <auto kMutable>
bool ReadQuoted(TextCursor& cursor, HloInstructionProto* out) {
  absl::StatusOr<std::string> value = cursor.QuotedString();
  if (!value.ok()) return false;
  *(out->*kMutable)() = *std::move(value);
  return true;
}

std::string ChannelText(const Context& context) {
  const int64_t id =
      context.proto.channel_id() > 0 ? context.proto.channel_id() : context.proto.all_reduce_id();
  return id > 0 ? StrCat(id) : "";
}

// `{kind="sharding", entry={maximal device=0}, exit={replicated}}`. In the text `entry` is the side
// of the users, in the proto that of the operand.
std::string DomainText(const Context& context) {
  const auto entry = ShardingText(context.proto.domain_exit_sharding());
  const auto exit = ShardingText(context.proto.domain_entry_sharding());
  if (!entry.ok() || !exit.ok()) return "";
  return StrCat("{kind=\"sharding\", entry=", *entry, ", exit=", *exit, "}");
}
bool ReadDomain(TextCursor& cursor, HloInstructionProto* out) {
  if (!cursor.Consume("{kind=\"sharding\"") || !cursor.Consume(',') || !cursor.Consume("entry=")) {
    return false;
  }
  const absl::StatusOr<std::string_view> entry = cursor.RawValue();
  if (!entry.ok() || !ShardingFromText(*entry, out->mutable_domain_exit_sharding()) ||
      !cursor.Consume(',') || !cursor.Consume("exit=")) {
    return false;
  }
  const absl::StatusOr<std::string_view> exit = cursor.RawValue();
  return exit.ok() && ShardingFromText(*exit, out->mutable_domain_entry_sharding()) &&
         cursor.Consume('}');
}

std::string OutfeedShapeText(const Context& context) {
  if (!context.proto.has_outfeed_shape()) return "";
  const absl::StatusOr<Shape> shape = ShapeFromProto(context.proto.outfeed_shape());
  return shape.ok() ? CanonicalText(shape->ToString()) : "";
}
bool ReadOutfeedShape(TextCursor& cursor, HloInstructionProto* out) {
  const absl::StatusOr<Shape> shape = ParseShape(cursor);
  if (shape.ok()) ShapeToProto(*shape, out->mutable_outfeed_shape());
  return shape.ok();
}

// `1e-05`, up to the end of the attribute.
bool ReadEpsilon(TextCursor& cursor, HloInstructionProto* out) {
  float value = 0;
  const std::string_view text = cursor.text().substr(cursor.position());
  if (!absl::SimpleAtof(ToAbsl(text), &value)) return false;
  out->set_epsilon(value);
  cursor.set_position(cursor.text().size());
  return true;
}

using P = HloInstructionProto;

// In the order XLA prints them. Where a name occurs twice the opcodes are different.
constexpr Row kRows[] = {
    {"parameter_replication", Is<Opcode::kParameter>, FromProto<ReplicationText>, ReadReplication},
    {"channel_id", TakesChannel, ChannelText, ReadNumber<&P::set_channel_id>},
    {"is_host_transfer", IsChannel, TrueText<&P::is_host_transfer>,
     ReadTrue<&P::set_is_host_transfer>},
    {"replica_groups", TakesReplicaGroups, FromProto<ReplicaGroupsText>, ReadReplicaGroups},
    {"source_target_pairs", TakesPermutation, FromProto<SourceTargetText>, ReadSourceTarget},
    {"constrain_layout", IsCollective, TrueText<&P::constrain_layout>,
     ReadTrue<&P::set_constrain_layout>},
    {"use_global_device_ids", IsCollective, TrueText<&P::use_global_device_ids>,
     ReadTrue<&P::set_use_global_device_ids>},
    {"is_stable", Is<Opcode::kSort>, TrueText<&P::is_stable>, ReadTrue<&P::set_is_stable>},
    {"type", Is<Opcode::kCompare>,
     [](const Context& c) {
       return c.proto.comparison_type() == DefaultComparison(c.operand) ? std::string()
                                                                        : c.proto.comparison_type();
     },
     [](TextCursor& cursor, P* out) {
       out->set_comparison_type(std::string(cursor.Name()));
       return !out->comparison_type().empty();
     }},
    {"inferred_dimension", Is<Opcode::kReshape>,
     [](const Context& c) {
       return c.proto.dimensions_size() == 1 ? StrCat(c.proto.dimensions(0)) : std::string();
     },
     ReadNumber<&P::add_dimensions>},
    {"window", IsCustomCall, FromProto<WindowAttributeText>, ReadWindowAttribute},
    {"dim_labels", IsCustomCall, FromProto<DimLabelsAttributeText>, ReadDimLabelsAttribute},
    {"feature_group_count", IsCustomCall,
     [](const Context& c) {
       const int64_t count = c.proto.feature_group_count();
       return count > 1 ? StrCat(count) : std::string();
     },
     ReadNumber<&P::set_feature_group_count>},
    {"batch_group_count", IsCustomCall,
     [](const Context& c) {
       const int64_t count = c.proto.batch_group_count();
       return count > 1 ? StrCat(count) : std::string();
     },
     ReadNumber<&P::set_batch_group_count>},
    {"lhs_ragged_dims", Is<Opcode::kRaggedDot>,
     [](const Context& c) {
       return ListText(c.proto.ragged_dot_dimension_numbers().lhs_ragged_dimensions());
     },
     [](TextCursor& cursor, P* out) {
       return ReadList(
           cursor, out->mutable_ragged_dot_dimension_numbers()->mutable_lhs_ragged_dimensions());
     }},
    {"rhs_group_dims", Is<Opcode::kRaggedDot>,
     [](const Context& c) {
       const auto& dims = c.proto.ragged_dot_dimension_numbers().rhs_group_dimensions();
       return dims.empty() ? std::string() : ListText(dims);
     },
     [](TextCursor& cursor, P* out) {
       return ReadList(cursor,
                       out->mutable_ragged_dot_dimension_numbers()->mutable_rhs_group_dimensions());
     }},
    {"operand_precision", TakesPrecision, FromProto<PrecisionText>, ReadPrecision},
    {"algorithm", Is<Opcode::kRngBitGenerator>, NameText<&P::rng_algorithm, kRngAlgorithms>,
     ReadName<&P::set_rng_algorithm, kRngAlgorithms>},
    {"algorithm", Is<Opcode::kDot>,
     [](const Context& c) { return EnumText(kAlgorithms, c.proto.precision_config().algorithm()); },
     [](TextCursor& cursor, P* out) {
       int32_t number = 0;
       if (!ReadEnum(cursor, kAlgorithms, &number)) return false;
       out->mutable_precision_config()->set_algorithm(number);
       return true;
     }},
    {"padding_type", IsCustomCall, NameText<&P::padding_type, kPaddingTypes>,
     ReadName<&P::set_padding_type, kPaddingTypes>},
    {"operand_layout_constraints", IsCustomCall, FromProto<ConstraintsText>, ReadConstraints},
    {"custom_call_has_side_effect", IsCustomCall, TrueText<&P::custom_call_has_side_effect>,
     ReadTrue<&P::set_custom_call_has_side_effect>},
    {"output_to_operand_aliasing", TakesAliasing, FromProto<AliasingText>, ReadAliasing},
    {"schedule", IsCustomCall, NameText<&P::custom_call_schedule, kSchedules>,
     ReadName<&P::set_custom_call_schedule, kSchedules>},
    {"api_version", IsCustomCall, NameText<&P::custom_call_api_version, kApiVersions>,
     ReadName<&P::set_custom_call_api_version, kApiVersions>},
    {"epsilon", IsBatchNorm, NumberText<&P::epsilon>, ReadEpsilon},
    {"feature_index", IsBatchNorm, NumberText<&P::feature_index>,
     ReadNumber<&P::set_feature_index>},
    {"fft_type", Is<Opcode::kFft>, NameText<&P::fft_type, kFftTypes>,
     ReadName<&P::set_fft_type, kFftTypes>},
    {"fft_length", Is<Opcode::kFft>,
     [](const Context& c) { return ListText(c.proto.fft_length()); },
     [](TextCursor& cursor, P* out) { return ReadList(cursor, out->mutable_fft_length()); }},
    {"left_side", Is<Opcode::kTriangularSolve>,
     [](const Context& c) -> std::string {
       return c.proto.triangular_solve_options().left_side() ? "true" : "";
     },
     [](TextCursor& cursor, P* out) {
       out->mutable_triangular_solve_options()->set_left_side(true);
       return cursor.ConsumeWord("true");
     }},
    {"lower", Is<Opcode::kTriangularSolve>,
     [](const Context& c) -> std::string {
       return c.proto.triangular_solve_options().lower() ? "true" : "";
     },
     [](TextCursor& cursor, P* out) {
       out->mutable_triangular_solve_options()->set_lower(true);
       return cursor.ConsumeWord("true");
     }},
    {"unit_diagonal", Is<Opcode::kTriangularSolve>,
     [](const Context& c) -> std::string {
       return c.proto.triangular_solve_options().unit_diagonal() ? "true" : "";
     },
     [](TextCursor& cursor, P* out) {
       out->mutable_triangular_solve_options()->set_unit_diagonal(true);
       return cursor.ConsumeWord("true");
     }},
    {"transpose_a", Is<Opcode::kTriangularSolve>,
     [](const Context& c) {
       return EnumText(kTransposes, c.proto.triangular_solve_options().transpose_a());
     },
     [](TextCursor& cursor, P* out) {
       int32_t number = 0;
       if (!ReadEnum(cursor, kTransposes, &number)) return false;
       out->mutable_triangular_solve_options()->set_transpose_a(number);
       return true;
     }},
    {"lower", Is<Opcode::kCholesky>,
     [](const Context& c) -> std::string {
       return c.proto.cholesky_options().lower() ? "true" : "";
     },
     [](TextCursor& cursor, P* out) {
       out->mutable_cholesky_options()->set_lower(true);
       return cursor.ConsumeWord("true");
     }},
    {"cross_program_prefetch_index", Is<Opcode::kCopyStart>,
     [](const Context& c) {
       return c.proto.has_cross_program_prefetch_index()
                  ? StrCat(c.proto.cross_program_prefetch_index())
                  : std::string();
     },
     ReadNumber<&P::set_cross_program_prefetch_index>},
    {"distribution", Is<Opcode::kRng>, NameText<&P::distribution, kDistributions>,
     ReadName<&P::set_distribution, kDistributions>},
    {"delta", Is<Opcode::kRngGetAndUpdateState>, NumberText<&P::delta>, ReadNumber<&P::set_delta>},
    {"exponent_bits", Is<Opcode::kReducePrecision>, NumberText<&P::exponent_bits>,
     ReadNumber<&P::set_exponent_bits>},
    {"mantissa_bits", Is<Opcode::kReducePrecision>, NumberText<&P::mantissa_bits>,
     ReadNumber<&P::set_mantissa_bits>},
    {"infeed_config", Is<Opcode::kInfeed>, QuotedUnlessEmpty<&P::infeed_config>,
     ReadQuoted<&P::mutable_infeed_config>},
    {"outfeed_shape", Is<Opcode::kOutfeed>, OutfeedShapeText, ReadOutfeedShape},
    {"outfeed_config", Is<Opcode::kOutfeed>, QuotedUnlessEmpty<&P::outfeed_config>,
     ReadQuoted<&P::mutable_outfeed_config>},
    {"k", Is<Opcode::kTopK>, NumberText<&P::k>, ReadNumber<&P::set_k>},
    {"largest", Is<Opcode::kTopK>, TrueText<&P::largest>, ReadTrue<&P::set_largest>},
    {"domain", Is<Opcode::kDomain>, DomainText, ReadDomain},
    {"result_accuracy", TakesAccuracy, FromProto<AccuracyText>, ReadAccuracy},
    {"is_composite", Is<Opcode::kCall>, TrueText<&P::is_composite>, ReadTrue<&P::set_is_composite>},
    {"async_execution_thread", IsAsync, QuotedUnlessEmpty<&P::async_execution_thread>,
     ReadQuoted<&P::mutable_async_execution_thread>},
};

const Row* FindRow(std::string_view name, Opcode opcode) {
  for (const Row& row : kRows) {
    if (row.name == name && row.applies(opcode)) return &row;
  }
  return nullptr;
}

AttributeList FromFields(const Context& context) {
  AttributeList attributes;
  for (const Row& row : kRows) {
    if (!row.applies(context.opcode)) continue;
    std::string text = row.text(context);
    if (!text.empty()) attributes.emplace_back(row.name, std::move(text));
  }
  return attributes;
}

}  // namespace

AttributeList OtherAttributes(const HloInstructionProto& instruction, Opcode opcode,
                              ElementType operand) {
  if (instruction.text_attributes_size() == 0) return FromFields({instruction, opcode, operand});
  AttributeList attributes;
  for (const proto::TextAttribute& attribute : instruction.text_attributes()) {
    if (!attribute.name().empty()) attributes.emplace_back(attribute.name(), attribute.value());
  }
  return attributes;
}

void OtherAttributesToProto(const AttributeList& attributes, Opcode opcode, ElementType operand,
                            HloInstructionProto* out) {
  for (const auto& [name, text] : attributes) {
    const Row* row = FindRow(name, opcode);
    TextCursor cursor(text, "attribute");
    if (row != nullptr) row->read(cursor, out);
  }
  if (opcode == Opcode::kCompare && out->comparison_type().empty()) {
    out->set_comparison_type(std::string(DefaultComparison(operand)));
  }
  if (FromFields({*out, opcode, operand}) == attributes) return;
  if (attributes.empty())
    out->add_text_attributes();  // a nameless one: the list is there, but empty
  for (const auto& [name, text] : attributes) {
    proto::TextAttribute* attribute = out->add_text_attributes();
    attribute->set_name(name);
    attribute->set_value(text);
  }
}

bool HasAttributeField(std::string_view name, Opcode opcode) {
  return FindRow(name, opcode) != nullptr;
}

void FrontendAttributesToProto(const AttributeList& attributes, proto::FrontendAttributes* out) {
  for (const auto& [key, value] : attributes) {
    proto::FrontendAttributes::Entry* entry = out->add_map();
    entry->set_key(key);
    entry->set_value(value);
  }
}

AttributeList SortedFrontendAttributes(const proto::FrontendAttributes& attributes) {
  AttributeList sorted;
  for (const auto& entry : attributes.map()) sorted.emplace_back(entry.key(), entry.value());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

}  // namespace meshwright
