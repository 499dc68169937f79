#include "meshwright/hlo/text/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "meshwright/base/strings.h"
#include "meshwright/hlo/text/writer.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

Module ParseHlo(std::string_view text) {
  absl::StatusOr<Module> module = ParseHloText(text, "test.hlo");
  EXPECT_TRUE(module.ok()) << module.status();
  return module.ok() ? *std::move(module) : Module();
}

// The root of a program whose entry is `body`.
Instruction ParseRoot(std::string_view body, std::string_view before = "") {
  const Module module = ParseHlo(StrCat("HloModule m\n", before, "\nENTRY e {\n", body, "\n}\n"));
  if (!module.entry.valid()) return Instruction();
  return module.entry_computation()[module.entry_computation().root];
}

constexpr std::string_view kAdd =
    "add_f32 { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }";

TEST(TextReaderTest, ReadsAProgram) {
  const Module m = ParseHlo(R"(HloModule jit_f, entry_computation_layout={(f32[2]{0})->f32[2]{0}}

ENTRY main.3 {
  x.1 = f32[2]{0} parameter(0), metadata={op_name="x"}
  ROOT y.2 = f32[2]{0} add(x.1, x.1)
}
)");
  EXPECT_EQ(m.name, "jit_f");
  ASSERT_EQ(m.computations.size(), 1u);
  const Computation& entry = m.entry_computation();
  EXPECT_EQ(entry.name, "main.3");
  EXPECT_FALSE(entry.has_signature);
  EXPECT_EQ(entry.root, InstructionId(1));
  EXPECT_THAT(entry.parameters, ElementsAre(InstructionId(0)));
  const Instruction& y = entry[entry.root];
  EXPECT_EQ(y.name, "y.2");
  EXPECT_EQ(y.opcode, Opcode::kAdd);
  EXPECT_EQ(y.shape.ToString(), "f32[2]{0}");
  EXPECT_THAT(y.operands, ElementsAre(InstructionId(0), InstructionId(0)));
  EXPECT_TRUE(y.is_root);
  EXPECT_EQ(y.place.line, 5);
  EXPECT_EQ(entry[InstructionId(0)].metadata.op_name, "x");
}

// What XLA's parser takes and its printer never writes.
TEST(TextReaderTest, HeaderAndEntryMayBeLeftOut) {
  constexpr std::string_view kBody =
      "e {\n  a = f32[8] parameter(0)\n  ROOT r = f32[8] negate(a)\n}";
  const Module marked = ParseHlo(StrCat("ENTRY ", kBody));
  EXPECT_EQ(marked.name, "module_e");
  EXPECT_EQ(marked.entry_computation().name, "e");
  EXPECT_EQ(ParseHlo(kBody), marked);
  const Module unmarked =
      ParseHlo(StrCat("HloModule m:\nf { b = f32[] parameter(0) }\n", kBody, "\n"));
  EXPECT_EQ(unmarked.name, "m");
  EXPECT_EQ(unmarked.entry_computation().name, "e");
  ASSERT_EQ(unmarked.computations.size(), 2u);
  EXPECT_EQ(unmarked.entry_computation(), marked.entry_computation());
}

// The type of the root of `body` in a program with `a`, `p` and `s` and computations to call.
std::string InferredType(std::string_view root) {
  return ParseRoot(StrCat("a = f32[4,6] parameter(0)\n p = pred[4,6] parameter(1)\n s = f32[] "
                          "parameter(2)\n c = c64[4,6] parameter(3)\n ROOT r = ",
                          root),
                   "add { x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = add(x, y) }\n"
                   "less { x = f32[] parameter(0) y = f32[] parameter(1)\n"
                   "  ROOT z = compare(x, y), direction=LT }\n"
                   "done { t = f32[] parameter(0) ROOT z = compare(t, t), direction=NE }\n"
                   "next { t = f32[] parameter(0) ROOT z = negate(t) }\n")
      .shape.ToString();
}

