#include "meshwright/hlo/stablehlo/generic_functions.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/stablehlo/mlir_syntax.h"
#include "meshwright/hlo/text_cursor.h"

namespace meshwright {
namespace {

constexpr std::string_view kGenericFunction = "\"func.func\"", kGenericMesh = "\"sdy.mesh\"";

class FunctionRewriter {
 public:
  FunctionRewriter(std::string_view text, std::string_view file_name)
      : text_(text), cursor_(text, file_name), aliases_(text) {}

  absl::StatusOr<std::string> Rewrite() {
    std::string out;
    size_t copied = 0;
    while (!cursor_.AtEnd()) {
      const size_t at = cursor_.position();
      out += text_.substr(copied, at - copied);
      copied = at;
      if (cursor_.Consume(kGenericFunction)) {
        MW_RETURN_IF_ERROR(Function(at, out));
      } else if (cursor_.Consume(kGenericMesh)) {
        MW_RETURN_IF_ERROR(Mesh(at, out));
      } else if (cursor_.Peek() == '"') {
        MW_RETURN_IF_ERROR(cursor_.RawQuotedString().status());
        continue;
      } else {
        cursor_.set_position(at + 1);
        continue;
      }
      copied = cursor_.position();
    }
    return out += text_.substr(copied);
  }

 private:
  // Line breaks, as many as there are in what a shorter text stands for.
  std::string BreaksOf(size_t begin) const {
    const std::string_view old = text_.substr(begin, cursor_.position() - begin);
    return std::string(static_cast<size_t>(std::count(old.begin(), old.end(), '\n')), '\n');
  }

  absl::Status Properties(MlirAttributes& attributes) {
    MW_RETURN_IF_ERROR(cursor_.Expect("(", "before the operands"));
    MW_RETURN_IF_ERROR(cursor_.Expect(")", "as there are no operands"));
    if (!cursor_.Consume('<')) return absl::OkStatus();
    MW_ASSIGN_OR_RETURN(attributes, ParseMlirDictionary(cursor_, aliases_));
    return cursor_.Expect(">", "after the properties");
  }

