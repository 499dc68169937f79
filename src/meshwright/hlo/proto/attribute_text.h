#ifndef MESHWRIGHT_HLO_PROTO_ATTRIBUTE_TEXT_H_
#define MESHWRIGHT_HLO_PROTO_ATTRIBUTE_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/proto/hlo.pb.h"
#include "meshwright/hlo/text_cursor.h"

// Attributes with a grammar of their own that Instruction keeps as text: what XLA prints for the
// fields of an HloInstructionProto, and back. A Text function returns an empty string if the
// attribute is not printed; a Read function returns false if the text is not what the Text function
// writes.

namespace meshwright {

// Spellings of an enumeration by number; numbers beyond the list are printed as such.
using EnumNames = absl::Span<const std::string_view>;
std::string EnumText(EnumNames names, int64_t number);
bool ReadEnum(TextCursor& cursor, EnumNames names, int32_t* number);

// `{{0,1},{2,3}}` or `[2,4]<=[4,2]T(1,0)`
std::string ReplicaGroupsText(const proto::HloInstructionProto& instruction);
bool ReadReplicaGroups(TextCursor& cursor, proto::HloInstructionProto* out);

// `{{0,1},{1,0}}`
std::string SourceTargetText(const proto::HloInstructionProto& instruction);
bool ReadSourceTarget(TextCursor& cursor, proto::HloInstructionProto* out);

// `{true,false}`
std::string ReplicationText(const proto::HloInstructionProto& instruction);
bool ReadReplication(TextCursor& cursor, proto::HloInstructionProto* out);

// `{highest,default}`
std::string PrecisionText(const proto::HloInstructionProto& instruction);
bool ReadPrecision(TextCursor& cursor, proto::HloInstructionProto* out);

// `{{0}: (1, {})}`
std::string AliasingText(const proto::HloInstructionProto& instruction);
bool ReadAliasing(TextCursor& cursor, proto::HloInstructionProto* out);

// `{f32[8,16]{1,0}, f32[]}`
std::string ConstraintsText(const proto::HloInstructionProto& instruction);
bool ReadConstraints(TextCursor& cursor, proto::HloInstructionProto* out);

// `{mode=highest}` or `{tolerance={atol=1e-05,rtol=0.5,ulps=2}}`
std::string AccuracyText(const proto::HloInstructionProto& instruction);
bool ReadAccuracy(TextCursor& cursor, proto::HloInstructionProto* out);

// `{size=3x3 stride=2x2}`
std::string WindowAttributeText(const proto::HloInstructionProto& instruction);
bool ReadWindowAttribute(TextCursor& cursor, proto::HloInstructionProto* out);

// `b01f_01io->b01f`
std::string DimLabelsAttributeText(const proto::HloInstructionProto& instruction);
bool ReadDimLabelsAttribute(TextCursor& cursor, proto::HloInstructionProto* out);

// Lists of numbers: `{1,2}`
template <typename List>
std::string ListText(const List& values) {
  return StrCat("{", absl::StrJoin(values, ","), "}");
}

template <typename List>
bool ReadList(TextCursor& cursor, List* list) {
  const absl::StatusOr<std::vector<int64_t>> values = cursor.IntegerList();
  if (!values.ok()) return false;
  for (int64_t value : *values) list->Add(static_cast<typename List::value_type>(value));
  return true;
}

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_PROTO_ATTRIBUTE_TEXT_H_
