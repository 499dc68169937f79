#include "meshwright/hlo/op_sharding_rule.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/mlir_name.h"
#include "meshwright/hlo/text_cursor.h"

namespace meshwright {
namespace {

// Factors are called i, j, ..., z; those after z are z_1, z_2, ...
constexpr char kFirstFactor = 'i', kLastLetter = 'z';
constexpr int32_t kLetters = kLastLetter - kFirstFactor + 1;
// Far more than an operator has dimensions.
constexpr int32_t kMaxFactors = 4096;

struct FactorKindRow {
  std::string_view name;
  std::vector<int32_t> OpShardingRule::*factors;
};

// In the order in which they are printed.
constexpr FactorKindRow kFactorKinds[] = {
    {"reduction", &OpShardingRule::reduction},
    {"need_replication", &OpShardingRule::need_replication},
    {"permutation", &OpShardingRule::permutation},
    {"blocked_propagation", &OpShardingRule::blocked_propagation},
};

class RuleParser {
 public:
  explicit RuleParser(TextCursor cursor) : cursor_(cursor) {}

  absl::StatusOr<OpShardingRule> Parse() {
    MW_RETURN_IF_ERROR(cursor_.Expect("#sdy.op_sharding_rule", "before a sharding rule"));
    MW_RETURN_IF_ERROR(cursor_.Expect("<", "before the factors of operands"));
    MW_RETURN_IF_ERROR(ParseMappings("operands", &rule_.operands));
    MW_RETURN_IF_ERROR(cursor_.Expect("->", "before the factors of results"));
    MW_RETURN_IF_ERROR(ParseMappings("results", &rule_.results));
    if (cursor_.Consume('{')) MW_RETURN_IF_ERROR(ParseSizes());
    MW_RETURN_IF_ERROR(CheckKnown());
    for (const FactorKindRow& row : kFactorKinds) {
      if (cursor_.ConsumeWord(row.name)) MW_RETURN_IF_ERROR(ParseKind(row));
    }
    if (cursor_.Consume(',')) {
      if (!cursor_.ConsumeWord("custom")) return cursor_.Expected("\"custom\"");
      rule_.custom = true;
    }
    MW_RETURN_IF_ERROR(cursor_.Expect(">", "after a sharding rule"));
    return std::move(rule_);
  }

 private:
  // A place where a factor is named, to say later that it has no size.
  struct Use {
    int32_t factor;
    size_t position;
  };

  // `([i, j], [])`
  absl::Status ParseMappings(std::string_view what,
                             std::vector<OpShardingRule::Mapping>* mappings) {
    MW_RETURN_IF_ERROR(cursor_.Expect("(", StrCat("before the factors of ", what)));
    if (cursor_.Consume(')')) return absl::OkStatus();
    do {
      OpShardingRule::Mapping& mapping = mappings->emplace_back();
      MW_RETURN_IF_ERROR(cursor_.Expect("[", "before the factors of dimensions"));
      if (cursor_.Consume(']')) continue;
      do {
        std::vector<int32_t>& dimension = mapping.emplace_back();
        MW_RETURN_IF_ERROR(ParseFactors(&dimension));
      } while (cursor_.Consume(','));
      MW_RETURN_IF_ERROR(cursor_.Expect("]", "after the factors of dimensions"));
    } while (cursor_.Consume(','));
    return cursor_.Expect(")", StrCat("after the factors of ", what));
  }

  // `i`, `ij`, `zz_1z_2`: the factors of one dimension.
  absl::Status ParseFactors(std::vector<int32_t>* factors) {
    cursor_.SkipSpace();
    const size_t at = cursor_.position();
    const std::string_view word = MlirName(cursor_);
    if (word.empty()) return cursor_.Expected("the factors of a dimension, as i or ij");
    for (size_t next = 0; next < word.size();) {
      const size_t begin = next;
      const char letter = word[next++];
      if (letter < kFirstFactor || letter > kLastLetter) {
        return cursor_.Error(at + begin,
                             StrCat("expected a factor, i to z or z_1, z_2, ...; found ",
                                    QuoteForError(word.substr(begin, 1))));
      }
      int32_t factor = letter - kFirstFactor;
      if (letter == kLastLetter && next < word.size() && word[next] == '_') {
        size_t end = next + 1;
        while (end < word.size() && word[end] >= '0' && word[end] <= '9') ++end;
        const std::string_view digits = word.substr(next + 1, end - next - 1);
        int32_t number = 0;
        if (digits.starts_with('0') || !absl::SimpleAtoi(ToAbsl(digits), &number) ||
            number > kMaxFactors) {
          return cursor_.Error(at + begin, StrCat("expected z_1 to z_", kMaxFactors, "; found ",
                                                  QuoteForError(word.substr(begin, end - begin))));
        }
        factor += number;
        next = end;
      }
      factors->push_back(factor);
      uses_.push_back({factor, at + begin});
    }
    return absl::OkStatus();
  }

