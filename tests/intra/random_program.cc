#include "tests/intra/random_program.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace meshwright {
namespace {

struct Known {
  std::string name;
  bool matrix;
  bool used = false;
};

}  // namespace

std::string RandomProgram(std::mt19937_64& random, int operators) {
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  std::vector<Known> known;
  std::vector<std::string> lines;
  const size_t parameters = 1 + below(3);
  for (size_t p = 0; p < parameters; ++p) {
    const bool matrix = p == 0 || below(4) != 0;
    known.push_back({absl::StrCat("p", p), matrix});
    lines.push_back(
        absl::StrCat("p", p, " = ", matrix ? "f32[8,8]{1,0}" : "f32[8]{0}", " parameter(", p, ")"));
  }
  lines.push_back("zero = f32[] constant(0)");
  const auto pick = [&](bool matrix) -> Known* {
    std::vector<size_t> fitting;
    for (size_t i = 0; i < known.size(); ++i) {
      if (known[i].matrix == matrix) fitting.push_back(i);
    }
    if (fitting.empty()) return nullptr;
    Known& chosen = known[fitting[below(fitting.size())]];
    chosen.used = true;
    return &chosen;
  };
  for (int i = 0; i < operators; ++i) {
    const std::string name = absl::StrCat("v", i);
    bool matrix = true;
    std::string line;
    // Every draw is a statement of its own: arguments are evaluated in no particular order.
    switch (below(8)) {
      case 0:
      case 1: {
        const std::string a = pick(true)->name;
        const std::string b = pick(true)->name;
        const size_t lhs = below(2);
        const size_t rhs = below(2);
        line = absl::StrCat("f32[8,8]{1,0} dot(", a, ", ", b, "), lhs_contracting_dims={", lhs,
                            "}, rhs_contracting_dims={", rhs, "}");
        break;
      }
      case 2: {
        matrix = below(3) != 0 || pick(false) == nullptr;
        const std::string a = pick(matrix)->name;
        const std::string b = pick(matrix)->name;
        line = absl::StrCat(matrix ? "f32[8,8]{1,0}" : "f32[8]{0}", " add(", a, ", ", b, ")");
        break;
      }
      case 3:
        line = absl::StrCat("f32[8,8]{1,0} transpose(", pick(true)->name, "), dimensions={1,0}");
        break;
      case 4: {
        matrix = false;
        const std::string a = pick(true)->name;
        const size_t dimension = below(2);
        line = absl::StrCat("f32[8]{0} reduce(", a, ", zero), dimensions={", dimension,
                            "}, to_apply=", below(2) == 0 ? "max" : "sum");
        break;
      }
      case 5:
        if (Known* vector = pick(false)) {
          line = absl::StrCat("f32[8,8]{1,0} broadcast(", vector->name, "), dimensions={", below(2),
                              "}");
          break;
        }
        [[fallthrough]];
      case 6:
        line = absl::StrCat("f32[8,8]{1,0} exponential(", pick(true)->name, ")");
        break;
      default: {
        const std::string a = pick(true)->name;
        const std::string b = pick(true)->name;
        line = absl::StrCat("f32[8,8]{1,0} multiply(", a, ", ", b, ")");
      }
    }
    lines.push_back(absl::StrCat(name, " = ", line));
    known.push_back({name, matrix});
  }
  std::vector<std::string> shapes, outputs;
  for (const Known& k : known) {
    if (k.used || k.name[0] == 'p') continue;
    shapes.push_back(k.matrix ? "f32[8,8]{1,0}" : "f32[8]{0}");
    outputs.push_back(k.name);
  }
  return absl::StrCat(
      "HloModule random\n\n"
      "sum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n\n"
      "max {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] maximum(a, "
      "b)\n}\n\n"
      "ENTRY main {\n  ",
      absl::StrJoin(lines, "\n  "), "\n  ROOT out = (", absl::StrJoin(shapes, ", "), ") tuple(",
      absl::StrJoin(outputs, ", "), ")\n}\n");
}

}  // namespace meshwright
