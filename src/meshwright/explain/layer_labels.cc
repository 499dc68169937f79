#include "meshwright/explain/layer_labels.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <numeric>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/explain/layer_names.h"
#include "meshwright/explain/screen.h"

namespace meshwright {
namespace {

// Whether every layer of the plan but the first and the last of `layers` has numbers, each only
// larger ones than that before it.
bool CountLayers(const std::map<int64_t, std::pair<int64_t, int64_t>>& numbers, int64_t layers) {
  if (numbers.size() < 2) return false;
  const auto last = std::prev(numbers.end());
  if (numbers.begin()->first > 1 || last->first < layers - 2) return false;
  return std::adjacent_find(numbers.begin(), numbers.end(), [](const auto& a, const auto& b) {
           return b.first != a.first + 1 || b.second.first <= a.second.second;
         }) == numbers.end();
}

std::string NumberedLayers(const std::vector<int64_t>& layers) {
  return absl::StrCat(layers.size() == 1 ? "layer " : "layers ", NumbersText(layers));
}

}  // namespace

LayerLabels::LayerLabels(const std::vector<JudgedPart>& parts) {
  std::vector<std::string> names;
  std::vector<int64_t> layers;
  for (const auto& [part, judged] : parts) {
    for (size_t p = 0; p < judged.size(); ++p) {
      if (!judged[p].layer.has_value() || part.received[p]) continue;
      if (part.parameters[p].category == MemoryCategory::kOptimizerState) continue;
      for (size_t m = 0; m < part.members(); ++m) {
        names.push_back(part.ParameterName(m, p));
        layers.push_back(*judged[p].layer + part.layer_offset[m]);
      }
    }
  }
  if (names.empty()) return;
  const std::vector<LayerInName> in_names = LayersInNames(names);
  for (size_t i = 0; i < names.size(); ++i) {
    int64_t number = 0;
    if (in_names[i].place < 0 ||
        !absl::SimpleAtoi(names[i].substr(in_names[i].begin, in_names[i].length), &number))
      continue;
    auto& [first, last] = numbers_.try_emplace(layers[i], number, number).first->second;
    first = std::min(first, number);
    last = std::max(last, number);
  }
  if (!CountLayers(numbers_, *std::max_element(layers.begin(), layers.end()) + 1)) numbers_.clear();
}

std::string LayerLabels::Text(const std::vector<int64_t>& layers) const {
  if (numbers_.empty()) return NumberedLayers(layers);
  const auto last = std::prev(numbers_.end());
  std::vector<std::string> parts;
  if (layers.front() < numbers_.begin()->first)
    parts.push_back(absl::StrCat("before layer ", numbers_.begin()->second.first));
  std::vector<int64_t> numbers;
  for (int64_t layer : layers) {
    const auto found = numbers_.find(layer);
    if (found == numbers_.end()) continue;
    for (int64_t n = found->second.first; n <= found->second.second; ++n) numbers.push_back(n);
  }
  if (!numbers.empty()) parts.push_back(NumberedLayers(numbers));
  if (layers.back() > last->first)
    parts.push_back(absl::StrCat("after layer ", last->second.second));
  return absl::StrJoin(parts, ", ");
}

std::string LayerLabels::Text(int64_t first, int64_t last) const {
  if (numbers_.empty())
    return first == last ? absl::StrCat("layer ", first)
                         : absl::StrCat("layers ", first, "-", last);
  // One on either side says that there are some without numbers.
  const int64_t from = std::min(std::max(first, numbers_.begin()->first - 1), last);
  const int64_t to = std::max(std::min(last, std::prev(numbers_.end())->first + 1), from);
  std::vector<int64_t> layers(static_cast<size_t>(to - from + 1));
  std::iota(layers.begin(), layers.end(), from);
  return Text(layers);
}

std::vector<std::string> LayerLabels::Words(const std::vector<int64_t>& layers) const {
  std::vector<std::string> words;
  for (const int64_t layer : layers) {
    const auto found = numbers_.find(layer);
    if (numbers_.empty()) {
      words.push_back(absl::StrCat(layer));
    } else if (found == numbers_.end()) {
      words.emplace_back(layer < numbers_.begin()->first ? "before" : "after");
    } else {
      for (int64_t n = found->second.first; n <= found->second.second; ++n)
        words.push_back(absl::StrCat(n));
    }
  }
  return words;
}

std::string LayerRangeText(const LayerRange& range, const LayerLabels& labels) {
  if (!range.first.has_value()) return "in loops, or of all layers";
  return labels.Text(*range.first, *range.last);
}

}  // namespace meshwright
