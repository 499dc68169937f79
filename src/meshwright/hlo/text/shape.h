#ifndef MESHWRIGHT_HLO_TEXT_SHAPE_H_
#define MESHWRIGHT_HLO_TEXT_SHAPE_H_

#include "absl/status/statusor.h"
#include "meshwright/hlo/shape.h"
#include "meshwright/hlo/text_cursor.h"

namespace meshwright {

// Reads a shape such as `f32[2,<=3]{1,0:T(8,128)S(1)}`, `(s32[], token[])` or `opaque[]`.
// `spaced`: a layout may stand behind a blank; where a literal follows, its braces would look like
// one.
absl::StatusOr<Shape> ParseShape(TextCursor& cursor, bool spaced = true);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_TEXT_SHAPE_H_
