#include "meshwright/hlo/stablehlo/mlir_parser.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/stablehlo/names.h"

namespace meshwright {
namespace {

// Values of one operation; more would only be an attempt to exhaust memory.
constexpr int64_t kMaxResults = 1 << 20;

bool IsShardingKey(std::string_view name) {
  return name == "sdy.sharding" || name == "mhlo.sharding";
}

// The end of the line on which the alias at `at` has closed its brackets.
size_t EndOfAlias(std::string_view text, size_t at) {
  int64_t depth = 0;
  for (bool quoted = false; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') quoted = !quoted;
    if (quoted && c == '\\') ++at;
    if (quoted) continue;
    if (c == '<' || c == '(' || c == '[' || c == '{') ++depth;
    if ((c == '>' && text[at - 1] != '-') || c == ')' || c == ']' || c == '}') --depth;
    if (c == '\n' && depth <= 0) break;
  }
  return std::min(at, text.size());
}

}  // namespace

const MlirAttribute* MlirOperation::Find(std::string_view name) const {
  for (const auto& [key, value] : attributes) {
    if (key == name) return &value;
  }
  return nullptr;
}

bool MlirParser::IsTerminator(std::string_view name) {
  return name == "return" || name.ends_with(".return");
}

absl::StatusOr<MlirModule> ParseMlirModule(std::string_view text, std::string_view file_name,
                                           const MlirAliases& aliases) {
  return MlirParser(text, file_name, aliases).Parse();
}

// ---- modules and functions ----

absl::StatusOr<MlirModule> MlirParser::Parse() {
  MW_RETURN_IF_ERROR(ParseModuleBody(/*braced=*/false));
  return std::move(module_);
}

absl::Status MlirParser::ParseModuleBody(bool braced) {
  module_.body = cursor_.position();
  while (true) {
    const char next = cursor_.Peek();
    if (cursor_.AtEnd()) {
      return braced ? cursor_.Expected("an operation or '}'") : absl::OkStatus();
    }
    if (braced && next == '}') {
      cursor_.Consume('}');
      size_t location = 0;
      return ParseLocation(location);
    }
    if (next == '#' || next == '!') {  // an alias; read where it is used
      cursor_.set_position(EndOfAlias(cursor_.text(), cursor_.position()));
      continue;
    }
    if (cursor_.Consume("{-#")) {  // resources behind the module
      const size_t end = cursor_.text().find("#-}", cursor_.position());
      if (end == std::string_view::npos) return cursor_.Error("\"{-#\" is not closed by \"#-}\"");
      cursor_.set_position(end + 3);
      continue;
    }
    const size_t at = cursor_.position();
    const bool generic = cursor_.Consume("\"builtin.module\"");
    const std::string_view name = generic ? "builtin.module" : MlirName(cursor_);
    if (name == "module" || name == "builtin.module") {
      if (braced) return cursor_.Error(at, "a module inside of a module; only one can be planned");
      if (!module_.functions.empty()) return cursor_.Error(at, "a second module in one file");
      if (generic) {
        MW_RETURN_IF_ERROR(ParseGenericModule());
        continue;
      }
      if (cursor_.Peek() == '@') {
        MW_ASSIGN_OR_RETURN(const std::string_view symbol, MlirSymbol(cursor_));
        module_.name = std::string(symbol);
      }
      if (cursor_.ConsumeWord("attributes")) {
        MW_ASSIGN_OR_RETURN(module_.attributes, ParseMlirDictionary(cursor_, aliases_));
      }
      MW_RETURN_IF_ERROR(cursor_.Expect("{", "before the body of the module"));
      MW_RETURN_IF_ERROR(ParseModuleBody(/*braced=*/true));
    } else if (name == "func.func") {
      MW_RETURN_IF_ERROR(ParseFunction(at));
    } else if (name == "sdy.mesh") {
      MW_RETURN_IF_ERROR(ParseMeshOperation());
    } else {
      cursor_.set_position(at);
      return cursor_.Expected("func.func, sdy.mesh or the module's end");
    }
  }
}

// `"builtin.module"() <{properties}> ({...}) {attributes} : () -> ()`
absl::Status MlirParser::ParseGenericModule() {
  MW_RETURN_IF_ERROR(cursor_.Expect("(", "before the operands"));
  MW_RETURN_IF_ERROR(cursor_.Expect(")", "as a module has no operands"));
  if (cursor_.Consume('<')) {
    MW_ASSIGN_OR_RETURN(module_.attributes, ParseMlirDictionary(cursor_, aliases_));
    MW_RETURN_IF_ERROR(cursor_.Expect(">", "after the properties"));
  }
  MW_RETURN_IF_ERROR(cursor_.Expect("(", "before the body of the module"));
  MW_RETURN_IF_ERROR(cursor_.Expect("{", "before the body of the module"));
  if (cursor_.Consume('^')) {
    if (MlirName(cursor_).empty()) return cursor_.Expected("the name of a block");
    MW_RETURN_IF_ERROR(cursor_.Expect(":", "after the label of a block"));
  }
  MW_RETURN_IF_ERROR(ParseModuleBody(/*braced=*/true));
  MW_RETURN_IF_ERROR(cursor_.Expect(")", "after the body of the module"));
  if (cursor_.Peek() == '{') {
    MW_ASSIGN_OR_RETURN(MlirAttributes attributes, ParseMlirDictionary(cursor_, aliases_));
    std::move(attributes.begin(), attributes.end(), std::back_inserter(module_.attributes));
  }
  for (const MlirEntry& attribute : module_.attributes) {
    if (attribute.name == "sym_name") module_.name = attribute.value.string;
  }
  for (const std::string_view token : {":", "(", ")", "->", "(", ")"}) {
    MW_RETURN_IF_ERROR(cursor_.Expect(token, "of the module's type, : () -> ()"));
  }
  size_t location = 0;
  return ParseLocation(location);
}

absl::Status MlirParser::ParseMeshOperation() {
  MW_ASSIGN_OR_RETURN(const std::string_view name, MlirSymbol(cursor_));
  MW_RETURN_IF_ERROR(cursor_.Expect("=", "after the name of the mesh"));
  std::optional<size_t> end;  // of an alias that the mesh is read behind
  if (cursor_.Peek() == '#' && !cursor_.Consume("#sdy.mesh")) {
    const size_t at = cursor_.position();
    cursor_.Consume('#');
    const size_t value = aliases_.Find(MlirName(cursor_));
    if (value == std::string_view::npos) return cursor_.Error(at, "this alias is not defined");
    end = cursor_.position();
    cursor_.set_position(value);
    cursor_.Consume("#sdy.mesh");
  }
  MW_ASSIGN_OR_RETURN(MlirMesh mesh, ParseMlirMesh(cursor_));
  if (end.has_value()) cursor_.set_position(*end);
  mesh.name = std::string(name);
  module_.meshes.push_back(std::move(mesh));
  if (cursor_.Peek() == '{') {
    MW_RETURN_IF_ERROR(ParseMlirDictionary(cursor_, aliases_).status());
  }
  size_t location = 0;
  return ParseLocation(location);
}

absl::Status MlirParser::ParseFunction(size_t begin) {
  MlirFunction function;
  function.begin = begin;
  function.position = cursor_.position();
  function.place = cursor_.PlaceAt(function.position);
  cursor_.ConsumeWord("public");
  function.is_private = cursor_.ConsumeWord("private") || cursor_.ConsumeWord("nested");
  MW_ASSIGN_OR_RETURN(function.name, MlirSymbol(cursor_));
  function_ = &function;
  values_.clear();
  scope_.clear();
  MW_RETURN_IF_ERROR(ParseArguments(function));
  if (cursor_.Consume("->")) MW_RETURN_IF_ERROR(ParseResults(function));
  if (cursor_.ConsumeWord("attributes")) {
    MW_RETURN_IF_ERROR(ParseMlirDictionary(cursor_, aliases_).status());
  }
  function.is_declaration = !cursor_.Consume('{');
  if (!function.is_declaration) {
    MW_RETURN_IF_ERROR(ParseBody(function.body));
    if (function.body.arguments.size() != function.arguments.size()) {
      return cursor_.Error(
          function.position,
          StrCat("function @", function.name, " has a body and ", function.arguments.size(),
                 " arguments, of which ", function.body.arguments.size(),
                 " have names; all need one, as %arg0: tensor<f32>"));
    }
  }
  size_t location = 0;
  MW_RETURN_IF_ERROR(ParseLocation(location, &function.end));
  module_.functions.push_back(std::move(function));
  function_ = nullptr;
  return absl::OkStatus();
}

absl::Status MlirParser::ParseArguments(MlirFunction& function) {
  MW_RETURN_IF_ERROR(cursor_.Expect("(", "before the arguments of the function"));
  if (cursor_.Consume(')')) return absl::OkStatus();
  do {
    MlirPort port;
    Defined name;
    if (cursor_.Peek() == '%') {
      MW_ASSIGN_OR_RETURN(name, ParseValueName());
      MW_RETURN_IF_ERROR(cursor_.Expect(":", "after the name of an argument"));
    }
    MW_ASSIGN_OR_RETURN(port.type, ParseType());
    port.anchor = {MlirAnchor::Form::kBare, cursor_.position(), 0, {}};
    if (cursor_.Peek() == '{') {
      MW_RETURN_IF_ERROR(ParseAttributes(port.attributes, port.anchor));
    }
    MW_RETURN_IF_ERROR(ParseLocation(port.location));
    if (!name.name.empty()) {
      MW_ASSIGN_OR_RETURN(const MlirValue value, Define(name, port.type, 1));
      function.body.arguments.push_back(value);
    }
    function.arguments.push_back(std::move(port));
  } while (cursor_.Consume(','));
  return cursor_.Expect(")", "after the arguments of the function");
}

absl::Status MlirParser::ParseResults(MlirFunction& function) {
  if (cursor_.Peek() != '(') {
    MlirPort port;
    const size_t begin = cursor_.position();
    MW_ASSIGN_OR_RETURN(port.type, ParseType());
    port.anchor = {MlirAnchor::Form::kParentheses, begin, cursor_.position(), {}};
    function.results.push_back(std::move(port));
    return absl::OkStatus();
  }
  cursor_.Consume('(');
  if (cursor_.Consume(')')) return absl::OkStatus();
  do {
    MlirPort port;
    MW_ASSIGN_OR_RETURN(port.type, ParseType());
    port.anchor = {MlirAnchor::Form::kBare, cursor_.position(), 0, {}};
    if (cursor_.Peek() == '{') {
      MW_RETURN_IF_ERROR(ParseAttributes(port.attributes, port.anchor));
    }
    function.results.push_back(std::move(port));
  } while (cursor_.Consume(','));
  return cursor_.Expect(")", "after the results of the function");
}

// ---- regions ----

absl::Status MlirParser::ParseBody(MlirRegion& region) {
  if (++depth_ > kMaxTextNesting) {
    return cursor_.Error(StrCat("regions nested deeper than ", kMaxTextNesting));
  }
  const size_t mark = Enter();
  if (cursor_.Peek() == '^') {
    cursor_.Consume('^');
    if (MlirName(cursor_).empty()) return cursor_.Expected("the name of a block");
    if (cursor_.Consume('(')) MW_RETURN_IF_ERROR(ParseRegionArguments(region));
    MW_RETURN_IF_ERROR(cursor_.Expect(":", "after the label of a block"));
  }
  do {
    if (cursor_.Peek() == '}') return cursor_.Expected("a return before the end of the region");
    MW_RETURN_IF_ERROR(ParseOperation(region));
  } while (!IsTerminator(region.operations.back().name));
  if (cursor_.Peek() == '^') {
    return cursor_.Error("a second block in one region; StableHLO has only one");
  }
  if (cursor_.Peek() != '}') return cursor_.Expected("'}' after the region's return");
  cursor_.Consume('}');
  Leave(mark);
  --depth_;
  return absl::OkStatus();
}

absl::Status MlirParser::ParseRegion(MlirRegion& region) {
  MW_RETURN_IF_ERROR(cursor_.Expect("{", "before a region"));
  return ParseBody(region);
}

absl::Status MlirParser::ParseRegionArguments(MlirRegion& region) {
  if (cursor_.Consume(')')) return absl::OkStatus();
  do {
    MW_ASSIGN_OR_RETURN(const Defined name, ParseValueName());
    MW_RETURN_IF_ERROR(cursor_.Expect(":", "after the name of an argument"));
    MW_ASSIGN_OR_RETURN(const Shape* const type, ParseType());
    size_t location = 0;
    MW_RETURN_IF_ERROR(ParseLocation(location));
    MW_ASSIGN_OR_RETURN(const MlirValue value, Define(name, type, 1));
    region.arguments.push_back(value);
  } while (cursor_.Consume(','));
  return cursor_.Expect(")", "after the arguments of the region");
}

// ---- operations ----

absl::Status MlirParser::ParseOperation(MlirRegion& region) {
  MlirOperation operation;
  cursor_.SkipSpace();
  operation.position = cursor_.position();
  operation.place = cursor_.PlaceAt(operation.position);
  operation.inner = static_cast<MlirValue>(function_->types.size());
  MW_ASSIGN_OR_RETURN(const Definitions defined, ParseDefinitions());
  if (cursor_.Peek() == '"') {
    MW_ASSIGN_OR_RETURN(operation.name, cursor_.RawQuotedString());
    operation.name = operation.name.substr(1, operation.name.size() - 2);
    if (!IsMlirName(operation.name)) {
      return cursor_.Error(operation.position, StrCat("expected the name of an operation, found ",
                                                      QuoteForError(operation.name)));
    }
    // The generic form is the same for all; what nobody knows is refused when it is lowered.
    const std::string_view known = StablehloName(operation.name);
    if (!known.empty()) operation.name = known;
    MW_RETURN_IF_ERROR(ParseGeneric(defined, operation));
  } else {
    operation.name = MlirName(cursor_);
    if (operation.name.empty()) return cursor_.Expected("an operation or '}'");
    if (operation.name == "call") operation.name = "func.call";
    MW_RETURN_IF_ERROR(CheckKnown(operation));
    MW_RETURN_IF_ERROR(ParseAssembly(defined, operation));
  }
  MW_RETURN_IF_ERROR(ParseLocation(operation.location, &operation.end));
  for (size_t i = 0; i < defined.names.size(); ++i) {
    const Defined& name = defined.names[i];
    operation.definitions.push_back(
        {name.position, name.position + 1 + name.name.size(), defined.counts[i]});
  }
  region.operations.push_back(std::move(operation));
  return absl::OkStatus();
}

// Before anything else of a short form is read: other dialects have forms of their own.
absl::Status MlirParser::CheckKnown(MlirOperation& operation) const {
  if (IsTerminator(operation.name)) return absl::OkStatus();
  const std::string_view name = StablehloName(operation.name);
  if (name.empty()) {
    return cursor_.Error(operation.position,
                         StrCat(operation.name, ": ", WhyUnknown(operation.name)));
  }
  operation.name = name;
  return absl::OkStatus();
}

absl::StatusOr<MlirParser::Definitions> MlirParser::ParseDefinitions() {
  Definitions defined;
  if (cursor_.Peek() != '%') return defined;
  do {
    MW_ASSIGN_OR_RETURN(defined.names.emplace_back(), ParseValueName());
    int64_t count = 1;
    if (cursor_.Consume(':')) {
      MW_ASSIGN_OR_RETURN(count, cursor_.Integer());
    }
    if (count < 1 || count > kMaxResults) {
      return cursor_.Error(StrCat("an operation with ", count, " results; at least 1 and at most ",
                                  kMaxResults, " can be read"));
    }
    defined.counts.push_back(static_cast<int32_t>(count));
    defined.total += static_cast<size_t>(count);
  } while (cursor_.Consume(','));
  MW_RETURN_IF_ERROR(cursor_.Expect("=", "after the names of results"));
  return defined;
}

absl::Status MlirParser::ParseGeneric(const Definitions& defined, MlirOperation& operation) {
  MW_RETURN_IF_ERROR(cursor_.Expect("(", "before the operands"));
  if (!cursor_.Consume(')')) {
    do {
      MW_ASSIGN_OR_RETURN(operation.operands.emplace_back(), ParseOperand());
    } while (cursor_.Consume(','));
    MW_RETURN_IF_ERROR(cursor_.Expect(")", "after the operands"));
  }
  if (cursor_.Peek() == '[') return cursor_.Error("successors; StableHLO has no branches");
  if (cursor_.Consume('<')) {
    MlirAnchor ignored;
    MW_RETURN_IF_ERROR(ParseAttributes(operation.attributes, ignored));
    MW_RETURN_IF_ERROR(cursor_.Expect(">", "after the properties"));
  }
  if (cursor_.Consume('(')) {
    do {
      MW_RETURN_IF_ERROR(ParseRegion(operation.regions.emplace_back()));
    } while (cursor_.Consume(','));
    MW_RETURN_IF_ERROR(cursor_.Expect(")", "after the regions"));
  }
  operation.anchor = {MlirAnchor::Form::kBare, cursor_.position(), 0, {}};
  if (cursor_.Peek() == '{') {
    MW_RETURN_IF_ERROR(ParseAttributes(operation.attributes, operation.anchor));
  }
  return ParseTypes(defined, operation);
}

absl::Status MlirParser::ParseAttributes(MlirAttributes& attributes, MlirAnchor& anchor) {
  const size_t before = cursor_.position();
  MW_ASSIGN_OR_RETURN(MlirAttributes read, ParseMlirDictionary(cursor_, aliases_));
  anchor.form = read.empty() ? MlirAnchor::Form::kInsideEmpty : MlirAnchor::Form::kInside;
  anchor.position = cursor_.text().find('{', before) + 1;
  for (auto& [name, value] : read) {
    if (IsShardingKey(name)) {
      size_t begin = static_cast<size_t>(name.data() - cursor_.text().data());
      if (cursor_.text()[begin - 1] == '"') --begin;
      anchor.shardings.emplace_back(begin, value.position + value.text.size());
    }
    attributes.push_back({name, std::move(value)});
  }
  return absl::OkStatus();
}

absl::Status MlirParser::ParseTypes(const Definitions& defined, MlirOperation& operation) {
  if (IsTerminator(operation.name) && operation.operands.empty() && cursor_.Peek() != ':') {
    return absl::OkStatus();
  }
  MW_RETURN_IF_ERROR(cursor_.Expect(":", StrCat("before the types of ", operation.name)));
  const bool parenthesized = cursor_.Peek() == '(';
  MW_ASSIGN_OR_RETURN(Types types, ParseTypeList());
  while (!parenthesized && cursor_.Consume(',')) {
    MW_ASSIGN_OR_RETURN(types.emplace_back(), ParseType());
  }
  if (cursor_.Consume("->")) {
    MW_RETURN_IF_ERROR(CheckOperandTypes(operation, types));
    MW_ASSIGN_OR_RETURN(types, ParseTypeList());
    return DefineResults(defined, types, operation);
  }
  // One type for everything, or one an operand; the last is the result's, and a tuple's the only
  // one.
  if (types.size() == operation.operands.size() && operation.name != "stablehlo.tuple") {
    MW_RETURN_IF_ERROR(CheckOperandTypes(operation, types));
  }
  if (defined.total == 0) return absl::OkStatus();
  if (types.empty()) return cursor_.Expected(StrCat("the type of ", operation.name));
  if (defined.total == 1) types = {types.back()};
  return DefineResults(defined, types, operation);
}

absl::Status MlirParser::ParseLocation(size_t& location, size_t* end) {
  size_t ignored = 0;
  if (end == nullptr) end = &ignored;
  cursor_.SkipSpace();
  *end = cursor_.text().find_last_not_of(" \t\r\n", cursor_.position() - 1) + 1;
  if (!cursor_.ConsumeWord("loc")) return absl::OkStatus();
  MW_RETURN_IF_ERROR(cursor_.Expect("(", "after \"loc\""));
  cursor_.SkipSpace();
  location = cursor_.position();
  if (!cursor_.text().substr(location).starts_with("#")) {
    MW_RETURN_IF_ERROR(cursor_.RawValue().status());
    while (cursor_.Consume(',')) MW_RETURN_IF_ERROR(cursor_.RawValue().status());
  } else {
    const size_t close = cursor_.text().find_first_of(")\n", location);
    cursor_.set_position(std::min(close, cursor_.text().size()));
  }
  MW_RETURN_IF_ERROR(cursor_.Expect(")", "after a location"));
  *end = cursor_.position();
  return absl::OkStatus();
}

}  // namespace meshwright
