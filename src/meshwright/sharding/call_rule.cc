#include "meshwright/sharding/call_rule.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_join.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/text_cursor.h"
#include "meshwright/sharding/size_expression.h"

namespace meshwright {
namespace {

// Far more than a call has dimensions.
constexpr size_t kMostNames = 256;

// The product of leading dimensions, in expressions.
constexpr std::string_view kRows = "rows";

struct KindRow {
  std::string_view name;
  std::vector<int16_t> CallRule::*factors;
};
constexpr KindRow kKinds[] = {
    {"reduction", &CallRule::reduction},
    {"need_replication", &CallRule::need_replication},
    {"permutation", &CallRule::permutation},
    {"blocked_propagation", &CallRule::blocked_propagation},
};

struct CostRow {
  std::string_view name;
  std::string CallRule::*expression;
};
constexpr CostRow kCosts[] = {
    {"flops", &CallRule::flops},
    {"bytes", &CallRule::bytes},
    {"memory", &CallRule::memory},
};

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDecimal(char c) { return c >= '0' && c <= '9'; }

bool Has(const std::vector<int16_t>& list, size_t factor) {
  return std::find(list.begin(), list.end(), static_cast<int16_t>(factor)) != list.end();
}

class CallRuleParser {
 public:
  explicit CallRuleParser(TextCursor cursor) : cursor_(cursor) {}

  absl::StatusOr<CallRule> Parse() {
    MW_RETURN_IF_ERROR(ParseTensors("operands", &rule_.operands, &rule_.more_operands));
    MW_RETURN_IF_ERROR(cursor_.Expect("->", "before the factors of results"));
    MW_RETURN_IF_ERROR(ParseTensors("results", &rule_.results, &rule_.more_results));
    rule_.sizes.assign(rule_.names.size(), -1);
    if (cursor_.Consume('{')) MW_RETURN_IF_ERROR(ParseSizes());
    while (!cursor_.AtEnd()) MW_RETURN_IF_ERROR(ParseMember());
    return std::move(rule_);
  }

 private:
  absl::Status ParseTensors(std::string_view what, std::vector<CallRule::Tensor>* tensors,
                            bool* more) {
    MW_RETURN_IF_ERROR(cursor_.Expect("(", StrCat("before the factors of ", what)));
    if (cursor_.Consume(')')) return absl::OkStatus();
    do {
      if (cursor_.Consume("...")) {
        *more = true;
        break;
      }
      CallRule::Tensor& tensor = tensors->emplace_back();
      if (cursor_.Consume('_')) {
        tensor.any = true;
        continue;
      }
      MW_RETURN_IF_ERROR(cursor_.Expect("[", "before the factors of dimensions"));
      if (cursor_.Consume("...")) {
        tensor.leading = true;
        if (cursor_.Consume(']')) continue;
        MW_RETURN_IF_ERROR(cursor_.Expect(",", "after leading dimensions"));
      } else if (cursor_.Consume(']')) {
        continue;
      }
      do {
        MW_RETURN_IF_ERROR(ParseFactors(&tensor.dims.emplace_back().factors));
      } while (cursor_.Consume(','));
      MW_RETURN_IF_ERROR(cursor_.Expect("]", "after the factors of dimensions"));
    } while (cursor_.Consume(','));
    return cursor_.Expect(")", StrCat("after the factors of ", what));
  }

  // A letter with `_` and a number or without; empty if there is none.
  std::string_view ParseName() {
    cursor_.SkipSpace();
    const std::string_view text = cursor_.text();
    const size_t begin = cursor_.position();
    if (begin == text.size() || !IsLetter(text[begin])) return "";
    size_t end = begin + 1;
    if (end + 1 < text.size() && text[end] == '_' && IsDecimal(text[end + 1])) {
      end += 2;
      while (end < text.size() && IsDecimal(text[end])) ++end;
    }
    cursor_.set_position(end);
    return text.substr(begin, end - begin);
  }

  std::optional<int16_t> Find(std::string_view name) const {
    const auto found = std::find(rule_.names.begin(), rule_.names.end(), name);
    if (found == rule_.names.end()) return std::nullopt;
    return static_cast<int16_t>(found - rule_.names.begin());
  }