  // `i=8, j=16}`; the factors in their order, none left out.
  absl::Status ParseSizes() {
    if (cursor_.Consume('}')) return absl::OkStatus();
    do {
      const auto expected = static_cast<int32_t>(rule_.factor_sizes.size());
      cursor_.SkipSpace();
      const size_t at = cursor_.position();
      const std::string_view word = MlirName(cursor_);
      if (word != ShardingFactorName(expected)) {
        return cursor_.Error(
            at, StrCat("expected the size of factor ", ShardingFactorName(expected),
                       ", as all are given in their order; found ", QuoteForError(word)));
      }
      MW_RETURN_IF_ERROR(cursor_.Expect("=", "after a factor"));
      cursor_.SkipSpace();
      const size_t size_at = cursor_.position();
      MW_ASSIGN_OR_RETURN(const int64_t size, cursor_.Integer());
      if (size < 0) {
        return cursor_.Error(size_at, StrCat("factor ", word, " has size ", size, "; at least 0"));
      }
      rule_.factor_sizes.push_back(size);
    } while (cursor_.Consume(','));
    return cursor_.Expect("}", "after the sizes of factors");
  }

  // Every factor that is named has a size.
  absl::Status CheckKnown() {
    for (const Use& use : uses_) {
      if (use.factor < static_cast<int32_t>(rule_.factor_sizes.size())) continue;
      return cursor_.Error(use.position,
                           StrCat("factor ", ShardingFactorName(use.factor), " has no size; add ",
                                  ShardingFactorName(use.factor), "=... to the sizes in {}"));
    }
    return absl::OkStatus();
  }

  // `={i, k}`
  absl::Status ParseKind(const FactorKindRow& row) {
    std::vector<int32_t>& factors = rule_.*row.factors;
    MW_RETURN_IF_ERROR(cursor_.Expect("=", StrCat("after ", row.name)));
    MW_RETURN_IF_ERROR(cursor_.Expect("{", StrCat("before the factors of ", row.name)));
    uses_.clear();
    do {
      std::vector<int32_t> one;
      cursor_.SkipSpace();
      const size_t at = cursor_.position();
      MW_RETURN_IF_ERROR(ParseFactors(&one));
      if (one.size() != 1) return cursor_.Error(at, "expected one factor, then a comma");
      if (!factors.empty() && one[0] <= factors.back()) {
        return cursor_.Error(
            at, StrCat("factors of ", row.name, " are given once each, in increasing order"));
      }
      factors.push_back(one[0]);
    } while (cursor_.Consume(','));
    MW_RETURN_IF_ERROR(CheckKnown());
    return cursor_.Expect("}", StrCat("after the factors of ", row.name));
  }

