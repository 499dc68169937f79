#include "tests/intra/test_program.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "meshwright/cluster/cluster.h"
#include "meshwright/hlo/program/reader.h"
#include "meshwright/hlo/text/reader.h"

namespace meshwright {
namespace {

template <typename T>
T OrDie(absl::StatusOr<T> value) {
  if (!value.ok()) {
    std::fprintf(stderr, "%s\n", value.status().ToString().c_str());
    std::abort();
  }
  return *std::move(value);
}

TestProgram FromModule(Module module) {
  TestProgram program;
  program.module = std::make_unique<Module>(std::move(module));
  program.graph = OrDie(BuildGraph(*program.module));
  return program;
}

}  // namespace

TestProgram ProgramFromText(std::string_view text) {
  return FromModule(OrDie(ParseHloText(text, "test")));
}

TestProgram ProgramFromData(const std::string& file) {
  return FromModule(OrDie(ReadHlo(std::string(MESHWRIGHT_TEST_DATA "/hlo/") + file)));
}

Mesh TestMesh(std::string_view mesh, std::string_view cluster) {
  return OrDie(ParseMesh(mesh, OrDie(ParseCluster(cluster))));
}

}  // namespace meshwright
