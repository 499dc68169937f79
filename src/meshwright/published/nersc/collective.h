#ifndef MESHWRIGHT_PUBLISHED_NERSC_COLLECTIVE_H_
#define MESHWRIGHT_PUBLISHED_NERSC_COLLECTIVE_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "meshwright/published/nersc/nersc.h"

namespace meshwright::transformer::nersc {

enum class Collective {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kPointToPoint,
};
std::string_view CollectiveName(Collective collective);  // "allreduce", ..., "p2p"
// Errors list the names.
absl::StatusOr<Collective> ParseCollective(std::string_view name);

// The GPUs of one collective.
struct Group {
  int64_t gpus = 1;
  int64_t in_domain = 1;  // of these in one NVLink domain; at most the domain's size
};

// Seconds of a collective on a buffer of `gb`. A point-to-point transfer has two GPUs.
double CollectiveSeconds(const System& system, Collective collective, double gb,
                         const Group& group);

}  // namespace meshwright::transformer::nersc

#endif  // MESHWRIGHT_PUBLISHED_NERSC_COLLECTIVE_H_
