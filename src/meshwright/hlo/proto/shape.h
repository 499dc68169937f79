#ifndef MESHWRIGHT_HLO_PROTO_SHAPE_H_
#define MESHWRIGHT_HLO_PROTO_SHAPE_H_

#include "absl/status/statusor.h"
#include "meshwright/hlo/proto/hlo.pb.h"
#include "meshwright/hlo/shape.h"

namespace meshwright {

// Errors: an unknown element type, negative sizes, a layout that is no order of the dimensions.
absl::StatusOr<Shape> ShapeFromProto(const proto::ShapeProto& shape);

// Layout suffixes in XLA's syntax are written as fields; parts that XLA has given up (sparse
// layouts) are dropped.
void ShapeToProto(const Shape& shape, proto::ShapeProto* out);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_PROTO_SHAPE_H_
