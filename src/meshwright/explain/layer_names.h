#ifndef MESHWRIGHT_EXPLAIN_LAYER_NAMES_H_
#define MESHWRIGHT_EXPLAIN_LAYER_NAMES_H_

#include <cstdint>
#include <string>
#include <vector>

namespace meshwright {

// Where a name says which layer it is of: the digits [begin, begin + length), which are the
// `place`-th number in it.
struct LayerInName {
  int64_t place = -1;  // -1: nowhere
  size_t begin = 0, length = 0;
};

// What counts layers in names of parameters that the user's program gave, which differ in numbers
// only. That is a number behind a letter or "_" ("layer3") or one that is a part of a path by
// itself ("layers[3]", "h.3.w"); of several the one that takes the most values, where parts of the
// path come before the last: "layer3" rather than "norm2" in "['layer3']['norm2']". Not counted as
// layers are
//   * numbers in the last part beside others without them, or with others: "w1", "w2" and "wk" are
//     in one layer; "w1", "b1", "w2" and "b2" are in two;
//   * an index further out than what counts layers: 0 in "state[0]['embed']" beside
//     "state[0]['layer3']['w']";
//   * what HLO appends to its names, and places in tuples: "while.51/carry{1}".
// As many entries as `names`.
std::vector<LayerInName> LayersInNames(const std::vector<std::string>& names);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPLAIN_LAYER_NAMES_H_
