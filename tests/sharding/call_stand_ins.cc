#include "tests/sharding/call_stand_ins.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

using Letters = std::vector<std::string>;  // of one tensor, by dimension

Letters ParseLetters(std::string_view text) {
  Letters dims;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '(') {
      dims.emplace_back(1, text[i]);
      continue;
    }
    const size_t end = text.find(')', i);
    dims.emplace_back(text.substr(i + 1, end - i - 1));
    i = end;
  }
  return dims;
}

struct Term {
  size_t operand;
  Letters dims;
};

struct Einsum {
  bool largest = false;
  std::vector<Term> terms;
  Letters result;
};

Einsum ParseEinsum(std::string_view text) {
  Einsum sum;
  if (text.starts_with("max ")) {
    sum.largest = true;
    text.remove_prefix(4);
  }
  const size_t arrow = text.find("->");
  for (const absl::string_view part :
       absl::StrSplit(ToAbsl(text.substr(0, arrow)), ' ', absl::SkipEmpty())) {
    const size_t colon = part.find(':');
    sum.terms.push_back({static_cast<size_t>(std::atoi(std::string(part.substr(0, colon)).c_str())),
                         ParseLetters(FromAbsl(part.substr(colon + 1)))});
  }
  std::string_view result = text.substr(arrow + 2);
  while (result.starts_with(' ')) result.remove_prefix(1);
  sum.result = ParseLetters(result);
  return sum;
}

// Sizes of letters in these pieces: those of whole dimensions first.
class Sizes {
 public:
  // Letters that are dimensions of at least `least` elements by themselves.
  void LearnWhole(const Letters& letters, const std::vector<int64_t>& dims, int64_t least) {
    for (size_t d = 0; d < letters.size() && d < dims.size(); ++d) {
      if (letters[d].size() == 1 && dims[d] >= least) sizes_.try_emplace(letters[d][0], dims[d]);
    }
  }
  void Learn(const Letters& letters, const std::vector<int64_t>& dims) {
    for (size_t d = 0; d < letters.size() && d < dims.size(); ++d) {
      int64_t known = 1;
      std::vector<char> open;
      for (char letter : letters[d]) {
        const auto found = sizes_.find(letter);
        if (found == sizes_.end()) {
          open.push_back(letter);
        } else {
          known *= found->second;
        }
      }
      if (open.size() == 1 && dims[d] > 1 && dims[d] % known == 0)
        sizes_[open[0]] = dims[d] / known;
    }
  }
  int64_t Of(char letter) const {
    const auto found = sizes_.find(letter);
    return found == sizes_.end() ? 1 : found->second;
  }

 private:
  std::map<char, int64_t> sizes_;
};

Index IndexOf(const Letters& letters, const std::vector<int64_t>& dims, const Sizes& sizes,
              const std::map<char, int64_t>& at) {
  Index index;
  for (size_t d = 0; d < letters.size(); ++d) {
    int64_t position = 0;
    for (char letter : letters[d]) position = position * sizes.Of(letter) + at.at(letter);
    index.push_back(dims[d] == 1 ? 0 : position);
  }
  return index;
}