TEST(TextReaderTest, TypesMayBeLeftOut) {
  EXPECT_EQ(InferredType("negate(a)"), "f32[4,6]");
  EXPECT_EQ(InferredType("add(a, a)"), "f32[4,6]");
  EXPECT_EQ(InferredType("compare(a, a), direction=GT"), "pred[4,6]");
  EXPECT_EQ(InferredType("select(p, a, a)"), "f32[4,6]");
  EXPECT_EQ(InferredType("clamp(s, a, s)"), "f32[4,6]");
  EXPECT_EQ(InferredType("is-finite(a)"), "pred[4,6]");
  EXPECT_EQ(InferredType("real(c)"), "f32[4,6]");
  EXPECT_EQ(InferredType("abs(c)"), "f32[4,6]");
  EXPECT_EQ(InferredType("complex(a, a)"), "c64[4,6]");
  EXPECT_EQ(InferredType("tuple(a, s)"), "(f32[4,6], f32[])");
  EXPECT_EQ(InferredType("get-tuple-element(tuple(a, s)), index=1"), "f32[]");
  EXPECT_EQ(InferredType("transpose(a), dimensions={1,0}"), "f32[6,4]");
  EXPECT_EQ(InferredType("concatenate(a, a), dimensions={1}"), "f32[4,12]");
  EXPECT_EQ(InferredType("pad(a, s), padding=1_1x0_2_1"), "f32[6,13]");
  EXPECT_EQ(InferredType("reverse(a), dimensions={0}"), "f32[4,6]");
  EXPECT_EQ(InferredType("reduce(a, s), dimensions={0}, to_apply=add"), "f32[6]");
  EXPECT_EQ(InferredType("reduce(a, a, s, s), dimensions={1}, to_apply={\n"
                         "  w = f32[] parameter(0) x = f32[] parameter(1) y = f32[] parameter(2)\n"
                         "  z = f32[] parameter(3) ROOT t = tuple(add(w, y), add(x, z)) }"),
            "(f32[4], f32[4])");
  EXPECT_EQ(InferredType("map(a, a), dimensions={0,1}, to_apply=less"), "pred[4,6]");
  EXPECT_EQ(InferredType("sort(a), dimensions={1}, to_apply=less"), "f32[4,6]");
  EXPECT_EQ(InferredType("dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={1}"),
            "f32[4,4]");
  EXPECT_EQ(InferredType("while(s), condition=done, body=next"), "f32[]");
  EXPECT_EQ(InferredType("call(s), to_apply=next"), "f32[]");
  EXPECT_EQ(InferredType("conditional(is-finite(s), s, s), true_computation=next, "
                         "false_computation=next"),
            "f32[]");
}

TEST(TextReaderTest, TypesFollowWhatIsDefinedLater) {
  const Instruction root = ParseRoot(
      "ROOT r = negate(b)\n b = call(a), to_apply=f\n"
      "a = f32[3] parameter(0)\n}\nf { ROOT n = negate(p)\n"
      "p = f32[3] parameter(0)");
  EXPECT_EQ(root.shape.ToString(), "f32[3]");
}

TEST(TextReaderTest, InstructionsAndComputationsMayBeNested) {
  const Module m = ParseHlo(R"(HloModule m
ENTRY e {
  a = f32[8] parameter(0)
  z = f32[] constant(0)
  b = f32[8] add(f32[8] negate(a), multiply(a, a))
  ROOT r = f32[] reduce(b, z), dimensions={0}, to_apply={
    x = f32[] parameter(0)
    y = f32[] parameter(1)
    ROOT s = f32[] add(x, y)
  }
})");
  ASSERT_EQ(m.computations.size(), 2u);
  EXPECT_EQ(m.computations[0].name, "region");
  const Computation& entry = m.entry_computation();
  const Instruction& root = entry[entry.root];
  EXPECT_THAT(root.called, ElementsAre(ComputationId(0)));
  const Instruction& add = entry[root.operands[0]];
  EXPECT_EQ(add.name, "b");
  ASSERT_EQ(add.operands.size(), 2u);
  EXPECT_EQ(entry[add.operands[0]].name, "negate.anon");
  EXPECT_EQ(entry[add.operands[1]].opcode, Opcode::kMultiply);
  EXPECT_EQ(entry[add.operands[1]].shape.ToString(), "f32[8]");
}

