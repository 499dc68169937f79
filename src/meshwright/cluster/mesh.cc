#include "meshwright/cluster/mesh.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "meshwright/base/status.h"

namespace meshwright {
namespace {

// AxisIndex is 8 bits and a rule tries (factors + 1)^rank strategies; no one uses more.
constexpr size_t kMaxRank = 8;
constexpr size_t kMaxListedMeshes = 12;

std::string DefaultName(size_t axis) {
  constexpr std::string_view kNames[] = {"x", "y", "z", "w"};
  return axis < std::size(kNames) ? std::string(kNames[axis]) : absl::StrCat("a", axis);
}

// Devices of the group that contains device `first` along the axes in `in_group`, counted by node.
// `strides[a]` is the distance in devices between neighbours along axis a.
std::map<int64_t, int64_t> MembersByNode(const Mesh& mesh, const std::vector<int64_t>& strides,
                                         const AxisList& in_group, int64_t first) {
  std::vector<int64_t> members = {first};
  for (AxisIndex axis : in_group) {
    std::vector<int64_t> next;
    next.reserve(members.size() * mesh.axes[axis].size);
    for (int64_t member : members) {
      for (int64_t i = 0; i < mesh.axes[axis].size; ++i) next.push_back(member + i * strides[axis]);
    }
    members = std::move(next);
  }
  std::map<int64_t, int64_t> by_node;
  for (int64_t member : members) ++by_node[member / mesh.cluster.devices_per_node];
  return by_node;
}

std::vector<int64_t> Strides(const Mesh& mesh) {
  std::vector<int64_t> strides(mesh.rank());
  int64_t stride = 1;
  for (size_t axis = mesh.rank(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= mesh.axes[axis].size;
  }
  return strides;
}

// Members of a group along `list` that share `devices` devices in a row, where these are whole
// inner axes times a divisor of the next; else nothing.
std::optional<int64_t> MembersAmong(const Mesh& mesh, const AxisList& list, int64_t devices) {
  int64_t members = 1;
  int64_t left = devices;  // not yet covered by the axes from the inside out
  for (size_t axis = mesh.rank(); axis-- > 0 && left > 1;) {
    const int64_t size = mesh.axes[axis].size;
    const int64_t inside = std::min(size, left);
    if (size % inside != 0 || left % inside != 0) return std::nullopt;
    if (std::find(list.begin(), list.end(), axis) != list.end()) members *= inside;
    left /= inside;
  }
  return members;
}

// Where units end within groups, those of one node are sure to be together.
std::optional<int64_t> MembersInUnit(const Mesh& mesh, const AxisList& list) {
  const Cluster& cluster = mesh.cluster;
  const int64_t nodes = cluster.fabric.unit_nodes;
  if (nodes == 0 || nodes >= cluster.nodes) return mesh.Size(list);
  return MembersAmong(mesh, list, nodes * cluster.devices_per_node);
}

// How a group along `list` lies over nodes. In the usual case nodes are whole inner axes times a
// divisor of the next axis; then all groups look alike and the answer is a product. Otherwise (6
// devices a node, mesh 3x4) groups differ, and the answer is that of the group worst off: the
// fewest members together on one node.
MeshAxis Placement(const Mesh& mesh, const AxisList& list) {
  MeshAxis result;
  result.size = mesh.Size(list);
  const int64_t per_node = mesh.cluster.devices_per_node;

  const std::optional<int64_t> in_node = MembersAmong(mesh, list, per_node);
  if (in_node) {
    result.group_in_node = *in_node;
  } else {
    const std::vector<int64_t> strides = Strides(mesh);
    int64_t fewest = result.size;
    const int64_t devices = mesh.devices();
    for (int64_t device = 0; device < devices; ++device) {
      const bool starts_group = std::all_of(list.begin(), list.end(), [&](AxisIndex axis) {
        return device / strides[axis] % mesh.axes[axis].size == 0;
      });
      if (!starts_group) continue;
      for (const auto& [node, members] : MembersByNode(mesh, strides, list, device))
        fewest = std::min(fewest, members);
    }
    result.group_in_node = fewest;
  }
  result.group_in_unit = MembersInUnit(mesh, list).value_or(result.group_in_node);
  result.crosses_nodes = result.group_in_node < result.size;
  result.groups_per_node =
      result.crosses_nodes ? std::max<int64_t>(1, per_node / result.group_in_node) : 1;
  return result;
}

Mesh BuildMesh(const std::vector<std::string>& names, const std::vector<int64_t>& sizes,
               const Cluster& cluster) {
  Mesh mesh;
  mesh.cluster = cluster;
  for (size_t i = 0; i < sizes.size(); ++i)
    mesh.axes.push_back({.name = names[i], .size = sizes[i]});
  for (size_t i = 0; i < sizes.size(); ++i) {
    const std::string name = mesh.axes[i].name;
    mesh.axes[i] = Placement(mesh, {static_cast<AxisIndex>(i)});
    mesh.axes[i].name = name;
  }
  return mesh;
}

std::string SizesText(const Mesh& mesh) {
  return absl::StrJoin(mesh.axes, "x", [](std::string* out, const MeshAxis& axis) {
    absl::StrAppend(out, axis.size);
  });
}

std::string FittingMeshes(const Cluster& cluster) {
  std::vector<std::string> texts;
  for (const Mesh& mesh : CandidateMeshes(cluster)) {
    if (texts.size() == kMaxListedMeshes) {
      texts.push_back("...");
      break;
    }
    texts.push_back(SizesText(mesh));
  }
  return absl::StrJoin(texts, ", ");
}

bool IsAxisName(const std::string& name) {
  return !name.empty() && name.size() <= 32 && !absl::ascii_isdigit(name[0]) &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return absl::ascii_isalnum(c) || c == '_'; });
}

struct MeshSpec {
  std::vector<std::string> names;
  std::vector<int64_t> sizes;
  int64_t devices = 1;  // capped just above kMaxDevices
};

absl::Status SpecError(std::string_view spec, const std::string& why) {
  return absl::InvalidArgumentError(
      absl::StrCat("mesh \"", absl::CHexEscape(std::string(spec.substr(0, 80))), "\": ", why));
}

absl::StatusOr<MeshSpec> ParseSpec(std::string_view text) {
  std::string spec(text);
  absl::StripAsciiWhitespace(&spec);
  const auto error = [&](const std::string& why) { return SpecError(spec, why); };
  const bool named = absl::StrContains(spec, '=');
  MeshSpec result;
  std::set<std::string> seen;
  const std::vector<std::string> parts = absl::StrSplit(spec, named ? ',' : 'x');
  for (std::string part : parts) {
    std::string name = DefaultName(result.sizes.size());
    if (named) {
      const std::vector<std::string> sides = absl::StrSplit(part, '=');
      if (sides.size() != 2) return error("write every axis as NAME=SIZE, such as \"x=2,y=4\"");
      name = std::string(absl::StripAsciiWhitespace(sides[0]));
      part = sides[1];
      if (!IsAxisName(name)) {
        return error(absl::StrCat(
            "\"", absl::CHexEscape(name.substr(0, 40)),
            "\" is not an axis name; use letters, digits and '_', not a digit first, at most 32"));
      }
    }
    int64_t size = 0;
    if (!absl::SimpleAtoi(part, &size) || size < 1) {
      return error(
          absl::StrCat("\"", absl::CHexEscape(part.substr(0, 40)),
                       "\" is not an axis size; write for example \"8\", \"2x4\" or \"x=2,y=4\""));
    }
    if (!seen.insert(name).second) return error(absl::StrCat("two axes are named \"", name, "\""));
    if (result.sizes.size() == kMaxRank)
      return error(absl::StrCat("more than ", kMaxRank, " axes"));
    // Sizes beyond the limit cannot fit; capping keeps the product from overflowing.
    result.devices = std::min(size, kMaxDevices + 1) * std::min(result.devices, kMaxDevices + 1);
    result.names.push_back(std::move(name));
    result.sizes.push_back(size);
  }
  return result;
}

}  // namespace

