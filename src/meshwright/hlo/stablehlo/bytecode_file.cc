#include "meshwright/hlo/stablehlo/bytecode_file.h"

#include <array>
#include <optional>

#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

enum SectionId : uint8_t {
  kStrings = 0,
  kDialects = 1,
  kEntries = 2,
  kEntrySizes = 3,
  kIr = kBytecodeIrSection,
  kResources = 5,
  kResourceOffsets = 6,
  kDialectVersion = 7,
  kPropertyBlobs = 8,
};
constexpr size_t kSections = 9;

class FileParser {
 public:
  FileParser(std::string_view bytes, size_t offset, std::string_view file_name)
      : cursor_(bytes, offset, file_name) {}

  absl::StatusOr<BytecodeFile> Parse() {
    MW_RETURN_IF_ERROR(cursor_.Bytes(kBytecodeMagic.size()).status());
    MW_ASSIGN_OR_RETURN(file_.version, cursor_.Varint());
    if (file_.version > BytecodeFile::kNewest || file_.version == BytecodeFile::kProperties) {
      return cursor_.Error(StrCat("bytecode of version ", file_.version,
                                  "; versions 0 to 4 and 6 can be read. Write the program as text, "
                                  "or for version 6"));
    }
    MW_RETURN_IF_ERROR(cursor_.NullTerminated().status());  // who wrote it
    while (!cursor_.AtEnd()) {
      MW_ASSIGN_OR_RETURN(const BytecodeSection section, ParseBytecodeSection(cursor_));
      if (section.id >= kSections) {
        return section.data.Error(StrCat("a section of the unknown kind ", int{section.id}));
      }
      if (sections_[section.id]) {
        return section.data.Error(StrCat("a second section of the kind ", int{section.id}));
      }
      sections_[section.id] = section.data;
    }
    for (const SectionId id : {kStrings, kDialects, kEntries, kEntrySizes, kIr}) {
      if (!sections_[id]) return cursor_.Error(StrCat("there is no section of the kind ", int{id}));
    }
    MW_RETURN_IF_ERROR(ParseStrings(*sections_[kStrings]));
    MW_RETURN_IF_ERROR(ParseDialects(*sections_[kDialects]));
    MW_RETURN_IF_ERROR(ParseEntries(*sections_[kEntrySizes], *sections_[kEntries]));
    if (sections_[kPropertyBlobs]) MW_RETURN_IF_ERROR(ParseProperties(*sections_[kPropertyBlobs]));
    file_.ir = *sections_[kIr];
    return std::move(file_);
  }

