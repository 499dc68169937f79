#ifndef MESHWRIGHT_BASE_FILE_H_
#define MESHWRIGHT_BASE_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace meshwright {

// Bytes of the file at `path`, exactly as stored. Errors name the path and the system's reason.
absl::StatusOr<std::string> ReadFile(const std::string& path);

// Like ReadFile, and inflates gzip data (recognised by its magic number, not by its name).
// Truncated or damaged gzip data is an error that names the path, as is output beyond
// `max_bytes` (guards against decompression bombs).
absl::StatusOr<std::string> ReadFileMaybeGzip(const std::string& path,
                                              int64_t max_bytes = int64_t{2} << 30);

// Inflates `data` if it starts with the gzip magic number, else returns it. `name` is for errors.
absl::StatusOr<std::string> MaybeGunzip(std::string data, std::string_view name,
                                        int64_t max_bytes = int64_t{2} << 30);

// Writes `data` to `path` so that readers see either the old file or the whole new one.
absl::Status WriteFile(const std::string& path, std::string_view data);

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_FILE_H_
