#include "absl/strings/ascii.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/stablehlo/mlir_parser.h"

// Values and their types: which names are defined, and that each value has one type everywhere.

namespace meshwright {

void MlirParser::Leave(size_t mark) {
  for (; scope_.size() > mark; scope_.pop_back()) values_.erase(scope_.back());
}

absl::StatusOr<MlirParser::Defined> MlirParser::ParseValueName() {
  if (cursor_.Peek() != '%') return cursor_.Expected("the name of a value, %...");
  const std::string_view text = cursor_.text();
  const size_t begin = cursor_.position() + 1;
  size_t end = begin;
  while (end < text.size() && IsNameChar(text[end]) && text[end] != '@' && text[end] != '~') ++end;
  if (end == begin) return cursor_.Expected("the name of a value after '%'");
  cursor_.set_position(end);
  return Defined{text.substr(begin, end - begin), begin - 1};
}

absl::StatusOr<MlirValue> MlirParser::Define(const Defined& name, const Shape* type,
                                             int32_t count) {
  const NamedValue value{static_cast<MlirValue>(function_->types.size()), count};
  if (!name.name.empty() && !values_.emplace(name.name, value).second) {
    return cursor_.Error(name.position, StrCat("value ", QuoteForError(StrCat("%", name.name)),
                                               " is defined twice in function @", function_->name));
  }
  scope_.push_back(name.name);
  function_->types.resize(function_->types.size() + static_cast<size_t>(count), type);
  function_->value_names.resize(function_->types.size(), name.name);
  return value.value;
}

absl::StatusOr<MlirValue> MlirParser::ParseOperand() {
  MW_ASSIGN_OR_RETURN(const Defined name, ParseValueName());
  const auto found = values_.find(name.name);
  if (found == values_.end()) {
    return cursor_.Error(name.position, StrCat("value ", QuoteForError(StrCat("%", name.name)),
                                               " is not defined before it is used"));
  }
  int64_t index = 0;
  const size_t end = cursor_.position();
  const bool hash = cursor_.Consume('#');
  // What begins with a letter behind the '#' is the alias of an attribute.
  if (hash && absl::ascii_isdigit(static_cast<unsigned char>(cursor_.Peek()))) {
    MW_ASSIGN_OR_RETURN(index, cursor_.Integer());
  } else {
    cursor_.set_position(end);
  }
  const bool has_parts = found->second.count > 1;
  if (index < 0 || index >= found->second.count) {
    return cursor_.Error(name.position,
                         StrCat("value ", QuoteForError(StrCat("%", name.name)), " has ",
                                found->second.count, " parts; there is no #", index));
  }
  const MlirValue value = found->second.value + static_cast<MlirValue>(index);
  function_->uses.push_back({name.position, cursor_.position(), value, has_parts});
  return value;
}

absl::StatusOr<const Shape*> MlirParser::ParseType() {
  cursor_.SkipSpace();
  const std::string_view text = cursor_.text();
  const size_t begin = cursor_.position();
  // `tensor<...>` has brackets inside only for complex numbers; each text is read once.
  size_t end = text.find('>', begin);
  if (end != std::string_view::npos && text.substr(begin, end - begin).ends_with("complex<f32") &&
      text.substr(end).starts_with(">>")) {
    ++end;
  }
  const std::string_view key =
      end == std::string_view::npos ? text.substr(begin, 0) : text.substr(begin, end + 1 - begin);
  if (begin < text.size() && text[begin] == '!') {
    cursor_.Consume('!');
    const std::string_view name = text.substr(begin, 1 + MlirName(cursor_).size());
    const size_t after = cursor_.position(), value = aliases_.Find(name);
    cursor_.set_position(begin);
    if (name.find('.') == std::string_view::npos && value != std::string_view::npos) {
      if (++depth_ > kMaxTextNesting) {
        return cursor_.Error(StrCat("types nested deeper than ", kMaxTextNesting));
      }
      cursor_.set_position(value);
      MW_ASSIGN_OR_RETURN(const Shape* const type, ParseType());
      cursor_.set_position(after);
      --depth_;
      return type;
    }
  }
  const auto found = types_.find(key);
  if (found != types_.end() && !key.empty()) {
    cursor_.set_position(end + 1);
    return found->second;
  }
  MW_ASSIGN_OR_RETURN(Shape shape, ParseMlirType(cursor_));
  const Shape* const type = &module_.shapes.emplace_back(std::move(shape));
  if (cursor_.position() == end + 1) types_.emplace(key, type);
  return type;
}

absl::StatusOr<MlirParser::Types> MlirParser::ParseTypeList() {
  Types types;
  if (!cursor_.Consume('(')) {
    MW_ASSIGN_OR_RETURN(types.emplace_back(), ParseType());
    return types;
  }
  if (cursor_.Consume(')')) return types;
  do {
    MW_ASSIGN_OR_RETURN(types.emplace_back(), ParseType());
  } while (cursor_.Consume(','));
  MW_RETURN_IF_ERROR(cursor_.Expect(")", "after the types"));
  return types;
}

absl::Status MlirParser::CheckOperandTypes(const MlirOperation& operation, const Types& types) {
  if (types.size() != operation.operands.size()) {
    return cursor_.Error(operation.position,
                         StrCat(operation.name, " has ", operation.operands.size(),
                                " operands, but types of ", types.size()));
  }
  for (size_t i = 0; i < types.size(); ++i) {
    const Shape* const type = function_->types[static_cast<size_t>(operation.operands[i])];
    if (type == types[i] || *type == *types[i]) continue;
    return cursor_.Error(operation.position, StrCat(operation.name, ": operand ", i,
                                                    " is said to be ", types[i]->ToString(false),
                                                    ", the value is ", type->ToString(false)));
  }
  return absl::OkStatus();
}

absl::Status MlirParser::DefineResults(const Definitions& defined, const Types& types,
                                       MlirOperation& operation) {
  if (defined.total == 0) {  // nobody names the results
    for (const Shape* type : types) {
      MW_ASSIGN_OR_RETURN(operation.results.emplace_back(), Define({}, type, 1));
    }
    return absl::OkStatus();
  }
  if (types.size() != defined.total) {
    return cursor_.Error(operation.position, StrCat(operation.name, " has types of ", types.size(),
                                                    " results, but names for ", defined.total));
  }
  size_t next = 0;
  for (size_t i = 0; i < defined.names.size(); ++i) {
    const int32_t count = defined.counts[i];
    MW_ASSIGN_OR_RETURN(const MlirValue first, Define(defined.names[i], types[next], count));
    for (MlirValue value = first; value < first + count; ++value) {
      function_->types[static_cast<size_t>(value)] = types[next++];
      operation.results.push_back(value);
    }
  }
  return absl::OkStatus();
}

}  // namespace meshwright
