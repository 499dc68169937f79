#include "meshwright/inter/stages/submeshes.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/str_join.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/inter/stages/stage_search.h"

namespace meshwright {
namespace {

bool IsPowerOfTwo(int64_t n) { return (n & (n - 1)) == 0; }

// Sizes of parts of a node, ascending. Each divides the next, so that a node filled from the
// largest down has no part that does not fit.
std::vector<int64_t> Parts(int64_t devices_per_node) {
  std::vector<int64_t> parts;
  for (int64_t n = devices_per_node; n > 1;) {
    int64_t factor = 2;
    while (n % factor != 0) ++factor;
    n /= factor;
    parts.push_back(n);
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

Submesh MakeSubmesh(const Cluster& whole, int32_t index, int64_t nodes, int64_t per_node,
                    int64_t samples) {
  Cluster part = whole;
  part.nodes = nodes;
  part.devices_per_node = per_node;
  Submesh submesh{.cluster = index, .nodes = nodes, .devices_per_node = per_node, .meshes = {}};
  const int64_t devices = nodes * per_node;
  submesh.meshes.push_back(MakeMesh({devices}, part));
  for (int64_t inner = 2; inner <= per_node && inner < devices; ++inner) {
    if (per_node % inner == 0) submesh.meshes.push_back(MakeMesh({devices / inner, inner}, part));
  }
  submesh.usual_meshes = std::ssize(submesh.meshes);
  for (int64_t parts = 2; parts < nodes; ++parts) {
    if (nodes % parts != 0 || samples % parts != 0) continue;
    std::vector<int64_t> sizes = {parts, nodes / parts};
    if (per_node > 1) sizes.push_back(per_node);
    submesh.meshes.push_back(MakeMesh(sizes, part));
  }
  return submesh;
}

// Other numbers of stages that are named where one cannot be had.
constexpr int32_t kNearbyStages = 8;

// Whether so many stages, whatever they take, can be given all devices.
bool Covers(const std::vector<Cluster>& clusters, const std::vector<Submesh>& submeshes,
            int32_t stages, int32_t layers) {
  StageSearchInput input;
  input.layers = layers;
  input.stages = stages;
  for (const Cluster& cluster : clusters) input.devices.push_back(cluster.devices());
  for (const Submesh& submesh : submeshes)
    input.submeshes.push_back({submesh.cluster, submesh.devices()});
  input.memory_bytes.assign(clusters.size(), 0);
  input.options = [](int32_t, int32_t, int32_t) { return std::vector<StageOption>{{}}; };
  input.in_flight = [](int32_t, int64_t) { return int64_t{0}; };
  return !SearchStages(input).stages.empty();
}

// Devices of any axes together.
std::set<int64_t> Degrees(const Mesh& mesh) {
  std::set<int64_t> degrees = {1};
  for (const MeshAxis& axis : mesh.axes) {
    const std::set<int64_t> without = degrees;
    for (int64_t degree : without) degrees.insert(degree * axis.size);
  }
  return degrees;
}

}  // namespace

bool HasDegree(const Mesh& mesh, int64_t parts) { return Degrees(mesh).contains(parts); }

std::set<int64_t> DataDegrees(const std::vector<Submesh>& submeshes, int64_t samples) {
  std::set<int64_t> all = {1};
  for (const Submesh& submesh : submeshes) {
    for (size_t m = 0; m < submesh.meshes.size(); ++m) {
      if (!submesh.Suits(m, samples)) continue;
      for (int64_t degree : Degrees(submesh.meshes[m])) {
        if (samples % degree == 0) all.insert(degree);
      }
    }
  }
  return all;
}

bool Submesh::Suits(size_t m, int64_t samples) const {
  return static_cast<int64_t>(m) < usual_meshes ||
         meshes[m].axes[0].size == std::gcd(samples, nodes);
}

std::vector<Submesh> Submeshes(const std::vector<Cluster>& clusters, int64_t samples) {
  std::vector<Submesh> submeshes;
  for (size_t c = 0; c < clusters.size(); ++c) {
    const Cluster& whole = clusters[c];
    const auto index = static_cast<int32_t>(c);
    for (int64_t n : Parts(whole.devices_per_node))
      submeshes.push_back(MakeSubmesh(whole, index, 1, n, samples));
    for (int64_t n = 1; n <= whole.nodes; ++n) {
      if (whole.nodes % n == 0 || IsPowerOfTwo(n))
        submeshes.push_back(MakeSubmesh(whole, index, n, whole.devices_per_node, samples));
    }
  }
  return submeshes;
}

absl::StatusOr<std::vector<Submesh>> SubmeshesOf(const std::vector<Cluster>& clusters,
                                                 std::string_view mesh) {
  MW_ASSIGN_OR_RETURN(const int64_t devices, ParseMeshDevices(mesh));
  std::vector<Submesh> submeshes;
  for (const Submesh& submesh : Submeshes(clusters, /*samples=*/1)) {
    const Cluster& whole = clusters[submesh.cluster];
    if (submesh.devices() != devices || whole.devices() % devices != 0) continue;
    Cluster part = whole;
    part.nodes = submesh.nodes;
    part.devices_per_node = submesh.devices_per_node;
    submeshes.push_back(submesh);
    MW_ASSIGN_OR_RETURN(Mesh only, ParseMesh(mesh, part));
    submeshes.back().meshes = {std::move(only)};
    submeshes.back().usual_meshes = 1;
  }
  if (submeshes.size() == clusters.size()) return submeshes;
  std::set<int64_t> valid;
  for (const Submesh& submesh : Submeshes(clusters, /*samples=*/1)) {
    const bool divides = std::all_of(clusters.begin(), clusters.end(), [&](const Cluster& c) {
      return c.devices() % submesh.devices() == 0;
    });
    if (divides) valid.insert(submesh.devices());
  }
  return absl::InvalidArgumentError(StrCat("stages of mesh ", mesh,
                                           " cannot make up the cluster: a stage can have ",
                                           absl::StrJoin(valid, ", "), " devices"));
}

absl::Status CheckStageCount(const std::vector<Cluster>& clusters,
                             const std::vector<Submesh>& submeshes, int32_t stages,
                             int32_t layers) {
  if (Covers(clusters, submeshes, stages, layers)) return absl::OkStatus();
  const int32_t around = std::max(stages, static_cast<int32_t>(clusters.size()));
  std::vector<int32_t> valid;
  for (int32_t n = std::max(1, around - kNearbyStages);
       n <= std::min(layers, around + kNearbyStages); ++n) {
    if (n != stages && Covers(clusters, submeshes, n, layers)) valid.push_back(n);
  }
  return absl::InvalidArgumentError(StrCat(
      stages > 0 ? StrCat(stages, stages > 1 ? " stages" : " stage")
                 : StrCat("stages of the program's ", layers, " layers"),
      " cannot be made up of all devices, each of one type and an equal part of a node or whole "
      "nodes",
      valid.empty() ? std::string() : StrCat("; ", absl::StrJoin(valid, ", "), " can")));
}

std::vector<int64_t> PlaceParts(const std::vector<int64_t>& sizes) {
  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return sizes[a] > sizes[b]; });
  std::vector<int64_t> first(sizes.size());
  int64_t next = 0;
  for (size_t i : order) {
    first[i] = next;
    next += sizes[i];
  }
  return first;
}

}  // namespace meshwright
