#ifndef MESHWRIGHT_EXPLAIN_LAYER_LABELS_H_
#define MESHWRIGHT_EXPLAIN_LAYER_LABELS_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "meshwright/explain/parameter_groups.h"
#include "meshwright/explain/part_summary.h"

namespace meshwright {

// What layers are called. A plan counts them from 0, with what lies before and after those that
// repeat; users know them by the numbers in their weights' names ("layer3", layer_names.h). Where
// these count the plan's layers too, in order, one or several to each, and leave out no more than
// the first and the last of them, they are what users are told.
class LayerLabels {
 public:
  explicit LayerLabels(const std::vector<JudgedPart>& parts);

  // Of the plan's layers `layers`, ascending: "layers 0-23", "before layer 0, layers 0-5", "after
  // layer 23".
  std::string Text(const std::vector<int64_t>& layers) const;
  // The same of all layers from `first` to `last`, which may be any numbers.
  std::string Text(int64_t first, int64_t last) const;
  // The same a word each, for tables: "before", "0", "1", "after".
  std::vector<std::string> Words(const std::vector<int64_t>& layers) const;

 private:
  // By the plan's layer: the first and the last of the user's in it. Empty: they have no numbers.
  std::map<int64_t, std::pair<int64_t, int64_t>> numbers_;
};

// "layers 0-23"; of a range of no layer: "in loops, or of all layers".
std::string LayerRangeText(const LayerRange& range, const LayerLabels& labels);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPLAIN_LAYER_LABELS_H_
