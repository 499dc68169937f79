#include "meshwright/published/nersc/collective.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "meshwright/base/strings.h"

namespace meshwright::transformer::nersc {
namespace {

constexpr Collective kCollectives[] = {Collective::kAllReduce,     Collective::kAllGather,
                                       Collective::kReduceScatter, Collective::kBroadcast,
                                       Collective::kReduce,        Collective::kPointToPoint};

}  // namespace

std::string_view CollectiveName(Collective collective) {
  switch (collective) {
    case Collective::kAllReduce:
      return "allreduce";
    case Collective::kAllGather:
      return "allgather";
    case Collective::kReduceScatter:
      return "reducescatter";
    case Collective::kBroadcast:
      return "broadcast";
    case Collective::kReduce:
      return "reduce";
    case Collective::kPointToPoint:
      return "p2p";
  }
  return "";
}

absl::StatusOr<Collective> ParseCollective(std::string_view name) {
  std::string names;
  for (const Collective one : kCollectives) {
    if (CollectiveName(one) == name) return one;
    StrAppend(&names, names.empty() ? "" : ", ", CollectiveName(one));
  }
  return absl::InvalidArgumentError(StrCat("unknown collective \"", name, "\"; valid are ", names));
}

double CollectiveSeconds(const System& system, Collective collective, double gb,
                         const Group& group) {
  if (gb == 0 || group.gpus == 1) return 0;
  const double slow_gbps = system.ib_gbps * system.ib_efficiency;
  const double fast_gbps = system.nvlink_gbps * system.nvlink_efficiency;
  if (collective == Collective::kPointToPoint) {
    return group.in_domain == 1 ? system.ib_latency + gb / slow_gbps
                                : system.nvlink_latency + gb / fast_gbps;
  }
  const auto gpus = static_cast<double>(group.gpus);
  const bool whole = collective == Collective::kReduce || collective == Collective::kBroadcast;
  const double sent_gb = whole ? gb : (gpus - 1) / gpus * gb;
  if (group.in_domain == 1) return system.ib_latency * (gpus - 1) + sent_gb / slow_gbps;
  const int64_t domains = group.gpus / group.in_domain;
  if (domains == 1) return system.nvlink_latency * (gpus - 1) + sent_gb / fast_gbps;
  double transfer =
      std::max(sent_gb / (system.nics_per_gpu * static_cast<double>(group.in_domain) * slow_gbps),
               sent_gb / fast_gbps);
  // As published: an all-reduce moves its buffer twice only where it crosses domains of several
  // GPUs; alone on NVLink or alone on the network it costs as much as an all-gather.
  if (collective == Collective::kAllReduce) transfer *= 2;
  return transfer + system.ib_latency * static_cast<double>(domains - 1) +
         system.nvlink_latency * static_cast<double>(group.gpus - domains);
}

}  // namespace meshwright::transformer::nersc
