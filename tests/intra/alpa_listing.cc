#include "tests/intra/alpa_listing.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <regex>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace meshwright {
namespace {

struct Line {
  std::string name, opcode;
  std::vector<int64_t> shape;
  std::vector<std::string> operands;
  std::string text;
};

std::vector<int64_t> Integers(const std::string& text) {
  std::vector<int64_t> result;
  static const std::regex number("-?[0-9]+");
  for (std::sregex_iterator it(text.begin(), text.end(), number), end; it != end; ++it) {
    result.push_back(std::stoll(it->str()));
  }
  return result;
}

Line ReadLine(const std::string& text) {
  static const std::regex form(R"(Time +\d+: (\S+) [(\[]([^)\]]*)[)\]] = (\w+)\(([^)]*)\)(.*))");
  std::smatch m;
  std::regex_match(text, m, form);
  Line line{.name = m[1], .opcode = m[3], .shape = Integers(m[2]), .operands = {}, .text = m[5]};
  for (absl::string_view piece : absl::StrSplit(m[4].str(), ',', absl::SkipWhitespace())) {
    std::string operand(piece);
    operand.erase(std::remove_if(operand.begin(), operand.end(),
                                 [](char c) { return c == ' ' || c == '\''; }),
                  operand.end());
    if (line.opcode != "constant") line.operands.push_back(operand);
  }
  return line;
}

std::vector<int64_t> Listed(const std::string& text, const std::string& key) {
  std::smatch m;
  if (!std::regex_search(text, m, std::regex(key + R"(=[(\[]([^)\]]*)[)\]])"))) return {};
  return Integers(m[1]);
}

std::string ShapeText(const std::vector<int64_t>& shape, const char* type = "f32") {
  return absl::StrCat(type, "[", absl::StrJoin(shape, ","), "]");
}

std::string Set(const std::vector<int64_t>& dims) {
  return absl::StrCat("{", absl::StrJoin(dims, ","), "}");
}

// Which result dimensions a broadcast's operand dimensions become: the first ones of equal size in
// order.
std::vector<int64_t> BroadcastDimensions(const std::vector<int64_t>& from,
                                         const std::vector<int64_t>& to) {
  std::vector<int64_t> dims;
  size_t t = 0;
  for (int64_t size : from) {
    while (to[t] != size) ++t;
    dims.push_back(static_cast<int64_t>(t++));
  }
  return dims;
}

std::string DotAttributes(const Line& line, const std::vector<int64_t>& lhs) {
  std::vector<int64_t> batch;
  for (size_t d = 0; d + 2 < lhs.size(); ++d) batch.push_back(static_cast<int64_t>(d));
  std::string text;
  if (!batch.empty())
    text = absl::StrCat(", lhs_batch_dims=", Set(batch), ", rhs_batch_dims=", Set(batch));
  return absl::StrCat(text, ", lhs_contracting_dims=", Set(Listed(line.text, "lhs_con_dim")),
                      ", rhs_contracting_dims=", Set(Listed(line.text, "rhs_con_dim")));
}

}  // namespace

AlpaProgram ReadAlpaListing(const std::vector<std::string>& lines) {
  static const std::map<std::string, std::string> kOpcodes = {{"exp", "exponential"},
                                                              {"div", "divide"}};
  AlpaProgram program;
  std::map<std::string, Line> known;
  std::map<std::string, int> parameter_number;
  std::vector<std::string> body = {"zero = f32[] constant(0)"}, aliases;
  std::vector<std::string> updated;
  for (const std::string& text : lines) {
    Line line = ReadLine(text);
    known[line.name] = line;
    const auto shape_of = [&](size_t i) { return known[line.operands[i]].shape; };
    std::string rest;
    std::string result = ShapeText(line.shape, line.opcode == "compare" ? "pred" : "f32");
    if (line.opcode == "parameter") {
      const int number = static_cast<int>(parameter_number.size());
      parameter_number[line.name] = number;
      rest = absl::StrCat("parameter(", number, ")");
    } else if (line.opcode == "constant") {
      rest = "constant(1)";
    } else if (line.opcode == "tuple") {
      std::vector<std::string> shapes;
      for (size_t i = 0; i < line.operands.size(); ++i) {
        std::string& operand = line.operands[i];
        if (known[operand].opcode == "force_replicated") {
          operand = known[operand].operands[0];
          program.replicated_outputs.push_back(absl::StrCat("output[", i, "]"));
        }
        const Line& source = known[operand];
        shapes.push_back(ShapeText(source.shape));
        const bool update =
            source.opcode == "subtract" && parameter_number.count(source.operands[0]) > 0;
        if (!update) continue;
        updated.push_back(source.operands[0]);
        if (known[source.operands[1]].opcode != "dot") continue;
        aliases.push_back(
            absl::StrCat("{", i, "}: (", parameter_number[source.operands[0]], ", {}, may-alias)"));
      }
      body.push_back(absl::StrCat("ROOT out = (", absl::StrJoin(shapes, ", "), ") tuple(",
                                  absl::StrJoin(line.operands, ", "), ")"));
      continue;
    } else if (line.opcode == "force_replicated") {
      continue;
    } else if (line.opcode == "dot") {
      rest = absl::StrCat("dot(", absl::StrJoin(line.operands, ", "), ")",
                          DotAttributes(line, shape_of(0)));
    } else if (line.opcode == "broadcast") {
      rest = absl::StrCat("broadcast(", line.operands[0],
                          "), dimensions=", Set(BroadcastDimensions(shape_of(0), line.shape)));
    } else if (line.opcode == "transpose") {
      rest = absl::StrCat("transpose(", line.operands[0],
                          "), dimensions=", Set(Listed(line.text, "dimensions")));
    } else if (line.opcode == "reduce") {
      rest = absl::StrCat("reduce(", line.operands[0],
                          ", zero), dimensions=", Set(Listed(line.text, "dimensions")),
                          ", to_apply=sum");
    } else {
      const auto renamed = kOpcodes.find(line.opcode);
      rest = absl::StrCat(renamed == kOpcodes.end() ? line.opcode : renamed->second, "(",
                          absl::StrJoin(line.operands, ", "), ")");
      if (line.opcode == "compare") absl::StrAppend(&rest, ", direction=EQ");
    }
    body.push_back(absl::StrCat(line.name, " = ", result, " ", rest));
  }
  for (const auto& [name, number] : parameter_number) {
    if (std::find(updated.begin(), updated.end(), name) == updated.end())
      program.data_parameters.push_back(name);
  }
  program.hlo = absl::StrCat(
      "HloModule playground",
      aliases.empty() ? ""
                      : absl::StrCat(", input_output_alias={ ", absl::StrJoin(aliases, ", "), " }"),
      "\n\nsum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, "
      "b)\n}\n\nENTRY main {\n  ",
      absl::StrJoin(body, "\n  "), "\n}\n");
  return program;
}

}  // namespace meshwright