int64_t Mesh::devices() const {
  int64_t product = 1;
  for (const MeshAxis& axis : axes) product *= axis.size;
  return product;
}

int64_t Mesh::Size(const AxisList& list) const {
  int64_t product = 1;
  for (AxisIndex axis : list) product *= axes[axis].size;
  return product;
}

MeshAxis Mesh::Combined(const AxisList& list) const {
  if (list.size() == 1) return axes[list[0]];
  MeshAxis result = Placement(*this, list);
  result.name = absl::StrCat("(",
                             absl::StrJoin(list, ",",
                                           [this](std::string* out, AxisIndex axis) {
                                             absl::StrAppend(out, axes[axis].name);
                                           }),
                             ")");
  return result;
}

absl::StatusOr<Mesh> ParseMesh(std::string_view text, const Cluster& cluster) {
  MW_ASSIGN_OR_RETURN(const MeshSpec spec, ParseSpec(text));
  if (spec.devices != cluster.devices()) {
    const std::string have = spec.devices > kMaxDevices ? absl::StrCat("more than ", kMaxDevices)
                                                        : absl::StrCat(spec.devices);
    return SpecError(
        text, absl::StrCat("its sizes multiply to ", have, ", but the cluster has ",
                           cluster.devices(), " devices; these fit: ", FittingMeshes(cluster)));
  }
  return BuildMesh(spec.names, spec.sizes, cluster);
}

