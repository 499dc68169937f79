#ifndef MESHWRIGHT_CLUSTER_COLLECTIVE_H_
#define MESHWRIGHT_CLUSTER_COLLECTIVE_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "meshwright/cluster/mesh.h"

namespace meshwright {

enum class CollectiveKind {
  kAllReduce,          // every member ends with the sum
  kAllGather,          // every member ends with all parts
  kReduceScatter,      // every member ends with one part of the sum
  kAllToAll,           // every member sends a part to every other
  kCollectivePermute,  // every member sends its buffer to one other
};

// HLO's spelling, e.g. "all-reduce".
std::string_view CollectiveName(CollectiveKind kind);

enum class CollectiveAlgorithm { kRing, kTree, kHierarchical };

// Seconds of one collective over groups along `axes` (one logical axis if several), every group of
// the mesh working at once. `bytes` is the size of the full buffer of one group: what a member
// holds after an all-gather or all-reduce, before a reduce-scatter, and of an all-to-all or permute
// what one member holds. 0 if the group has one member.
//
// Ring: (n-1) steps of bytes/n each way (Thakur, Rabenseifner, Gropp 2005; NCCL's ring), twice for
// all-reduce. Tree: double binary tree, latency 2 log2(n), bandwidth as ring (NCCL 2.4).
// Hierarchical: reduce-scatter inside nodes, all-reduce between nodes on 1/n_in of the bytes,
// all-gather inside, the levels pipelined, both of them through switches that add where there are
// such (Link::in_network_reduction) and that is faster. Formulas: collective.cc. These are times on
// the wire, without the start of a kernel.
double CollectiveSeconds(const Mesh& mesh, CollectiveKind kind, CollectiveAlgorithm algorithm,
                         const AxisList& axes, int64_t bytes);
// The fastest algorithm's time; `algorithm` (may be null) receives which.
double CollectiveSeconds(const Mesh& mesh, CollectiveKind kind, const AxisList& axes, int64_t bytes,
                         CollectiveAlgorithm* algorithm = nullptr);

// The same times for many questions about one mesh: what each set of axes crosses is worked out
// once. Copies the mesh; safe to use from several threads.
class CollectiveTimes {
 public:
  explicit CollectiveTimes(const Mesh& mesh);
  // The fastest algorithm's time.
  double Seconds(CollectiveKind kind, const AxisList& axes, int64_t bytes) const;

 private:
  static constexpr size_t kMaxTabledAxes = 8;

  Mesh mesh_;
  std::vector<MeshAxis>
      combined_;  // by set of axes, bit a for axis a; empty for meshes of more axes
};

// One question's answer as a function of bytes: an algorithm's time is a latency and a time a byte,
// the fastest algorithm's the least of those.
class CollectiveLines {
 public:
  CollectiveLines(const Mesh& mesh, CollectiveKind kind, const AxisList& axes);
  double Seconds(int64_t bytes) const {
    double least = lines_[0].At(bytes);
    for (const Line& line : lines_) least = std::min(least, line.At(bytes));
    return least;
  }

 private:
  struct Line {
    double latency = 0, per_byte = 0;
    double At(int64_t bytes) const { return latency + per_byte * static_cast<double>(bytes); }
  };
  std::array<Line, 3> lines_;  // ring, tree, hierarchical
};

}  // namespace meshwright

#endif  // MESHWRIGHT_CLUSTER_COLLECTIVE_H_
