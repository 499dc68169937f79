#include "meshwright/hlo/bytecode_text.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <system_error>

#include "absl/container/flat_hash_map.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/bytecode_attributes.h"
#include "meshwright/hlo/bytecode_file.h"
#include "meshwright/hlo/bytecode_operations.h"
#include "meshwright/hlo/bytecode_vhlo.h"
#include "meshwright/hlo/mlir_syntax.h"
#include "meshwright/hlo/text_cursor.h"

namespace meshwright {
namespace {

// Of the text, in sizes of the bytecode. JAX's programs take 10 to 20.
constexpr size_t kMaxGrowth = 64;
constexpr size_t kMinTextLimit = size_t{4} << 20;

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

class TextWriter {
 public:
  TextWriter(const BytecodeFile& file, size_t size)
      : file_(file),
        limit_(std::max(kMinTextLimit, kMaxGrowth * size)),
        attributes_(file, limit_),
        layouts_(file.operations.size()) {}

  absl::StatusOr<BytecodeText> Write() {
    BytecodeCursor cursor = file_.ir;
    Scope scope;
    Block block;
    MW_RETURN_IF_ERROR(ReadBlock(cursor, scope, block));
    MW_RETURN_IF_ERROR(WriteOperations(cursor, scope, block));
    BytecodeText result;
    MW_RETURN_IF_ERROR(attributes_.AppendLocationLines(result.text));
    const auto shift =
        static_cast<int32_t>(std::count(result.text.begin(), result.text.end(), '\n'));
    result.text += out_;
    result.origins = std::move(origins_);
    for (auto& [line, offset] : result.origins) line += shift;
    return result;
  }

 private:
  struct Value {
    uint64_t type = 0;
    bool is_argument = false;
    uint64_t number = 0;  // in its name, %3 or %arg3
  };
  // Values that operations can name: those of a region that sees nothing outside of it and of the
  // regions inside. Numbers are given out as regions are entered and taken back as they are left.
  struct Scope {
    absl::flat_hash_map<uint64_t, Value> values;
    uint64_t size = 0;  // numbers below this are given out
    uint64_t next = 0;  // of the innermost region, the number of the value that is defined next
    uint64_t end = 0;
  };
  struct Block {
    uint64_t operations = 0;
    std::vector<uint64_t> arguments, locations;
  };
  struct Operation {
    std::string name;  // in StableHLO
    size_t offset = 0;
    uint64_t location = 0;
    BytecodeAttributes::Named properties, attributes;
    std::vector<MlirNamedText> groups;  // sizes of groups of operands and results
    std::string vhlo;                   // its name in VHLO, if it is of that
    std::vector<uint64_t> results;
    std::vector<uint64_t> operands;
    size_t regions = 0;
    bool isolated = false;
    uint64_t first = 0;  // number in the name of the first result
    uint64_t value = 0;  // and that of its value

    std::optional<uint64_t> Find(std::string_view name) const {
      for (const BytecodeAttributes::Named* named : {&properties, &attributes}) {
        for (const auto& [key, value] : *named) {
          if (key == name) return value;
        }
      }
      return std::nullopt;
    }
  };

  // ---- reading ----

