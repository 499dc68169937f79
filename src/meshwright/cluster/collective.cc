// Times of collectives.
//
// A group of n members has g of them on each of h = n / g nodes. B is the size of the full buffer,
// a_in and a_out are the latencies of a message inside a node and between nodes, w_in and w_out the
// achievable bandwidths of a device's links (Link::achievable). All groups of the mesh work at
// once; every device has its own network port, so they do not slow each other (mesh.h).
//
// Bandwidth terms are those every optimal algorithm has: a member must receive (n-1)/n of the
// buffer in an all-gather, must send as much in a reduce-scatter, and an all-reduce is the one
// after the other. What algorithms differ in is the latency term and the link that carries the
// bytes:
//
//  * Ring (Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in
//    MPICH", 2005; NCCL's ring): n-1 steps, each a message of B/n to the neighbour. One ring visits
//    the nodes in turn: h-1 of the steps wait for the network, and the slowest link
//    paces them all:
//      (n-h) a_in + (h-1) a_out + (n-1)/n B / min(w)
//  * Tree (recursive halving and doubling, same paper; for all-reduce the double binary tree of
//    NCCL 2.4, Sanders, Speck, Traeff 2009): the ring's bandwidth term, but only log2 steps:
//      ceil(log2 g) a_in + ceil(log2 h) a_out + (n-1)/n B / min(w)
//  * Hierarchical: inside nodes over w_in, and between nodes g parallel groups ("rails"), each
//    with 1/g of the bytes over its own port. Buffers are cut into chunks and the two levels use
//    different links, so chunks flow through both at once, as through NCCL's several rings a node:
//    the slower level decides, not the sum.
//      (g-1) a_in + ceil(log2 h) a_out + max((g-1)/g B / w_in, (h-1)/h B/g / w_out)
//
// All-reduce takes each of these twice. Hierarchical, a level whose switches add what passes
// through them (Link::in_network_reduction) has it done there where that is faster; all-gather and
// reduce-scatter have to move what they do anyhow. In place of twice the level's terms above:
//
//  * inside nodes, by loads and stores that address all members (Klenk et al., "An in-network
//    architecture for accelerating shared-memory multiprocessor collectives", ISCA 2020; NCCL's
//    NVLS, multimem.ld_reduce and multimem.st): of each member the switch reads all data once; it
//    receives the sum of its part, sends that, and receives all parts:
//      2 a_in + (1 + 1/g) B / w_in
//  * between nodes, up and down a tree of switches (SHARP, Graham et al. 2016, and its "streaming
//    aggregation" of large buffers, Graham et al. 2020): each member sends and receives once:
//      2 a_out + B/g / w_out
//
// All-to-all sends B/n straight to each of the others (NCCL groups sends and receives): g-1 of the
// messages stay inside the node. Hierarchical all-to-all exchanges inside nodes first, so that a
// member talks to h-1 others outside (Bruck et al. 1997; the "two-dimensional hierarchical
// all-to-all" of DeepSpeed-MoE), at the price of moving nearly everything twice. A
// collective-permute is one message over the slowest link that any pair crosses. Tree has no
// all-to-all or permute of its own; it is the ring's there.
//
// Where the cluster has a fabric (cluster.h), its units are told apart; m of the h nodes share one.
// Rings between nodes and the rails of the hierarchical algorithm stay on leaves but for one in m
// of a leaf's ports, so that each gets min(1, m / oversubscription) of its bandwidth; with rails
// the ring over all members changes them at every node, and gets 1 / oversubscription. All-to-all
// sends the part of the bytes whose receivers are on other leaves over the spine.
//
// Not modelled: routes that collide in the spine, protocol changes of small messages, the start of
// a kernel (cost/roofline.h adds that).

#include "meshwright/cluster/collective.h"

#include <algorithm>
#include <cmath>