  absl::Status ParseFactors(std::vector<int16_t>* factors) {
    for (std::string_view name = ParseName(); !name.empty(); name = ParseName()) {
      std::optional<int16_t> factor = Find(name);
      if (!factor.has_value()) {
        if (rule_.names.size() == kMostNames)
          return cursor_.Error(StrCat("expected at most ", kMostNames, " factors"));
        factor = static_cast<int16_t>(rule_.names.size());
        rule_.names.emplace_back(name);
      }
      factors->push_back(*factor);
    }
    if (!factors->empty()) return absl::OkStatus();
    return cursor_.Expected("the factors of a dimension, as i or ij");
  }

  absl::StatusOr<int16_t> ParseKnown() {
    cursor_.SkipSpace();
    const size_t at = cursor_.position();
    const std::string_view name = ParseName();
    if (name.empty()) return cursor_.Expected("a factor of the rule");
    if (const std::optional<int16_t> factor = Find(name)) return *factor;
    return cursor_.Error(
        at, StrCat("expected a factor of the rule (", absl::StrJoin(rule_.names, ", "), "), found ",
                   QuoteForError(name)));
  }

  // `i=8, j=16}`
  absl::Status ParseSizes() {
    if (cursor_.Consume('}')) return absl::OkStatus();
    do {
      MW_ASSIGN_OR_RETURN(const int16_t factor, ParseKnown());
      MW_RETURN_IF_ERROR(cursor_.Expect("=", "before the size of a factor"));
      const size_t at = cursor_.position();
      MW_ASSIGN_OR_RETURN(const int64_t size, cursor_.Integer());
      if (size < 1) return cursor_.Error(at, "expected a size of at least 1");
      rule_.sizes[factor] = size;
    } while (cursor_.Consume(','));
    return cursor_.Expect("}", "after the sizes of factors");
  }

  absl::Status ParseMember() {
    cursor_.Consume(',');
    if (cursor_.ConsumeWord("custom")) return absl::OkStatus();
    for (const KindRow& row : kKinds) {
      if (cursor_.ConsumeWord(row.name)) return ParseKind(&(rule_.*row.factors));
    }
    for (const CostRow& row : kCosts) {
      if (cursor_.ConsumeWord(row.name)) return ParseCost(&(rule_.*row.expression));
    }
    if (cursor_.ConsumeWord("kernel")) return ParseKernel();
    return cursor_.Expected(
        "reduction=, need_replication=, permutation=, blocked_propagation=, flops=, bytes=, "
        "memory= or kernel=");
  }

  // `={i, j}`
  absl::Status ParseKind(std::vector<int16_t>* factors) {
    MW_RETURN_IF_ERROR(cursor_.Expect("=", "before the factors of a kind"));
    MW_RETURN_IF_ERROR(cursor_.Expect("{", "before the factors of a kind"));
    if (cursor_.Consume('}')) return absl::OkStatus();
    do {
      if (factors == &rule_.reduction && cursor_.Consume("...")) {
        rule_.reduces_leading = true;
        continue;
      }
      MW_ASSIGN_OR_RETURN(factors->emplace_back(), ParseKnown());
    } while (cursor_.Consume(','));
    return cursor_.Expect("}", "after the factors of a kind");
  }

  absl::Status ParseCost(std::string* expression) {
    MW_RETURN_IF_ERROR(cursor_.Expect("=", "before a cost"));
    cursor_.SkipSpace();
    const size_t begin = cursor_.position();
    const auto value = EvaluateSizes(cursor_, [this](std::string_view name) {
      const bool known = name == kRows || Find(name).has_value();
      return known ? std::optional<double>(1) : std::nullopt;
    });
    MW_RETURN_IF_ERROR(value.status());
    *expression = cursor_.text().substr(begin, cursor_.position() - begin);
    return absl::OkStatus();
  }

  absl::Status ParseKernel() {
    MW_RETURN_IF_ERROR(cursor_.Expect("=", "before the kind of a kernel"));
    for (const KernelClass kernel : kKernelClasses) {
      if (!cursor_.ConsumeWord(KernelClassName(kernel))) continue;
      rule_.kernel = kernel;
      return absl::OkStatus();
    }
    std::vector<std::string> names;
    for (const KernelClass kernel : kKernelClasses) names.emplace_back(KernelClassName(kernel));
    return cursor_.Expected(absl::StrJoin(names, ", "));
  }

  TextCursor cursor_;
  CallRule rule_;
};

// Matches a rule with the shapes of one call.
class CallMatch {
 public:
  CallMatch(const CallRule& rule, RuleBuilder& builder)
      : rule_(rule), builder_(builder), sizes_(rule.sizes) {}

