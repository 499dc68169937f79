#ifndef MESHWRIGHT_HLO_PROTO_LITERAL_H_
#define MESHWRIGHT_HLO_PROTO_LITERAL_H_

#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"
#include "meshwright/hlo/proto/hlo.pb.h"

namespace meshwright {

// The value of a constant of `shape`. A literal without data is elided. Errors: another number of
// elements than `shape` has.
absl::StatusOr<Literal> LiteralFromProto(const proto::LiteralProto& literal, const Shape& shape);

void LiteralToProto(const Literal& literal, const Shape& shape, proto::LiteralProto* out);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_PROTO_LITERAL_H_
