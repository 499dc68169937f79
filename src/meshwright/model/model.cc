#include "meshwright/model/model.h"

#include <algorithm>

namespace meshwright::transformer {

int64_t Stack::CountOf(int32_t kind) const {
  return std::count(layers.begin(), layers.end(), kind);
}

int64_t Model::layers() const {
  int64_t sum = 0;
  for (const Stack& stack : stacks) sum += static_cast<int64_t>(stack.layers.size());
  return sum;
}

}  // namespace meshwright::transformer
