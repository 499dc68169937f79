#include "meshwright/hlo/stablehlo/bytecode_ir.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/text_cursor.h"

namespace meshwright {
namespace {

// What stands before the regions of an operation says which parts it has.
enum OperationParts : uint8_t {
  kHasAttributes = 0x01,
  kResults = 0x02,
  kOperands = 0x04,
  kSuccessors = 0x08,
  kRegions = 0x10,
  kUseLists = 0x20,
  kHasProperties = 0x40,
};

// In which order the uses of some of `values` values stand in memory.
absl::Status SkipUseLists(BytecodeCursor& cursor, size_t values) {
  size_t count = 1;
  if (values > 1) {
    MW_ASSIGN_OR_RETURN(count, cursor.Count("orders of uses"));
  }
  for (size_t i = 0; i < count; ++i) {
    if (values > 1) MW_RETURN_IF_ERROR(cursor.Varint().status());
    MW_ASSIGN_OR_RETURN(const uint64_t flagged, cursor.Varint());
    for (uint64_t use = flagged >> 1; use > 0; --use) {
      MW_RETURN_IF_ERROR(cursor.Varint().status());
    }
  }
  return absl::OkStatus();
}

bool IsMlirOperationName(std::string_view name) {
  // "stablehlo.cross-replica-sum"
  return !name.empty() && name.find_first_not_of(
                              "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRST"
                              "UVWXYZ0123456789_$.-") == std::string_view::npos;
}

// `array<i32: 1, 2>` of `count` sizes, which are coded without trailing zeros, or as pairs of an
// index in the low bits and a size.
absl::StatusOr<std::string> ReadGroups(BytecodeCursor& data, size_t count) {
  std::vector<uint64_t> sizes(count);
  bool pairs = false;
  MW_ASSIGN_OR_RETURN(const uint64_t coded, data.VarintWithFlag(pairs));
  uint64_t bits = 0;
  if (pairs && coded != 0) {
    MW_ASSIGN_OR_RETURN(bits, data.Varint());
  }
  if (coded > count || bits > 8) return data.Error("sizes of groups out of bounds");
  for (uint64_t i = 0; i < coded; ++i) {
    MW_ASSIGN_OR_RETURN(const uint64_t value, data.Varint());
    const uint64_t index = pairs ? value & ((uint64_t{1} << bits) - 1) : i;
    if (index >= count) return data.Error("sizes of groups out of bounds");
    sizes[static_cast<size_t>(index)] = value >> bits;
  }
  std::string text = "array<i32";
  for (size_t i = 0; i < count; ++i) StrAppend(&text, i == 0 ? ": " : ", ", sizes[i]);
  return text + ">";
}

// Older bytecode has all attributes in one dictionary.
void SeparateProperties(const BytecodeProperties& layout, BytecodeIr::Operation& operation) {
  const auto declared = [&](const std::pair<std::string, uint64_t>& attribute) {
    return std::any_of(layout.begin(), layout.end(), [&](const BytecodeProperty& property) {
      return property.name == attribute.first;
    });
  };
  const auto middle = std::stable_partition(operation.attributes.begin(),
                                            operation.attributes.end(), std::not_fn(declared));
  operation.properties.insert(operation.properties.end(), middle, operation.attributes.end());
  operation.attributes.erase(middle, operation.attributes.end());
}

}  // namespace

absl::Status BytecodeIr::ReadBlock(BytecodeCursor& cursor, Scope& scope, Block& block) {
  bool has_arguments = false;
  MW_ASSIGN_OR_RETURN(block.operations, cursor.VarintWithFlag(has_arguments));
  if (!has_arguments) return absl::OkStatus();
  MW_ASSIGN_OR_RETURN(const size_t count, cursor.Count("arguments"));
  for (size_t i = 0; i < count; ++i) {
    bool has_location = true;
    uint64_t type = 0;
    if (file_.version < BytecodeFile::kElidedLocations) {
      MW_ASSIGN_OR_RETURN(type, cursor.Varint());
    } else {
      MW_ASSIGN_OR_RETURN(type, cursor.VarintWithFlag(has_location));
    }
    uint64_t location = kNone;
    if (has_location) {
      MW_ASSIGN_OR_RETURN(location, cursor.Varint());
    }
    block.locations.push_back(location);
    MW_ASSIGN_OR_RETURN(block.arguments.emplace_back(),
                        Define(cursor, scope, {type, true, next_argument_++}));
  }
  if (file_.version < BytecodeFile::kUseListOrders) return absl::OkStatus();
  MW_ASSIGN_OR_RETURN(const uint8_t orders, cursor.Byte());
  return orders == 0 ? absl::OkStatus() : SkipUseLists(cursor, count);
}

absl::StatusOr<uint64_t> BytecodeIr::Define(const BytecodeCursor& cursor, Scope& scope,
                                            Value value) {
  if (scope.next >= scope.end) return cursor.Error("more values than their region counts");
  if (value.type >= file_.types.size()) {
    return cursor.Error(StrCat("type ", value.type, " is named; there are ", file_.types.size()));
  }
  scope.values[scope.next] = value;
  return scope.next++;
}

absl::StatusOr<BytecodeIr::Operation> BytecodeIr::ReadOperation(BytecodeCursor& cursor,
                                                                Scope& scope) {
  Operation operation;
  operation.offset = cursor.offset();
  MW_ASSIGN_OR_RETURN(const uint64_t number, cursor.Varint());
  if (number >= file_.operations.size()) {
    return cursor.Error(StrCat("operation ", number, " is named; there are ",
                               file_.operations.size(), " operations"));
  }
  const BytecodeFile::Operation& kind = file_.operations[static_cast<size_t>(number)];
  operation.name = StrCat(kind.dialect, ".", kind.name);
  if (!IsMlirOperationName(operation.name)) {
    return cursor.Error(StrCat("an operation with the name ", QuoteForError(operation.name)));
  }
  const std::string coded_name = operation.name;
  if (kind.dialect == "vhlo") {
    operation.vhlo = operation.name;
    operation.name = StablehloOperationName(operation.vhlo);
  }
  MW_ASSIGN_OR_RETURN(const uint8_t parts, cursor.Byte());
  MW_ASSIGN_OR_RETURN(operation.location, cursor.Varint());
  if ((parts & kHasAttributes) != 0) {
    MW_ASSIGN_OR_RETURN(const uint64_t dictionary, cursor.Varint());
    MW_ASSIGN_OR_RETURN(operation.attributes, attributes_.Dictionary(dictionary));
  }
  std::optional<std::vector<BytecodeProperties>>& layouts = layouts_[static_cast<size_t>(number)];
  if (!layouts) layouts = FindBytecodeProperties(coded_name);
  if ((parts & kHasProperties) != 0) {
    MW_ASSIGN_OR_RETURN(const uint64_t properties, cursor.Varint());
    if (kind.registered) {
      MW_RETURN_IF_ERROR(ReadProperties(cursor, properties, *layouts, operation));
    } else {
      MW_ASSIGN_OR_RETURN(operation.properties, attributes_.Dictionary(properties));
    }
  }
  if (!layouts->empty()) SeparateProperties(layouts->front(), operation);
  if ((parts & kResults) != 0) {
    MW_ASSIGN_OR_RETURN(const size_t count, cursor.Count("results"));
    operation.results.resize(count);
    for (uint64_t& type : operation.results) {
      MW_ASSIGN_OR_RETURN(type, cursor.Varint());
    }
  }
  if ((parts & kOperands) != 0) {
    MW_ASSIGN_OR_RETURN(const size_t count, cursor.Count("operands"));
    operation.operands.resize(count);
    for (uint64_t& operand : operation.operands) {
      MW_ASSIGN_OR_RETURN(operand, cursor.Varint());
      if (!scope.values.contains(operand)) {
        return cursor.Error(
            StrCat(operation.name, ": value ", operand, " is used before it is defined"));
      }
    }
  }
  if ((parts & kSuccessors) != 0) {
    return cursor.Error(StrCat(operation.name, ": successors; StableHLO has no branches"));
  }
  if (file_.version >= BytecodeFile::kUseListOrders && (parts & kUseLists) != 0) {
    MW_RETURN_IF_ERROR(SkipUseLists(cursor, operation.results.size()));
  }
  if ((parts & kRegions) != 0) {
    const size_t at = cursor.offset();
    MW_ASSIGN_OR_RETURN(const uint64_t regions, cursor.VarintWithFlag(operation.isolated));
    if (regions > cursor.remaining()) {
      return BytecodeError(file_.ir.file_name(), at, StrCat(regions, " regions"));
    }
    operation.regions = static_cast<size_t>(regions);
  }
  operation.first = next_result_;
  operation.value = scope.next;
  for (const uint64_t type : operation.results) {
    MW_RETURN_IF_ERROR(Define(cursor, scope, {type, false, next_result_++}).status());
  }
  return operation;
}

// Takes the first layout that fits exactly.
absl::Status BytecodeIr::ReadProperties(const BytecodeCursor& cursor, uint64_t number,
                                        const std::vector<BytecodeProperties>& layouts,
                                        Operation& operation) {
  if (number >= file_.properties.size()) {
    return cursor.Error(
        StrCat("properties ", number, " are named; there are ", file_.properties.size()));
  }
  const BytecodeCursor& data = file_.properties[static_cast<size_t>(number)];
  for (const BytecodeProperties& layout : layouts) {
    if (ReadLayout(data, layout, operation).ok()) return absl::OkStatus();
  }
  // Nothing can be said of an operation that is not known; whether it matters is seen later.
  if (layouts.empty() && operation.vhlo.empty()) return absl::OkStatus();
  return data.Error(StrCat(operation.vhlo.empty() ? operation.name : operation.vhlo,
                           ": its properties are not those of a version that is known; write the "
                           "program as a StableHLO portable artifact or as text"));
}

absl::Status BytecodeIr::ReadLayout(BytecodeCursor data, const BytecodeProperties& layout,
                                    Operation& operation) {
  operation.properties.clear();
  operation.groups.clear();
  for (const BytecodeProperty& property : layout) {
    if (property.groups != 0) {
      MW_ASSIGN_OR_RETURN(std::string sizes, ReadGroups(data, property.groups));
      operation.groups.push_back({std::string(property.name), std::move(sizes), false});
      continue;
    }
    if (property.optional && data.AtEnd()) continue;  // from before it was declared
    bool there = true;
    uint64_t attribute = 0;
    if (property.optional) {
      MW_ASSIGN_OR_RETURN(attribute, data.VarintWithFlag(there));
    } else {
      MW_ASSIGN_OR_RETURN(attribute, data.Varint());
    }
    if (!there) continue;
    if (attribute >= file_.attributes.size()) return data.Error("an attribute out of bounds");
    operation.properties.emplace_back(property.name, attribute);
  }
  if (!data.AtEnd()) return data.Error("more properties than are declared");
  return absl::OkStatus();
}

// Calls `write(cursor, scope, block)` for each region, which reads the operations of its block
// (nullptr if it has none).
absl::Status BytecodeIr::ForEachRegion(const Operation& operation, BytecodeCursor& outer,
                                       Scope& outer_scope, VisitRegion visit) {
  if (operation.regions == 0) return absl::OkStatus();
  if (++depth_ > kMaxTextNesting) {
    return outer.Error(StrCat("regions nested deeper than ", kMaxTextNesting));
  }
  Scope own;
  Scope& scope = operation.isolated ? own : outer_scope;
  std::optional<BytecodeCursor> section;
  if (operation.isolated && file_.version >= BytecodeFile::kIsolatedRegions) {
    MW_ASSIGN_OR_RETURN(const BytecodeSection found, ParseBytecodeSection(outer));
    if (found.id != kBytecodeIrSection) {
      return outer.Error(StrCat(operation.name, ": expected a section with its regions"));
    }
    section = found.data;
  }
  BytecodeCursor& cursor = section ? *section : outer;
  for (size_t region = 0; region < operation.regions; ++region) {
    MW_ASSIGN_OR_RETURN(const uint64_t blocks, cursor.Varint());
    if (blocks > 1) {
      return cursor.Error(
          StrCat(operation.name, ": a region of ", blocks, " blocks; StableHLO has only one"));
    }
    if (blocks == 0) {
      MW_RETURN_IF_ERROR(visit(region, cursor, scope, nullptr));
      continue;
    }
    MW_ASSIGN_OR_RETURN(const size_t values, cursor.Count("values"));
    const uint64_t begin = scope.size;
    const uint64_t next = scope.next;
    const uint64_t end = scope.end;
    scope.next = begin;
    scope.size = scope.end = begin + values;
    Block block;
    MW_RETURN_IF_ERROR(ReadBlock(cursor, scope, block));
    MW_RETURN_IF_ERROR(visit(region, cursor, scope, &block));
    for (uint64_t value = begin; value < scope.next; ++value) scope.values.erase(value);
    scope.size = begin;
    scope.next = next;
    scope.end = end;
  }
  --depth_;
  return absl::OkStatus();
}

}  // namespace meshwright
