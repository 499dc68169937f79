#ifndef MESHWRIGHT_TESTS_SHARDING_ALL_SHARDINGS_H_
#define MESHWRIGHT_TESTS_SHARDING_ALL_SHARDINGS_H_

#include <cstdint>
#include <vector>

#include "meshwright/sharding/sharding.h"

namespace meshwright {

// Every sharding of an array of rank `rank` over the axes of `mesh`, in every order of axes within
// a dimension; with `unreduced`, also those where axes are left unreduced (by sum).
inline std::vector<Sharding> AllShardings(const Mesh& mesh, int64_t rank, bool unreduced) {
  std::vector<Sharding> all = {Sharding::Replicated(rank)};
  for (size_t a = 0; a < mesh.rank(); ++a) {
    AxisIndex axis = static_cast<AxisIndex>(a);
    std::vector<Sharding> extended = all;
    for (const Sharding& sharding : all) {
      for (size_t d = 0; d < sharding.dims.size(); ++d) {
        for (size_t at = 0; at <= sharding.dims[d].size(); ++at) {
          extended.push_back(sharding);
          AxisList& list = extended.back().dims[d];
          list.insert(list.begin() + static_cast<int64_t>(at), axis);
        }
      }
      if (unreduced) {
        extended.push_back(sharding);
        extended.back().unreduced.push_back(axis);
        extended.back().reduction = Reduction::kSum;
      }
    }
    all = std::move(extended);
  }
  return all;
}

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_SHARDING_ALL_SHARDINGS_H_
