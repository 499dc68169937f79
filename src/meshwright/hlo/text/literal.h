#ifndef MESHWRIGHT_HLO_TEXT_LITERAL_H_
#define MESHWRIGHT_HLO_TEXT_LITERAL_H_

#include <string>

#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"
#include "meshwright/hlo/text_cursor.h"

namespace meshwright {

// Reads a constant's value of type `shape`: `-1.5`, `{1, 2}`, `{ {1, 2}, {3, 4} }`, `(1, {2})` for
// a tuple, `(re, im)` for a complex element, `{...}` where the printer left the value out.
absl::StatusOr<Literal> ParseLiteral(TextCursor& cursor, const Shape& shape);

// Appends `literal` as XLA prints it.
void AppendLiteral(const Literal& literal, const Shape& shape, std::string& out);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_TEXT_LITERAL_H_
