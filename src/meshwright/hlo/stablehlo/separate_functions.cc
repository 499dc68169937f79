#include "meshwright/hlo/stablehlo/separate_functions.h"

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/stablehlo/mlir_module.h"

namespace meshwright {
namespace {

// A call in the body of a function: where its callee's symbol ends in the text.
struct CallSite {
  size_t symbol_end = 0;
  size_t callee = 0;  // number of the function
};

class FunctionSeparator {
 public:
  FunctionSeparator(std::string_view text, const MlirModule& mlir) : text_(text), mlir_(mlir) {
    for (size_t f = 0; f < mlir.functions.size(); ++f) {
      numbers_.emplace(mlir.functions[f].name, f);
    }
    calls_.resize(mlir.functions.size());
    for (size_t f = 0; f < mlir.functions.size(); ++f) FindCalls(mlir.functions[f].body, calls_[f]);
    seen_.resize(mlir.functions.size());
    copies_.resize(mlir.functions.size());
  }

  std::string Separate() {
    const auto main = numbers_.find("main");
    // Without one there is a single function.
    const size_t entry = main == numbers_.end() ? 0 : main->second;
    seen_[entry] = true;
    // In place: only the names of callees change.
    std::map<size_t, std::string> suffixes = Suffixes(entry);
    while (!work_.empty()) {
      const size_t f = work_.back();
      work_.pop_back();
      suffixes.merge(Suffixes(f));
    }
    std::string result;
    size_t at = 0;
    for (size_t f = 0; f < mlir_.functions.size(); ++f) {
      const size_t end = mlir_.functions[f].end;
      StrAppend(&result, WithSuffixes(at, end, suffixes), copies_[f]);
      at = end;
    }
    return StrCat(result, text_.substr(at));
  }

 private:
  void FindCalls(const MlirRegion& region, std::vector<CallSite>& calls) const {
    for (const MlirOperation& operation : region.operations) {
      for (const MlirRegion& inner : operation.regions) FindCalls(inner, calls);
      if (operation.name != "func.call" && operation.name != "stablehlo.composite") continue;
      const MlirAttribute* callee = operation.Find("callee");
      if (callee == nullptr) callee = operation.Find("decomposition");
      if (callee == nullptr && !operation.unnamed.empty()) callee = &operation.unnamed[0];
      if (callee == nullptr || callee->kind != MlirAttribute::Kind::kSymbol) continue;
      const auto number = numbers_.find(callee->string);
      if (number == numbers_.end()) continue;
      calls.push_back({SymbolEnd(callee->position, callee->text), number->second});
    }
  }

  // Where a suffix makes another name of `@name` or `@"name"`.
  static size_t SymbolEnd(size_t position, std::string_view symbol) {
    return position + symbol.size() - (symbol.ends_with('"') ? 1 : 0);
  }

  // What the names of the callees get in one place of function `f`, by position in the text. The
  // first call of a function is of itself.
  std::map<size_t, std::string> Suffixes(size_t f) {
    std::map<size_t, std::string> suffixes;
    for (const CallSite& call : calls_[f]) {
      if (!seen_[call.callee]) {
        seen_[call.callee] = true;
        work_.push_back(call.callee);
        continue;
      }
      suffixes.emplace(call.symbol_end, Copy(call.callee));
    }
    return suffixes;
  }

  // Adds a copy of function `f`; returns what its name has behind f's.
  std::string Copy(size_t f) {
    const MlirFunction& function = mlir_.functions[f];
    std::string suffix;
    do {
      suffix = StrCat("_", ++copied_);
    } while (numbers_.contains(StrCat(function.name, suffix)));
    std::map<size_t, std::string> suffixes = Suffixes(f);
    const auto name = static_cast<size_t>(function.name.data() - text_.data());
    suffixes.emplace(name + function.name.size(), suffix);
    StrAppend(&copies_[f], "\n  ", WithSuffixes(function.begin, function.end, suffixes));
    return suffix;
  }

  // [begin, end) of the text.
  std::string WithSuffixes(size_t begin, size_t end,
                           const std::map<size_t, std::string>& suffixes) const {
    std::string result;
    for (auto it = suffixes.lower_bound(begin); it != suffixes.end() && it->first < end; ++it) {
      StrAppend(&result, text_.substr(begin, it->first - begin), it->second);
      begin = it->first;
    }
    return StrCat(result, text_.substr(begin, end - begin));
  }

  std::string_view text_;
  const MlirModule& mlir_;
  absl::flat_hash_map<std::string, size_t> numbers_;  // of functions, by name
  std::vector<std::vector<CallSite>> calls_;          // by function, in the order of the text
  std::vector<bool> seen_;                            // by function: it is some call's own
  std::vector<size_t> work_;         // functions whose text in place is to be looked at
  std::vector<std::string> copies_;  // by function
  size_t copied_ = 0;
};

}  // namespace

absl::StatusOr<std::string> SeparateFunctions(std::string_view text, std::string_view file_name) {
  const MlirAliases aliases(text);
  MW_ASSIGN_OR_RETURN(const MlirModule mlir, ParseMlirModule(text, file_name, aliases));
  return FunctionSeparator(text, mlir).Separate();
}

}  // namespace meshwright
