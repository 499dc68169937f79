#include "meshwright/hlo/proto/sharding.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/status.h"

namespace meshwright {
namespace {

using proto::AxisRefProto;
using proto::MeshProto;
using proto::NamedShardingProto;
using proto::OpSharding;

template <typename List>
std::string Join(const List& list) {
  return absl::StrJoin(list, ",");
}

// Shardings of one word, and the words of `last_tile_dims`.
struct ShardingWord {
  OpSharding::Type type;
  std::string_view name;
};
constexpr ShardingWord kShardingWords[] = {
    {OpSharding::REPLICATED, "replicated"},
    {OpSharding::MANUAL, "manual"},
    {OpSharding::UNKNOWN, "unknown"},
    {OpSharding::UNREDUCED, "unreduced"},
};

// ---- to text ----

absl::StatusOr<std::string> AxisText(const AxisRefProto& axis, const MeshProto& mesh) {
  if (axis.mesh_axis_index() < 0 || axis.mesh_axis_index() >= mesh.axes_size()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("sharding refers to axis %d of a mesh of %d axes", axis.mesh_axis_index(),
                        mesh.axes_size()));
  }
  std::string text =
      absl::StrCat("'", mesh.axes(static_cast<int>(axis.mesh_axis_index())).name(), "'");
  if (axis.has_sub_axis_info()) {
    absl::StrAppend(&text, ":(", axis.sub_axis_info().pre_size(), ")", axis.sub_axis_info().size());
  }
  return text;
}

template <typename Axes>
absl::StatusOr<std::vector<std::string>> AxisTexts(const Axes& axes, const MeshProto& mesh) {
  std::vector<std::string> texts;
  for (const AxisRefProto& axis : axes) {
    MW_ASSIGN_OR_RETURN(texts.emplace_back(), AxisText(axis, mesh));
  }
  return texts;
}

std::string MeshText(const MeshProto& mesh) {
  std::vector<std::string> axes;
  for (const MeshProto::MeshAxis& axis : mesh.axes()) {
    axes.push_back(absl::StrCat("'", axis.name(), "'=", axis.size()));
  }
  std::string text = absl::StrCat("mesh[", Join(axes), "]");
  if (mesh.has_iota_device_ids()) {
    absl::StrAppend(&text, ", device_ids=([", Join(mesh.iota_device_ids().reshape_dims()), "]T(",
                    Join(mesh.iota_device_ids().transpose_perm()), "))");
  } else if (mesh.device_ids_size() > 0) {
    absl::StrAppend(&text, ", device_ids=(", Join(mesh.device_ids()), ")");
  }
  return text;
}

// All axes of the mesh, whole and in order: how "manual" and "unreduced" by themselves are stored.
template <typename Axes>
bool IsWholeMesh(const Axes& axes, const MeshProto& mesh) {
  if (axes.empty() || axes.size() != mesh.axes_size()) return false;
  for (int i = 0; i < axes.size(); ++i) {
    if (axes.Get(i).mesh_axis_index() != i || axes.Get(i).has_sub_axis_info()) return false;
  }
  return true;
}

absl::StatusOr<std::string> NamedText(const NamedShardingProto& sharding) {
  const MeshProto& mesh = sharding.mesh();
  if (mesh.axes_size() == 0 && mesh.device_ids_size() == 1) {
    return absl::StrCat("{maximal_mesh[device_id=", mesh.device_ids(0), "]}");
  }
  std::string text = absl::StrCat("{", MeshText(mesh), ", ");
  const std::pair<std::string_view, const decltype(sharding.replicated_axes())&> lists[] = {
      {"replicated", sharding.replicated_axes()},
      {"unreduced", sharding.unreduced_axes()},
      {"manual", sharding.manual_axes()},
  };
  if (sharding.dim_shardings_size() == 0) {
    std::string_view word = "replicated";
    bool one_word = true;
    for (const auto& [name, axes] : lists) {
      if (axes.empty()) continue;
      one_word = one_word && word == "replicated" && IsWholeMesh(axes, mesh);
      word = name;
    }
    if (one_word) return absl::StrCat(text, std::string(word), "}");
  }
  std::vector<std::string> dims;
  for (const NamedShardingProto::DimensionSharding& dim : sharding.dim_shardings()) {
    MW_ASSIGN_OR_RETURN(std::vector<std::string> axes, AxisTexts(dim.axes(), mesh));
    if (!dim.is_closed()) axes.push_back("?");
    dims.push_back(absl::StrCat("{", absl::StrJoin(axes, ", "), "}"));
  }
  absl::StrAppend(&text, "[", absl::StrJoin(dims, ", "), "]");
  for (const auto& [name, axes] : lists) {
    if (axes.empty()) continue;
    MW_ASSIGN_OR_RETURN(const std::vector<std::string> texts, AxisTexts(axes, mesh));
    absl::StrAppend(&text, ", ", std::string(name), "={", absl::StrJoin(texts, ", "), "}");
  }
  return absl::StrCat(text, "}");
}

absl::StatusOr<std::string_view> TypeText(int type) {
  for (const ShardingWord& entry : kShardingWords) {
    if (entry.type == type) return entry.name;
  }
  return absl::InvalidArgumentError(absl::StrFormat("unknown sharding type %d", type));
}

absl::StatusOr<std::string> TiledText(const OpSharding& sharding) {
  std::string text = absl::StrCat("devices=[", Join(sharding.tile_assignment_dimensions()), "]");
  if (sharding.iota_reshape_dims_size() > 0) {
    absl::StrAppend(&text, "<=[", Join(sharding.iota_reshape_dims()), "]");
    if (sharding.iota_reshape_dims_size() > 1) {
      absl::StrAppend(&text, "T(", Join(sharding.iota_transpose_perm()), ")");
    }
  } else {
    absl::StrAppend(&text, Join(sharding.tile_assignment_devices()));
  }
  if (sharding.replicate_on_last_tile_dim()) absl::StrAppend(&text, " last_tile_dim_replicate");
  if (sharding.last_tile_dims_size() > 0) {
    std::vector<std::string> types;
    for (int type : sharding.last_tile_dims()) {
      MW_ASSIGN_OR_RETURN(const std::string_view name, TypeText(type));
      types.emplace_back(name);
    }
    absl::StrAppend(&text, " last_tile_dims={", absl::StrJoin(types, ", "), "}");
  }
  return text;
}

// ---- from text ----

template <typename List>
bool ReadIntegers(TextCursor& cursor, std::string_view open, char close, List* list) {
  if (!cursor.Consume(open)) return false;
  if (cursor.Consume(close)) return true;
  do {
    const absl::StatusOr<int64_t> value = cursor.Integer();
    if (!value.ok()) return false;
    list->Add(static_cast<typename List::value_type>(*value));
    if (static_cast<int64_t>(list->Get(list->size() - 1)) != *value) return false;
  } while (cursor.Consume(','));
  return cursor.Consume(close);
}

// `2,1,0]`: a list up to its end or to another word.
bool ReadBareIntegers(TextCursor& cursor, OpSharding* sharding) {
  do {
    const absl::StatusOr<int64_t> value = cursor.Integer();
    if (!value.ok()) return false;
    sharding->add_tile_assignment_devices(*value);
  } while (cursor.Consume(','));
  return true;
}

// `'name'`
bool ReadAxisName(TextCursor& cursor, std::string* name) {
  if (!cursor.Consume('\'')) return false;
  const std::string_view text = cursor.text();
  const size_t end = text.find('\'', cursor.position());
  if (end == std::string_view::npos) return false;
  *name = std::string(text.substr(cursor.position(), end - cursor.position()));
  cursor.set_position(end + 1);
  return true;
}

bool ReadAxis(TextCursor& cursor, const MeshProto& mesh, AxisRefProto* axis) {
  std::string name;
  if (!ReadAxisName(cursor, &name)) return false;
  int index = 0;
  while (index < mesh.axes_size() && mesh.axes(index).name() != name) ++index;
  if (index == mesh.axes_size()) return false;
  axis->set_mesh_axis_index(index);
  if (!cursor.Consume(":(")) return true;
  const absl::StatusOr<int64_t> pre_size = cursor.Integer();
  if (!pre_size.ok() || !cursor.Consume(')')) return false;
  const absl::StatusOr<int64_t> size = cursor.Integer();
  if (!size.ok()) return false;
  axis->mutable_sub_axis_info()->set_pre_size(*pre_size);
  axis->mutable_sub_axis_info()->set_size(*size);
  return true;
}

// After "mesh[".
bool ReadMesh(TextCursor& cursor, MeshProto* mesh) {
  do {
    MeshProto::MeshAxis* axis = mesh->add_axes();
    if (!ReadAxisName(cursor, axis->mutable_name()) || !cursor.Consume('=')) return false;
    const absl::StatusOr<int64_t> size = cursor.Integer();
    if (!size.ok()) return false;
    axis->set_size(*size);
  } while (cursor.Consume(','));
  if (!cursor.Consume(']')) return false;
  if (!cursor.Consume(", device_ids=(")) return true;
  if (cursor.Peek() == '[') {
    MeshProto::IotaDeviceIds* iota = mesh->mutable_iota_device_ids();
    return ReadIntegers(cursor, "[", ']', iota->mutable_reshape_dims()) &&
           ReadIntegers(cursor, "T(", ')', iota->mutable_transpose_perm()) && cursor.Consume(')');
  }
  return ReadIntegers(cursor, "", ')', mesh->mutable_device_ids());
}

bool ReadDimension(TextCursor& cursor, const MeshProto& mesh,
                   NamedShardingProto::DimensionSharding* dim) {
  if (!cursor.Consume('{')) return false;
  dim->set_is_closed(true);
  if (cursor.Consume('}')) return true;
  do {
    if (cursor.Consume('?')) {
      dim->set_is_closed(false);
      break;
    }
    if (!ReadAxis(cursor, mesh, dim->add_axes())) return false;
  } while (cursor.Consume(','));
  return cursor.Consume('}');
}

// After "{mesh[".
bool ReadNamed(TextCursor& cursor, NamedShardingProto* sharding) {
  MeshProto* mesh = sharding->mutable_mesh();
  if (!ReadMesh(cursor, mesh) || !cursor.Consume(',')) return false;
  const std::pair<std::string_view, decltype(sharding->mutable_replicated_axes())> lists[] = {
      {"replicated", sharding->mutable_replicated_axes()},
      {"unreduced", sharding->mutable_unreduced_axes()},
      {"manual", sharding->mutable_manual_axes()},
  };
  if (!cursor.Consume('[')) {  // one word for all
    const std::string_view word = cursor.Name();
    for (const auto& [name, axes] : lists) {
      if (word != name) continue;
      for (int i = 0; name != "replicated" && i < mesh->axes_size(); ++i) {
        axes->Add()->set_mesh_axis_index(i);
      }
      return cursor.Consume('}');
    }
    return false;
  }
  if (!cursor.Consume(']')) {
    do {
      if (!ReadDimension(cursor, *mesh, sharding->add_dim_shardings())) return false;
    } while (cursor.Consume(','));
    if (!cursor.Consume(']')) return false;
  }
  while (cursor.Consume(',')) {
    const std::string_view word = cursor.Name();
    const auto* list = std::find_if(std::begin(lists), std::end(lists),
                                    [&](const auto& entry) { return entry.first == word; });
    if (list == std::end(lists) || !cursor.Consume("={")) return false;
    do {
      if (!ReadAxis(cursor, *mesh, list->second->Add())) return false;
    } while (cursor.Consume(','));
    if (!cursor.Consume('}')) return false;
  }
  return cursor.Consume('}');
}

bool ReadLastTileDims(TextCursor& cursor, OpSharding* sharding) {
  do {
    const std::string_view word = cursor.Name();
    const auto* entry = std::find_if(std::begin(kShardingWords), std::end(kShardingWords),
                                     [&](const ShardingWord& type) { return type.name == word; });
    if (entry == std::end(kShardingWords)) return false;
    sharding->add_last_tile_dims(entry->type);
  } while (cursor.Consume(','));
  return cursor.Consume('}');
}

// After "devices=".
bool ReadTiled(TextCursor& cursor, OpSharding* sharding) {
  sharding->set_type(OpSharding::OTHER);
  if (!ReadIntegers(cursor, "[", ']', sharding->mutable_tile_assignment_dimensions())) return false;
  if (cursor.Consume("<=")) {
    if (!ReadIntegers(cursor, "[", ']', sharding->mutable_iota_reshape_dims())) return false;
    if (sharding->iota_reshape_dims_size() == 1) {
      sharding->add_iota_transpose_perm(0);
    } else if (!ReadIntegers(cursor, "T(", ')', sharding->mutable_iota_transpose_perm())) {
      return false;
    }
  } else if (!ReadBareIntegers(cursor, sharding)) {
    return false;
  }
  if (cursor.ConsumeWord("last_tile_dim_replicate")) {
    sharding->set_replicate_on_last_tile_dim(true);
  }
  return !cursor.Consume("last_tile_dims={") || ReadLastTileDims(cursor, sharding);
}

bool ReadShardGroup(TextCursor& cursor, OpSharding* sharding) {
  const bool like = cursor.ConsumeWord("shard_like");
  if (!like && !cursor.ConsumeWord("shard_as")) return true;
  const absl::StatusOr<int64_t> id = cursor.Integer();
  if (!id.ok()) return false;
  sharding->set_is_shard_group(true);
  sharding->set_shard_group_id(*id);
  sharding->set_shard_group_type(like ? 1 : 0);
  return true;
}

bool ReadSharding(TextCursor& cursor, bool in_tuple, OpSharding* sharding) {
  if (!cursor.Consume('{')) return false;
  if (cursor.Peek() == '{' || cursor.Peek() == '}') {
    if (in_tuple) return false;
    sharding->set_type(OpSharding::TUPLE);
    if (cursor.Consume('}')) return true;
    do {
      if (!ReadSharding(cursor, true, sharding->add_tuple_shardings())) return false;
    } while (cursor.Consume(','));
    return cursor.Consume('}');
  }
  if (cursor.Consume("mesh[")) return ReadNamed(cursor, sharding->mutable_named_sharding());
  if (cursor.Consume("maximal_mesh[device_id=")) {
    const absl::StatusOr<int64_t> device = cursor.Integer();
    if (!device.ok()) return false;
    sharding->mutable_named_sharding()->mutable_mesh()->add_device_ids(*device);
    return cursor.Consume(']') && cursor.Consume('}');
  }
  if (cursor.Consume("devices=")) {
    if (!ReadTiled(cursor, sharding)) return false;
  } else if (cursor.ConsumeWord("maximal")) {
    sharding->set_type(OpSharding::MAXIMAL);
    if (!cursor.Consume("device=")) return false;
    const absl::StatusOr<int64_t> device = cursor.Integer();
    if (!device.ok()) return false;
    sharding->add_tile_assignment_dimensions(1);
    sharding->add_tile_assignment_devices(*device);
  } else {
    const std::string_view word = cursor.Name();
    const auto* entry = std::find_if(std::begin(kShardingWords), std::end(kShardingWords),
                                     [&](const ShardingWord& type) { return type.name == word; });
    if (entry == std::end(kShardingWords)) return false;
    sharding->set_type(entry->type);
  }
  return ReadShardGroup(cursor, sharding) && cursor.Consume('}');
}

}  // namespace

