#ifndef MESHWRIGHT_DEGREES_GROUP_LAYOUT_H_
#define MESHWRIGHT_DEGREES_GROUP_LAYOUT_H_

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "absl/container/node_hash_map.h"
#include "meshwright/cluster/cluster.h"
#include "meshwright/cluster/collective.h"
#include "meshwright/degrees/configuration.h"

// Where the GPUs that work together lie, and how fast they communicate there.

namespace meshwright::transformer {

// GPUs that communicate with each other, and every other such group of the cluster at once.
struct GroupShape {
  int64_t members = 1;
  int64_t stride = 1;  // from one to the next, of ranks in order
  int64_t inside = 0;  // members on each node, of GPUs that are placed; 0: in order
  // ... from one of their nodes to the next; 0: as if the fabric were one unit.
  int64_t node_stride = 1;
  int64_t unit = 0;  // of their nodes, those in each unit, of nodes that are placed; 0: in order

  // As fast as any placement of these members could be, of which `stride` is one.
  static constexpr int64_t kAnywhere = -1;
  GroupShape Anywhere() const { return {members, stride, kAnywhere, 0}; }

  friend bool operator==(const GroupShape&, const GroupShape&) = default;
};

// The groups of a configuration, by its placement. On the part of a node, or of a unit, that a
// stage has, experts lie in the order etp, ep, replicas; ZeRO's groups are neighbours. Nodes that
// are not placed lie as ranks do: what is left of tp first, then of cp, dp and pp.
class GroupLayout {
 public:
  // `node`: GPUs of a node.
  GroupLayout(const Configuration& c, int64_t node);

  // The same as if the fabric were one unit: no group is slower. `c` must place its GPUs.
  static GroupLayout InOneUnit(const Configuration& c, int64_t node);

  // In a grid `tensor` are the columns of a row, `rows` the rows of a column. `expert_tensor` are
  // those that share an expert.
  GroupShape tensor, rows, context, pipeline, experts, expert_tensor;
  double expert_nodes = 1;  // that ep etp GPUs are spread over

  // The `shard` replicas that share state, and the groups that have the same part of it.
  struct Data {
    GroupShape within, between;
  };
  Data DataOf(int64_t shard) const;
  Data ExpertDataOf(int64_t shard) const;

 private:
  Data Split(const GroupShape& replicas, int64_t shard) const;
  void PlaceNodes(const Configuration& c, int64_t etp_inside);

  GroupShape replicas_, expert_replicas_;
};

// Collectives of groups of GPUs.
class GroupTimes {
 public:
  explicit GroupTimes(const Cluster& cluster) : cluster_(cluster) {}

  // The fastest of several placements.
  class Lines {
   public:
    void Add(const CollectiveLines& lines) { all_.push_back(lines); }
    double Seconds(int64_t bytes) const {
      double least = all_[0].Seconds(bytes);
      for (size_t i = 1; i < all_.size(); ++i) least = std::min(least, all_[i].Seconds(bytes));
      return least;
    }

   private:
    std::vector<CollectiveLines> all_;
  };
  // NCCL's all-gather or reduce-scatter over several nodes: rings, one from each port that the
  // group has on a node, each paced by the slowest link; nothing but the ring's own steps is
  // pipelined.
  struct Rings {
    double latency_seconds = 0, seconds_per_byte = 0;
  };
  struct Group {
    Lines all_reduce, all_gather, all_to_all, permute;
    bool crosses_nodes = false;
    Rings rings;  // of a group that does

    // An all-gather or a reduce-scatter as NCCL runs it by itself.
    double GatherSeconds(int64_t bytes) const {
      const double lines = all_gather.Seconds(bytes);
      if (!crosses_nodes) return lines;
      return std::max(lines,
                      rings.latency_seconds + rings.seconds_per_byte * static_cast<double>(bytes));
    }
  };
  // The result stays valid.
  const Group& Of(const GroupShape& shape);

  int64_t node() const { return cluster_.devices_per_node; }

 private:
  void SetRings(const GroupShape& shape, Group& group) const;

  const Cluster& cluster_;
  absl::node_hash_map<std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t>, Group> groups_;
};

// Numbers of members on a node that placements of `members` GPUs can have, ascending.
std::vector<int64_t> InsideCounts(int64_t members, const Cluster& cluster);

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_DEGREES_GROUP_LAYOUT_H_
