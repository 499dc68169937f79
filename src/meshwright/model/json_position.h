#ifndef MESHWRIGHT_MODEL_JSON_POSITION_H_
#define MESHWRIGHT_MODEL_JSON_POSITION_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Where in a JSON text a value stands: the parser keeps no positions, and only errors need them.

namespace meshwright::transformer {

// Counted from 1; columns in bytes.
struct TextPosition {
  int64_t line = 1;
  int64_t column = 1;

  friend bool operator==(const TextPosition&, const TextPosition&) = default;
};

// The value that `path` leads to from the root of `json`: a member's name for each object, an index
// in decimal for each list. Assumes valid JSON. Where the path goes on beyond what is there, the
// position of the last value on it.
TextPosition PositionOf(std::string_view json, const std::vector<std::string>& path);

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_MODEL_JSON_POSITION_H_
