#ifndef MESHWRIGHT_HETERO_RESHARDING_H_
#define MESHWRIGHT_HETERO_RESHARDING_H_

#include "meshwright/cluster/cluster.h"
#include "meshwright/hetero/problem.h"

namespace meshwright::transformer::hetero {

// Seconds in which a stage hands an array on to another stage, forward or back. Each replica has
// its sequences of it, each device of a replica its tokens (sequence parallelism), so that with
// equal degrees every device sends its part to one other. Otherwise each device of one stage
// exchanges what overlaps with each of several devices of the other, in turn: the side with fewer
// devices has the larger parts and sets the time.
//
// `bytes` is the part of a device of `a`, and in the same way `other_bytes` of `b`.
double ReshardingSeconds(const Link& link, const StageDegrees& a, double bytes,
                         const StageDegrees& b, double other_bytes);

// The most devices of a stage with degrees `b` that one of a stage with `a` exchanges parts with.
int64_t ReshardingPeers(const StageDegrees& a, const StageDegrees& b);

}  // namespace meshwright::transformer::hetero

#endif  // MESHWRIGHT_HETERO_RESHARDING_H_
