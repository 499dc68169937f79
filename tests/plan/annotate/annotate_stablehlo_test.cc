#include "meshwright/plan/annotate/annotate_stablehlo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "meshwright/base/strings.h"
#include "meshwright/intra/names.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// `text` with a made-up plan in which every value is replicated but for the given ones (by op
// name). `factor_on_x`: the factor of an operator that the mesh's first axis shards, 0: none.
std::string Annotate(const std::string& text, const std::map<std::string, std::string>& shardings,
                     const std::map<std::string, char>& factor_on_x = {}) {
  Cluster cluster;
  cluster.devices_per_node = 8;
  const Mesh mesh = MakeMesh({2, 4}, cluster);
  const StablehloProgram program = ReadStablehlo(text, "test.mlir").value();
  const Graph graph = BuildGraph(program.module).value();
  IntraPlan intra;
  intra.ops.resize(graph.ops.size());
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    if (const auto label = factor_on_x.find(op.name); label != factor_on_x.end()) {
      intra.ops[i].rule = RuleFor(graph, op);
      const std::vector<Factor>& factors = intra.ops[i].rule.factors;
      const auto factor = std::find_if(factors.begin(), factors.end(),
                                       [&](const Factor& f) { return f.label == label->second; });
      EXPECT_EQ(factor == factors.end(), label->second == 0) << op.name;
      intra.ops[i].strategy = {
          label->second == 0 ? kNoFactor : static_cast<FactorIndex>(factor - factors.begin()),
          kNoFactor};
    }
    intra.ops[i].free = op.kind == OpKind::kInstruction && op.operands.empty() && op.parameter < 0;
  }
  for (const Value& value : graph.values) {
    const auto given = shardings.find(graph[value.producer].name);
    intra.shardings.push_back(given == shardings.end()
                                  ? Sharding::Replicated(value.shape.rank())
                                  : ParseSharding(given->second, mesh, value.shape.rank()).value());
  }
  const std::string annotated = AnnotateStablehlo(text, program.source, graph, mesh, intra,
                                                  TiedParameters(graph, /*by_position=*/false));
  const absl::StatusOr<Module> read = ParseStablehlo(annotated, "annotated.mlir");
  EXPECT_TRUE(read.ok()) << read.status() << "\n" << annotated;
  return annotated;
}

TEST(AnnotateStablehlo, ArgumentsResultsAndValues) {
  EXPECT_EQ(Annotate(R"(module @m attributes {mhlo.num_partitions = 1 : i32} {
  func.func @main(%w: tensor<8x8xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %0 = stablehlo.add %w, %x : tensor<8x8xf32> loc(unknown)  // kept
    return %0 : tensor<8x8xf32>
  }
}
)",
                     {{"w", "[x,_]"}, {"x", "[_,(x,y)]"}, {"add.1", "[_,y]"}}),
            R"(module @m attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func @main(%w: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, tf.aliasing_output = 0 : i32}, %x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x", "y"}]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %planned_0 = stablehlo.add %w, %x : tensor<8x8xf32> loc(unknown)
    %0 = sdy.sharding_constraint %planned_0 <@mesh, [{}, {"y"}]> : tensor<8x8xf32>  // kept
    return %0 : tensor<8x8xf32>
  }
}
)");
}

TEST(AnnotateStablehlo, PartsOfSeveralResults) {
  const std::string text = Annotate(R"(func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %c, %v = %x) : tensor<i32>, tensor<8xf32>
  cond {
    %n = stablehlo.constant dense<5> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = stablehlo.negate %v : tensor<8xf32>
    stablehlo.return %1, %2 : tensor<i32>, tensor<8xf32>
  }
  %values, %indices = chlo.top_k(%0#1, k = 8) : tensor<8xf32> -> (tensor<8xf32>, tensor<8xi32>)
  return %values : tensor<8xf32>
}
)",
                                    {{"negate.1", "[y]"}, {"while.1{1}", "[x]"}});
  EXPECT_THAT(text, HasSubstr("  }\n  %planned1_0 = sdy.sharding_constraint %0#1 "
                              "<@mesh, [{\"x\"}]> : tensor<8xf32>\n"));
  EXPECT_THAT(text, HasSubstr("chlo.top_k(%planned1_0, k = 8)"));
  EXPECT_THAT(text, HasSubstr("    %planned_2 = stablehlo.negate %v : tensor<8xf32>\n    %2 = "
                              "sdy.sharding_constraint %planned_2 <@mesh, [{\"y\"}]>"));
  EXPECT_THAT(text, HasSubstr("%planned_values, %planned_indices = chlo.top_k("));
  // Scalars and constants are left alone.
  EXPECT_THAT(text, HasSubstr("    %1 = stablehlo.add %i, %one : tensor<i32>\n"));
  EXPECT_THAT(text, HasSubstr("  %c = stablehlo.constant dense<0> : tensor<i32>\n"));
}

