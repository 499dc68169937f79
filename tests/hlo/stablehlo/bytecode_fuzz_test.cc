#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "meshwright/base/file.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/hlo/stablehlo/reader.h"
#include "tests/testing/fresh_seed.h"

// Damaged bytecode: the reader must answer with a module or an error of one line.

namespace meshwright {
namespace {

std::string Damaged(std::string bytes, std::mt19937_64& random) {
  const auto below = [&](size_t bound) { return bound == 0 ? 0 : random() % bound; };
  for (size_t n = 1 + below(3); n > 0; --n) {
    const size_t at = below(bytes.size());
    switch (below(6)) {
      case 0:
        bytes.resize(at);
        break;
      case 1:
        bytes.insert(at, 1, static_cast<char>(random()));
        break;
      case 2:
        bytes.erase(at, 1 + below(8));
        break;
      case 3:  // a number that is a byte stays one
        if (!bytes.empty()) bytes[at] = static_cast<char>(below(128) << 1 | 1);
        break;
      default:
        if (!bytes.empty()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
    }
  }
  return bytes;
}

TEST(BytecodeFuzz, DamagedBytecodeGivesAStatus) {
  std::vector<std::string> programs;
  for (const auto& entry :
       std::filesystem::directory_iterator(StrCat(MESHWRIGHT_TEST_DATA, "/hlo/bytecode"))) {
    if (entry.path().extension() == ".mlirbc" || entry.path().extension() == ".jax_export") {
      programs.push_back(ReadFile(entry.path().string()).value());
    }
  }
  ASSERT_GE(programs.size(), 10u);
  const uint64_t seed = FreshSeed();
  std::mt19937_64 random(seed);
  int accepted = 0;
  constexpr int kRounds = 6000;
  for (int round = 0; round < kRounds; ++round) {
    const std::string bytes = Damaged(programs[round % programs.size()], random);
    const absl::StatusOr<StablehloProgram> program = ReadStablehlo(bytes, "f");
    if (!program.ok()) {
      EXPECT_EQ(program.status().code(), absl::StatusCode::kInvalidArgument);
      EXPECT_EQ(program.status().message().find('\n'), std::string::npos);
      continue;
    }
    ++accepted;
    static_cast<void>(BuildGraph(program->module));
  }
  std::cout << accepted << " of " << kRounds << " damaged programs were read\n";
}

}  // namespace
}  // namespace meshwright
