#include "meshwright/hlo/stablehlo/generic_functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "meshwright/hlo/stablehlo/reader.h"
#include "meshwright/hlo/text/writer.h"

// Modules as `--mlir-print-op-generic` prints them, and what the same is in the short form.

namespace meshwright {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kGeneric = R"("builtin.module"() <{sym_name = "m"}> ({
  "sdy.mesh"() <{mesh = #sdy.mesh<["x"=8]>, sym_name = "mesh"}> : () -> ()
  "func.func"() <{arg_attrs = [{sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, {}],
                  function_type = (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>,
                  res_attrs = [{jax.result_info = "}) loc("}], sym_name = "main"}> ({
  ^bb0(%arg0: tensor<8xf32> loc("w"), %arg1: tensor<f32>):  // }
    %0 = "func.call"(%arg0) <{callee = @"f("}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.reduce"(%0, %arg1) <{dimensions = array<i64: 0>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %2 = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%2) : (tensor<f32>) -> ()
    }) : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
    %3 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}>
        : (tensor<f32>) -> tensor<8xf32>
    "func.return"(%3) : (tensor<8xf32>) -> ()
  }) : () -> ()
  "func.func"() ({
  ^bb0(%arg0: tensor<8xf32>):
    "func.return"(%arg0) : (tensor<8xf32>) -> ()
  }) {function_type = (tensor<8xf32>) -> (tensor<8xf32>), sym_name = "f(",
      sym_visibility = "private"} : () -> ()
}) {mhlo.num_partitions = 1 : i32} : () -> ()
)";

constexpr std::string_view kShort = R"(module @m {
  sdy.mesh @mesh = <["x"=8]>
  func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>} loc("w"),
                  %arg1: tensor<f32>) -> tensor<8xf32> {
    %0 = func.call @"f("(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
    %1 = stablehlo.reduce(%0 init: %arg1) applies stablehlo.add across dimensions = [0]
        : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
    %3 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<8xf32>
    return %3 : tensor<8xf32>
  }
  func.func private @"f("(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    return %arg0 : tensor<8xf32>
  }
}
)";

std::string WithoutPlaces(std::string_view text) {
  absl::StatusOr<Module> module = ParseStablehlo(text, "f.mlir");
  EXPECT_TRUE(module.ok()) << module.status();
  return module.ok() ? ToHloText(*module) : "";
}

TEST(GenericFunctions, MeanWhatTheShortFormMeans) {
  const std::string read = WithoutPlaces(kGeneric);
  EXPECT_EQ(read, WithoutPlaces(kShort));
  EXPECT_THAT(read, HasSubstr("sharding="));
}

TEST(GenericFunctions, LinesStayWhereTheyAre) {
  const absl::StatusOr<std::string> text = WithShortFunctions(kGeneric, "f.mlir");
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, HasSubstr("\n  sdy.mesh @\"mesh\" = #sdy.mesh<[\"x\"=8]>\n"));
  EXPECT_THAT(*text, HasSubstr("{jax.result_info = \"}) loc(\"}"));
  for (const std::string_view kept : {"%3 = ", "\"func.return\"(%arg0)", "}) {mhlo.num"}) {
    const auto line_of = [&](std::string_view in) {
      const std::string_view before = in.substr(0, in.find(kept));
      return std::count(before.begin(), before.end(), '\n');
    };
    EXPECT_EQ(line_of(*text), line_of(kGeneric)) << kept;
  }
  EXPECT_EQ(*WithShortFunctions(kShort, "f.mlir"), kShort);
  EXPECT_FALSE(MayHaveGenericFunctions(kShort));
}

TEST(GenericFunctions, DeclarationsHaveNoBody) {
  EXPECT_EQ(*WithShortFunctions("\"func.func\"() <{function_type = (tensor<f32>) -> (), sym_name = "
                                "\"g\", sym_visibility = \"private\"}> ({\n}) : () -> ()\n",
                                "f.mlir"),
            "func.func private @\"g\"(tensor<f32>) -> ()\n\n");
}

TEST(GenericFunctions, Errors) {
  const auto error = [](std::string_view text) {
    return std::string(ParseStablehlo(text, "f.mlir").status().message());
  };
  EXPECT_EQ(error("\"func.func\"() <{sym_name = \"main\"}> ({\n}) : () -> ()"),
            "f.mlir:1:1: lacks function_type");
  EXPECT_EQ(error("\n \"func.func\"() <{sym_name = \"main\"}> ({\n"),
            "f.mlir:2:2: the file ends inside of this function");
  EXPECT_EQ(error("\"func.func\"(%a) ({}) : () -> ()"),
            "f.mlir:1:13: expected ')' as there are no operands, found \"%a\"");
  const std::string generic(kGeneric);
  for (size_t size = 0; size < generic.size(); ++size) {
    const std::string message = error(std::string_view(generic).substr(0, size));
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    if (size + 20 < generic.size()) {
      EXPECT_NE(message, "") << size;
    }
  }
}

}  // namespace
}  // namespace meshwright
