#include "meshwright/hlo/stablehlo/jax_export.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "absl/types/span.h"
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

// What a field holds. Offsets lead to everything but scalars.
enum class Holds : uint8_t { kScalar, kBytes, kString, kShorts, kInts, kStrings, kTable, kTables };
enum class Table : uint8_t {
  kExported,
  kTree,
  kAval,
  kSharding,
  kNamedSharding,
  kMesh,
  kDevice,
  kSpec,
  kSpecAxis,
  kEffect,
  kCheck,
};
struct FieldType {
  Holds holds = Holds::kScalar;
  Table table = Table::kExported;
};
constexpr FieldType kNumber{}, kBytes{Holds::kBytes}, kText{Holds::kString},
    kTexts{Holds::kStrings}, kInts{Holds::kInts};
constexpr FieldType Tables(Table table) { return {Holds::kTables, table}; }
constexpr FieldType One(Table table) { return {Holds::kTable, table}; }

// Fields by number, of the schema as JAX 0.10 has it; newer versions append to it.
constexpr FieldType kExportedFields[] = {kNumber,
                                         kText,
                                         One(Table::kTree),
                                         Tables(Table::kAval),
                                         One(Table::kTree),
                                         Tables(Table::kAval),
                                         kNumber,
                                         Tables(Table::kSharding),
                                         Tables(Table::kSharding),
                                         kTexts,
                                         Tables(Table::kEffect),
                                         Tables(Table::kEffect),
                                         Tables(Table::kCheck),
                                         kBytes,
                                         kNumber,
                                         {Holds::kShorts},
                                         kNumber,
                                         One(Table::kExported),
                                         kNumber,
                                         Tables(Table::kAval),
                                         Tables(Table::kMesh),
                                         Tables(Table::kNamedSharding),
                                         kInts,
                                         kInts,
                                         kInts,
                                         kInts};
constexpr FieldType kTreeFields[] = {kNumber, Tables(Table::kTree), kTexts, kText, kBytes};
constexpr FieldType kAvalFields[] = {kNumber, kTexts};
constexpr FieldType kShardingFields[] = {kNumber, kBytes, One(Table::kNamedSharding)};
constexpr FieldType kNamedShardingFields[] = {One(Table::kMesh), One(Table::kSpec), kText};
constexpr FieldType kMeshFields[] = {kInts, kTexts, kBytes, One(Table::kDevice)};
constexpr FieldType kDeviceFields[] = {kText, kNumber, kText};
constexpr FieldType kSpecFields[] = {Tables(Table::kSpecAxis), kTexts, kTexts};
constexpr FieldType kSpecAxisFields[] = {kTexts};
constexpr FieldType kEffectFields[] = {kText};
constexpr FieldType kCheckFields[] = {kNumber, kText};
// By Table.
constexpr absl::Span<const FieldType> kFields[] = {
    kExportedFields,      kTreeFields,   kAvalFields,   kShardingFields,
    kNamedShardingFields, kMeshFields,   kDeviceFields, kSpecFields,
    kSpecAxisFields,      kEffectFields, kCheckFields};
// Deeper than any tree of arguments.
constexpr int kMaxDepth = 500;
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
    if (!size || *size < entry + 2) return std::nullopt;  // older than the field
    const auto offset = Number<uint16_t>(static_cast<size_t>(vtable) + entry);
    if (!offset || *offset == 0) return std::nullopt;
    return table + *offset;
  }

  // Whether a table and its vtable are there.
  bool IsTable(size_t table) const {
    const auto back = Number<int32_t>(table);
    const int64_t vtable = back ? static_cast<int64_t>(table) - *back : -1;
    if (vtable < 0) return false;
    const auto size = Number<uint16_t>(static_cast<size_t>(vtable));
    const auto fields = Number<uint16_t>(static_cast<size_t>(vtable) + 2);
    return size && fields && *size >= 4 && *size <= bytes_.size() - static_cast<size_t>(vtable) &&
           *fields <= bytes_.size() - table;
  }

  // The elements of a vector that is a field; nothing if it is not there as a whole.
  std::optional<Vector> VectorField(size_t table, size_t field, size_t element_size) const {
    const auto position = Field(table, field);
    const auto vector = position ? Follow(*position) : std::nullopt;
    const auto count = vector ? Number<uint32_t>(*vector) : std::nullopt;
    if (!count || *count > (bytes_.size() - *vector - 4) / element_size) return std::nullopt;
    return Vector{*vector + 4, *count};
  }

  // The text of the string to which the offset at `position` leads; a NUL follows it.
  std::optional<std::string_view> String(size_t position) const {
    const auto string = Follow(position);
    const auto size = string ? Number<uint32_t>(*string) : std::nullopt;
    if (!size || *size >= bytes_.size() - *string - 4) return std::nullopt;
    return bytes_.substr(*string + 4, *size);
  }

 private:
  std::string_view bytes_;
};

