#include "meshwright/hlo/stablehlo/bytecode_text.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <system_error>

#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/stablehlo/bytecode_attributes.h"
#include "meshwright/hlo/stablehlo/bytecode_file.h"
#include "meshwright/hlo/stablehlo/bytecode_ir.h"
#include "meshwright/hlo/stablehlo/bytecode_vhlo.h"
#include "meshwright/hlo/stablehlo/mlir_syntax.h"
#include "meshwright/hlo/stablehlo/platform_index.h"

namespace meshwright {
namespace {

// The most growth of the text, in sizes of the bytecode. JAX's programs take 10 to 20.
constexpr size_t kMaxGrowth = 64;
constexpr size_t kMinTextLimit = size_t{4} << 20;

class TextWriter {
 public:
  TextWriter(const BytecodeFile& file, size_t size, absl::Span<const std::string> platforms)
      : file_(file),
        platforms_(platforms),
        limit_(std::max(kMinTextLimit, kMaxGrowth * size)),
        attributes_(file, limit_),
        ir_(file, attributes_) {}

  absl::StatusOr<BytecodeText> Write() {
    BytecodeCursor cursor = file_.ir;
    Scope scope;
    Block block;
    MW_RETURN_IF_ERROR(ir_.ReadBlock(cursor, scope, block));
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
  using Value = BytecodeIr::Value;
  using Scope = BytecodeIr::Scope;
  using Block = BytecodeIr::Block;
  using Operation = BytecodeIr::Operation;

  // `return_name`: VHLO has one kind of return for functions and for regions.
  absl::Status WriteOperations(BytecodeCursor& cursor, Scope& scope, const Block& block,
                               std::string_view return_name = "stablehlo.return") {
    for (uint64_t i = 0; i < block.operations; ++i) {
      MW_ASSIGN_OR_RETURN(Operation operation, ir_.ReadOperation(cursor, scope));
      if (operation.vhlo.starts_with("vhlo.return_v")) operation.name = return_name;
      if (IsCast(operation)) {
        const Value operand = scope.values.find(operation.operands[0])->second;
        scope.values[operation.value] = operand;
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
  void Indent() { out_.append(2 * static_cast<size_t>(ir_.depth()), ' '); }

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
      if (block.locations[i] != BytecodeIr::kNone) {
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
    MW_ASSIGN_OR_RETURN(std::vector<MlirNamedText> texts, Texts(operation.attributes));
    if (platforms_.size() > 1) {
      MlirNamedText& platforms = texts.emplace_back();
      platforms.name = kPlatformsAttribute;
      for (const std::string& platform : platforms_) {
        platforms.value += platforms.value.empty() ? "[" : ", ";
        AppendMlirString(platform, platforms.value);
      }
      platforms.value += ']';
    }
    AppendAttributes(texts, " attributes {", "}");
    out_ += " {";
    NewLine();
    MW_RETURN_IF_ERROR(ir_.ForEachRegion(
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
    ir_.StartNames();
    return ir_.ForEachRegion(
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
          out_.append(2 * static_cast<size_t>(ir_.depth() - 1), ' ');
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
    MW_RETURN_IF_ERROR(
        ir_.ForEachRegion(operation, cursor, scope,
                          [&](size_t region, BytecodeCursor& inner, Scope& inside,
                              const Block* block) -> absl::Status {
                            out_ += region == 0 ? "{" : ", {";
                            NewLine();
                            if (block != nullptr) {
                              if (!block->arguments.empty()) {
                                out_.append(2 * static_cast<size_t>(ir_.depth() - 1), ' ');
                                out_ += "^bb0(";
                                MW_RETURN_IF_ERROR(AppendArguments(inside, *block, {}));
                                out_ += "):";
                                NewLine();
                              }
                              // MLIR prints such a reduction as `applies stablehlo.add`,
                              // without a location for what combines, and operations are
                              // named after locations: they shall have the same names.
                              compact_ = operation.name == "stablehlo.reduce" &&
                                         operation.operands.size() == 2 && block->operations == 2;
                              MW_RETURN_IF_ERROR(WriteOperations(inner, inside, *block));
                              compact_ = false;
                            }
                            out_.append(2 * static_cast<size_t>(ir_.depth() - 1), ' ');
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
    return ir_.ForEachRegion(
        operation, cursor, scope,
        [&](size_t, BytecodeCursor& inner, Scope& inside, const Block* block) -> absl::Status {
          out_ += " (";
          if (block != nullptr) MW_RETURN_IF_ERROR(AppendArguments(inside, *block, {}));
          out_ += ") {";
          NewLine();
          if (block != nullptr) {
            MW_RETURN_IF_ERROR(WriteOperations(inner, inside, *block));
          }
          out_.append(2 * static_cast<size_t>(ir_.depth() - 1), ' ');
          out_ += '}';
          return absl::OkStatus();
        });
  }

  const BytecodeFile& file_;
  const absl::Span<const std::string> platforms_;
  const size_t limit_;
  BytecodeAttributes attributes_;
  BytecodeIr ir_;
  std::string out_;
  int32_t line_ = 1;
  std::vector<std::pair<int32_t, size_t>> origins_;
  bool compact_ = false;  // inside of a region that has a short form
};

}  // namespace

absl::StatusOr<BytecodeText> TextFromBytecode(std::string_view bytes, size_t offset,
                                              std::string_view file_name,
                                              absl::Span<const std::string> platforms) {
  MW_ASSIGN_OR_RETURN(const BytecodeFile file, ParseBytecodeFile(bytes, offset, file_name));
  return TextWriter(file, bytes.size(), platforms).Write();
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