namespace meshwright {
namespace {

struct Group {
  double n = 1;  // members
  double g = 1;  // of them on one node
  double h = 1;  // nodes
  double in_latency = 0, out_latency = 0;
  double in_bandwidth = 1, out_bandwidth = 1;
  bool in_adds = false, out_adds = false;  // switches, for which all-reduces are the faster
  double together = 1;                     // of the nodes, in one unit of the fabric
  bool fabric = false;                     // that tells units apart
  bool rails = true;
  double oversubscription = 1;
};

Group MakeGroup(const Cluster& cluster, const MeshAxis& axis) {
  Group group;
  group.n = static_cast<double>(axis.size);
  group.g = static_cast<double>(axis.group_in_node);
  group.h = std::ceil(group.n / group.g);
  group.in_latency = cluster.intra_node.latency_seconds;
  group.out_latency = cluster.inter_node.latency_seconds;
  group.in_bandwidth = cluster.intra_node.achievable();
  group.out_bandwidth = cluster.inter_node.achievable();
  // Two members on a node would send more, two nodes as much.
  group.in_adds = cluster.intra_node.in_network_reduction && group.g > 2;
  group.out_adds = cluster.inter_node.in_network_reduction && group.h > 2;
  const Fabric& fabric = cluster.fabric;
  group.fabric = fabric.unit_nodes > 0;
  group.rails = fabric.rails;
  group.oversubscription = fabric.oversubscription;
  group.together = static_cast<double>(axis.group_in_unit) / group.g;
  return group;
}

// n bytes over a link; groups that have no such link pass 0 bytes (and its bandwidth may be 0).
double Transfer(double bytes, double bandwidth) { return bytes > 0 ? bytes / bandwidth : 0; }

double Steps(double members) { return std::ceil(std::log2(members)); }

// Between neighbours of a ring over nodes, each on the same port of its node. One in `together` of
// a leaf's ports sends to the spine.
double RailBandwidth(const Group& group) {
  if (!group.fabric || group.together >= group.h) return group.out_bandwidth;
  return group.out_bandwidth * std::min(1.0, group.together / group.oversubscription);
}

// Between nodes of a ring over all members, which leaves a node by its last port and enters the
// next by its first.
double RingBandwidth(const Group& group) {
  if (!group.fabric || !group.rails || group.g == 1) return RailBandwidth(group);
  return group.out_bandwidth / group.oversubscription;
}

// The slowest link that the group crosses.
double SlowestBandwidth(const Group& group) {
  if (group.h == 1) return group.in_bandwidth;
  if (group.g == 1) return RailBandwidth(group);
  return std::min(group.in_bandwidth, RingBandwidth(group));
}

// Bytes that a member sends to others of `out` beyond its node, `near` of which the leaves reach.
double Scatter(const Group& group, double bytes, double out, double near) {
  const double port = Transfer(bytes, group.out_bandwidth);
  if (!group.fabric || out <= 0) return port;
  return port * std::max(1.0, (out - near) / out * group.oversubscription);
}

// One pass over the buffer: an all-gather or a reduce-scatter.
double OnePass(const Group& group, CollectiveAlgorithm algorithm, double bytes) {
  const double flat_bytes = (group.n - 1) / group.n * bytes;
  switch (algorithm) {
    case CollectiveAlgorithm::kRing:
      return (group.n - group.h) * group.in_latency + (group.h - 1) * group.out_latency +
             Transfer(flat_bytes, SlowestBandwidth(group));
    case CollectiveAlgorithm::kTree:
      return Steps(group.g) * group.in_latency + Steps(group.h) * group.out_latency +
             Transfer(flat_bytes, SlowestBandwidth(group));
    case CollectiveAlgorithm::kHierarchical:
      break;
  }
  return (group.g - 1) * group.in_latency + Steps(group.h) * group.out_latency +
         std::max(Transfer((group.g - 1) / group.g * bytes, group.in_bandwidth),
                  Transfer((group.h - 1) / group.h * bytes / group.g, RailBandwidth(group)));
}

// Without switches that add, two passes.
double HierarchicalAllReduce(const Group& group, double bytes) {
  const double g = group.g, h = group.h;
  const double in_steps = group.in_adds ? 1 : g - 1, out_steps = group.out_adds ? 1 : Steps(h);
  const double in_share = group.in_adds ? 1 + 1 / g : 2 * (g - 1) / g;
  const double out_share = group.out_adds ? 1 : 2 * (h - 1) / h;
  return 2 * (in_steps * group.in_latency + out_steps * group.out_latency) +
         std::max(Transfer(in_share * bytes, group.in_bandwidth),
                  Transfer(out_share * bytes / g, RailBandwidth(group)));
}

double AllToAll(const Group& group, CollectiveAlgorithm algorithm, double bytes) {
  if (algorithm == CollectiveAlgorithm::kHierarchical) {
    return (group.g - 1) * group.in_latency + (group.h - 1) * group.out_latency +
           Transfer((group.g - 1) / group.g * bytes, group.in_bandwidth) +
           Scatter(group, (group.h - 1) / group.h * bytes, group.h - 1, group.together - 1);
  }
  const double near = (group.together - 1) * (group.rails ? 1 : group.g);
  return (group.g - 1) * group.in_latency + (group.n - group.g) * group.out_latency +
         std::max(Transfer((group.g - 1) / group.n * bytes, group.in_bandwidth),
                  Scatter(group, (group.n - group.g) / group.n * bytes, group.n - group.g, near));
}

double Permute(const Group& group, double bytes) {
  return (group.h > 1 ? group.out_latency : group.in_latency) +
         Transfer(bytes, SlowestBandwidth(group));
}

double Time(const Group& group, CollectiveKind kind, CollectiveAlgorithm algorithm, double bytes) {
  if (group.n <= 1) return 0;
  switch (kind) {
    case CollectiveKind::kAllReduce:
      if (algorithm == CollectiveAlgorithm::kHierarchical)
        return HierarchicalAllReduce(group, bytes);
      return 2 * OnePass(group, algorithm, bytes);
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
      return OnePass(group, algorithm, bytes);
    case CollectiveKind::kAllToAll:
      return AllToAll(group, algorithm, bytes);
    case CollectiveKind::kCollectivePermute:
      break;
  }
  return Permute(group, bytes);
}

}  // namespace

std::string_view CollectiveName(CollectiveKind kind) {
  constexpr std::string_view kNames[] = {"all-reduce", "all-gather", "reduce-scatter", "all-to-all",
                                         "collective-permute"};
  return kNames[static_cast<size_t>(kind)];
}

double CollectiveSeconds(const Mesh& mesh, CollectiveKind kind, CollectiveAlgorithm algorithm,
                         const AxisList& axes, int64_t bytes) {
  return Time(MakeGroup(mesh.cluster, mesh.Combined(axes)), kind, algorithm,
              static_cast<double>(bytes));
}

namespace {

constexpr std::array<CollectiveAlgorithm, 3> kAlgorithms = {
    CollectiveAlgorithm::kRing, CollectiveAlgorithm::kTree, CollectiveAlgorithm::kHierarchical};

double FastestTime(const Group& group, CollectiveKind kind, int64_t bytes,
                   CollectiveAlgorithm* algorithm) {
  double best = 0;
  bool first = true;
  for (const CollectiveAlgorithm candidate : kAlgorithms) {
    const double seconds = Time(group, kind, candidate, static_cast<double>(bytes));
    if (first || seconds < best) {
      best = seconds;
      if (algorithm != nullptr) *algorithm = candidate;
    }
    first = false;
  }
  return best;
}

}  // namespace

double CollectiveSeconds(const Mesh& mesh, CollectiveKind kind, const AxisList& axes, int64_t bytes,
                         CollectiveAlgorithm* algorithm) {
  return FastestTime(MakeGroup(mesh.cluster, mesh.Combined(axes)), kind, bytes, algorithm);
}

CollectiveTimes::CollectiveTimes(const Mesh& mesh) : mesh_(mesh) {
  if (mesh.rank() > kMaxTabledAxes) return;
  for (size_t set = 0; set < size_t{1} << mesh.rank(); ++set) {
    AxisList axes;
    for (size_t a = 0; a < mesh.rank(); ++a) {
      if (set >> a & 1) axes.push_back(static_cast<AxisIndex>(a));
    }
    combined_.push_back(mesh.Combined(axes));
  }
}

double CollectiveTimes::Seconds(CollectiveKind kind, const AxisList& axes, int64_t bytes) const {
  size_t set = 0;
  for (AxisIndex axis : axes) set |= size_t{1} << axis;
  if (combined_.empty()) return CollectiveSeconds(mesh_, kind, axes, bytes);
  return FastestTime(MakeGroup(mesh_.cluster, combined_[set]), kind, bytes, nullptr);
}

CollectiveLines::CollectiveLines(const Mesh& mesh, CollectiveKind kind, const AxisList& axes) {
  constexpr double kManyBytes = int64_t{1} << 50;
  const Group group = MakeGroup(mesh.cluster, mesh.Combined(axes));
  for (size_t i = 0; i < kAlgorithms.size(); ++i) {
    lines_[i].latency = Time(group, kind, kAlgorithms[i], 0);
    lines_[i].per_byte =
        (Time(group, kind, kAlgorithms[i], kManyBytes) - lines_[i].latency) / kManyBytes;
  }
}

}  // namespace meshwright
