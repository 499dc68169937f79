#include "meshwright/hlo/stablehlo/separate_functions.h"

#include <gtest/gtest.h>

#include <string>

namespace meshwright {
namespace {

TEST(SeparateFunctions, CopiesWhatIsCalledSeveralTimes) {
  const std::string text = R"(module @m {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = call @"f g"(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %1 = func.call @"f g"(%0) : (tensor<8xf32>) -> tensor<8xf32> loc(unknown)
    %2 = "func.call"(%1) {callee = @h} : (tensor<8xf32>) -> tensor<8xf32>
    return %2 : tensor<8xf32>
  }
  func.func private @"f g"(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = call @h(%x) : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  } loc(unknown)
  func.func private @h(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.negate %x : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  func.func private @h_1(%x: tensor<8xf32>) -> tensor<8xf32> {
    return %x : tensor<8xf32>
  }
}
)";
  EXPECT_EQ(SeparateFunctions(text, "test.mlir").value(), R"(module @m {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = call @"f g"(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %1 = func.call @"f g_1"(%0) : (tensor<8xf32>) -> tensor<8xf32> loc(unknown)
    %2 = "func.call"(%1) {callee = @h_2} : (tensor<8xf32>) -> tensor<8xf32>
    return %2 : tensor<8xf32>
  }
  func.func private @"f g"(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = call @h_3(%x) : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  } loc(unknown)
  func.func private @"f g_1"(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = call @h(%x) : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  } loc(unknown)
  func.func private @h(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.negate %x : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  func.func private @h_2(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.negate %x : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  func.func private @h_3(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.negate %x : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  func.func private @h_1(%x: tensor<8xf32>) -> tensor<8xf32> {
    return %x : tensor<8xf32>
  }
}
)");
}

}  // namespace
}  // namespace meshwright
