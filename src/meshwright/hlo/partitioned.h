#ifndef MESHWRIGHT_HLO_PARTITIONED_H_
#define MESHWRIGHT_HLO_PARTITIONED_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "meshwright/hlo/module.h"

// Programs that are partitioned already. Their shapes are those of one device's shards, so whatever
// is planned for them is wrong, however well it reads; what can be planned is the whole program
// that they were made from. Annotations (`sharding=`, `sdy.sharding`, num_partitions) do not make a
// program partitioned: it computes with whole arrays until somebody partitions it.

namespace meshwright {

// An error that says what to pass instead if `module` is written for one device of several. Signs
// of that, whatever format it was read from:
//  * a collective among several devices, or one that passes values on to another device; where all
//    groups have one device, as in a program that is lowered for one, it is none;
//  * a custom call that enters or leaves the body of a shard_map;
//  * several replicas (pmap), each of which runs the whole module;
//  * several partitions of a module that is compiled: XLA partitions before it fuses and schedules;
//  * an entry computation that is called what XLA's partitioner calls it.
absl::Status CheckNotPartitioned(const Module& module, std::string_view file_name);

// What is wrong with a program that has `what`, the body of a shard_map.
std::string ManualMessage(std::string_view what);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_PARTITIONED_H_
