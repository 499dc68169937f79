#include "meshwright/hlo/proto/attribute_text.h"

#include <algorithm>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/proto/dimensions.h"
#include "meshwright/hlo/proto/shape.h"
#include "meshwright/hlo/proto/sharding.h"
#include "meshwright/hlo/text/dimensions.h"
#include "meshwright/hlo/text/shape.h"

namespace meshwright {
namespace {

using proto::HloInstructionProto;

constexpr std::string_view kPrecisions[] = {"default", "high", "highest", "packed_nibble"};
constexpr std::string_view kAccuracyModes[] = {"default", "highest"};

bool ReadBracketed(TextCursor& cursor, std::string_view open, char close,
                   std::vector<int64_t>* values) {
  if (!cursor.Consume(open)) return false;
  do {
    const absl::StatusOr<int64_t> value = cursor.Integer();
    if (!value.ok()) return false;
    values->push_back(*value);
  } while (cursor.Consume(','));
  return cursor.Consume(close);
}

std::string IotaGroupsText(const proto::IotaReplicaGroupListProto& iota) {
  std::string text = StrCat("[", iota.num_replica_groups(), ",", iota.num_devices_per_group(),
                            "]<=[", absl::StrJoin(iota.iota_reshape_dims(), ","), "]");
  if (iota.iota_reshape_dims_size() > 1) {
    StrAppend(&text, "T(", absl::StrJoin(iota.iota_transpose_perm(), ","), ")");
  }
  return text;
}

bool ReadIotaGroups(TextCursor& cursor, proto::IotaReplicaGroupListProto* iota) {
  std::vector<int64_t> shape, dims, perm = {0};
  if (!ReadBracketed(cursor, "[", ']', &shape) || shape.size() != 2 || !cursor.Consume("<=") ||
      !ReadBracketed(cursor, "[", ']', &dims)) {
    return false;
  }
  if (cursor.Peek() == 'T') {
    perm.clear();
    if (!ReadBracketed(cursor, "T(", ')', &perm)) return false;
  }
  iota->set_num_replica_groups(shape[0]);
  iota->set_num_devices_per_group(shape[1]);
  iota->mutable_iota_reshape_dims()->Add(dims.begin(), dims.end());
  for (int64_t dim : perm) iota->add_iota_transpose_perm(static_cast<int32_t>(dim));
  return true;
}

// A floating-point number up to ',' or '}'.
bool ReadDouble(TextCursor& cursor, double* value) {
  cursor.SkipSpace();
  const std::string_view rest = cursor.text().substr(cursor.position());
  const std::string_view token = rest.substr(0, rest.find_first_of(",} "));
  cursor.set_position(cursor.position() + token.size());
  return absl::SimpleAtod(ToAbsl(token), value);
}

}  // namespace

std::string EnumText(EnumNames names, int64_t number) {
  const bool listed = number >= 0 && number < static_cast<int64_t>(names.size());
  return listed ? std::string(names[static_cast<size_t>(number)]) : StrCat(number);
}

bool ReadEnum(TextCursor& cursor, EnumNames names, int32_t* number) {
  const std::string_view word = cursor.Name();
  const auto* it = std::find(names.begin(), names.end(), word);
  *number = static_cast<int32_t>(it - names.begin());
  return (it != names.end() && !word.empty()) || absl::SimpleAtoi(ToAbsl(word), number);
}

std::string ReplicaGroupsText(const HloInstructionProto& i) {
  const proto::CollectiveDeviceListProto& list = i.collective_device_list();
  if (i.has_iota_collective_device_list()) return IotaGroupsText(i.iota_collective_device_list());
  if (list.has_iota_replica_group_list()) return IotaGroupsText(list.iota_replica_group_list());
  if (i.has_mesh_axes_replica_group_list()) {
    return MeshAxesText(i.mesh_axes_replica_group_list());
  }
  std::vector<std::string> groups;
  const bool old = list.replica_groups_size() == 0;
  for (const proto::ReplicaGroup& group : old ? i.replica_groups() : list.replica_groups()) {
    groups.push_back(ListText(group.replica_ids()));
  }
  return StrCat("{", absl::StrJoin(groups, ","), "}");
}

bool ReadReplicaGroups(TextCursor& cursor, HloInstructionProto* i) {
  if (cursor.Peek() == '[') {
    return ReadIotaGroups(cursor, i->mutable_iota_collective_device_list());
  }
  if (cursor.Peek() == 'm') return ReadMeshAxes(cursor, i->mutable_mesh_axes_replica_group_list());
  proto::CollectiveDeviceListProto* list = i->mutable_collective_device_list();
  if (!cursor.Consume('{')) return false;
  if (cursor.Consume('}')) return true;
  do {
    if (!ReadList(cursor, list->add_replica_groups()->mutable_replica_ids())) return false;
  } while (cursor.Consume(','));
  // Readers that do not know the device list yet look here.
  *i->mutable_replica_groups() = list->replica_groups();
  return cursor.Consume('}');
}

std::string SourceTargetText(const HloInstructionProto& i) {
  std::vector<std::string> pairs;
  for (const proto::SourceTarget& pair : i.source_target_pairs()) {
    pairs.push_back(StrCat("{", pair.source(), ",", pair.target(), "}"));
  }
  return StrCat("{", absl::StrJoin(pairs, ","), "}");
}

bool ReadSourceTarget(TextCursor& cursor, HloInstructionProto* i) {
  if (!cursor.Consume('{')) return false;
  if (cursor.Consume('}')) return true;
  do {
    const absl::StatusOr<std::vector<int64_t>> pair = cursor.IntegerList();
    if (!pair.ok() || pair->size() != 2) return false;
    proto::SourceTarget* added = i->add_source_target_pairs();
    added->set_source((*pair)[0]);
    added->set_target((*pair)[1]);
  } while (cursor.Consume(','));
  return cursor.Consume('}');
}

std::string ReplicationText(const HloInstructionProto& i) {
  std::vector<std::string> flags;
  for (bool flag : i.parameter_replication().replicated_at_leaf_buffers()) {
    flags.emplace_back(flag ? "true" : "false");
  }
  return i.has_parameter_replication() ? StrCat("{", absl::StrJoin(flags, ","), "}") : "";
}

bool ReadReplication(TextCursor& cursor, HloInstructionProto* i) {
  if (!cursor.Consume('{')) return false;
  proto::ParameterReplication* replication = i->mutable_parameter_replication();
  if (cursor.Consume('}')) return true;
  do {
    const bool yes = cursor.ConsumeWord("true");
    if (!yes && !cursor.ConsumeWord("false")) return false;
    replication->add_replicated_at_leaf_buffers(yes);
  } while (cursor.Consume(','));
  return cursor.Consume('}');
}

std::string PrecisionText(const HloInstructionProto& i) {
  const auto& precisions = i.precision_config().operand_precision();
  if (std::all_of(precisions.begin(), precisions.end(), [](int p) { return p == 0; })) return "";
  std::vector<std::string> names;
  for (int precision : precisions) names.push_back(EnumText(kPrecisions, precision));
  return StrCat("{", absl::StrJoin(names, ","), "}");
}

bool ReadPrecision(TextCursor& cursor, HloInstructionProto* i) {
  if (!cursor.Consume('{')) return false;
  do {
    int32_t precision = 0;
    if (!ReadEnum(cursor, kPrecisions, &precision)) return false;
    i->mutable_precision_config()->add_operand_precision(precision);
  } while (cursor.Consume(','));
  return cursor.Consume('}');
}

std::string AliasingText(const HloInstructionProto& i) {
  std::vector<std::string> entries;
  for (const proto::OutputOperandAliasing& alias : i.output_operand_aliasing()) {
    entries.push_back(StrCat(ListText(alias.output_shape_index()), ": (", alias.operand_index(),
                             ", ", ListText(alias.operand_shape_index()), ")"));
  }
  return entries.empty() ? "" : StrCat("{", absl::StrJoin(entries, ", "), "}");
}

bool ReadAliasing(TextCursor& cursor, HloInstructionProto* i) {
  if (!cursor.Consume('{')) return false;
  do {
    proto::OutputOperandAliasing* alias = i->add_output_operand_aliasing();
    if (!ReadList(cursor, alias->mutable_output_shape_index()) || !cursor.Consume(':') ||
        !cursor.Consume('(')) {
      return false;
    }
    const absl::StatusOr<int64_t> operand = cursor.Integer();
    if (!operand.ok() || !cursor.Consume(',')) return false;
    alias->set_operand_index(*operand);
    if (!ReadList(cursor, alias->mutable_operand_shape_index()) || !cursor.Consume(')'))
      return false;
  } while (cursor.Consume(','));
  return cursor.Consume('}');
}

std::string ConstraintsText(const HloInstructionProto& i) {
  if (!i.constrain_layout()) return "";
  std::vector<std::string> shapes;
  for (const proto::ShapeProto& shape : i.operand_shapes_with_layout()) {
    const absl::StatusOr<Shape> parsed = ShapeFromProto(shape);
    shapes.push_back(parsed.ok() ? parsed->ToString() : "token[]");
  }
  return CanonicalText(StrCat("{", absl::StrJoin(shapes, ", "), "}"));
}

bool ReadConstraints(TextCursor& cursor, HloInstructionProto* i) {
  if (!cursor.Consume('{')) return false;
  i->set_constrain_layout(true);
  if (cursor.Consume('}')) return true;
  do {
    const absl::StatusOr<Shape> shape = ParseShape(cursor);
    if (!shape.ok()) return false;
    ShapeToProto(*shape, i->add_operand_shapes_with_layout());
  } while (cursor.Consume(','));
  return cursor.Consume('}');
}

std::string AccuracyText(const HloInstructionProto& i) {
  const proto::ResultAccuracy& accuracy = i.result_accuracy();
  if (accuracy.has_tolerance()) {
    const proto::ResultAccuracy::Tolerance& tolerance = accuracy.tolerance();
    return StrCat("{tolerance={atol=", tolerance.atol(), ",rtol=", tolerance.rtol(),
                  ",ulps=", tolerance.ulps(), "}}");
  }
  return accuracy.mode() == 0 ? ""
                              : StrCat("{mode=", EnumText(kAccuracyModes, accuracy.mode()), "}");
}

bool ReadAccuracy(TextCursor& cursor, HloInstructionProto* i) {
  proto::ResultAccuracy* accuracy = i->mutable_result_accuracy();
  if (cursor.Consume("{mode=")) {
    int32_t mode = 0;
    if (!ReadEnum(cursor, kAccuracyModes, &mode)) return false;
    accuracy->set_mode(mode);
    return cursor.Consume('}');
  }
  if (!cursor.Consume("{tolerance={atol=")) return false;
  double atol = 0, rtol = 0;
  if (!ReadDouble(cursor, &atol) || !cursor.Consume(",") || !cursor.Consume("rtol=") ||
      !ReadDouble(cursor, &rtol) || !cursor.Consume(",") || !cursor.Consume("ulps=")) {
    return false;
  }
  const absl::StatusOr<int64_t> ulps = cursor.Integer();
  if (!ulps.ok()) return false;
  accuracy->mutable_tolerance()->set_atol(atol);
  accuracy->mutable_tolerance()->set_rtol(rtol);
  accuracy->mutable_tolerance()->set_ulps(*ulps);
  return cursor.Consume("}}");
}

std::string WindowAttributeText(const HloInstructionProto& i) {
  return i.window().dimensions_size() == 0 ? "" : WindowText(WindowFromProto(i.window()));
}

bool ReadWindowAttribute(TextCursor& cursor, HloInstructionProto* i) {
  std::vector<WindowDimension> window;
  if (!ReadWindow(cursor, window).ok()) return false;
  WindowToProto(window, i->mutable_window());
  return true;
}

std::string DimLabelsAttributeText(const HloInstructionProto& i) {
  if (!i.has_convolution_dimension_numbers()) return "";
  return DimLabelsText(ConvolutionFromProto(i.convolution_dimension_numbers()));
}

bool ReadDimLabelsAttribute(TextCursor& cursor, HloInstructionProto* i) {
  ConvolutionDimensions dimensions;
  if (!ReadDimLabels(cursor, dimensions).ok()) return false;
  ConvolutionToProto(dimensions, i->mutable_convolution_dimension_numbers());
  return true;
}

}  // namespace meshwright