TEST(AnnotateStablehlo, OperandsAsNeededAndResultsAsComputed) {
  const std::string text =
      Annotate(R"(func.func @main(%w: tensor<8x8xf32>, %x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.multiply %w, %x : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
)",
               {{"x", "[x,_]"}}, {{"multiply.1", 'i'}});
  EXPECT_THAT(text, HasSubstr(R"(
  %needed0_0 = sdy.sharding_constraint %w <@mesh, [{"x"}, {}]> : tensor<8x8xf32>
  %planned_0 = stablehlo.multiply %needed0_0, %x : tensor<8x8xf32>
  %computed_0 = sdy.sharding_constraint %planned_0 <@mesh, [{"x"}, {}]> : tensor<8x8xf32>
  %0 = sdy.sharding_constraint %computed_0 <@mesh, [{}, {}]> : tensor<8x8xf32>
  return %0)"));
}

// The graph has a constant right of what it is multiplied with, wherever the text has it.
TEST(AnnotateStablehlo, OperandsBehindAConstant) {
  const std::string text = Annotate(R"(func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %c = stablehlo.constant dense<0.5> : tensor<8x8xf32>
  %0 = stablehlo.multiply %c, %x : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
)",
                                    {{"x", "[_,x]"}}, {{"multiply.1", 'i'}});
  EXPECT_THAT(text, HasSubstr(R"(
  %needed0_0 = sdy.sharding_constraint %x <@mesh, [{"x"}, {}]> : tensor<8x8xf32>
  %planned_0 = stablehlo.multiply %c, %needed0_0 : tensor<8x8xf32>
)"));
}

// What changes nothing makes no other value, which would be moved by itself.
TEST(AnnotateStablehlo, OperandsBehindWhatChangesNothing) {
  const std::string text = Annotate(R"(func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %x, %c, low = [0, 0], high = [0, 0], interior = [0, 0] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8x8xf32>
  %1 = stablehlo.negate %0 : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
)",
                                    {{"x", "[_,x]"}}, {{"negate.1", 'i'}});
  EXPECT_THAT(text, HasSubstr("  %needed0_1 = sdy.sharding_constraint %x <@mesh, "));
}

// A number is nowhere to be moved to, what it is the sum of may be.
TEST(AnnotateStablehlo, OperandsOfNumbers) {
  const std::string text = Annotate(R"(func.func @main(%x: tensor<8x8xf32>) -> tensor<f32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
)",
                                    {{"x", "[x,_]"}}, {{"reduce.1", '\0'}});
  EXPECT_THAT(text, HasSubstr(R"(
  %needed0_0 = sdy.sharding_constraint %x <@mesh, [{}, {}]> : tensor<8x8xf32>
  %0 = stablehlo.reduce(%needed0_0 init: %c) applies)"));
}

// Operands and what a reduction begins with are written in pairs.
TEST(AnnotateStablehlo, OperandsOfReductionsOfSeveral) {
  const std::string text = Annotate(
      R"(func.func @main(%x: tensor<8x8xf32>, %n: tensor<8x8xi32>) -> tensor<8xi32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %d = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.reduce(%x init: %c), (%n init: %d) across dimensions = [1] : (tensor<8x8xf32>, tensor<8x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<8xf32>, tensor<8xi32>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%e: tensor<i32>, %f: tensor<i32>) {
    %1 = stablehlo.maximum %a, %b : tensor<f32>
    %2 = stablehlo.maximum %e, %f : tensor<i32>
    stablehlo.return %1, %2 : tensor<f32>, tensor<i32>
  }
  return %0#1 : tensor<8xi32>
}
)",
      {{"x", "[_,x]"}, {"reduce.1", "[x]"}}, {{"reduce.1", 'i'}});
  EXPECT_THAT(text,
              HasSubstr("  %0:2 = stablehlo.reduce(%needed0_0 init: %c), (%needed1_0 init: %d)"));
}