  std::string Run() {
    const Graph& graph = builder_.graph();
    if (std::string problem = Collect(rule_.operands, rule_.more_operands, builder_.op().operands,
                                      graph, "operand", &operands_);
        !problem.empty()) {
      return problem;
    }
    if (std::string problem = Collect(rule_.results, rule_.more_results, builder_.op().results,
                                      graph, "result", &results_);
        !problem.empty()) {
      return problem;
    }
    if (std::string problem = Solve(); !problem.empty()) return problem;
    State();
    return Costs();
  }

 private:
  struct Placed {
    const CallRule::Tensor* tensor = nullptr;  // nullptr: any shape
    const Shape* shape = nullptr;
  };

  std::string Collect(const std::vector<CallRule::Tensor>& tensors, bool more,
                      const std::vector<ValueId>& values, const Graph& graph, std::string_view what,
                      std::vector<Placed>* placed) {
    if (values.size() < tensors.size() || (values.size() > tensors.size() && !more)) {
      return StrCat("names ", tensors.size(), more ? " or more " : " ", what, "s of ",
                    values.size());
    }
    for (size_t i = 0; i < values.size(); ++i) {
      const Shape& shape = graph[values[i]].shape;
      const bool any = i >= tensors.size() || tensors[i].any;
      placed->push_back({any ? nullptr : &tensors[i], &shape});
      if (any) continue;
      const auto rank = static_cast<int64_t>(tensors[i].dims.size());
      const int64_t leading = shape.rank() - rank;
      if (leading < 0 || (leading > 0 && !tensors[i].leading)) {
        return StrCat("gives ", what, " ", i, ", ", shape.ToString(false), ", ", rank,
                      " dimensions");
      }
      if (!tensors[i].leading) continue;
      std::vector<int64_t> dims(shape.dims.begin(), shape.dims.begin() + leading);
      if (leading_.has_value() && *leading_ != dims)
        return StrCat("has other leading dimensions in ", what, " ", i);
      leading_ = std::move(dims);
    }
    return "";
  }

  // Sizes of factors: those that are whole dimensions first, then the rests of others.
  std::string Solve() {
    for (bool again = true; again;) {
      again = false;
      for (const std::vector<Placed>* placed : {&operands_, &results_}) {
        for (const Placed& p : *placed) again |= Infer(p);
      }
    }
    for (const std::vector<Placed>* placed : {&operands_, &results_}) {
      for (const Placed& p : *placed) {
        if (std::string problem = Check(p); !problem.empty()) return problem;
      }
    }
    // In dimensions of size 1 only.
    for (int64_t& size : sizes_) size = std::max<int64_t>(size, 1);
    return "";
  }

  int64_t SizeOf(const Placed& p, size_t d) const {
    return p.shape->dims[p.shape->dims.size() - p.tensor->dims.size() + d];
  }

  bool Infer(const Placed& p) {
    bool found = false;
    for (size_t d = 0; p.tensor != nullptr && d < p.tensor->dims.size(); ++d) {
      const int64_t size = SizeOf(p, d);
      int64_t known = 1;
      std::vector<int16_t> open;
      for (int16_t f : p.tensor->dims[d].factors) {
        if (sizes_[f] < 0) {
          open.push_back(f);
        } else {
          known *= sizes_[f];
        }
      }
      if (size <= 1 || open.size() != 1 || size % known != 0) continue;
      sizes_[open[0]] = size / known;
      found = true;
    }
    return found;
  }

  std::string Check(const Placed& p) const {
    for (size_t d = 0; p.tensor != nullptr && d < p.tensor->dims.size(); ++d) {
      const int64_t size = SizeOf(p, d);
      if (size == 1) continue;
      int64_t product = 1;
      std::vector<std::string> names;
      bool open = false;
      for (int16_t f : p.tensor->dims[d].factors) {
        names.push_back(rule_.names[f]);
        open |= sizes_[f] < 0;
        product *= std::max<int64_t>(sizes_[f], 1);
      }
      const std::string text = absl::StrJoin(names, "");
      if (open) return StrCat("leaves open how ", size, " is made of ", text);
      if (product != size) return StrCat("makes ", size, " of ", text, ", which is ", product);
    }
    return "";
  }