// Operands that have types are parameters.
TEST(TextReaderTest, SingleInstruction) {
  const Module named = ParseHlo("%c = f32[2,3] add(f32[2,3] %a, f32[2,3] %b)");
  EXPECT_EQ(named.name, "module_main");
  ASSERT_EQ(named.computations.size(), 1u);
  const Computation& main = named.entry_computation();
  ASSERT_EQ(main.parameters.size(), 2u);
  EXPECT_EQ(main[main.parameters[1]].name, "b");
  EXPECT_EQ(main[main.root].name, "c");
  const Module unnamed = ParseHlo(
      "f32[] reduce(f32[4], f32[]), dimensions={0}, to_apply={\n"
      " x = f32[] parameter(0)\n y = f32[] parameter(1)\n"
      " ROOT s = f32[] add(x, y)\n}");
  EXPECT_EQ(unnamed.computations.size(), 2u);
  EXPECT_EQ(unnamed.entry_computation().parameters.size(), 2u);
  EXPECT_EQ(unnamed.entry_computation()[unnamed.entry_computation().root].opcode, Opcode::kReduce);
}

// Read as the operators that XLA computes it with.
TEST(TextReaderTest, ScaledDot) {
  const Module m = ParseHlo(R"(HloModule m
ENTRY e {
  a = f8e4m3fn[128,256] parameter(0)
  b = f8e4m3fn[64,256] parameter(1)
  s = f8e8m0fnu[128,8] parameter(2)
  t = f8e8m0fnu[] parameter(3)
  ROOT r = bf16[128,64] scaled-dot(a, b, s, t), lhs_contracting_dims={1}, rhs_contracting_dims={1}
})");
  std::string text;
  for (const Instruction& i : m.entry_computation().instructions) {
    StrAppend(&text, i.name, " ", i.shape.ToString(), "; ");
  }
  EXPECT_EQ(text,
            "a f8e4m3fn[128,256]; b f8e4m3fn[64,256]; s f8e8m0fnu[128,8]; t f8e8m0fnu[]; "
            "r.convert bf16[128,256]; r.scale bf16[128,8]; r.broadcast bf16[128,8,32]; "
            "r.reshape bf16[128,256]; r.scaled bf16[128,256]; r.convert.1 bf16[64,256]; "
            "r.scale.1 bf16[]; r.broadcast.1 bf16[64,256]; r.scaled.1 bf16[64,256]; "
            "r bf16[128,64]; ");
  const Instruction& root = m.entry_computation()[m.entry_computation().root];
  EXPECT_EQ(root.opcode, Opcode::kDot);
  EXPECT_EQ(root.operands.size(), 2u);
}

// XLA's parser makes one value the first of an array's elements.
TEST(TextReaderTest, OneValueForAnArray) {
  EXPECT_EQ(ParseRoot("ROOT c = s8[2,2] constant(7)").literal.data, std::string("\7\0\0\0", 4));
  EXPECT_EQ(ParseRoot("ROOT c = s8[0] constant(7)").literal.data, "");
  EXPECT_TRUE(ParseRoot("ROOT c = f32[1000000,1000000] constant(7)").literal.elided);
}

// Programs as people write them: XLA's parser takes these too.
TEST(TextReaderTest, BlanksCommasAndColonsThatMayBeThereOrNot) {
  EXPECT_EQ(ParseHlo("ENTRY e (p f32[2,3]{1,0}, q f32[2,3]) -> f32[2,3] {\n"
                     "p = f32 [2,3] {1,0} parameter(0)\nq = f32[2,3] parameter(1)\n"
                     "c = f32[2,3] constant({{1, 2, 3} {4, 5, 6}})\n"
                     "s = f32[2,3] add(p, c)\nROOT r = f32[2,3] add(s, q)\n}\n"),
            ParseHlo("ENTRY e (p: f32[2,3]{1,0}, q: f32[2,3]) -> f32[2,3] {\n"
                     "p = f32[2,3]{1,0} parameter(0)\nq = f32[2,3] parameter(1)\n"
                     "c = f32[2,3] constant({{1, 2, 3}, {4, 5, 6}})\n"
                     "s = f32[2,3] add(p, c)\nROOT r = f32[2,3] add(s, q)\n}\n"));
}