  TextCursor cursor_;
  OpShardingRule rule_;
  std::vector<Use> uses_;
};

std::string DimensionText(const std::vector<int32_t>& factors) {
  return absl::StrJoin(factors, "", [](std::string* out, int32_t factor) {
    StrAppend(out, ShardingFactorName(factor));
  });
}

std::string MappingsText(const std::vector<OpShardingRule::Mapping>& mappings) {
  return StrCat("(",
                absl::StrJoin(mappings, ", ",
                              [](std::string* out, const OpShardingRule::Mapping& mapping) {
                                StrAppend(out, "[",
                                          absl::StrJoin(mapping, ", ",
                                                        [](std::string* text, const auto& dim) {
                                                          StrAppend(text, DimensionText(dim));
                                                        }),
                                          "]");
                              }),
                ")");
}

// Whether sizes along the dimension may differ between operands and results.
bool MayDiffer(const OpShardingRule& rule, const std::vector<int32_t>& factors) {
  return std::any_of(factors.begin(), factors.end(), [&](int32_t factor) {
    return HasFactor(rule.need_replication, factor) || HasFactor(rule.permutation, factor);
  });
}

std::string FindMappingProblem(const OpShardingRule& rule,
                               const std::vector<OpShardingRule::Mapping>& mappings,
                               const std::vector<const Shape*>& shapes, std::string_view what,
                               std::vector<bool>* used) {
  if (mappings.size() != shapes.size()) {
    return StrCat("gives the factors of ", mappings.size(), " ", what, "s; there are ",
                  shapes.size());
  }
  for (size_t i = 0; i < mappings.size(); ++i) {
    const Shape& shape = *shapes[i];
    const OpShardingRule::Mapping& mapping = mappings[i];
    if (mapping.size() != shape.dims.size()) {
      return StrCat("gives the factors of ", mapping.size(), " dimensions of ", what, " ", i,
                    ", which is ", shape.ToString(false));
    }
    std::vector<bool> seen(rule.factor_sizes.size(), false);
    for (size_t d = 0; d < mapping.size(); ++d) {
      for (int32_t factor : mapping[d]) {
        if (seen[factor]) {
          return StrCat("has factor ", ShardingFactorName(factor), " twice in ", what, " ", i);
        }
        seen[factor] = (*used)[factor] = true;
      }
      const int64_t product = FactorProduct(rule, mapping[d]);
      if (product == shape.dims[d] || MayDiffer(rule, mapping[d])) continue;
      return StrCat("makes dimension ", d, " of ", what, " ", i, ", ", shape.ToString(false),
                    ", of factors ", DimensionText(mapping[d]),
                    product < 0 ? ", whose sizes multiply to more than 64 bits"
                                : StrCat(", whose sizes multiply to ", product));
    }
  }
  return "";
}

// Sizes for the factors of one dimension of size `size`; false if the major one cannot take it.
bool ResizeDimension(const std::vector<int32_t>& factors, int64_t size, OpShardingRule* rule) {
  if (factors.empty()) return size == 1;
  int64_t& major = rule->factor_sizes[factors[0]];
  const int64_t minors =
      FactorProduct(*rule, std::vector<int32_t>(factors.begin() + 1, factors.end()));
  if (minors <= 0 || size % minors != 0) return false;
  major = size / minors;
  return true;
}

}  // namespace

std::string ShardingFactorName(int32_t factor) {
  if (factor < kLetters) return std::string(1, static_cast<char>(kFirstFactor + factor));
  return StrCat("z_", factor - kLetters + 1);
}

int64_t FactorProduct(const OpShardingRule& rule, const std::vector<int32_t>& factors) {
  int64_t product = 1;
  for (int32_t factor : factors) {
    const int64_t size = rule.factor_sizes[factor];
    if (size > 0 && product > std::numeric_limits<int64_t>::max() / size) return -1;
    product *= size;
  }
  return product;
}

bool HasFactor(const std::vector<int32_t>& factors, int32_t factor) {
  return std::find(factors.begin(), factors.end(), factor) != factors.end();
}

absl::StatusOr<OpShardingRule> ParseOpShardingRule(std::string_view text,
                                                   std::string_view file_name, size_t position) {
  TextCursor cursor(text, file_name);
  cursor.set_position(position);
  return RuleParser(cursor).Parse();
}

std::string OpShardingRuleText(const OpShardingRule& rule) {
  std::string text = StrCat("#sdy.op_sharding_rule<", MappingsText(rule.operands), "->",
                            MappingsText(rule.results));
  std::vector<std::string> sizes;
  for (size_t f = 0; f < rule.factor_sizes.size(); ++f)
    sizes.push_back(StrCat(ShardingFactorName(static_cast<int32_t>(f)), "=", rule.factor_sizes[f]));
  if (!sizes.empty()) StrAppend(&text, " {", absl::StrJoin(sizes, ", "), "}");
  for (const FactorKindRow& row : kFactorKinds) {
    const std::vector<int32_t>& factors = rule.*row.factors;
    if (factors.empty()) continue;
    StrAppend(&text, " ", row.name, "={",
              absl::StrJoin(factors, ", ",
                            [](std::string* out, int32_t factor) {
                              StrAppend(out, ShardingFactorName(factor));
                            }),
              "}");
  }
  return StrCat(text, rule.custom ? ", custom>" : ">");
}

std::string FindOpShardingRuleProblem(const OpShardingRule& rule,
                                      const std::vector<const Shape*>& operands,
                                      const std::vector<const Shape*>& results) {
  std::vector<bool> in_operands(rule.factor_sizes.size(), false), in_results = in_operands;
  if (std::string problem =
          FindMappingProblem(rule, rule.operands, operands, "operand", &in_operands);
      !problem.empty()) {
    return problem;
  }
  if (std::string problem = FindMappingProblem(rule, rule.results, results, "result", &in_results);
      !problem.empty()) {
    return problem;
  }
  for (size_t f = 0; f < rule.factor_sizes.size(); ++f) {
    const auto factor = static_cast<int32_t>(f);
    const std::string name = ShardingFactorName(factor);
    if (!in_operands[f] && !in_results[f])
      return StrCat("has factor ", name, ", which is in no operand and no result");
    const bool reduced = HasFactor(rule.reduction, factor);
    if (reduced && in_results[f]) return StrCat("reduces factor ", name, ", which is in a result");
    if (reduced + HasFactor(rule.need_replication, factor) + HasFactor(rule.permutation, factor) >
        1)
      return StrCat("has factor ", name,
                    " in more than one of reduction, need_replication and permutation");
  }
  return "";
}

const std::string* FindOpShardingRule(const Instruction& instruction) {
  for (const auto& [name, value] : instruction.frontend_attributes) {
    if (name == kShardingRuleAttribute) return &value;
  }
  return nullptr;
}

bool ResizeOpShardingRule(const std::vector<const Shape*>& operands,
                          const std::vector<const Shape*>& results, OpShardingRule* rule) {
  for (const auto& [mappings, shapes] :
       {std::pair{&rule->operands, &operands}, std::pair{&rule->results, &results}}) {
    if (mappings->size() != shapes->size()) return false;
    for (size_t i = 0; i < mappings->size(); ++i) {
      const std::vector<int64_t>& dims = (*shapes)[i]->dims;
      if ((*mappings)[i].size() != dims.size()) return false;
      for (size_t d = 0; d < dims.size(); ++d) {
        if (MayDiffer(*rule, (*mappings)[i][d])) continue;
        if (!ResizeDimension((*mappings)[i][d], dims[d], rule)) return false;
      }
    }
  }
  // Sizes taken from one dimension may not suit another.
  return FindOpShardingRuleProblem(*rule, operands, results).empty();
}

}  // namespace meshwright
