#ifndef MESHWRIGHT_HLO_DEPENDENCY_ORDER_H_
#define MESHWRIGHT_HLO_DEPENDENCY_ORDER_H_

#include <cstddef>
#include <vector>

namespace meshwright {

// An order of nodes 0..n-1 in which each comes after those it needs, or a cycle that forbids one.
struct DependencyOrder {
  std::vector<size_t> order;  // empty if there is a cycle (or no node)
  std::vector<size_t> cycle;  // each needs the next, the last the first
};

// `needs[i]` lists what node i needs; all < needs.size(). The order is that of the numbers, except
// that what is needed too early moves up to just before its first user: an order that is valid
// already stays as it is. Linear; does not recurse.
DependencyOrder OrderByDependency(const std::vector<std::vector<size_t>>& needs);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_DEPENDENCY_ORDER_H_
