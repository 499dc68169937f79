#ifndef MESHWRIGHT_HLO_TEXT_METADATA_H_
#define MESHWRIGHT_HLO_TEXT_METADATA_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "meshwright/hlo/module.h"
#include "meshwright/hlo/text_cursor.h"

// What frameworks attach to instructions: `metadata={...}` and `frontend_attributes={...}`.

namespace meshwright {

// `{op_type="add" op_name="jit(f)/add" source_line=3}`
absl::Status ReadMetadata(TextCursor& cursor, Metadata& metadata);
std::string MetadataText(const Metadata& metadata);

using StringPairs = std::vector<std::pair<std::string, std::string>>;

// `{key="value",json={...}}`; values come out without quotes and escapes.
absl::Status ReadFrontendAttributes(TextCursor& cursor, StringPairs& attributes);
std::string FrontendAttributesText(const StringPairs& attributes);

// `text` in double quotes with C escapes, as XLA prints strings.
std::string QuotedText(std::string_view text);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_TEXT_METADATA_H_