  std::vector<TensorFactors> Factors(const std::vector<Placed>& placed,
                                     const std::vector<FactorIndex>& index) const {
    std::vector<TensorFactors> tensors;
    for (const Placed& p : placed) {
      TensorFactors& tensor = tensors.emplace_back();
      tensor.dims.resize(p.shape->dims.size());
      if (p.tensor == nullptr) continue;
      const size_t first = p.shape->dims.size() - p.tensor->dims.size();
      for (size_t d = 0; d < first; ++d) {
        if (p.shape->dims[d] > 1) tensor.dims[d].push_back(index[sizes_.size() + d]);
      }
      for (size_t d = 0; d < p.tensor->dims.size(); ++d) {
        if (p.shape->dims[first + d] == 1) continue;
        for (int16_t f : p.tensor->dims[d].factors) {
          if (index[f] != kNoFactor) tensor.dims[first + d].push_back(index[f]);
        }
      }
    }
    return tensors;
  }

  static std::vector<bool> Used(const std::vector<Placed>& placed, size_t count) {
    std::vector<bool> used(count, false);
    for (const Placed& p : placed) {
      for (size_t d = 0; p.tensor != nullptr && d < p.tensor->dims.size(); ++d) {
        for (int16_t f : p.tensor->dims[d].factors) used[f] = true;
      }
    }
    return used;
  }

  void State() {
    std::vector<Factor> factors;
    std::vector<FactorIndex> index(sizes_.size(), kNoFactor);
    const std::vector<bool> in = Used(operands_, sizes_.size());
    const std::vector<bool> out = Used(results_, sizes_.size());
    for (size_t f = 0; f < sizes_.size(); ++f) {
      if (sizes_[f] == 1) continue;
      Factor factor{.size = sizes_[f],
                    .label = rule_.names[f].size() == 1 ? rule_.names[f][0] : '?'};
      const bool reduced = Has(rule_.reduction, f);
      if (Has(rule_.need_replication, f) || !in[f] || (!out[f] && !reduced)) {
        factor.kind = FactorKind::kWhole;
      } else if (reduced) {
        factor.kind = FactorKind::kReduction;
        factor.reduction = Reduction::kSum;
      }
      factor.exchanges = Has(rule_.permutation, f);
      factor.spreads = !Has(rule_.blocked_propagation, f);
      index[f] = static_cast<FactorIndex>(factors.size());
      factors.push_back(factor);
    }
    for (const int64_t size : leading_.value_or(std::vector<int64_t>())) {
      index.push_back(size == 1 ? kNoFactor : static_cast<FactorIndex>(factors.size()));
      if (size == 1) continue;
      Factor factor{.size = size};
      if (rule_.reduces_leading) {
        factor.kind = FactorKind::kReduction;
        factor.reduction = Reduction::kSum;
      }
      factors.push_back(factor);
    }
    builder_.State(std::move(factors), Factors(operands_, index), Factors(results_, index));
  }

  std::string Costs() {
    std::string problem;
    double rows = 1;
    for (const int64_t size : leading_.value_or(std::vector<int64_t>()))
      rows *= static_cast<double>(size);
    const auto value = [&](const std::string& expression) {
      if (expression.empty()) return 0.0;
      TextCursor cursor(expression, "cost");
      const auto result = EvaluateSizes(cursor, [&](std::string_view name) {
        if (name == kRows) return std::optional<double>(rows);
        const auto found = std::find(rule_.names.begin(), rule_.names.end(), name);
        return found == rule_.names.end()
                   ? std::nullopt
                   : std::optional<double>(sizes_[found - rule_.names.begin()]);
      });
      if (!result.ok()) problem = std::string(result.status().message());
      return result.ok() ? std::max(0.0, *result) : 0.0;
    };
    builder_.Flops(value(rule_.flops), rule_.kernel);
    if (!rule_.bytes.empty()) builder_.Bytes(value(rule_.bytes));
    builder_.Scratch(value(rule_.memory));
    return problem;
  }

  const CallRule& rule_;
  RuleBuilder& builder_;
  std::vector<int64_t> sizes_;  // by factor; -1: not known yet
  std::optional<std::vector<int64_t>> leading_;
  std::vector<Placed> operands_, results_;
};

}  // namespace

absl::StatusOr<CallRule> ParseCallRule(std::string_view text, std::string_view file_name,
                                       size_t position) {
  TextCursor cursor(text, file_name);
  cursor.set_position(position);
  return CallRuleParser(cursor).Parse();
}

std::string ApplyCallRule(const CallRule& rule, RuleBuilder& builder) {
  return CallMatch(rule, builder).Run();
}

}  // namespace meshwright