// `types`: of all operands of the call, of which a result need not have every letter.
Tensor Evaluate(const Einsum& sum, const std::vector<std::string>& types,
                const std::vector<Tensor>& operands, const std::vector<int64_t>& result_dims) {
  Sizes sizes;
  const auto for_each = [&](auto learn) {
    for (size_t i = 0; i < operands.size(); ++i) {
      const size_t blank = types[i].find(' ');
      if (blank != std::string::npos)
        learn(ParseLetters(std::string_view(types[i]).substr(blank + 1)), operands[i].dims);
    }
    for (const Term& term : sum.terms) learn(term.dims, operands[term.operand].dims);
    learn(sum.result, result_dims);
  };
  // Letters that are whole dimensions, those of which every piece has one element, and the rests.
  for_each([&](const auto& letters, const auto& dims) { sizes.LearnWhole(letters, dims, 2); });
  for_each([&](const auto& letters, const auto& dims) { sizes.LearnWhole(letters, dims, 1); });
  for (int round = 0; round < 2; ++round)
    for_each([&](const auto& letters, const auto& dims) { sizes.Learn(letters, dims); });
  std::string letters;
  const auto add = [&](const Letters& dims) {
    for (char letter : absl::StrJoin(dims, "")) {
      if (letters.find(letter) == std::string::npos) letters += letter;
    }
  };
  for (const Term& term : sum.terms) add(term.dims);
  add(sum.result);
  std::vector<int64_t> ranges;
  for (char letter : letters) ranges.push_back(sizes.Of(letter));
  Tensor out{result_dims, {}};
  out.data.assign(static_cast<size_t>(ElementCount(result_dims)),
                  sum.largest ? -std::numeric_limits<double>::infinity() : 0);
  ForEachIndex(ranges, [&](const Index& index) {
    std::map<char, int64_t> at;
    for (size_t i = 0; i < letters.size(); ++i) at[letters[i]] = index[i];
    double product = 1;
    for (const Term& term : sum.terms) {
      const Tensor& operand = operands[term.operand];
      product *= At(operand, IndexOf(term.dims, operand.dims, sizes, at));
    }
    double& element = At(out, IndexOf(sum.result, result_dims, sizes, at));
    element = sum.largest ? std::max(element, product) : element + product;
  });
  return out;
}

// "f32 bs(gr)d" with the letters' sizes put in.
std::string TypeOf(std::string_view text, const std::map<char, int64_t>& sizes) {
  const size_t blank = text.find(' ');
  std::vector<int64_t> dims;
  if (blank != std::string_view::npos) {
    for (const std::string& letters : ParseLetters(text.substr(blank + 1))) {
      int64_t size = 1;
      for (char letter : letters) size *= letter == '1' ? 1 : letter == '0' ? 0 : sizes.at(letter);
      dims.push_back(size);
    }
  }
  return StrCat(text.substr(0, blank), "[", absl::StrJoin(dims, ","), "]");
}

}  // namespace

std::string RandomCall(const CallExample& example, Random& random) {
  std::map<char, int64_t> sizes;
  for (char letter = 'a'; letter <= 'z'; ++letter) sizes[letter] = 2;
  // The dimensions that may be sharded four times are drawn anew in each example.
  for (char letter : {'b', 'g', 'h', 'm', 's'}) sizes[letter] = Below(random, 3) == 0 ? 4 : 2;
  std::string text;
  std::vector<std::string> names;
  for (const std::string& operand : example.operands) {
    names.push_back(StrCat("p", names.size()));
    StrAppend(&text, "  ", names.back(), " = ", TypeOf(operand, sizes), " parameter(",
              names.size() - 1, ")\n");
  }
  std::vector<std::string> types;
  for (const std::string& result : example.results) types.push_back(TypeOf(result, sizes));
  const std::string type =
      types.size() == 1 ? types[0] : StrCat("(", absl::StrJoin(types, ", "), ")");
  return StrCat(text, "  ROOT r = ", type, " custom-call(", absl::StrJoin(names, ", "),
                "), custom_call_target=\"", example.call.target, "\"", example.attributes, "\n");
}

std::vector<Tensor> ExecuteCall(std::string_view target, const std::vector<Tensor>& operands,
                                const std::vector<std::vector<int64_t>>& sizes) {
  for (const CallExample& example : CallExamples()) {
    if (example.call.target != target || example.call.results.size() != sizes.size() ||
        example.operands.size() != operands.size()) {
      continue;
    }
    std::vector<Tensor> results;
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (example.call.results[i].empty()) {  // a workspace: nothing is in it
        results.push_back({sizes[i], std::vector<double>(ElementCount(sizes[i]), 0)});
        continue;
      }
      results.push_back(
          Evaluate(ParseEinsum(example.call.results[i]), example.operands, operands, sizes[i]));
    }
    return results;
  }
  std::fprintf(stderr, "no stand-in for %s\n", std::string(target).c_str());
  std::abort();
}

}  // namespace meshwright
