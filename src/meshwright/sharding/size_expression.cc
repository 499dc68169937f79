#include "meshwright/sharding/size_expression.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "absl/strings/numbers.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

// Deeper expressions are refused, so that recursion cannot exhaust the stack.
constexpr int kMostLevels = 100;

// Recursive descent: sums of products of values.
class Evaluator {
 public:
  Evaluator(TextCursor& cursor, absl::FunctionRef<std::optional<double>(std::string_view)> size_of)
      : cursor_(cursor), size_of_(size_of) {}

  absl::StatusOr<double> Sum() {
    MW_ASSIGN_OR_RETURN(double sum, Product());
    for (;;) {
      if (cursor_.Consume('+')) {
        MW_ASSIGN_OR_RETURN(const double next, Product());
        sum += next;
      } else if (cursor_.Consume('-')) {
        MW_ASSIGN_OR_RETURN(const double next, Product());
        sum -= next;
      } else {
        return sum;
      }
    }
  }

 private:
  absl::StatusOr<double> Product() {
    MW_ASSIGN_OR_RETURN(double product, Value());
    for (;;) {
      if (cursor_.Consume('*')) {
        MW_ASSIGN_OR_RETURN(const double next, Value());
        product *= next;
      } else if (cursor_.Consume('/')) {
        const size_t at = cursor_.position();
        MW_ASSIGN_OR_RETURN(const double next, Value());
        if (next == 0) return cursor_.Error(at, "divides by 0");
        product /= next;
      } else {
        return product;
      }
    }
  }

  absl::StatusOr<double> Value() {
    if (levels_ == kMostLevels) return cursor_.Error("nests too deeply");
    if (cursor_.Consume('(')) {
      ++levels_;
      MW_ASSIGN_OR_RETURN(const double inner, Sum());
      --levels_;
      MW_RETURN_IF_ERROR(cursor_.Expect(")", "after a sum"));
      return inner;
    }
    cursor_.SkipSpace();
    const size_t at = cursor_.position();
    const std::string_view word = Word();
    if (word.empty()) return cursor_.Expected("a number or the name of a factor");
    if (std::isdigit(static_cast<unsigned char>(word[0])) != 0 || word[0] == '.') {
      double number = 0;
      if (absl::SimpleAtod(ToAbsl(word), &number)) return number;
      return cursor_.Error(at, StrCat("expected a number, found ", QuoteForError(word)));
    }
    if (word == "min" || word == "max") return Extreme(word == "min");
    if (const std::optional<double> size = size_of_(word)) return *size;
    return cursor_.Error(at, StrCat("expected a factor of the rule, found ", QuoteForError(word)));
  }

  absl::StatusOr<double> Extreme(bool least) {
    MW_RETURN_IF_ERROR(cursor_.Expect("(", "before what is compared"));
    ++levels_;
    MW_ASSIGN_OR_RETURN(const double a, Sum());
    MW_RETURN_IF_ERROR(cursor_.Expect(",", "between what is compared"));
    MW_ASSIGN_OR_RETURN(const double b, Sum());
    --levels_;
    MW_RETURN_IF_ERROR(cursor_.Expect(")", "after what is compared"));
    return least ? std::min(a, b) : std::max(a, b);
  }

  // Letters, digits, `_` and `.`, and an exponent's sign.
  std::string_view Word() {
    const std::string_view text = cursor_.text();
    const size_t begin = cursor_.position();
    const auto is = [&](size_t i, auto matches) {
      return i < text.size() && matches(static_cast<unsigned char>(text[i]));
    };
    const auto digit = [](unsigned char c) { return std::isdigit(c) != 0; };
    const bool number = is(begin, [&](unsigned char c) { return digit(c) || c == '.'; });
    size_t end = begin;
    while (is(end, [&](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.'; })) {
      const bool exponent = number && (text[end] == 'e' || text[end] == 'E');
      ++end;
      if (exponent && is(end, [](unsigned char c) { return c == '+' || c == '-'; })) ++end;
    }
    cursor_.set_position(end);
    return text.substr(begin, end - begin);
  }

  TextCursor& cursor_;
  absl::FunctionRef<std::optional<double>(std::string_view)> size_of_;
  int levels_ = 0;
};

}  // namespace

absl::StatusOr<double> EvaluateSizes(
    TextCursor& cursor, absl::FunctionRef<std::optional<double>(std::string_view)> size_of) {
  return Evaluator(cursor, size_of).Sum();
}

}  // namespace meshwright