TEST(AnnotateStablehlo, PartialSumsAreCombinedAfterTheirAddition) {
  const auto annotated = [](const std::string& result) {
    return Annotate(
        StrCat(
            R"(func.func @main(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.dot %a, %b : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.dot %b, %a : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = stablehlo.add %0, %1 : tensor<8x8xf32>
  %3 = stablehlo.multiply %2, )",
            result, R"( : tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}
)"),
        {{"add.1", "[x,_]"}}, {{"dot.1", 'k'}, {"dot.2", 'k'}, {"add.1", '+'}});
  };
  const std::string text = annotated("%2");
  EXPECT_THAT(text, HasSubstr(R"(
  %0 = sdy.sharding_constraint %planned_0 <@mesh, [{}, {}], unreduced={"x"}> : tensor<8x8xf32>)"));
  EXPECT_THAT(text, HasSubstr(R"(
  %planned_2 = stablehlo.add %0, %1 : tensor<8x8xf32>
  %computed_2 = sdy.sharding_constraint %planned_2 <@mesh, [{}, {}], unreduced={"x"}> : tensor<8x8xf32>
  %2 = sdy.sharding_constraint %computed_2 <@mesh, [{"x"}, {}]> : tensor<8x8xf32>
)"));
  // Another user of a term wants its sum: then both terms are summed up where they are made.
  EXPECT_THAT(annotated("%1"), Not(HasSubstr("unreduced")));
}

TEST(AnnotateStablehlo, OnlyWhatMakesAValueComputesIt) {
  const std::string text = Annotate(R"(module {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = call @f(%x) : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  func.func private @f(%x: tensor<8xf32>) -> tensor<8xf32> {
    %1 = stablehlo.negate %x : tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}
)",
                                    {}, {{"negate.1", 'i'}});
  EXPECT_THAT(text, HasSubstr("%computed_1 = "));
  EXPECT_THAT(text, HasSubstr("%needed0_1 = "));
  EXPECT_THAT(text, Not(HasSubstr("%computed_0 = ")));
  EXPECT_THAT(text, Not(HasSubstr("%needed0_0 = ")));
}

TEST(AnnotateStablehlo, LoopsStartAsTheyGoOn) {
  const std::string text = Annotate(R"(func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %y:2 = chlo.top_k(%x, k = 8) : tensor<8xf32> -> (tensor<8xf32>, tensor<8xi32>)
  %0:2 = stablehlo.while(%i = %c, %v = %y#0) : tensor<i32>, tensor<8xf32>
  cond {
    %n = stablehlo.constant dense<5> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = stablehlo.negate %v : tensor<8xf32>
    stablehlo.return %1, %2 : tensor<i32>, tensor<8xf32>
  }
  return %0#1 : tensor<8xf32>
}
)",
                                    {{"while.1/carry{1}", "[x]"}, {"while.1{1}", "[x]"}});
  EXPECT_THAT(text, HasSubstr("  %needed1_0 = sdy.sharding_constraint %planned0_y <@mesh, "
                              "[{\"x\"}]> : tensor<8xf32>\n"
                              "  %0:2 = stablehlo.while(%i = %c, %v = %needed1_0)"));
}

// What a loop only reads is moved before it too, not in every round or for each of its readers.
TEST(AnnotateStablehlo, LoopsReadAsPlanned) {
  const std::string text =
      Annotate(R"(func.func @main(%x: tensor<8xf32>, %w: tensor<8xf32>) -> tensor<8xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %w2 = stablehlo.multiply %w, %x : tensor<8xf32>
  %0:3 = stablehlo.while(%i = %c, %u = %w2, %v = %x) : tensor<i32>, tensor<8xf32>, tensor<8xf32>
  cond {
    %n = stablehlo.constant dense<5> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = stablehlo.add %v, %u : tensor<8xf32>
    stablehlo.return %1, %u, %2 : tensor<i32>, tensor<8xf32>, tensor<8xf32>
  }
  return %0#2 : tensor<8xf32>
}
)",
               {{"multiply.1", "[x]"}});
  EXPECT_THAT(text, HasSubstr("  %needed1_0 = sdy.sharding_constraint %w2 <@mesh, [{}]> : "
                              "tensor<8xf32>\n"
                              "  %0:3 = stablehlo.while(%i = %c, %u = %needed1_0, %v = %x)"));
}

