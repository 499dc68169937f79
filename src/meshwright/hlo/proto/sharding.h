#ifndef MESHWRIGHT_HLO_PROTO_SHARDING_H_
#define MESHWRIGHT_HLO_PROTO_SHARDING_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "meshwright/hlo/proto/hlo.pb.h"
#include "meshwright/hlo/text_cursor.h"

namespace meshwright {

// The text that XLA prints after `sharding=`, without comments. Errors: an unknown sharding type,
// an axis that its mesh does not have.
absl::StatusOr<std::string> ShardingText(const proto::OpSharding& sharding);

// The same of a serialized OpSharding. Errors: also bytes that are none.
absl::StatusOr<std::string> ShardingTextFromBytes(std::string_view bytes);

// Inverse of ShardingText. False if `text` is none of the forms that ShardingText writes.
bool ShardingFromText(std::string_view text, proto::OpSharding* sharding);

// The groups of a collective given by mesh axes: `mesh['x'=2,'y'=4] {'x'}`. Empty text if an axis
// does not exist.
std::string MeshAxesText(const proto::MeshAxesReplicaGroupListProto& groups);
bool ReadMeshAxes(TextCursor& cursor, proto::MeshAxesReplicaGroupListProto* groups);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_PROTO_SHARDING_H_
