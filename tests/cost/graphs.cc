#include "tests/cost/graphs.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <utility>

#include "meshwright/hlo/text/reader.h"

namespace meshwright {

OpId Program::Op(std::string_view op) const {
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (graph.ops[i].name == op) return OpId(i);
  }
  std::cerr << "the test's program has no op named " << op << "\n";
  std::abort();
}

ValueId Program::operator[](std::string_view op) const { return graph[Op(op)].results.at(0); }

Program ParseProgram(const std::string& text) {
  absl::StatusOr<Module> module = ParseHloText(text, "test");
  if (!module.ok()) {
    std::cerr << module.status() << "\n" << text;
    std::abort();
  }
  Program program;
  program.module = std::make_unique<Module>(*std::move(module));
  absl::StatusOr<Graph> graph = BuildGraph(*program.module);
  if (!graph.ok()) {
    std::cerr << graph.status() << "\n" << text;
    std::abort();
  }
  program.graph = *std::move(graph);
  return program;
}

std::string ModuleText(const std::string& entry_lines) {
  return "HloModule m\n\nadd {\n  add.x = f32[] parameter(0)\n  add.y = f32[] parameter(1)\n"
         "  ROOT add.z = f32[] add(add.x, add.y)\n}\n\nENTRY main {\n" +
         entry_lines + "}\n";
}

}  // namespace meshwright