TEST(TextReaderTest, BothStylesReadTheSame) {
  const Module brief = ParseHlo(R"(HloModule m
f { p = f32[2]{0} parameter(0) ROOT n = f32[2]{0} negate(p) }
ENTRY e { x = f32[2]{0} parameter(0) ROOT c = f32[2]{0} call(x), to_apply=f }
)");
  const Module verbose = ParseHlo(R"(HloModule m
%f (p: f32[2]) -> f32[2] {
  %p = f32[2]{0} parameter(0)
  ROOT %n = f32[2]{0} negate(f32[2]{0} %p)
}
ENTRY %e (x: f32[2]) -> f32[2] {
  %x = f32[2]{0} parameter(0)
  ROOT %c = f32[2]{0} call(f32[2]{0} %x), to_apply=%f
}
)");
  EXPECT_TRUE(verbose.entry_computation().has_signature);
  EXPECT_EQ(brief, verbose);
}

TEST(TextReaderTest, OperandsMayHaveTupleShapesAndComments) {
  const Instruction root = ParseRoot(R"(
  // a comment
  t = (f32[2], s32[]) parameter(0)
  ROOT g = s32[] get-tuple-element((f32[2]{0}, /*index=1*/s32[]) /* here */ t), index=1)");
  EXPECT_EQ(root.tuple_index, 1);
}

// A comment ends a value that is kept as text; a line comment goes no further than its line.
TEST(TextReaderTest, CommentsAreNoPartOfAttributes) {
  constexpr std::string_view kOperands =
      "x = f32[1,8,8,3] parameter(0)\n k = f32[3,3,3,4] parameter(1)\n";
  for (const std::string_view comment : {"/*c*/", " /* c */", "//c\n", " // a, b\n"}) {
    const Instruction root = ParseRoot(
        StrCat(kOperands, "ROOT c = f32[1,6,6,4] convolution(x, k), window={size=3x3}", comment,
               ", dim_labels=b01f_01io->b01f", comment, ", operand_precision={highest,highest}",
               comment, ", backend_config={\"a\":1}", comment));
    EXPECT_EQ(root.convolution.output_feature, 3);
    EXPECT_THAT(root.other, ElementsAre(Pair("operand_precision", "{highest,highest}")));
    EXPECT_EQ(root.backend_config, "{\"a\":1}");
    const Module module = ParseHlo(StrCat("HloModule m, replica_count=1", comment,
                                          "\nENTRY e { ROOT a = s32[4] iota(), iota_dimension=0",
                                          comment, ", sharding={replicated}", comment, " }"));
    EXPECT_THAT(module.other, ElementsAre(Pair("replica_count", "1")));
    EXPECT_EQ(module.entry_computation()[module.entry_computation().root].sharding, "{replicated}");
  }
  const Module two = ParseHlo(
      "HloModule m\nENTRY e {\n  a = f32[] parameter(0), statistics=x // here\n"
      "  ROOT b = f32[] negate(a)\n}");
  EXPECT_EQ(two.entry_computation().instructions.size(), 2u);
}

TEST(TextReaderTest, TheLastInstructionIsTheRootIfNoneIsMarked) {
  EXPECT_EQ(ParseRoot("a = f32[] parameter(0)\n b = f32[] negate(a)").name, "b");
}

TEST(TextReaderTest, ReordersForwardReferences) {
  const Module m = ParseHlo(R"(HloModule m
ENTRY e {
  ROOT z = f32[] call(y), to_apply=later, control-predecessors={w}
  y = f32[] negate(x)
  x = f32[] parameter(0)
  w = f32[] negate(x)
}
later { ROOT p = f32[] parameter(0) }
)");
  ASSERT_EQ(m.computations.size(), 2u);
  EXPECT_EQ(m.computations[0].name, "later");
  EXPECT_EQ(m.entry, ComputationId(1));
  const Computation& e = m.entry_computation();
  std::string names;
  for (const Instruction& i : e.instructions) names += i.name;
  EXPECT_EQ(names, "xywz");
  EXPECT_EQ(e.root, InstructionId(3));
  EXPECT_THAT(e[e.root].operands, ElementsAre(InstructionId(1)));
  EXPECT_THAT(e[e.root].control_predecessors, ElementsAre(InstructionId(2)));
  EXPECT_THAT(e[e.root].called, ElementsAre(ComputationId(0)));
}

