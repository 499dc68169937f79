module @m {
  func.func public @main(%a: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
    %p = stablehlo.constant dense<false> : tensor<i1>
    %i = stablehlo.convert %p : (tensor<i1>) -> tensor<i32>
    %c = "stablehlo.case"(%i) ({
      %y = stablehlo.add %a, %a : tensor<1024x1024xf32>
      stablehlo.return %y : tensor<1024x1024xf32>
    }, {
      %y = stablehlo.dot %a, %a : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
      stablehlo.return %y : tensor<1024x1024xf32>
    }) : (tensor<i32>) -> tensor<1024x1024xf32>
    %r = stablehlo.tanh %c : tensor<1024x1024xf32>
    return %r : tensor<1024x1024xf32>
  }
}