 private:
  // The sizes, last string first, then the strings, each with a NUL.
  absl::Status ParseStrings(BytecodeCursor cursor) {
    MW_ASSIGN_OR_RETURN(const size_t count, cursor.Count("strings"));
    std::vector<uint64_t> sizes(count);
    for (size_t i = count; i-- > 0;) {
      MW_ASSIGN_OR_RETURN(sizes[i], cursor.Varint());
      if (sizes[i] == 0) return cursor.Error("a string without the NUL that ends it");
    }
    file_.strings.reserve(count);
    for (const uint64_t size : sizes) {
      MW_ASSIGN_OR_RETURN(const std::string_view text, cursor.Bytes(size));
      file_.strings.push_back(text.substr(0, text.size() - 1));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::string_view> String(BytecodeCursor& cursor, uint64_t index) const {
    if (index < file_.strings.size()) return file_.strings[static_cast<size_t>(index)];
    return cursor.Error(
        StrCat("string ", index, " is named; there are ", file_.strings.size(), " strings"));
  }

  absl::Status ParseDialects(BytecodeCursor cursor) {
    MW_ASSIGN_OR_RETURN(const size_t count, cursor.Count("dialects"));
    for (size_t i = 0; i < count; ++i) {
      bool has_version = false;
      uint64_t name = 0;
      if (file_.version < BytecodeFile::kDialectVersions) {
        MW_ASSIGN_OR_RETURN(name, cursor.Varint());
      } else {
        MW_ASSIGN_OR_RETURN(name, cursor.VarintWithFlag(has_version));
      }
      MW_ASSIGN_OR_RETURN(file_.dialects.emplace_back(), String(cursor, name));
      // Dialects decode what any version of theirs wrote, so which one it was does not matter.
      if (has_version) MW_RETURN_IF_ERROR(ParseBytecodeSection(cursor).status());
    }
    if (file_.version >= BytecodeFile::kElidedLocations) {
      MW_RETURN_IF_ERROR(cursor.Varint().status());  // how many operations follow
    }
    while (!cursor.AtEnd()) {
      MW_RETURN_IF_ERROR(ParseGroup(cursor, [&](std::string_view dialect) -> absl::Status {
        BytecodeFile::Operation& operation = file_.operations.emplace_back();
        operation.dialect = dialect;
        uint64_t name = 0;
        if (file_.version < BytecodeFile::kProperties) {
          MW_ASSIGN_OR_RETURN(name, cursor.Varint());
        } else {
          MW_ASSIGN_OR_RETURN(name, cursor.VarintWithFlag(operation.registered));
        }
        MW_ASSIGN_OR_RETURN(operation.name, String(cursor, name));
        return absl::OkStatus();
      }));
    }
    return absl::OkStatus();
  }

  // A dialect, a count, and as many things of the dialect.
  template <typename Read>
  absl::Status ParseGroup(BytecodeCursor& cursor, const Read& read) {
    MW_ASSIGN_OR_RETURN(const uint64_t dialect, cursor.Varint());
    if (dialect >= file_.dialects.size()) {
      return cursor.Error(
          StrCat("dialect ", dialect, " is named; there are ", file_.dialects.size(), " dialects"));
    }
    MW_ASSIGN_OR_RETURN(const size_t count, cursor.Count("things of a dialect"));
    for (size_t i = 0; i < count; ++i) {
      MW_RETURN_IF_ERROR(read(file_.dialects[static_cast<size_t>(dialect)]));
    }
    return absl::OkStatus();
  }

  absl::Status ParseEntries(BytecodeCursor sizes, BytecodeCursor data) {
    MW_ASSIGN_OR_RETURN(const size_t attributes, sizes.Count("attributes"));
    MW_ASSIGN_OR_RETURN(const size_t types, sizes.Count("types"));
    for (auto [entries, count] :
         {std::pair(&file_.attributes, attributes), std::pair(&file_.types, types)}) {
      while (entries->size() < count) {
        const size_t before = entries->size();
        MW_RETURN_IF_ERROR(ParseGroup(sizes, [&](std::string_view dialect) -> absl::Status {
          BytecodeFile::Entry& entry = entries->emplace_back();
          entry.dialect = dialect;
          bool coded = false;
          MW_ASSIGN_OR_RETURN(const uint64_t size, sizes.VarintWithFlag(coded));
          entry.is_text = !coded;
          MW_ASSIGN_OR_RETURN(entry.data, data.Nested(size));
          return absl::OkStatus();
        }));
        if (entries->size() == before) return sizes.Error("an empty group of attributes or types");
      }
      if (entries->size() > count) return sizes.Error("more attributes or types than were counted");
    }
    return absl::OkStatus();
  }

  absl::Status ParseProperties(BytecodeCursor cursor) {
    MW_ASSIGN_OR_RETURN(const size_t count, cursor.Count("properties"));
    for (size_t i = 0; i < count; ++i) {
      MW_ASSIGN_OR_RETURN(const uint64_t size, cursor.Varint());
      MW_ASSIGN_OR_RETURN(file_.properties.emplace_back(), cursor.Nested(size));
    }
    return absl::OkStatus();
  }

  BytecodeCursor cursor_;
  BytecodeFile file_;
  std::array<std::optional<BytecodeCursor>, kSections> sections_;
};

}  // namespace

absl::StatusOr<BytecodeFile> ParseBytecodeFile(std::string_view bytes, size_t offset,
                                               std::string_view file_name) {
  return FileParser(bytes, offset, file_name).Parse();
}

absl::StatusOr<BytecodeSection> ParseBytecodeSection(BytecodeCursor& cursor) {
  constexpr uint8_t kAligned = 0x80;
  MW_ASSIGN_OR_RETURN(const uint8_t kind, cursor.Byte());
  MW_ASSIGN_OR_RETURN(const uint64_t size, cursor.Varint());
  if ((kind & kAligned) != 0) {
    MW_ASSIGN_OR_RETURN(const uint64_t alignment, cursor.Varint());
    MW_RETURN_IF_ERROR(cursor.Align(alignment));
  }
  BytecodeSection section;
  section.id = kind & static_cast<uint8_t>(~kAligned);
  MW_ASSIGN_OR_RETURN(section.data, cursor.Nested(size));
  return section;
}

}  // namespace meshwright
