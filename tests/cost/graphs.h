#ifndef MESHWRIGHT_TESTS_COST_GRAPHS_H_
#define MESHWRIGHT_TESTS_COST_GRAPHS_H_

#include <memory>
#include <string>
#include <string_view>

#include "meshwright/hlo/graph.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// A graph and the module it points into.
struct Program {
  std::unique_ptr<Module> module;
  Graph graph;

  ValueId operator[](std::string_view op)
      const;  // the (first) result of the op of that name; aborts if there is none
  OpId Op(std::string_view op) const;
};

// Parses HLO text and builds its graph; aborts if that fails, as only a mistake in the test makes
// it.
Program ParseProgram(const std::string& text);

// The text of a module whose entry computation is `entry_lines`; "%add" names the computation of a
// sum over f32.
std::string ModuleText(const std::string& entry_lines);

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_COST_GRAPHS_H_
