#ifndef MESHWRIGHT_CLUSTER_MESH_H_
#define MESHWRIGHT_CLUSTER_MESH_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "meshwright/cluster/cluster.h"

namespace meshwright {

// Mesh axes are named by their position, 0 the outermost (slowest varying).
using AxisIndex = uint8_t;
using AxisList = absl::InlinedVector<AxisIndex, 6>;  // order matters: major to minor

// One axis of a logical mesh, laid over the cluster's devices row-major: with axes x=2, y=4 on one
// node of 8, device d sits at (d / 4, d % 4).
struct MeshAxis {
  std::string name;  // "x", "y", "z", "w", "a4", ... or the user's
  int64_t size = 1;
  // The links that a collective along this axis alone crosses. An axis lies inside nodes if all
  // devices of every group along it share a node; else its slowest link is between nodes.
  bool crosses_nodes = false;
  int64_t group_in_node = 1;  // members of one group that share a node (size if !crosses_nodes)
  // Groups along this axis that have members on the same node and so share that node's outer links
  // when all groups communicate at once (as SPMD programs do). 1 if !crosses_nodes. With one NIC a
  // device (Link::bandwidth is per device) they do not slow each other.
  int64_t groups_per_node = 1;
  int64_t group_in_unit = 1;  // members of one group in a unit of Cluster::fabric; all without it
};

// A logical mesh over a whole cluster: the product of the axis sizes is its number of devices.
struct Mesh {
  std::vector<MeshAxis> axes;
  Cluster cluster;

  size_t rank() const { return axes.size(); }
  int64_t devices() const;
  int64_t Size(const AxisList& list) const;  // product of the sizes of the listed axes
  // The links that the axes of `list` together cross, as one group.
  MeshAxis Combined(const AxisList& list) const;
};

// "8", "2x4", "4x8", "2x2x4" or "x=2,y=4" (names: letters, digits, '_', not starting with a digit).
// Errors: malformed, sizes < 1, duplicate names, product differs from the number of devices (says
// both, and which meshes would fit).
absl::StatusOr<Mesh> ParseMesh(std::string_view spec, const Cluster& cluster);
// The product of such a mesh's sizes; beyond kMaxDevices just some number above it.
absl::StatusOr<int64_t> ParseMeshDevices(std::string_view spec);
// Mesh of the given sizes with default names. Product must be cluster.devices() (CHECKed).
Mesh MakeMesh(const std::vector<int64_t>& sizes, const Cluster& cluster);
// Candidates for `--mesh auto`: every mesh of rank 1 and 2 (outer x inner, both > 1) whose inner
// axis lies inside a node or whose outer axis equals whole nodes, best guesses first.
std::vector<Mesh> CandidateMeshes(const Cluster& cluster);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLUSTER_MESH_H_