absl::StatusOr<std::string> ShardingText(const OpSharding& sharding) {
  if (sharding.has_named_sharding()) return NamedText(sharding.named_sharding());
  if (sharding.type() == OpSharding::TUPLE) {
    std::vector<std::string> elements;
    for (const OpSharding& element : sharding.tuple_shardings()) {
      if (element.type() == OpSharding::TUPLE && !element.has_named_sharding()) {
        return absl::InvalidArgumentError("tuple sharding inside a tuple sharding");
      }
      MW_ASSIGN_OR_RETURN(elements.emplace_back(), ShardingText(element));
    }
    return absl::StrCat("{", absl::StrJoin(elements, ", "), "}");
  }
  std::string text;
  // A maximal sharding is also written as a tile assignment of a single device.
  if (sharding.type() == OpSharding::MAXIMAL) {
    if (sharding.tile_assignment_devices_size() != 1) {
      return absl::InvalidArgumentError(
          absl::StrFormat("maximal sharding names %d devices instead of one",
                          sharding.tile_assignment_devices_size()));
    }
    text = absl::StrCat("maximal device=", sharding.tile_assignment_devices(0));
  } else if (sharding.type() == OpSharding::OTHER) {
    MW_ASSIGN_OR_RETURN(text, TiledText(sharding));
  } else {
    MW_ASSIGN_OR_RETURN(const std::string_view word, TypeText(sharding.type()));
    text = std::string(word);
  }
  if (sharding.is_shard_group()) {
    absl::StrAppend(&text, sharding.shard_group_type() == 1 ? " shard_like " : " shard_as ",
                    sharding.shard_group_id());
  }
  return absl::StrCat("{", text, "}");
}