// Whether everything that the root table leads to is there.
class WholeFile {
 public:
  WholeFile(const Flatbuffer& buffer, size_t size) : buffer_(buffer), left_(size) {}

  bool Has(size_t table, Table type, int depth = 0) {
    // A table takes some bytes: more visits than those are of a damaged file.
    if (depth > kMaxDepth || left_-- == 0 || !buffer_.IsTable(table)) return false;
    const absl::Span<const FieldType> fields = kFields[static_cast<size_t>(type)];
    for (size_t f = 0; f < fields.size(); ++f) {
      const auto position = buffer_.Field(table, f);
      if (position && !HasField(*position, table, f, fields[f], depth)) return false;
    }
    return true;
  }

 private:
  bool HasField(size_t position, size_t table, size_t field, FieldType type, int depth) {
    const auto vector = [&](size_t size) { return buffer_.VectorField(table, field, size); };
    switch (type.holds) {
      case Holds::kScalar:
        return buffer_.Number<char>(position).has_value();
      case Holds::kBytes:
        return vector(1).has_value();
      case Holds::kString:
        return buffer_.String(position).has_value();
      case Holds::kShorts:
        return vector(2).has_value();
      case Holds::kInts:
        return vector(4).has_value();
      case Holds::kTable: {
        const auto inner = buffer_.Follow(position);
        return inner && Has(*inner, type.table, depth + 1);
      }
      case Holds::kStrings:
      case Holds::kTables:
        break;
    }
    const auto all = vector(4);
    if (!all) return false;
    for (size_t i = 0; i < all->count; ++i) {
      const size_t at = all->position + 4 * i;
      if (type.holds == Holds::kStrings) {
        if (!buffer_.String(at)) return false;
        continue;
      }
      const auto inner = buffer_.Follow(at);
      if (!inner || !Has(*inner, type.table, depth + 1)) return false;
    }
    return true;
  }

  const Flatbuffer& buffer_;
  size_t left_;
};

// Builders round the size of a file up to the largest alignment in it, at least that of an offset.
constexpr size_t kAlignment = 4;

// The version, if `root` is the table of an exported function.
std::optional<uint16_t> Version(const Flatbuffer& buffer, size_t root) {
  const auto at = buffer.Field(root, kSerializationVersion);
  const auto version = at ? buffer.Number<uint16_t>(*at) : std::nullopt;
  if (!version || *version > kMaxSerializationVersion) return std::nullopt;
  return version;
}

std::optional<Vector> FindModule(const Flatbuffer& buffer, std::string_view contents, size_t root) {
  if (!Version(buffer, root)) return std::nullopt;
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
  if (!root || !Version(buffer, *root)) return false;
  if (FindModule(buffer, contents, *root)) return true;
  // A file that is cut off before the end of its module.
  const auto module = buffer.Field(*root, kModule);
  const auto offset = module ? buffer.Number<uint32_t>(*module) : std::nullopt;
  if (!offset || *offset == 0) return false;
  const size_t bytes = *module + *offset + 4;
  if (bytes >= contents.size()) return true;
  return kBytecodeMagic.starts_with(contents.substr(bytes, kBytecodeMagic.size()));
}

absl::StatusOr<JaxExportModule> FindJaxExportModule(std::string_view contents,
                                                    std::string_view file_name) {
  const Flatbuffer buffer(contents);
  const auto root = buffer.Follow(0);
  const auto module = root ? FindModule(buffer, contents, *root) : std::nullopt;
  const bool whole = module && contents.size() % kAlignment == 0 &&
                     WholeFile(buffer, contents.size()).Has(*root, Table::kExported);
  if (!whole) {
    return absl::InvalidArgumentError(
        StrCat(file_name, ": a function exported by jax.export, of which ", contents.size(),
               " bytes are here and more belong to it; the file is cut off or damaged, write it "
               "anew with jax.export.export(f)(...).serialize()"));
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