  // `{attributes} : () -> ()`, behind the properties or the region.
  absl::Status Rest(MlirAttributes& attributes) {
    if (cursor_.Peek() == '{') {
      MW_ASSIGN_OR_RETURN(MlirAttributes more, ParseMlirDictionary(cursor_, aliases_));
      std::move(more.begin(), more.end(), std::back_inserter(attributes));
    }
    for (const std::string_view token : {":", "(", ")", "->", "(", ")"}) {
      MW_RETURN_IF_ERROR(cursor_.Expect(token, "of the type, : () -> ()"));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<const MlirAttribute*> Required(const MlirAttributes& attributes,
                                                std::string_view name, size_t at) const {
    const MlirAttribute* const found = Find(attributes, name);
    if (found == nullptr) return cursor_.Error(at, StrCat("lacks ", name));
    return found;
  }
  static const MlirAttribute* Find(const MlirAttributes& attributes, std::string_view name) {
    for (const MlirEntry& entry : attributes) {
      if (entry.name == name) return &entry.value;
    }
    return nullptr;
  }

  absl::Status Mesh(size_t at, std::string& out) {
    MlirAttributes attributes;
    MW_RETURN_IF_ERROR(Properties(attributes));
    MW_RETURN_IF_ERROR(Rest(attributes));
    MW_ASSIGN_OR_RETURN(const MlirAttribute* const name, Required(attributes, "sym_name", at));
    MW_ASSIGN_OR_RETURN(const MlirAttribute* const mesh, Required(attributes, "mesh", at));
    StrAppend(&out, "sdy.mesh @", name->text, " = ", mesh->text, BreaksOf(at));
    return absl::OkStatus();
  }

  absl::Status Function(size_t at, std::string& out) {
    MlirAttributes attributes;
    MW_RETURN_IF_ERROR(Properties(attributes));
    MW_RETURN_IF_ERROR(cursor_.Expect("(", "before the body of the function"));
    MW_RETURN_IF_ERROR(cursor_.Expect("{", "before the body of the function"));
    std::vector<std::string> arguments;
    if (cursor_.Consume('^')) {
      if (MlirName(cursor_).empty()) return cursor_.Expected("the name of a block");
      if (cursor_.Peek() == '(') {
        MW_ASSIGN_OR_RETURN(arguments, Items());
      }
      MW_RETURN_IF_ERROR(cursor_.Expect(":", "after the label of a block"));
    }
    const std::string header_breaks = BreaksOf(at);
    const size_t body = cursor_.position();
    const bool declared = cursor_.Peek() == '}';
    MW_RETURN_IF_ERROR(SkipBody(at));
    const size_t end = cursor_.position();
    MW_RETURN_IF_ERROR(cursor_.Expect("}", "after the body of the function"));
    MW_RETURN_IF_ERROR(cursor_.Expect(")", "after the body of the function"));
    MW_RETURN_IF_ERROR(Rest(attributes));
    const std::string end_breaks = BreaksOf(end);

    MW_ASSIGN_OR_RETURN(const MlirAttribute* const name, Required(attributes, "sym_name", at));
    MW_ASSIGN_OR_RETURN(const MlirAttribute* const type, Required(attributes, "function_type", at));
    const size_t after = cursor_.position();
    cursor_.set_position(type->position);
    MW_ASSIGN_OR_RETURN(std::vector<std::string> types, Items());
    MW_RETURN_IF_ERROR(cursor_.Expect("->", "before the types of the results"));
    std::vector<std::string> results;
    if (cursor_.Peek() == '(') {
      MW_ASSIGN_OR_RETURN(results, Items());
    } else {
      const size_t begin = cursor_.position();
      results.emplace_back(text_.substr(begin, type->position + type->text.size() - begin));
    }
    cursor_.set_position(after);
    if (declared) arguments = std::move(types);
    AddAttributes(Find(attributes, "arg_attrs"), arguments);
    AddAttributes(Find(attributes, "res_attrs"), results);
    const MlirAttribute* const visibility = Find(attributes, "sym_visibility");
    StrAppend(&out, "func.func ", visibility == nullptr ? "" : visibility->string, " @", name->text,
              "(", absl::StrJoin(arguments, ", "), ") -> (", absl::StrJoin(results, ", "), ")");
    if (declared) {
      StrAppend(&out, header_breaks, end_breaks);
    } else {
      StrAppend(&out, " {", header_breaks, text_.substr(body, end - body), "}", end_breaks);
    }
    return absl::OkStatus();
  }

  // What stands between parentheses, separated by commas outside of any brackets.
  absl::StatusOr<std::vector<std::string>> Items() {
    MW_RETURN_IF_ERROR(cursor_.Expect("("));
    std::vector<std::string> items;
    if (cursor_.Consume(')')) return items;
    int depth = 0;
    size_t begin = cursor_.position();
    while (!cursor_.AtEnd()) {
      const char c = cursor_.Peek();
      const size_t at = cursor_.position();
      if (c == '"') {
        MW_RETURN_IF_ERROR(cursor_.RawQuotedString().status());
        continue;
      }
      if (depth == 0 && (c == ',' || c == ')')) {
        items.emplace_back(text_.substr(begin, at - begin));
        begin = at + 1;
      }
      cursor_.set_position(at + 1);
      if (depth == 0 && c == ')') return items;
      if (c == '(' || c == '[' || c == '{' || c == '<') ++depth;
      if (c == ')' || c == ']' || c == '}' || (c == '>' && text_[at - 1] != '-')) --depth;
    }
    return cursor_.Expected("')' after the arguments or types of a function");
  }

  // Up to the brace that closes the function's region, which is not consumed.
  absl::Status SkipBody(size_t function) {
    int64_t depth = 0;
    while (!cursor_.AtEnd()) {
      const char c = cursor_.Peek();
      if (c == '"') {
        MW_RETURN_IF_ERROR(cursor_.RawQuotedString().status());
        continue;
      }
      if (c == '}' && depth-- == 0) return absl::OkStatus();
      if (c == '{') ++depth;
      cursor_.set_position(cursor_.position() + 1);
    }
    return cursor_.Error(function, "the file ends inside of this function");
  }

  // `[{a = 1}, {}]`, one for each port, goes behind its type and before its location.
  void AddAttributes(const MlirAttribute* attributes, std::vector<std::string>& ports) const {
    if (attributes == nullptr) return;
    for (size_t i = 0; i < std::min(ports.size(), attributes->list.size()); ++i) {
      const size_t location = std::min(ports[i].find("loc("), ports[i].size());
      ports[i].insert(location, StrCat(" ", attributes->list[i].text, " "));
    }
  }

  std::string_view text_;
  TextCursor cursor_;
  const MlirAliases aliases_;
};

}  // namespace

bool MayHaveGenericFunctions(std::string_view text) {
  return text.find(kGenericFunction) != std::string_view::npos;
}

absl::StatusOr<std::string> WithShortFunctions(std::string_view text, std::string_view file_name) {
  return FunctionRewriter(text, file_name).Rewrite();
}

}  // namespace meshwright