absl::StatusOr<std::string> ShardingTextFromBytes(std::string_view bytes) {
  OpSharding sharding;
  if (!sharding.ParseFromString(std::string(bytes)))
    return absl::InvalidArgumentError("no OpSharding");
  return ShardingText(sharding);
}

std::string MeshAxesText(const proto::MeshAxesReplicaGroupListProto& groups) {
  const absl::StatusOr<std::vector<std::string>> axes = AxisTexts(groups.axes(), groups.mesh());
  if (!axes.ok()) return "";
  return absl::StrCat(MeshText(groups.mesh()), " {", absl::StrJoin(*axes, ", "), "}");
}

bool ReadMeshAxes(TextCursor& cursor, proto::MeshAxesReplicaGroupListProto* groups) {
  if (!cursor.Consume("mesh[") || !ReadMesh(cursor, groups->mutable_mesh()) ||
      !cursor.Consume('{')) {
    return false;
  }
  if (cursor.Consume('}')) return true;
  do {
    if (!ReadAxis(cursor, groups->mesh(), groups->add_axes())) return false;
  } while (cursor.Consume(','));
  return cursor.Consume('}');
}

bool ShardingFromText(std::string_view text, OpSharding* sharding) {
  TextCursor cursor(text, "sharding");
  return ReadSharding(cursor, /*in_tuple=*/false, sharding) && cursor.AtEnd();
}

}  // namespace meshwright
