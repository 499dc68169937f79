#include "meshwright/hlo/source_location.h"

#include <algorithm>

namespace meshwright {

SourceLocation SourceOf(const Module& module, const Metadata& metadata) {
  const auto at = [](const auto& table, int64_t id) {
    return id >= 1 && static_cast<uint64_t>(id) <= table.size()
               ? &table[static_cast<size_t>(id - 1)]
               : nullptr;
  };
  const StackFrame* const frame = at(module.stack_frames, metadata.stack_frame_id);
  const FileLocation* const location =
      frame == nullptr ? nullptr : at(module.file_locations, frame->file_location_id);
  const std::string* const file =
      location == nullptr ? nullptr : at(module.file_names, location->file_name_id);
  if (file != nullptr) return {*file, std::max<int64_t>(location->line, 0)};
  return {metadata.source_file, std::max<int64_t>(metadata.source_line, 0)};
}

}  // namespace meshwright
