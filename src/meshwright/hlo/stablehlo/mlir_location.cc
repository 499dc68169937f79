#include "meshwright/hlo/stablehlo/mlir_location.h"

#include <string>
#include <utility>

#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

constexpr int kMaxLocationDepth = 64;
constexpr size_t kMaxFused = 16;

}  // namespace

Metadata MlirLocations::Find(size_t position) {
  if (position == std::string_view::npos) return {};
  TextCursor cursor(text_, "");
  cursor.set_position(position);
  return Parse(cursor, 0);
}

Metadata MlirLocations::ParseAlias(std::string_view name, int depth) {
  if (const auto found = known_.find(name); found != known_.end()) return found->second;
  Metadata& placeholder = known_[name];  // says nothing to an alias that names itself
  static_cast<void>(placeholder);
  Metadata metadata;
  const size_t position = aliases_.Find(name);
  if (position != std::string_view::npos) {
    TextCursor cursor(text_, "");
    cursor.set_position(position);
    if (cursor.Consume("loc(")) metadata = Parse(cursor, depth + 1);
  }
  known_[name] = metadata;
  return metadata;
}

Metadata MlirLocations::Parse(TextCursor& cursor, int depth) {
  Metadata metadata;
  if (depth > kMaxLocationDepth) return metadata;
  if (cursor.Consume('#')) return ParseAlias(MlirName(cursor), depth);
  if (cursor.Peek() == '"') {
    absl::StatusOr<std::string> name = MlirString(cursor);
    if (!name.ok()) return metadata;
    if (cursor.Consume(':')) {  // "file":line:column
      metadata.source_file = *std::move(name);
      metadata.source_line = cursor.Integer().value_or(0);
      return metadata;
    }
    if (cursor.Consume('(')) metadata = Parse(cursor, depth + 1);
    metadata.op_name = *std::move(name);
    return metadata;
  }
  if (cursor.ConsumeWord("callsite")) {
    if (!cursor.Consume('(')) return metadata;
    metadata = Parse(cursor, depth + 1);
    metadata.op_name.clear();  // the name of the function that was called
    return metadata;
  }
  if (cursor.ConsumeWord("fused")) {
    if (cursor.Peek() == '<' && !SkipAngleBrackets(cursor).ok()) return metadata;
    if (!cursor.Consume('[')) return metadata;
    size_t parts = 0;
    do {
      Metadata part = Parse(cursor, depth + 1);
      if (parts == 0) {
        metadata = std::move(part);
      } else if (!part.op_name.empty()) {
        StrAppend(&metadata.op_name, metadata.op_name.empty() ? "" : ";", part.op_name);
      }
    } while (++parts < kMaxFused && cursor.Consume(','));
  }
  return metadata;
}

}  // namespace meshwright
