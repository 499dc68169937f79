#ifndef MESHWRIGHT_TESTS_SHARDING_TEST_MESH_H_
#define MESHWRIGHT_TESTS_SHARDING_TEST_MESH_H_

#include <cstdint>
#include <vector>

#include "meshwright/cluster/mesh.h"

namespace meshwright {

// A mesh of axes x, y, z, ... of the given sizes over one node with as many devices.
inline Mesh TestMesh(const std::vector<int64_t>& sizes) {
  Cluster cluster;
  cluster.name = "test";
  cluster.intra_node = {"link", 1e11, 1e-6};
  for (int64_t size : sizes) cluster.devices_per_node *= size;
  return MakeMesh(sizes, cluster);
}

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_SHARDING_TEST_MESH_H_
