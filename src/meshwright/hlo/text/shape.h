#ifndef MESHWRIGHT_HLO_TEXT_SHAPE_H_
#define MESHWRIGHT_HLO_TEXT_SHAPE_H_

#include "absl/status/statusor.h"
#include "meshwright/hlo/shape.h"
#include "meshwright/hlo/text_cursor.h"

namespace meshwright {

// Reads a shape such as `f32[2,<=3]{1,0:T(8,128)S(1)}`, `(s32[], token[])` or `opaque[]`.
absl::StatusOr<Shape> ParseShape(TextCursor& cursor);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_TEXT_SHAPE_H_
