#ifndef MESHWRIGHT_INTER_STAGES_SUBMESHES_H_
#define MESHWRIGHT_INTER_STAGES_SUBMESHES_H_

#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/cluster/cluster.h"
#include "meshwright/cluster/mesh.h"

namespace meshwright {

// Devices that a stage may get, and the logical meshes they may form.
struct Submesh {
  int32_t cluster = 0;
  int64_t nodes = 1, devices_per_node = 1;
  std::vector<Mesh> meshes;
  int64_t usual_meshes = 0;  // so many of them, in front, suit any micro-batch
  int64_t devices() const { return nodes * devices_per_node; }

  // Whether mesh `m` suits micro-batches of `samples`: the others than the usual ones cut nodes
  // into as many parts as a micro-batch with fewer samples than nodes can be cut into, and the
  // rest.
  bool Suits(size_t m, int64_t samples) const;
};

// Parts of a node, each a divisor of the next larger one, and whole nodes in numbers that are
// powers of two or divide the cluster. Placed from the largest down, no part of a node comes to lie
// on two. Meshes have one axis, or two of which the inner lies inside a node; and over nodes three,
// the outer ones over nodes, for every way to cut both them and a batch of `samples`
// (Submesh::Suits).
std::vector<Submesh> Submeshes(const std::vector<Cluster>& clusters, int64_t samples);

// Stages of this mesh only, one submesh for each cluster. Errors: see ParseMesh; devices that do
// not divide the clusters, or lie on parts of nodes (says which numbers would do).
absl::StatusOr<std::vector<Submesh>> SubmeshesOf(const std::vector<Cluster>& clusters,
                                                 std::string_view mesh);

// Whether some axes of the mesh, or none, have `parts` devices together.
bool HasDegree(const Mesh& mesh, int64_t parts);

// Of all meshes: into how many equal parts some axes can cut the samples of a micro-batch, 1 among
// them.
std::set<int64_t> DataDegrees(const std::vector<Submesh>& submeshes, int64_t samples);

// Error: `stages` stages (0: any number), at most one a layer, cannot be given submeshes that make
// up all devices; says which numbers near it can.
absl::Status CheckStageCount(const std::vector<Cluster>& clusters,
                             const std::vector<Submesh>& submeshes, int32_t stages, int32_t layers);

// By position in `sizes` (devices of each part, of one cluster): its first device, when the largest
// are placed first and equals in order.
std::vector<int64_t> PlaceParts(const std::vector<int64_t>& sizes);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_STAGES_SUBMESHES_H_