// What one operator of its body wants otherwise does not become how the loop carries it.
TEST(AnnotateStablehlo, LoopsCarryAsPlannedWhatTheirBodiesMove) {
  const std::string text = Annotate(R"(func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %c, %v = %x) : tensor<i32>, tensor<8x8xf32>
  cond {
    %n = stablehlo.constant dense<5> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = stablehlo.transpose %v, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
    stablehlo.return %1, %2 : tensor<i32>, tensor<8x8xf32>
  }
  return %0#1 : tensor<8x8xf32>
}
)",
                                    {{"transpose.1", "[x,_]"}}, {{"transpose.1", 'i'}});
  EXPECT_THAT(
      text,
      HasSubstr(
          "    %step0_needed0_2 = sdy.sharding_constraint %v <@mesh, [{}, {}]> : "
          "tensor<8x8xf32>\n"
          "    %needed0_2 = sdy.sharding_constraint %step0_needed0_2 <@mesh, [{}, {\"x\"}]> : "
          "tensor<8x8xf32>\n"
          "    %planned_2 = stablehlo.transpose %needed0_2,"));
}

// XLA refuses branches that end in several shardings.
TEST(AnnotateStablehlo, BranchesEndAsTheirConditional) {
  const std::string text =
      Annotate(R"(func.func @main(%p: tensor<i1>, %x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0:2 = "stablehlo.if"(%p) ({
    %1 = stablehlo.negate %x : tensor<8x8xf32>
    %2:2 = stablehlo.optimization_barrier %1, %x : tensor<8x8xf32>, tensor<8x8xf32>
    stablehlo.return %2#0, %x : tensor<8x8xf32>, tensor<8x8xf32>
  }, {
    %1 = stablehlo.abs %x : tensor<8x8xf32>
    %c = stablehlo.constant dense<0.0> : tensor<8x8xf32>
    stablehlo.return %1, %c : tensor<8x8xf32>, tensor<8x8xf32>
  }) : (tensor<i1>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
  %3 = stablehlo.add %0#0, %0#1 : tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}
)",
               {{"negate.1", "[x,_]"},
                {"abs.1", "[_,y]"},
                {"conditional.1{0}", "[_,y]"},
                {"conditional.1{1}", "[y,x]"}});
  EXPECT_THAT(text, HasSubstr(R"(
    %branch0_0_0 = sdy.sharding_constraint %planned0_2 <@mesh, [{}, {"y"}]> : tensor<8x8xf32>
    %branch0_1_0 = sdy.sharding_constraint %x <@mesh, [{"y"}, {"x"}]> : tensor<8x8xf32>
    stablehlo.return %branch0_0_0, %branch0_1_0 : tensor<8x8xf32>, tensor<8x8xf32>
)"));
  // One is there already, and a constant is made as it is needed.
  EXPECT_THAT(text, HasSubstr("stablehlo.return %1, %c : "));
}

// What a conditional leaves is moved behind it, not in each of its branches.
TEST(AnnotateStablehlo, ConditionalsMoveWhatTheyLeaveOnce) {
  const std::string text =
      Annotate(R"(func.func @main(%p: tensor<i1>, %x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = "stablehlo.if"(%p) ({
    %1 = stablehlo.negate %x : tensor<8x8xf32>
    stablehlo.return %1 : tensor<8x8xf32>
  }, {
    stablehlo.return %x : tensor<8x8xf32>
  }) : (tensor<i1>) -> tensor<8x8xf32>
  %1 = stablehlo.optimization_barrier %0 : tensor<8x8xf32>
  %2 = stablehlo.add %1, %x : tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}
)",
               {{"x", "[x,_]"}, {"negate.1", "[x,_]"}, {"conditional.1", "[_,_]"}},
               {{"conditional.1", 'i'}});
  EXPECT_THAT(text, HasSubstr("    stablehlo.return %1 : tensor<8x8xf32>\n  }, {\n"
                              "    stablehlo.return %x : tensor<8x8xf32>\n"));
  EXPECT_THAT(text, HasSubstr(R"(
  %computed_0 = sdy.sharding_constraint %planned_0 <@mesh, [{"x"}, {}]> : tensor<8x8xf32>
  %0 = sdy.sharding_constraint %computed_0 <@mesh, [{}, {}]> : tensor<8x8xf32>
  %planned_1 = stablehlo.optimization_barrier %0 : tensor<8x8xf32>
  %1 = sdy.sharding_constraint %planned_1 <@mesh, [{}, {}]> : tensor<8x8xf32>)"));
}