  absl::Status ReadBlock(BytecodeCursor& cursor, Scope& scope, Block& block) {
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

  // In which order the uses of some of `values` values stand in memory.
  static absl::Status SkipUseLists(BytecodeCursor& cursor, size_t values) {
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

  absl::StatusOr<uint64_t> Define(const BytecodeCursor& cursor, Scope& scope, Value value) {
    if (scope.next >= scope.end) return cursor.Error("more values than their region counts");
    if (value.type >= file_.types.size()) {
      return cursor.Error(StrCat("type ", value.type, " is named; there are ", file_.types.size()));
    }
    scope.values[scope.next] = value;
    return scope.next++;
  }

  absl::StatusOr<Operation> ReadOperation(BytecodeCursor& cursor, Scope& scope) {
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

  static bool IsMlirOperationName(std::string_view name) {
    // "stablehlo.cross-replica-sum"
    return !name.empty() && name.find_first_not_of(
                                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRST"
                                "UVWXYZ0123456789_$.-") == std::string_view::npos;
  }

  // Takes the first layout that fits exactly.
  absl::Status ReadProperties(const BytecodeCursor& cursor, uint64_t number,
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
    // Of an operation that is not known nothing can be said; whether it matters is seen later.
    if (layouts.empty() && operation.vhlo.empty()) return absl::OkStatus();
    return data.Error(StrCat(operation.vhlo.empty() ? operation.name : operation.vhlo,
                             ": its properties are not those of a version that is known; write the "
                             "program as a StableHLO portable artifact or as text"));
  }

  absl::Status ReadLayout(BytecodeCursor data, const BytecodeProperties& layout,
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

  // `array<i32: 1, 2>` of `count` sizes, which are coded without trailing zeros, or as pairs of an
  // index in the low bits and a size.
  static absl::StatusOr<std::string> ReadGroups(BytecodeCursor& data, size_t count) {
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
  static void SeparateProperties(const BytecodeProperties& layout, Operation& operation) {
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

  // ---- regions ----

  // Calls `write(cursor, scope, block)` for each region, which reads the operations of its block
  // (nullptr if it has none).
  template <typename WriteRegion>
  absl::Status ForEachRegion(const Operation& operation, BytecodeCursor& outer, Scope& outer_scope,
                             const WriteRegion& write) {
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
        MW_RETURN_IF_ERROR(write(region, cursor, scope, nullptr));
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
      MW_RETURN_IF_ERROR(write(region, cursor, scope, &block));
      for (uint64_t value = begin; value < scope.next; ++value) scope.values.erase(value);
      scope.size = begin;
      scope.next = next;
      scope.end = end;
    }
    --depth_;
    return absl::OkStatus();
  }

  // `return_name`: VHLO has one kind of return for functions and for regions.
  absl::Status WriteOperations(BytecodeCursor& cursor, Scope& scope, const Block& block,
                               std::string_view return_name = "stablehlo.return") {
    for (uint64_t i = 0; i < block.operations; ++i) {
      MW_ASSIGN_OR_RETURN(Operation operation, ReadOperation(cursor, scope));
      if (operation.vhlo.starts_with("vhlo.return_v")) operation.name = return_name;
      if (IsCast(operation)) {
        scope.values[operation.value] = scope.values[operation.operands[0]];
        continue;
      }
      if (out_.size() > limit_) {
        return cursor.Error(
            StrCat("the text of this bytecode would be larger than ", limit_, " bytes"));
      }
      origins_.emplace_back(line_, operation.offset);
      Indent();
      if (operation.name == "builtin.module") {
        MW_RETURN_IF_ERROR(WriteModule(operation, cursor, scope));
      } else if (operation.name == "func.func") {
        MW_RETURN_IF_ERROR(WriteFunction(operation, cursor, scope));
      } else if (operation.name == "sdy.mesh") {
        MW_RETURN_IF_ERROR(WriteMesh(operation));
      } else {
        MW_RETURN_IF_ERROR(WriteGeneric(operation, cursor, scope));
      }
      if (!compact_) MW_RETURN_IF_ERROR(attributes_.AppendLocation(operation.location, out_));
      NewLine();
    }
    return absl::OkStatus();
  }

  // Between operations of VHLO and others a type of VHLO becomes one of MLIR, which in the text are
  // one.
  static bool IsCast(const Operation& operation) {
    return operation.name == "builtin.unrealized_conversion_cast" &&
           operation.operands.size() == 1 && operation.results.size() == 1 &&
           operation.regions == 0;
  }

  // ---- writing ----

  void NewLine() {
    out_ += '\n';
    ++line_;
  }
  void Indent() { out_.append(2 * static_cast<size_t>(depth_), ' '); }

  static std::string ValueName(const Value& value) {
    return StrCat(value.is_argument ? "%arg" : "%", value.number);
  }

  absl::Status AppendTypes(const std::vector<uint64_t>& types) {
    for (size_t i = 0; i < types.size(); ++i) {
      if (i != 0) out_ += ", ";
      MW_RETURN_IF_ERROR(attributes_.AppendType(types[i], out_));
    }
    return absl::OkStatus();
  }

  // `%arg0: tensor<f32> {attributes} loc(#loc1), ...`; `dictionaries` may be shorter.
  absl::Status AppendArguments(const Scope& scope, const Block& block,
                               const std::vector<uint64_t>& dictionaries) {
    for (size_t i = 0; i < block.arguments.size(); ++i) {
      if (i != 0) out_ += ", ";
      const Value& value = scope.values.find(block.arguments[i])->second;
      StrAppend(&out_, ValueName(value), ": ");
      MW_RETURN_IF_ERROR(attributes_.AppendType(value.type, out_));
      if (i < dictionaries.size()) MW_RETURN_IF_ERROR(AppendPortAttributes(dictionaries[i]));
      if (block.locations[i] != kNone) {
        MW_RETURN_IF_ERROR(attributes_.AppendLocation(block.locations[i], out_));
      }
    }
    return absl::OkStatus();
  }

  // ` {a = 1}` of an argument or a result of a function; nothing if there are none.
  absl::Status AppendPortAttributes(uint64_t dictionary) {
    MW_ASSIGN_OR_RETURN(const BytecodeAttributes::Named named, attributes_.Dictionary(dictionary));
    if (named.empty()) return absl::OkStatus();
    out_ += ' ';
    return attributes_.AppendAttribute(dictionary, out_);
  }

  void AppendAttributes(const std::vector<MlirNamedText>& named, std::string_view open,
                        std::string_view close) {
    if (named.empty()) return;
    out_ += open;
    for (size_t i = 0; i < named.size(); ++i) {
      if (i != 0) out_ += ", ";
      if (IsMlirName(named[i].name)) {
        out_ += named[i].name;
      } else {
        AppendMlirString(named[i].name, out_);
      }
      if (!named[i].is_unit) StrAppend(&out_, " = ", named[i].value);
    }
    out_ += close;
  }

  absl::StatusOr<std::vector<MlirNamedText>> Texts(const BytecodeAttributes::Named& named) {
    std::vector<MlirNamedText> texts;
    for (const auto& [name, attribute] : named) {
      MlirNamedText& text = texts.emplace_back();
      text.name = name;
      MW_RETURN_IF_ERROR(attributes_.AppendAttribute(attribute, text.value));
      text.is_unit = text.value == "unit";
    }
    return texts;
  }

  absl::Status WriteModule(const Operation& operation, BytecodeCursor& cursor, Scope& scope) {
    out_ += "module";
    if (const std::optional<uint64_t> name = operation.Find("sym_name")) {
      MW_ASSIGN_OR_RETURN(const std::string text, attributes_.String(*name));
      out_ += ' ';
      AppendMlirSymbol(text, out_);
    }
    MW_ASSIGN_OR_RETURN(const std::vector<MlirNamedText> texts, Texts(operation.attributes));
    AppendAttributes(texts, " attributes {", "}");
    out_ += " {";
    NewLine();
    MW_RETURN_IF_ERROR(ForEachRegion(
        operation, cursor, scope,
        [&](size_t, BytecodeCursor& inner, Scope& inside, const Block* block) -> absl::Status {
          return block == nullptr ? absl::OkStatus() : WriteOperations(inner, inside, *block);
        }));
    Indent();
    out_ += '}';
    return absl::OkStatus();
  }

  absl::Status WriteMesh(const Operation& operation) {
    const std::optional<uint64_t> name = operation.Find("sym_name");
    const std::optional<uint64_t> mesh = operation.Find("mesh");
    if (!name || !mesh) {
      return BytecodeError(file_.ir.file_name(), operation.offset,
                           "sdy.mesh: lacks its name or its mesh");
    }
    MW_ASSIGN_OR_RETURN(const std::string text, attributes_.String(*name));
    out_ += "sdy.mesh ";
    AppendMlirSymbol(text, out_);
    out_ += " = ";
    MW_RETURN_IF_ERROR(attributes_.AppendBare(*mesh, out_));
    MW_ASSIGN_OR_RETURN(const std::vector<MlirNamedText> texts, Texts(operation.attributes));
    AppendAttributes(texts, " {", "}");
    return absl::OkStatus();
  }

  absl::Status WriteFunction(const Operation& operation, BytecodeCursor& cursor, Scope& scope) {
    const std::optional<uint64_t> name = operation.Find("sym_name");
    const std::optional<uint64_t> type = operation.Find("function_type");
    if (!name || !type || operation.regions != 1) {
      return BytecodeError(file_.ir.file_name(), operation.offset,
                           "func.func: lacks its name, its type or its body");
    }
    MW_ASSIGN_OR_RETURN(const BytecodeAttributes::Function function,
                        attributes_.FunctionType(*type));
    std::vector<uint64_t> ports[2];  // dictionaries of arguments and of results
    constexpr std::string_view kPorts[] = {"arg_attrs", "res_attrs"};
    for (size_t i = 0; i < 2; ++i) {
      if (const std::optional<uint64_t> list = operation.Find(kPorts[i])) {
        MW_ASSIGN_OR_RETURN(ports[i], attributes_.Array(*list));
      }
    }
    out_ += "func.func ";
    if (const std::optional<uint64_t> visibility = operation.Find("sym_visibility")) {
      MW_ASSIGN_OR_RETURN(const std::string word, attributes_.String(*visibility));
      if (word == "public" || word == "private" || word == "nested") StrAppend(&out_, word, " ");
    }
    MW_ASSIGN_OR_RETURN(const std::string symbol, attributes_.String(*name));
    AppendMlirSymbol(symbol, out_);
    out_ += '(';
    next_argument_ = next_result_ = 0;
    return ForEachRegion(
        operation, cursor, scope,
        [&](size_t, BytecodeCursor& inner, Scope& inside, const Block* block) -> absl::Status {
          if (block != nullptr) {
            MW_RETURN_IF_ERROR(AppendArguments(inside, *block, ports[0]));
          } else {
            MW_RETURN_IF_ERROR(AppendTypes(function.inputs));
          }
          out_ += ')';
          if (!function.results.empty()) out_ += " -> (";
          for (size_t i = 0; i < function.results.size(); ++i) {
            if (i != 0) out_ += ", ";
            MW_RETURN_IF_ERROR(attributes_.AppendType(function.results[i], out_));
            if (i < ports[1].size()) MW_RETURN_IF_ERROR(AppendPortAttributes(ports[1][i]));
          }
          if (!function.results.empty()) out_ += ')';
          MW_ASSIGN_OR_RETURN(const std::vector<MlirNamedText> texts, Texts(operation.attributes));
          AppendAttributes(texts, " attributes {", "}");
          if (block == nullptr) return absl::OkStatus();
          out_ += " {";
          NewLine();
          MW_RETURN_IF_ERROR(WriteOperations(inner, inside, *block, "func.return"));
          out_.append(2 * static_cast<size_t>(depth_ - 1), ' ');
          out_ += '}';
          return absl::OkStatus();
        });
  }

  // `%2 = "stablehlo.add"(%0, %1) <{properties}> ({regions}) {attributes} : (types) -> types`;
  // Shardy's constraints in their own form, as their shardings can then be replaced.
  absl::Status WriteGeneric(const Operation& operation, BytecodeCursor& cursor, Scope& scope) {
    for (size_t i = 0; i < operation.results.size(); ++i) {
      StrAppend(&out_, i == 0 ? "%" : ", %", operation.first + i);
    }
    if (!operation.results.empty()) out_ += " = ";
    const std::optional<uint64_t> sharding = operation.Find("sharding");
    const bool constraint =
        (operation.name == "sdy.sharding_constraint" || operation.name == "sdy.reshard") &&
        sharding && operation.operands.size() == 1 && operation.results.size() == 1;
    const bool manual = operation.name == "sdy.manual_computation";
    if (constraint || manual) {
      out_ += operation.name;
    } else {
      StrAppend(&out_, "\"", operation.name, "\"(");
    }
    std::vector<uint64_t> operand_types;
    if (manual) out_ += '(';
    if (constraint) out_ += ' ';
    for (size_t i = 0; i < operation.operands.size(); ++i) {
      const Value& value = scope.values.find(operation.operands[i])->second;
      StrAppend(&out_, i == 0 ? "" : ", ", ValueName(value));
      operand_types.push_back(value.type);
    }
    if (constraint) {
      out_ += ' ';
      MW_RETURN_IF_ERROR(attributes_.AppendBare(*sharding, out_));
    } else {
      out_ += ')';
    }
    if (manual) {
      MW_RETURN_IF_ERROR(WriteManual(operation, cursor, scope));
    } else if (!constraint) {
      absl::StatusOr<std::vector<MlirNamedText>> properties =
          operation.vhlo.empty()
              ? Texts(operation.properties)
              : StablehloProperties(attributes_, operation.vhlo, operation.properties);
      MW_RETURN_IF_ERROR(properties.status());
      properties->insert(properties->end(), operation.groups.begin(), operation.groups.end());
      AppendAttributes(*properties, " <{", "}>");
      MW_RETURN_IF_ERROR(WriteRegions(operation, cursor, scope));
    }
    MW_ASSIGN_OR_RETURN(const std::vector<MlirNamedText> texts, Texts(operation.attributes));
    AppendAttributes(texts, " {", "}");
    out_ += " : ";
    if (constraint) return AppendTypes(operation.results);
    out_ += '(';
    MW_RETURN_IF_ERROR(AppendTypes(operand_types));
    out_ += operation.results.size() == 1 ? ") -> " : ") -> (";
    MW_RETURN_IF_ERROR(AppendTypes(operation.results));
    if (operation.results.size() != 1) out_ += ')';
    return absl::OkStatus();
  }

  absl::Status WriteRegions(const Operation& operation, BytecodeCursor& cursor, Scope& scope) {
    if (operation.regions == 0) return absl::OkStatus();
    out_ += " (";
    MW_RETURN_IF_ERROR(ForEachRegion(operation, cursor, scope,
                                     [&](size_t region, BytecodeCursor& inner, Scope& inside,
                                         const Block* block) -> absl::Status {
                                       out_ += region == 0 ? "{" : ", {";
                                       NewLine();
                                       if (block != nullptr) {
                                         if (!block->arguments.empty()) {
                                           out_.append(2 * static_cast<size_t>(depth_ - 1), ' ');
                                           out_ += "^bb0(";
                                           MW_RETURN_IF_ERROR(AppendArguments(inside, *block, {}));
                                           out_ += "):";
                                           NewLine();
                                         }
                                         // MLIR prints such a reduction as `applies stablehlo.add`,
                                         // without a location for what combines, and operations are
                                         // named after locations: they shall have the same names.
                                         compact_ = operation.name == "stablehlo.reduce" &&
                                                    operation.operands.size() == 2 &&
                                                    block->operations == 2;
                                         MW_RETURN_IF_ERROR(WriteOperations(inner, inside, *block));
                                         compact_ = false;
                                       }
                                       out_.append(2 * static_cast<size_t>(depth_ - 1), ' ');
                                       out_ += '}';
                                       return absl::OkStatus();
                                     }));
    out_ += ')';
    return absl::OkStatus();
  }

  // ` in_shardings=[...] out_shardings=[...] manual_axes={"x"} (%arg1: type) {...}`
  absl::Status WriteManual(const Operation& operation, BytecodeCursor& cursor, Scope& scope) {
    for (const std::string_view name : {"in_shardings", "out_shardings", "manual_axes"}) {
      const std::optional<uint64_t> value = operation.Find(name);
      if (!value) continue;
      std::string text;
      MW_RETURN_IF_ERROR(attributes_.AppendBare(*value, text));
      std::string_view inside = text;
      if (inside.starts_with('<') && inside.ends_with('>')) {
        inside = inside.substr(1, inside.size() - 2);
      }
      StrAppend(&out_, " ", name, "=", inside);
    }
    return ForEachRegion(
        operation, cursor, scope,
        [&](size_t, BytecodeCursor& inner, Scope& inside, const Block* block) -> absl::Status {
          out_ += " (";
          if (block != nullptr) MW_RETURN_IF_ERROR(AppendArguments(inside, *block, {}));
          out_ += ") {";
          NewLine();
          if (block != nullptr) {
            MW_RETURN_IF_ERROR(WriteOperations(inner, inside, *block));
          }
          out_.append(2 * static_cast<size_t>(depth_ - 1), ' ');
          out_ += '}';
          return absl::OkStatus();
        });
  }

  static constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();

  const BytecodeFile& file_;
  const size_t limit_;
  BytecodeAttributes attributes_;
  std::vector<std::optional<std::vector<BytecodeProperties>>> layouts_;  // by operation
  std::string out_;
  int32_t line_ = 1;
  std::vector<std::pair<int32_t, size_t>> origins_;
  // For names. Regions that see nothing outside of them number their values anew, so names have
  // numbers of their own.
  uint64_t next_argument_ = 0, next_result_ = 0;
  int depth_ = 0;         // of regions
  bool compact_ = false;  // inside of a region that has a short form
};

}  // namespace

absl::StatusOr<BytecodeText> TextFromBytecode(std::string_view bytes, size_t offset,
                                              std::string_view file_name) {
  MW_ASSIGN_OR_RETURN(const BytecodeFile file, ParseBytecodeFile(bytes, offset, file_name));
  return TextWriter(file, bytes.size()).Write();
}

absl::Status BytecodeText::AtBytes(const absl::Status& error, std::string_view file_name) const {
  std::string_view message = FromAbsl(error.message());
  if (error.ok() || !message.starts_with(StrCat(file_name, ":"))) return error;
  message.remove_prefix(file_name.size() + 1);
  int32_t line = 0, column = 0;
  const char* const end = message.data() + message.size();
  const auto [colon, line_error] = std::from_chars(message.data(), end, line);
  if (line_error != std::errc() || colon == end || *colon != ':') return error;
  auto [behind, column_error] = std::from_chars(colon + 1, end, column);
  if (column_error != std::errc()) behind = colon;  // no column
  if (behind == end || *behind != ':') return error;
  const auto after =
      std::upper_bound(origins.begin(), origins.end(), line,
                       [](int32_t wanted, const auto& row) { return wanted < row.first; });
  if (origins.empty()) return error;
  // Before the first operation stand locations.
  const size_t offset = (after == origins.begin() ? after : std::prev(after))->second;
  return {error.code(),
          ToAbsl(StrCat(file_name, ": byte ", offset,
                        std::string_view(behind, static_cast<size_t>(end - behind))))};
}

}  // namespace meshwright
