#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/partitioned.h"
#include "meshwright/hlo/stablehlo/mlir_parser.h"
#include "meshwright/hlo/stablehlo/names.h"

// Short forms. Nearly all are a list of operands, bare words and `name = value`, then attributes in
// braces, perhaps regions, then types; these are read alike, whatever the operation, and what they
// mean is left to whoever knows the operation. constant, while and reduce have forms of their own.

namespace meshwright {

absl::Status MlirParser::ParseAssembly(const Definitions& defined, MlirOperation& operation) {
  for (const std::string_view constant :
       {"stablehlo.constant", "chlo.constant", "sdy.constant", "arith.constant"}) {
    if (operation.name == constant) return ParseConstant(defined, operation);
  }
  if (operation.name == "mhlo.xla.rng_get_and_update_state") {
    return ParseRngState(defined, operation);
  }
  if (operation.name == "sdy.named_computation") return ParseNamedComputation(defined, operation);
  if (operation.name == "stablehlo.while") return ParseWhile(defined, operation);
  if (operation.name == "stablehlo.reduce") return ParseReduce(defined, operation);
  if (operation.name == "sdy.manual_computation") {
    return cursor_.Error(operation.position, ManualMessage(operation.name));
  }
  // A return of nothing ends with its name; so does a barrier, or with its attributes.
  if (operation.name == "stablehlo.optimization_barrier") {
    if (cursor_.Peek() == '{') {
      MW_RETURN_IF_ERROR(ParseAttributes(operation.attributes, operation.anchor));
    }
    const size_t end = cursor_.position();
    const std::string_view rest = cursor_.text().substr(end);
    if (defined.total == 0 && (rest.find('%') > rest.find('\n') || cursor_.Peek() != '%')) {
      return absl::OkStatus();
    }
  }
  if (!IsTerminator(operation.name) || cursor_.Peek() == '%') {
    MW_RETURN_IF_ERROR(ParseItems(operation));
  }
  while (AtRegion()) MW_RETURN_IF_ERROR(ParseRegion(operation.regions.emplace_back()));
  return ParseTypes(defined, operation);
}

// A brace that does not open a dictionary: what is inside starts with a block or a definition.
bool MlirParser::AtRegion() {
  if (cursor_.Peek() != '{') return false;
  const size_t inside = cursor_.text().find_first_not_of(" \t\r\n", cursor_.position() + 1);
  return inside != std::string_view::npos &&
         (cursor_.text()[inside] == '^' || cursor_.text()[inside] == '%');
}

absl::Status MlirParser::ParseItems(MlirOperation& operation) {
  int parentheses = 0;
  bool leading_attributes = false;
  while (true) {
    const char next = cursor_.Peek();
    const size_t at = cursor_.position();
    if (next == ':' || next == '}' || next == '\0' || AtRegion()) break;
    if (next == ',') {
      cursor_.Consume(',');
    } else if (next == '%') {
      MW_ASSIGN_OR_RETURN(operation.operands.emplace_back(), ParseOperand());
    } else if (next == '(') {
      cursor_.Consume('(');
      if (cursor_.Peek() != '{') {
        ++parentheses;
        continue;
      }
      // Regions, as a composite may have them before its attributes.
      do {
        MW_RETURN_IF_ERROR(ParseRegion(operation.regions.emplace_back()));
      } while (cursor_.Consume(','));
      MW_RETURN_IF_ERROR(cursor_.Expect(")", "after the regions"));
    } else if (next == ')') {
      if (parentheses-- == 0) return cursor_.Error("found ')' without '(' before it");
      cursor_.Consume(')');
    } else if (next == '{') {
      const bool first = operation.operands.empty() && operation.unnamed.empty();
      MW_RETURN_IF_ERROR(ParseAttributes(operation.attributes, operation.anchor));
      if (!first) return absl::OkStatus();
      leading_attributes = true;  // optimization_barrier has them before its operands
    } else if (next == '[') {
      MW_ASSIGN_OR_RETURN(MlirAttribute range, ParseItemValue());
      operation.unnamed.push_back(std::move(range));
    } else if (next == '@' || next == '"') {
      MW_ASSIGN_OR_RETURN(MlirAttribute value,
                          ParseMlirAttribute(cursor_, aliases_, /*typed=*/false));
      operation.unnamed.push_back(std::move(value));
    } else if (next == '<') {  // the sharding of sdy.sharding_constraint
      MW_RETURN_IF_ERROR(SkipAngleBrackets(cursor_));
      MlirAttribute& sharding = operation.unnamed.emplace_back();
      sharding.kind = MlirAttribute::Kind::kOpaque;
      sharding.position = at;
      sharding.text = cursor_.text().substr(at, cursor_.position() - at);
    } else {
      const std::string_view word = MlirName(cursor_);
      if (word.empty()) return cursor_.Expected("an operand, an attribute or ':'");
      if (word == "loc" && cursor_.Peek() == '(') {
        cursor_.set_position(at);
        break;
      }
      MW_RETURN_IF_ERROR(ParseNamedItem(operation, word));
    }
  }
  if (!leading_attributes) {
    size_t end = cursor_.position();
    while (end > 0 && cursor_.text()[end - 1] == ' ') --end;
    operation.anchor = {MlirAnchor::Form::kBare, end, 0, {}};
  }
  return absl::OkStatus();
}

absl::Status MlirParser::ParseNamedItem(MlirOperation& operation, std::string_view name) {
  const size_t end = cursor_.position();
  if (cursor_.Consume('=')) {
    MW_ASSIGN_OR_RETURN(MlirAttribute value, ParseItemValue());
    operation.attributes.push_back({name, std::move(value)});
    return absl::OkStatus();
  }
  // The directions and types of comparisons are StableHLO's only bare words.
  if (operation.name.starts_with("stablehlo.") && operation.name != "stablehlo.compare") {
    cursor_.set_position(end - name.size());
    return cursor_.Expected("an operand, an attribute or ':'");
  }
  MlirAttribute& word = operation.unnamed.emplace_back();
  word.kind = MlirAttribute::Kind::kOpaque;
  word.position = end - name.size();
  word.text = name;
  return absl::OkStatus();
}

// An attribute, or several lists that belong together: `[1] x [0]`, `[b, 0]x[0, o]->[b, 0]`,
// `[0:1, 2:8:3]`.
absl::StatusOr<MlirAttribute> MlirParser::ParseItemValue() {
  if (cursor_.Peek() != '[') return ParseMlirAttribute(cursor_, aliases_, /*typed=*/false);
  const size_t begin = cursor_.position();
  const std::string_view text = cursor_.text();
  size_t end = begin;
  int lists = 0;
  bool ranges = false;
  for (bool more = true; more;) {
    int depth = 0;
    for (; end < text.size(); ++end) {
      if (text[end] == '/') {
        cursor_.set_position(end);
        cursor_.SkipSpace();  // a comment may hold any bracket
        end = cursor_.position();
        if (end == text.size()) break;
      } else if (text[end] == '"') {
        cursor_.set_position(end);
        MW_RETURN_IF_ERROR(cursor_.RawQuotedString().status());
        end = cursor_.position() - 1;
        continue;
      }
      ranges |= text[end] == ':';
      if (text[end] == '[') ++depth;
      if (text[end] == ']' && --depth == 0) break;
    }
    if (end >= text.size() || text[end] != ']') {
      return cursor_.Error(begin, "this '[' is not closed");
    }
    ++lists;
    cursor_.set_position(++end);
    more = (cursor_.Consume('x') || cursor_.Consume("->")) && cursor_.Peek() == '[';
    if (more) end = cursor_.position();
  }
  if (lists == 1 && !ranges) {
    cursor_.set_position(begin);
    return ParseMlirAttribute(cursor_, aliases_, /*typed=*/false);
  }
  cursor_.set_position(end);
  MlirAttribute value;
  value.kind = MlirAttribute::Kind::kOpaque;
  value.position = begin;
  value.text = cursor_.text().substr(begin, end - begin);
  return value;
}

// `stablehlo.constant {attributes} dense<...> : type`
absl::Status MlirParser::ParseConstant(const Definitions& defined, MlirOperation& operation) {
  operation.anchor = {MlirAnchor::Form::kBare, cursor_.position(), 0, {}};
  if (cursor_.Peek() == '{') {
    MW_RETURN_IF_ERROR(ParseAttributes(operation.attributes, operation.anchor));
  }
  cursor_.SkipSpace();
  const size_t at = cursor_.position();
  MW_ASSIGN_OR_RETURN(MlirAttribute value, ParseMlirAttribute(cursor_, aliases_));
  if (value.kind != MlirAttribute::Kind::kElements) {
    return cursor_.Error(at, "expected dense<...> as the value of a constant");
  }
  const Shape* const type = &module_.shapes.emplace_back(value.type);
  operation.attributes.push_back({"value", std::move(value)});
  return DefineResults(defined, {type}, operation);
}

// `mhlo.xla.rng_get_and_update_state {delta = 1 : i64}`: its type is always the same.
absl::Status MlirParser::ParseRngState(const Definitions& defined, MlirOperation& operation) {
  operation.anchor = {MlirAnchor::Form::kBare, cursor_.position(), 0, {}};
  if (cursor_.Peek() == '{') {
    MW_RETURN_IF_ERROR(ParseAttributes(operation.attributes, operation.anchor));
  }
  const Shape* const type = &module_.shapes.emplace_back(Shape::Array(ElementType::kU64, {2}));
  return DefineResults(defined, {type}, operation);
}

// `sdy.named_computation<"name">(%a, %b) in_shardings=[...] out_shardings=[...] (%c: t, %d: u)
// {...} : (t, u) -> v`
absl::Status MlirParser::ParseNamedComputation(const Definitions& defined,
                                               MlirOperation& operation) {
  if (cursor_.Peek() != '<') return cursor_.Expected("<\"...\">, the name of the computation");
  MW_RETURN_IF_ERROR(SkipAngleBrackets(cursor_));
  MW_RETURN_IF_ERROR(cursor_.Expect("(", "before the operands"));
  if (!cursor_.Consume(')')) {
    do {
      MW_ASSIGN_OR_RETURN(operation.operands.emplace_back(), ParseOperand());
    } while (cursor_.Consume(','));
    MW_RETURN_IF_ERROR(cursor_.Expect(")", "after the operands"));
  }
  while (cursor_.Peek() != '(') {
    const std::string_view word = MlirName(cursor_);
    if (word.empty()) return cursor_.Expected("the arguments of the computation, (%...: type)");
    MW_RETURN_IF_ERROR(ParseNamedItem(operation, word));
  }
  const size_t mark = Enter();
  MlirRegion& region = operation.regions.emplace_back();
  MW_RETURN_IF_ERROR(cursor_.Expect("(", "before the arguments of the computation"));
  MW_RETURN_IF_ERROR(ParseRegionArguments(region));
  MW_RETURN_IF_ERROR(ParseRegion(region));
  Leave(mark);
  operation.anchor = {MlirAnchor::Form::kBare, cursor_.position(), 0, {}};
  if (cursor_.Peek() == '{') {
    MW_RETURN_IF_ERROR(ParseAttributes(operation.attributes, operation.anchor));
  }
  return ParseTypes(defined, operation);
}

// `stablehlo.while(%a = %0, %b = %1) : types attributes {...} cond {...} do {...}`
absl::Status MlirParser::ParseWhile(const Definitions& defined, MlirOperation& operation) {
  std::vector<Defined> names;
  MW_RETURN_IF_ERROR(cursor_.Expect("(", "before the values a loop carries"));
  if (!cursor_.Consume(')')) {
    do {
      MW_ASSIGN_OR_RETURN(names.emplace_back(), ParseValueName());
      MW_RETURN_IF_ERROR(cursor_.Expect("=", "after the name of a carried value"));
      MW_ASSIGN_OR_RETURN(operation.operands.emplace_back(), ParseOperand());
    } while (cursor_.Consume(','));
    MW_RETURN_IF_ERROR(cursor_.Expect(")", "after the values a loop carries"));
  }
  Types types;
  if (cursor_.Consume(':')) {
    do {
      MW_ASSIGN_OR_RETURN(types.emplace_back(), ParseType());
    } while (cursor_.Consume(','));
  }
  MW_RETURN_IF_ERROR(CheckOperandTypes(operation, types));
  if (cursor_.ConsumeWord("attributes")) {
    MW_RETURN_IF_ERROR(ParseAttributes(operation.attributes, operation.anchor));
  }
  for (const std::string_view word : {"cond", "do"}) {
    if (!cursor_.ConsumeWord(word)) return cursor_.Expected(StrCat(word, " {"));
    const size_t mark = Enter();
    MlirRegion& region = operation.regions.emplace_back();
    for (size_t i = 0; i < names.size(); ++i) {
      MW_ASSIGN_OR_RETURN(const MlirValue value, Define(names[i], types[i], 1));
      region.arguments.push_back(value);
    }
    MW_RETURN_IF_ERROR(ParseRegion(region));
    Leave(mark);
  }
  return DefineResults(defined, types, operation);
}

// `stablehlo.reduce(%a init: %b), (%c init: %d) applies stablehlo.add across dimensions = [0]
// {attributes} : types`, or instead of `applies` behind the types `reducer(%x: t, %y: t) {...}`
absl::Status MlirParser::ParseReduce(const Definitions& defined, MlirOperation& operation) {
  std::vector<MlirValue> inits;
  do {
    MW_RETURN_IF_ERROR(cursor_.Expect("(", "before an operand to reduce"));
    MW_ASSIGN_OR_RETURN(operation.operands.emplace_back(), ParseOperand());
    if (!cursor_.ConsumeWord("init")) return cursor_.Expected("init: and the initial value");
    MW_RETURN_IF_ERROR(cursor_.Expect(":", "after \"init\""));
    MW_ASSIGN_OR_RETURN(inits.emplace_back(), ParseOperand());
    MW_RETURN_IF_ERROR(cursor_.Expect(")", "after an initial value"));
  } while (cursor_.Consume(','));
  operation.operands.insert(operation.operands.end(), inits.begin(), inits.end());
  std::string_view applies;
  const size_t position = cursor_.position();
  if (cursor_.ConsumeWord("applies")) {
    const std::string_view name = MlirName(cursor_);
    if (name.empty()) return cursor_.Expected("the operation that reduces");
    applies = StablehloName(name);
    if (applies.empty()) return cursor_.Error(position, StrCat(name, ": ", WhyUnknown(name)));
  }
  if (!cursor_.ConsumeWord("across")) return cursor_.Expected("across dimensions = [...]");
  const std::string_view word = MlirName(cursor_);
  if (word != "dimensions") return cursor_.Expected("dimensions = [...]");
  MW_RETURN_IF_ERROR(cursor_.Expect("=", "after \"dimensions\""));
  MW_RETURN_IF_ERROR([&]() -> absl::Status {
    MW_ASSIGN_OR_RETURN(MlirAttribute dimensions,
                        ParseMlirAttribute(cursor_, aliases_, /*typed=*/false));
    operation.attributes.push_back({word, std::move(dimensions)});
    return absl::OkStatus();
  }());
  operation.anchor = {MlirAnchor::Form::kBare, cursor_.position(), 0, {}};
  if (cursor_.Peek() == '{') {
    MW_RETURN_IF_ERROR(ParseAttributes(operation.attributes, operation.anchor));
  }
  MW_RETURN_IF_ERROR(ParseTypes(defined, operation));
  return applies.empty() ? ParseReducer(operation) : MakeReducer(operation, applies, position);
}

// `reducer(%a: t, %b: t) (%c: u, %d: u) {...}`: left and right of each operand in turn; in a region
// all the left ones come first.
absl::Status MlirParser::ParseReducer(MlirOperation& operation) {
  if (!cursor_.ConsumeWord("reducer")) return cursor_.Expected("reducer(...) {");
  const size_t mark = Enter();
  MlirRegion pairs;
  while (cursor_.Consume('(')) MW_RETURN_IF_ERROR(ParseRegionArguments(pairs));
  MlirRegion& region = operation.regions.emplace_back();
  for (const size_t side : {0, 1}) {
    for (size_t i = side; i < pairs.arguments.size(); i += 2) {
      region.arguments.push_back(pairs.arguments[i]);
    }
  }
  MW_RETURN_IF_ERROR(ParseRegion(region));
  Leave(mark);
  return absl::OkStatus();
}

absl::Status MlirParser::MakeReducer(MlirOperation& operation, std::string_view applies,
                                     size_t position) {
  if (operation.operands.size() != 2) {
    return cursor_.Error(position,
                         "\"applies\" is for reductions of one operand; others have a "
                         "reducer(...) {...} behind their types");
  }
  const Shape* const type = function_->types[static_cast<size_t>(operation.operands[1])];
  const auto add_value = [&] {
    function_->types.push_back(type);
    function_->value_names.emplace_back();
    return static_cast<MlirValue>(function_->types.size() - 1);
  };
  MlirRegion& region = operation.regions.emplace_back();
  region.arguments = {add_value(), add_value()};
  MlirOperation combine;
  combine.name = applies;
  combine.position = position;
  combine.place = operation.place;
  combine.operands = region.arguments;
  combine.results = {add_value()};
  MlirOperation result;
  result.name = "stablehlo.return";
  result.position = position;
  result.place = operation.place;
  result.operands = combine.results;
  region.operations.push_back(std::move(combine));
  region.operations.push_back(std::move(result));
  return absl::OkStatus();
}

}  // namespace meshwright