absl::StatusOr<int64_t> ParseMeshDevices(std::string_view text) {
  MW_ASSIGN_OR_RETURN(const MeshSpec spec, ParseSpec(text));
  return spec.devices;
}

Mesh MakeMesh(const std::vector<int64_t>& sizes, const Cluster& cluster) {
  std::vector<std::string> names;
  for (size_t i = 0; i < sizes.size(); ++i) names.push_back(DefaultName(i));
  Mesh mesh = BuildMesh(names, sizes, cluster);
  if (mesh.devices() != cluster.devices()) {
    std::fprintf(stderr, "MakeMesh: %s does not cover the cluster's devices\n",
                 SizesText(mesh).c_str());
    std::abort();
  }
  return mesh;
}

std::vector<Mesh> CandidateMeshes(const Cluster& cluster) {
  const int64_t devices = cluster.devices();
  const int64_t per_node = cluster.devices_per_node;
  // Rank of a guess, lower is better: inner axis = node; inner axis inside a node, the larger the
  // better; one axis; inner axis of several whole nodes, the smaller the better.
  struct Guess {
    std::pair<int, int64_t> rank;
    std::vector<int64_t> sizes;
  };
  std::vector<Guess> guesses;
  // Inside one node all axes are alike, so the plainest mesh is the first guess.
  guesses.push_back({{cluster.nodes == 1 ? -1 : 2, 0}, {devices}});
  for (int64_t inner = 2; inner < devices; ++inner) {
    if (devices % inner != 0) continue;
    const bool inside = per_node % inner == 0, whole_nodes = inner % per_node == 0;
    if (!inside && !whole_nodes) continue;
    const std::pair<int, int64_t> rank = inner == per_node ? std::pair<int, int64_t>{0, 0}
                                         : inside          ? std::pair<int, int64_t>{1, -inner}
                                                           : std::pair<int, int64_t>{3, inner};
    guesses.push_back({rank, {devices / inner, inner}});
  }
  std::stable_sort(guesses.begin(), guesses.end(),
                   [](const Guess& a, const Guess& b) { return a.rank < b.rank; });
  std::vector<Mesh> meshes;
  for (const Guess& guess : guesses) meshes.push_back(MakeMesh(guess.sizes, cluster));
  return meshes;
}

}  // namespace meshwright
