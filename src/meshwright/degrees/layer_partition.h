#ifndef MESHWRIGHT_DEGREES_LAYER_PARTITION_H_
#define MESHWRIGHT_DEGREES_LAYER_PARTITION_H_

#include <cstdint>
#include <numeric>
#include <vector>

#include "meshwright/model/model.h"

// How layers are partitioned into pipeline groups.

namespace meshwright::transformer {

// The content of one or several groups: equal groups cost the same and are told apart by position
// only.
struct GroupContent {
  // Layers of each kind, kinds of all stacks in sequence (Stack::kinds); those of modules of
  // multi-token prediction among them.
  std::vector<int64_t> layers;
  bool embedding = false, head = false;  // the head comes with those modules
  int64_t first = 0;                     // position of the first of these groups
  int64_t groups = 0;                    // how many there are

  int64_t all_layers() const { return std::accumulate(layers.begin(), layers.end(), int64_t{0}); }

  // Whether a group runs the same.
  bool Equals(const GroupContent& other) const {
    return layers == other.layers && embedding == other.embedding && head == other.head;
  }
};

struct LayerPartition {
  std::vector<GroupContent> contents;  // in the order of their first groups
  std::vector<int32_t> content_of;     // by group

  // Whether every group runs the same.
  bool Equals(const LayerPartition& other) const;
};

// As evenly as it goes, in the order of execution. Modules of multi-token prediction lie beside the
// head and count. `ends_as_layers` as in Configuration; groups: at most the layers.
LayerPartition PartitionLayers(const Model& model, int64_t groups, bool ends_as_layers);

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_DEGREES_LAYER_PARTITION_H_
