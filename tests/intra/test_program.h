#ifndef TESTS_INTRA_TEST_PROGRAM_H_
#define TESTS_INTRA_TEST_PROGRAM_H_

#include <memory>
#include <string>
#include <string_view>

#include "meshwright/cluster/mesh.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// A module together with its graph, which points into it.
struct TestProgram {
  std::unique_ptr<Module> module;
  Graph graph;
};

// Parses HLO text; a failure is a bug of the test and aborts it.
TestProgram ProgramFromText(std::string_view text);
// Reads a program under tests/data/hlo.
TestProgram ProgramFromData(const std::string& file);
// A mesh such as "2x4" over the cluster `spec`.
Mesh TestMesh(std::string_view mesh, std::string_view cluster);

}  // namespace meshwright

#endif  // TESTS_INTRA_TEST_PROGRAM_H_