// Every step of a move is stated, wherever it happens, and what all users of an argument want is
// moved before any of them: in a branch it would be moved again.
TEST(AnnotateStablehlo, MovesGoStepByStep) {
  constexpr char kText[] =
      R"(func.func @main(%p: tensor<i1>, %x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = "stablehlo.if"(%p) ({
    %1 = stablehlo.negate %x : tensor<8x8xf32>
    stablehlo.return %1 : tensor<8x8xf32>
  }, {
    %1 = stablehlo.abs %x : tensor<8x8xf32>
    stablehlo.return %1 : tensor<8x8xf32>
  }) : (tensor<i1>) -> tensor<8x8xf32>
  %1 = stablehlo.add %0, %x : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
)";
  const Mesh mesh = MakeMesh({2, 4}, Cluster{.devices_per_node = 8});
  const StablehloProgram program = ReadStablehlo(kText, "test.mlir").value();
  const Graph graph = BuildGraph(program.module).value();
  const auto sharding = [&](const char* text) { return ParseSharding(text, mesh, 2).value(); };
  std::vector<Sharding> values;
  for (const Value& value : graph.values)
    values.push_back(Sharding::Replicated(value.shape.rank()));
  const size_t count = graph.ops.size();
  Movements movements;
  movements.needed.resize(count);
  movements.computed.resize(count);
  movements.operand_paths.resize(count);
  movements.result_paths.resize(count);
  movements.shared.resize(count);
  movements.pending.resize(count);
  for (size_t i = 0; i < count; ++i) {
    const Op& op = graph.ops[i];
    if (op.name == "x") {
      values[op.results[0].index()] = sharding("[x,y]");
      movements.shared[i] = sharding("replicated");
      movements.result_paths[i] = {{sharding("[x,_]")}};
    } else if (op.name == "negate.1") {
      movements.needed[i] = {sharding("replicated")};
    } else if (op.name == "add.1") {
      movements.needed[i] = {sharding("replicated"), sharding("replicated")};
    } else if (op.name == "abs.1") {
      values[op.results[0].index()] = sharding("[x,y]");
    } else if (op.kind == OpKind::kSelectBranch) {
      movements.operand_paths[i] = {{}, {sharding("[_,y]")}};
    } else if (op.kind == OpKind::kOutput) {
      movements.operand_paths[i] = {{sharding("[y,_]")}};
    }
  }
  const std::string text =
      AnnotateStablehlo(kText, program.source, graph, mesh, values, {sharding("[y,x]")}, movements);
  EXPECT_TRUE(ParseStablehlo(text, "annotated.mlir").ok()) << text;
  EXPECT_THAT(text, HasSubstr("%stored_x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, "
                              "[{\"x\"}, {\"y\"}]>}) -> "));
  EXPECT_THAT(text, HasSubstr(R"({
  %step0_x = sdy.sharding_constraint %stored_x <@mesh, [{"x"}, {}]> : tensor<8x8xf32>
  %x = sdy.sharding_constraint %step0_x <@mesh, [{}, {}]> : tensor<8x8xf32>
  %planned_0 = "stablehlo.if"(%p) ({
    %planned_1 = stablehlo.negate %x : )"));
  EXPECT_THAT(text, HasSubstr(R"(
    %needed0_1 = sdy.sharding_constraint %x <@mesh, [{"x"}, {"y"}]> : tensor<8x8xf32>
    %planned_1 = stablehlo.abs %needed0_1 : tensor<8x8xf32>
    %1 = sdy.sharding_constraint %planned_1 <@mesh, [{"x"}, {"y"}]> : tensor<8x8xf32>
    %step0_branch1_0_0 = sdy.sharding_constraint %1 <@mesh, [{}, {"y"}]> : tensor<8x8xf32>
    %branch1_0_0 = sdy.sharding_constraint %step0_branch1_0_0 <@mesh, [{}, {}]> : tensor<8x8xf32>
    stablehlo.return %branch1_0_0 : tensor<8x8xf32>
)"));
  EXPECT_THAT(text, HasSubstr(R"(
  %step0_output_0 = sdy.sharding_constraint %1 <@mesh, [{"y"}, {}]> : tensor<8x8xf32>
  %output_0 = sdy.sharding_constraint %step0_output_0 <@mesh, [{"y"}, {"x"}]> : tensor<8x8xf32>
  return %output_0 : tensor<8x8xf32>
)"));
}

// XLA's conversion has the second reshape read what the first one reads, which others read too.
TEST(AnnotateStablehlo, ReshapesOfReshapesAreMadeOfWhatTheFirstReads) {
  const std::string text =
      Annotate(R"(func.func @main(%x: tensor<12x24xf32>) -> (tensor<12x24xf32>, tensor<6x48xf32>) {
  %0 = stablehlo.negate %x : tensor<12x24xf32>
  %1 = stablehlo.reshape %0 : (tensor<12x24xf32>) -> tensor<288xf32>
  %2 = stablehlo.reshape %1 : (tensor<288xf32>) -> tensor<288x1xf32>
  %3 = stablehlo.reshape %2 : (tensor<288x1xf32>) -> tensor<6x48xf32>
  %4 = stablehlo.exponential %3 : tensor<6x48xf32>
  %5 = stablehlo.tanh %1 : tensor<288xf32>
  %6 = stablehlo.reshape %5 : (tensor<288xf32>) -> tensor<12x24xf32>
  return %6, %4 : tensor<12x24xf32>, tensor<6x48xf32>
}
)",
               {{"reshape.1", "[x]"}, {"tanh.1", "[x]"}});
  // The first one, sharded as its other user wants it, is not what the last one reads.
  EXPECT_THAT(text, HasSubstr("%1 = sdy.sharding_constraint %planned_1 <@mesh, [{\"x\"}]>"));
  EXPECT_THAT(text,
              HasSubstr("  %reshaped_3 = stablehlo.reshape %0 : (tensor<12x24xf32>) -> "
                        "tensor<288x1xf32>\n  %planned_3 = stablehlo.reshape %reshaped_3 : "));
  EXPECT_THAT(text, HasSubstr("%2 = stablehlo.reshape %1 :"));
  EXPECT_THAT(text, HasSubstr("%planned_6 = stablehlo.reshape %5 :"));
}

TEST(AnnotateStablehlo, WhatWasThereIsReplaced) {
  const std::string text = Annotate(R"(module {
  sdy.mesh @mesh = <["data"=8]>
  func.func @main(%x: tensor<8x8xf32> {mhlo.sharding = "{replicated}", sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> tensor<8x8xf32> {
    %0 = stablehlo.negate %x {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {}]>]>} : tensor<8x8xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{}, {"data"}]> : tensor<8x8xf32>
    %2 = call @f(%1) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %3 = call @f(%2) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    return %3 : tensor<8x8xf32>
  }
  func.func private @f(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %0 = sdy.sharding_constraint %x <@mesh, [{}, {"data"}]> : tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }
}
)",
                                    {{"x", "[x,_]"}, {"negate.1", "[_,x]"}});
  EXPECT_THAT(text, HasSubstr("sdy.mesh @mesh_0 = <[\"x\"=2, \"y\"=4]>"));
  EXPECT_THAT(text, Not(HasSubstr("{\"data\"}")));
  EXPECT_THAT(text, Not(HasSubstr("mhlo.sharding")));
  EXPECT_THAT(text, HasSubstr("%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh_0, "
                              "[{\"x\"}, {}]>})"));
  EXPECT_THAT(text, HasSubstr("%0 = stablehlo.negate %x {sdy.sharding = "
                              "#sdy.sharding_per_value<[<@mesh_0, [{}, {\"x\"}]>]>}"));
  // A function with two calls has no plan of its own.
  EXPECT_THAT(text, HasSubstr("%0 = sdy.sharding_constraint %x <@mesh_0, [{?}, {?}]>"));
}

}  // namespace
}  // namespace meshwright
