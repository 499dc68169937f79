#ifndef TESTS_INTRA_ALPA_LISTING_H_
#define TESTS_INTRA_ALPA_LISTING_H_

#include <string>
#include <vector>

namespace meshwright {

// A program of Alpa's solver playground as HLO text, from the lines in which the playground lists
// its graph
// ("Time  4: dot.0 (1024, 128) = dot(parameter.0, parameter.2)  lhs_con_dim=(1,), rhs_con_dim=(0,)
// ..."). Updates of parameters by products (w - x*y) share the parameter's buffer, as in its tests.
struct AlpaProgram {
  std::string hlo;
  std::vector<std::string> replicated_outputs;  // "output[i]": the playground's force_replicated
  std::vector<std::string> data_parameters;     // parameters that no output updates
};
AlpaProgram ReadAlpaListing(const std::vector<std::string>& lines);

}  // namespace meshwright

#endif  // TESTS_INTRA_ALPA_LISTING_H_
