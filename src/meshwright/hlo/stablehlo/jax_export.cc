#include "meshwright/hlo/stablehlo/jax_export.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "meshwright/base/strings.h"
#include "meshwright/hlo/stablehlo/bytecode_file.h"
#include "meshwright/hlo/text_cursor.h"

// Flatbuffers (https://flatbuffers.dev/internals): little-endian numbers and offsets of 32 bits. A
// table begins with the distance back to its vtable, which has the sizes of both and for each
// field, by its number in the schema, where in the table it is, or 0. Vectors and strings begin
// with their length.

namespace meshwright {
namespace {

// Fields of the tables of serialization.fbs.
enum ExportedField : size_t {
  kSerializationVersion = 0,
  kInAvals = 3,
  kPlatforms = 9,
  kModule = 13,
  kUniqueAvals = 19,
};
constexpr size_t kAvalShape = 1;
// More versions than JAX will have; what is not one is another file.
constexpr uint64_t kMaxSerializationVersion = 1000;
constexpr size_t kMaxListed = 8;

struct Vector {
  size_t position = 0, count = 0;
};

class Flatbuffer {
 public:
  explicit Flatbuffer(std::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  std::optional<T> Number(size_t position) const {
    if (position > bytes_.size() || bytes_.size() - position < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + position, sizeof(T));
    return value;
  }

  // What the offset at `position` leads to.
  std::optional<size_t> Follow(size_t position) const {
    const auto offset = Number<uint32_t>(position);
    if (!offset || *offset == 0 || *offset > bytes_.size() - position) return std::nullopt;
    return position + *offset;
  }

  // Where a field of the table is; nothing if it is left out or the table is damaged.
  std::optional<size_t> Field(size_t table, size_t field) const {
    const auto back = Number<int32_t>(table);
    if (!back) return std::nullopt;
    const int64_t vtable = static_cast<int64_t>(table) - *back;
    if (vtable < 0) return std::nullopt;
    const auto size = Number<uint16_t>(static_cast<size_t>(vtable));
    const size_t entry = 4 + 2 * field;
    if (!size || *size < entry + 2) return std::nullopt;
    const auto offset = Number<uint16_t>(static_cast<size_t>(vtable) + entry);
    if (!offset || *offset == 0) return std::nullopt;
    return table + *offset;
  }

  // The elements of a vector that is a field; nothing if it is not there as a whole.
  std::optional<Vector> VectorField(size_t table, size_t field, size_t element_size) const {
    const auto position = Field(table, field);
    const auto vector = position ? Follow(*position) : std::nullopt;
    const auto count = vector ? Number<uint32_t>(*vector) : std::nullopt;
    if (!count || *count > (bytes_.size() - *vector - 4) / element_size) return std::nullopt;
    return Vector{*vector + 4, *count};
  }

  // The text of the string to which the offset at `position` leads.
  std::optional<std::string_view> String(size_t position) const {
    const auto string = Follow(position);
    const auto size = string ? Number<uint32_t>(*string) : std::nullopt;
    if (!size || *size > bytes_.size() - *string - 4) return std::nullopt;
    return bytes_.substr(*string + 4, *size);
  }

 private:
  std::string_view bytes_;
};

std::optional<Vector> FindModule(const Flatbuffer& buffer, std::string_view contents, size_t root) {
  const auto version_at = buffer.Field(root, kSerializationVersion);
  const auto version = version_at ? buffer.Number<uint16_t>(*version_at) : std::nullopt;
  if (!version || *version > kMaxSerializationVersion) return std::nullopt;
  const auto module = buffer.VectorField(root, kModule, 1);
  if (!module || !contents.substr(module->position, module->count).starts_with(kBytecodeMagic)) {
    return std::nullopt;
  }
  return module;
}

bool IsNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Sizes that are no numbers in the shapes of a list of abstract values, as "b, 2*b".
std::string SymbolicSizes(const Flatbuffer& buffer, size_t root, ExportedField field) {
  std::vector<std::string_view> found;
  const auto avals = buffer.VectorField(root, field, 4);
  for (size_t i = 0; avals && i < avals->count && found.size() < kMaxListed; ++i) {
    const auto aval = buffer.Follow(avals->position + 4 * i);
    const auto shape = aval ? buffer.VectorField(*aval, kAvalShape, 4) : std::nullopt;
    for (size_t d = 0; shape && d < shape->count && found.size() < kMaxListed; ++d) {
      const auto size = buffer.String(shape->position + 4 * d);
      if (!size || IsNumber(*size)) continue;
      if (std::find(found.begin(), found.end(), *size) == found.end()) found.push_back(*size);
    }
  }
  std::string text;
  for (const std::string_view size : found) {
    std::string quoted = QuoteForError(size);
    StrAppend(&text, text.empty() ? "" : ", ", quoted.substr(1, quoted.size() - 2));
  }
  return text;
}

}  // namespace

bool IsJaxExport(std::string_view contents) {
  const Flatbuffer buffer(contents);
  const auto root = buffer.Follow(0);
  return root && FindModule(buffer, contents, *root);
}

absl::StatusOr<JaxExportModule> FindJaxExportModule(std::string_view contents,
                                                    std::string_view file_name) {
  const Flatbuffer buffer(contents);
  const auto root = buffer.Follow(0);
  const auto module = root ? FindModule(buffer, contents, *root) : std::nullopt;
  if (!module) {
    return absl::InvalidArgumentError(StrCat(file_name, ": not a function exported by jax.export"));
  }
  // Newer versions list abstract values once and refer to them.
  std::string symbolic = SymbolicSizes(buffer, *root, kInAvals);
  if (symbolic.empty()) symbolic = SymbolicSizes(buffer, *root, kUniqueAvals);
  if (!symbolic.empty()) {
    return absl::InvalidArgumentError(
        StrCat(file_name, ": a function exported for sizes that are not known (", symbolic,
               "); planning needs sizes, so export it for shapes that are known"));
  }
  JaxExportModule found{module->position, module->count, {}};
  const auto platforms = buffer.VectorField(*root, kPlatforms, 4);
  for (size_t i = 0; platforms && i < platforms->count; ++i) {
    found.platforms.emplace_back(buffer.String(platforms->position + 4 * i).value_or(""));
  }
  return found;
}

}  // namespace meshwright