TEST(TextReaderTest, ReadsModuleAttributes) {
  const Module m = ParseHlo(
      R"(HloModule jit_step, is_scheduled=true, )"
      R"(input_output_alias={ {0}: (1, {}, may-alias), {1,2}: (0, {3}, must-alias), {}: (2, {}) }, )"
      R"(buffer_donor={ (0, {}), (1, {2}) }, )"
      R"(entry_computation_layout={(f32[2]{0}, /*index=1*/s32[])->()}, )"
      R"(allow_spmd_sharding_propagation_to_output={true, false}, num_partitions=4, )"
      R"(frontend_attributes={a="{,\"}"}

ENTRY e { ROOT t = () tuple() }
)");
  EXPECT_TRUE(m.is_scheduled);
  ASSERT_EQ(m.input_output_alias.size(), 3u);
  EXPECT_EQ(m.input_output_alias[0], (InputOutputAlias{{0}, 1, {}, false}));
  EXPECT_EQ(m.input_output_alias[1], (InputOutputAlias{{1, 2}, 0, {3}, true}));
  EXPECT_EQ(m.input_output_alias[2], (InputOutputAlias{{}, 2, {}, false}));
  EXPECT_THAT(m.buffer_donors, ElementsAre(Pair(0, IsEmpty()), Pair(1, ElementsAre(2))));
  EXPECT_EQ(m.entry_parameter_layouts.size(), 2u);
  EXPECT_TRUE(m.entry_result_layout.is_tuple());
  EXPECT_THAT(
      m.other,
      ElementsAre(Pair("allow_spmd_sharding_propagation_to_output", "{true, false}"),
                  Pair("num_partitions", "4"), Pair("frontend_attributes", R"({a="{,\"}"})")));
}

TEST(TextReaderTest, ReadsStackFrameTables) {
  const Module m = ParseHlo(R"(HloModule m

FileNames
1 "/a \"b\".py"

FunctionNames
1 "<module>"
2 "f.<locals>.g"

FileLocations
1 {file_name_id=1 function_name_id=2 line=3 end_line=4 column=5 end_column=6}

StackFrames
1 {file_location_id=1 parent_frame_id=1}


ENTRY e { ROOT p = f32[] parameter(0), metadata={op_name="p" stack_frame_id=1} }
)");
  EXPECT_THAT(m.file_names, ElementsAre("/a \"b\".py"));
  EXPECT_THAT(m.function_names, ElementsAre("<module>", "f.<locals>.g"));
  EXPECT_THAT(m.file_locations, ElementsAre(FileLocation{1, 2, 3, 4, 5, 6}));
  EXPECT_THAT(m.stack_frames, ElementsAre(StackFrame{1, 1}));
}

TEST(TextReaderTest, ReadsMetadata) {
  const Metadata m =
      ParseRoot(
          R"(p = f32[] parameter(0), metadata={op_type="dot" op_name="jit(f)/a[\'x\']" )"
          R"(source_file="/f.py" source_line=7 source_end_line=8 source_column=1 source_end_column=2 )"
          R"(profile_type={1, 2} deduplicated_name="d" scheduling_name="s" stack_frame_id=9})")
          .metadata;
  EXPECT_EQ(m.op_type, "dot");
  EXPECT_EQ(m.op_name, "jit(f)/a['x']");
  EXPECT_EQ(m.source_file, "/f.py");
  EXPECT_EQ(m.source_line, 7);
  EXPECT_EQ(m.source_end_line, 8);
  EXPECT_EQ(m.source_column, 1);
  EXPECT_EQ(m.source_end_column, 2);
  EXPECT_EQ(m.deduplicated_name, "d");
  EXPECT_EQ(m.scheduling_name, "s");
  EXPECT_EQ(m.stack_frame_id, 9);
  EXPECT_THAT(m.other, ElementsAre(Pair("profile_type", "{1, 2}")));
}

TEST(TextReaderTest, ReadsShardingFrontendAttributesAndBackendConfig) {
  const Instruction p = ParseRoot(
      "p = f32[4] parameter(0), sharding={ devices=[2,1]<=[2]   last_tile_dim_replicate }, "
      "frontend_attributes={a=\"x\\\"y\",json={\"k\": [1, 2]}}, foo=bar, "
      "backend_config={\"list\":[1,2],  \"text\":\"}\"}");
  EXPECT_EQ(p.sharding, "{devices=[2,1]<=[2] last_tile_dim_replicate}");
  EXPECT_THAT(p.frontend_attributes,
              ElementsAre(Pair("a", "x\"y"), Pair("json", "{\"k\": [1, 2]}")));
  EXPECT_EQ(p.backend_config, "{\"list\":[1,2],  \"text\":\"}\"}");
  EXPECT_THAT(p.other, ElementsAre(Pair("foo", "bar")));
  EXPECT_EQ(ParseRoot(R"(p = f32[] parameter(0), backend_config="a\"b")").backend_config,
            R"("a\"b")");
}

TEST(TextReaderTest, KeepsEveryFormOfSharding) {
  for (const char* text : {
           "{replicated}",
           "{maximal device=3}",
           "{manual}",
           "{unknown}",
           "{devices=[2,1]0,1}",
           "{devices=[2,2]<=[2,2]T(1,0)}",
           "{devices=[2,1,2]0,1,2,3 last_tile_dims={manual}}",
           "{{replicated}, {maximal device=0}}",
           "{mesh['x'=2,'y'=2], [{'x'}, {}]}",
           "{devices=[1,2]<=[2] metadata={op_name=\"a\"}}",
       }) {
    EXPECT_EQ(ParseRoot(StrCat("p = f32[2,2] parameter(0), sharding=", text)).sharding, text);
  }
}

TEST(TextReaderTest, ReadsDot) {
  const Instruction d = ParseRoot(
      "a = f32[5,2,3] parameter(0)\n b = f32[5,3,4] parameter(1)\n"
      "d = f32[5,2,4] dot(a, b), lhs_batch_dims={0}, lhs_contracting_dims={2}, "
      "rhs_batch_dims={0}, rhs_contracting_dims={1}, operand_precision={highest,default}");
  EXPECT_EQ(d.dot, (DotDimensions{{0}, {0}, {2}, {1}}));
  EXPECT_EQ(*FindAttribute(d, "operand_precision"), "{highest,default}");
  EXPECT_EQ(FindAttribute(d, "algorithm"), nullptr);
}

TEST(TextReaderTest, ReadsConvolution) {
  const Instruction c = ParseRoot(
      "a = f32[8,14,14,4] parameter(0)\n k = f32[3,3,2,6] parameter(1)\n"
      "c = f32[8,7,12,6] convolution(a, k), window={size=3x3 stride=2x1 pad=1_1x0_2 "
      "rhs_dilate=1x2 rhs_reversal=0x1}, dim_labels=b01f_01io->b01f, feature_group_count=2");
  ASSERT_EQ(c.window.size(), 2u);
  EXPECT_EQ(c.window[0], (WindowDimension{3, 2, 1, 1, 1, 1, false}));
  EXPECT_EQ(c.window[1], (WindowDimension{3, 1, 0, 2, 2, 1, true}));
  EXPECT_EQ(c.convolution, (ConvolutionDimensions{0, 3, {1, 2}, 2, 3, {0, 1}, 0, 3, {1, 2}}));
  EXPECT_EQ(c.feature_group_count, 2);
}

TEST(TextReaderTest, ReadsSliceAndPad) {
  const Instruction s =
      ParseRoot("a = f32[8,9] parameter(0)\n s = f32[2,4] slice(a), slice={[1:3], [0:8:2]}");
  EXPECT_THAT(s.slice, ElementsAre(SliceDimension{1, 3, 1}, SliceDimension{0, 8, 2}));
  const Instruction p = ParseRoot(
      "a = f32[8,9] parameter(0)\n z = f32[] constant(0)\n"
      "p = f32[7,20] pad(a, z), padding=-1_0x1_2_1");
  EXPECT_THAT(p.padding, ElementsAre(PaddingDimension{-1, 0, 0}, PaddingDimension{1, 2, 1}));
  const Instruction scalar =
      ParseRoot("a = f32[] parameter(0)\n z = f32[] constant(0)\n p = f32[] pad(a, z), padding=");
  EXPECT_THAT(scalar.padding, IsEmpty());
}

TEST(TextReaderTest, ReadsGatherAndScatter) {
  const Instruction g = ParseRoot(
      "a = f32[10,4] parameter(0)\n i = s32[3,1] parameter(1)\n"
      "g = f32[3,4] gather(a, i), offset_dims={1}, collapsed_slice_dims={0}, "
      "start_index_map={0}, index_vector_dim=1, slice_sizes={1,4}, indices_are_sorted=true");
  EXPECT_EQ(g.gather, (GatherDimensions{{1}, {0}, {0}, {}, {}, 1, {1, 4}, true}));
  const Instruction s = ParseRoot(
      "a = f32[10,4] parameter(0)\n i = s32[3,1] parameter(1)\n u = f32[3,4] parameter(2)\n"
      "s = f32[10,4] scatter(a, i, u), update_window_dims={1}, inserted_window_dims={0}, "
      "scatter_dims_to_operand_dims={0}, index_vector_dim=1, unique_indices=true, "
      "to_apply=add_f32",
      kAdd);
  EXPECT_EQ(s.scatter, (ScatterDimensions{{1}, {0}, {0}, {}, {}, 1, false, true}));
  EXPECT_THAT(s.called, ElementsAre(ComputationId(0)));
}

TEST(TextReaderTest, OrdersCalledComputationsByMeaning) {
  const Module m = ParseHlo(R"(HloModule m
c { p = (s32[]) parameter(0) ROOT t = pred[] constant(true) }
b { ROOT p = (s32[]) parameter(0) }
x { ROOT p = f32[] parameter(0) }
y { ROOT p = f32[] parameter(0) }
ENTRY e {
  s = (s32[]) parameter(0)
  w = (s32[]) while(s), body=b, condition=c
  f = f32[] parameter(1)
  q = pred[] parameter(2)
  n = s32[] parameter(3)
  i = f32[] conditional(q, f, f), false_computation=y, true_computation=x
  j = f32[] conditional(n, f, f, f), branch_computations={%y, %x, y}
  ROOT k = f32[] custom-call(i, j), custom_call_target="a\"b", called_computations={x, y}
}
)");
  const Computation& e = m.entry_computation();
  const auto called = [&](size_t i) {
    std::string names;
    for (const ComputationId id : e.instructions[i].called) names += m[id].name;
    return names;
  };
  EXPECT_EQ(called(1), "cb");
  EXPECT_EQ(called(5), "xy");
  EXPECT_EQ(called(6), "yxy");
  EXPECT_EQ(called(7), "xy");
  EXPECT_EQ(e.instructions[7].custom_call_target, "a\"b");
}

TEST(TextReaderTest, ReadsPrintedAsyncForms) {
  const Module m = ParseHlo(R"(HloModule m
f { ROOT p = f32[4] parameter(0) }
ENTRY e {
  x = f32[4] parameter(0)
  a = ((f32[4]), f32[4]) all-to-all-start(x), channel_id=1, replica_groups=[2,2]<=[4], dimensions={0}
  b = f32[4] all-to-all-done(a)
  c = ((f32[4]), f32[4]) fusion-start(b), kind=kLoop, calls=f
  d = f32[4] fusion-done(c)
  g = ((f32[4]), f32[4], s32[]) async-start(d), calls=f, async_execution_thread="thread"
  h = ((f32[4]), f32[4], s32[]) async-update(g)
  ROOT i = f32[4] async-done(h)
}, execution_thread="main"
)");
  const Computation& e = m.entry_computation();
  EXPECT_EQ(e.execution_thread, "main");
  const std::vector<Instruction>& i = e.instructions;
  EXPECT_EQ(i[1].opcode, Opcode::kAsyncStart);
  EXPECT_EQ(i[1].async_name, "all-to-all");
  EXPECT_THAT(i[1].dimensions, ElementsAre(0));
  EXPECT_EQ(i[2].opcode, Opcode::kAsyncDone);
  EXPECT_EQ(i[2].async_name, "all-to-all");
  EXPECT_EQ(i[3].fusion_kind, "kLoop");
  EXPECT_THAT(i[3].called, ElementsAre(ComputationId(0)));
  EXPECT_EQ(i[5].opcode, Opcode::kAsyncStart);
  EXPECT_EQ(i[5].async_name, "");
}

TEST(TextReaderTest, ReadsLiterals) {
  const auto literal = [](std::string_view text) {
    return ParseRoot(StrCat("c = ", text)).literal;
  };
  EXPECT_EQ(literal("s8[3] constant({1, -2, 3})").data, "\x01\xfe\x03");
  EXPECT_EQ(literal("s8[2,2] constant({ {1,2}, { 3, 4 } })").data, "\x01\x02\x03\x04");
  EXPECT_EQ(literal("s8[2,2] constant({ { /*i1=0*/ 1,2}, {3,4}})").data, "\x01\x02\x03\x04");
  EXPECT_EQ(literal("s8[2] constant(s8[2] {1, 2})").data, "\x01\x02");
  EXPECT_EQ(literal("s8[0] constant({})").data, "");
  EXPECT_EQ(literal("s8[2,0] constant({ {}, {} })").data, "");
  EXPECT_EQ(literal("pred[] constant(true)").data, "\x01");
  EXPECT_EQ(literal("pred[3] constant({1, 0, true})").data, std::string("\x01\x00\x01", 3));
  EXPECT_EQ(literal("bf16[] constant(1)").data, "\x80\x3f");
  EXPECT_EQ(literal("c64[1] constant({(1, -0)})").data,
            std::string("\x00\x00\x80\x3f\x00\x00\x00\x80", 8));
  EXPECT_EQ(literal("f32[] constant(-inf)").data, std::string("\x00\x00\x80\xff", 4));
  EXPECT_EQ(literal("f32[] constant(nan(0x1))").data, std::string("\x01\x00\x80\x7f", 4));
  const Literal elided = literal("f32[1000] constant({...})");
  EXPECT_TRUE(elided.elided);
  EXPECT_EQ(elided.data, "");
  const Literal tuple = literal("(s8[], (s8[2])) constant((7, ( {1, 2} )))");
  ASSERT_EQ(tuple.tuple.size(), 2u);
  EXPECT_EQ(tuple.tuple[0].data, "\x07");
  EXPECT_EQ(tuple.tuple[1].tuple[0].data, "\x01\x02");
}

TEST(TextReaderTest, OtherAttributesKeepTheirOrder) {
  const Instruction r = ParseRoot(
      "a = f32[8] parameter(0)\n"
      "r = f32[8] all-reduce(a), channel_id=3, replica_groups={{0,1}, {2,3}}, "
      "use_global_device_ids=true, to_apply=add_f32",
      kAdd);
  EXPECT_THAT(r.other,
              ElementsAre(Pair("channel_id", "3"), Pair("replica_groups", "{{0,1}, {2,3}}"),
                          Pair("use_global_device_ids", "true")));
}

TEST(TextReaderTest, BytesBeyondAsciiStay) {
  EXPECT_EQ(
      ParseRoot("p = f32[] parameter(0), metadata={op_name=\"\xff\xc3\xa9\"}").metadata.op_name,
      "\xff\xc3\xa9");
}

TEST(TextReader, KeywordsAreNamesOnlyBehindAPercentSign) {
  const absl::StatusOr<Module> module = ParseHloText(R"(HloModule m
ENTRY %ENTRY {
  %ROOT = f32[4] parameter(0)
  ROOT r = f32[4] negate(%ROOT)
})",
                                                     "test");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(module->entry_computation().name, "ENTRY");
  const absl::StatusOr<Module> again = ParseHloText(ToHloText(*module), "again");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, *module);
  EXPECT_FALSE(ParseHloText("ENTRY e { ROOT r = f32[4] negate(f32[4] ROOT) }", "test").ok());
}

}  // namespace
}  // namespace meshwright
