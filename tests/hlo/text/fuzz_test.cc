#include <gtest/gtest.h>

#include <iostream>
#include <random>
#include <string>
#include <string_view>

#include "meshwright/base/strings.h"
#include "meshwright/hlo/text/reader.h"
#include "meshwright/hlo/text/writer.h"
#include "tests/hlo/mutator.h"
#include "tests/testing/fresh_seed.h"

// Damaged programs: the reader must answer with a module or an error, and a module must survive
// being written and read.

namespace meshwright {
namespace {

constexpr std::string_view kHloPrograms[] = {
    R"(HloModule jit_f, input_output_alias={ {0}: (0, {}, may-alias) }, entry_computation_layout={(f32[4,2]{1,0})->f32[4]{0}}

FileNames
1 "/f.py"

FunctionNames
1 "f"

FileLocations
1 {file_name_id=1 function_name_id=1 line=1 end_line=1 column=2 end_column=3}

StackFrames
1 {file_location_id=1 parent_frame_id=1}

add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }

ENTRY e {
  a = f32[4,2]{1,0} parameter(0), sharding={devices=[2,1]<=[2]}
  z = f32[] constant(-1.5e+03), metadata={op_name="x[\'y\']" stack_frame_id=1}
  c = s8[2,2] constant({ {1, 2}, {3, 4} })
  d = f32[4,4]{1,0} dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  r = f32[4]{0} reduce(d, z), dimensions={1}, to_apply=add
  ROOT n = f32[4]{0} negate(r), frontend_attributes={a="b"}, backend_config={"k":[1,"}"]}
}
)",
    R"(HloModule m, is_scheduled=true, num_partitions=4

%c (p: (s32[], f32[3])) -> pred[] {
  %p = (s32[], f32[3]{0}) parameter(0)
  %i = s32[] get-tuple-element((s32[], f32[3]{0}) %p), index=0
  %k = s32[] constant(10)
  ROOT %lt = pred[] compare(%i, %k), direction=LT
}

%b (p: (s32[], f32[3])) -> (s32[], f32[3]) {
  ROOT %p = (s32[], f32[3]{0}) parameter(0)
}

ENTRY %e (x: f32[3]) -> f32[3] {
  %x = f32[3]{0} parameter(0)
  %i = s32[] constant(0)
  %t = (s32[], f32[3]{0}) tuple(%i, %x)
  %w = (s32[], f32[3]{0}) while(%t), condition=%c, body=%b, backend_config={"n":"10"}
  %g = f32[3]{0} get-tuple-element(%w), index=1
  %pad = f32[8]{0} pad(%g, %f), padding=1_2_1
  %f = f32[] constant(0)
  %sl = f32[3]{0} slice(%pad), slice={[1:7:2]}
  %s = ((f32[3]{0}), f32[3]{0}) all-to-all-start(%sl), channel_id=1, replica_groups=[2,2]<=[4], dimensions={0}
  ROOT %d = f32[3]{0} all-to-all-done(%s)
}
)",
    R"(HloModule m

max { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] maximum(a, b) }

ENTRY e {
  i = f32[1,8,8,2] parameter(0)
  k = f32[3,3,2,4] parameter(1)
  c = f32[1,8,8,4] convolution(i, k), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  z = f32[] constant(-inf)
  w = f32[1,4,4,4] reduce-window(c, z), window={size=1x2x2x1 stride=1x2x2x1}, to_apply=max
  t = f32[10,4] parameter(2)
  x = s32[3,1] parameter(3)
  g = f32[3,4] gather(t, x), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,4}
  u = f32[10,4] scatter(t, x, g), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=max
  o = s32[] constant(2)
  v = f32[1,4] dynamic-slice(u, o, o), dynamic_slice_sizes={1,4}
  n = f32[10,4] dynamic-update-slice(u, v, o, o)
  ROOT r = (f32[10,4], f32[1,4,4,4]) tuple(n, w)
}
)",
    R"(less { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = compare(a, b), direction=LT }

e {
  a = f32[4,6] parameter(0)
  f = f8e4m3fn[4,6] parameter(1)
  k = f8e8m0fnu[4,2] parameter(2)
  c = f32[4,6] constant(2)
  n = f32[4,6] add(f32[4,6] negate(a), multiply(a, c))
  d = bf16[4,4] scaled-dot(f, f, k, k), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  s = sort(n), dimensions={1}, to_apply=less
  z = f32[] constant(0)
  r = reduce(s, z), dimensions={0}, to_apply={
    x = f32[] parameter(0)
    ROOT t = add(x, y)
    y = f32[] parameter(1)
  }
  w = pad(d, bf16[] convert(z)), padding=1_1x0_0
  t = tuple(r, d)
  ROOT g = get-tuple-element(t), index=0
}
)",
    "fft = c64[3] fft(f32[4] a), fft_type=RFFT, fft_length={4}",
};

// Pieces that tend to meet a reader's assumptions.
constexpr std::string_view kHloPieces[] = {
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ",",
    "=",
    ":",
    "\"",
    "\\",
    "/*",
    "*/",
    "//",
    "\n",
    "-",
    "%",
    "ROOT ",
    "ENTRY ",
    "...",
    "0",
    "-1",
    "9223372036854775807",
    "99999999999999999999",
    "-9223372036854775808",
    "f32[",
    "token[]",
    "()",
    "nan",
    "-inf",
    "x",
    "_",
    "f32[4611686018427387904]",
    "4611686018427387904",
    "{}",
    "{{",
    "->",
    "<=",
    "dimensions=",
    "to_apply=",
    "to_apply={",
    "negate(",
    "scaled-dot(",
    "metadata={",
};

TEST(TextFuzzTest, DamagedProgramsGiveAStatus) {
  for (const std::string_view program : kHloPrograms) {
    ASSERT_TRUE(ParseHloText(program, "f.hlo").ok()) << ParseHloText(program, "f.hlo").status();
  }
  const uint64_t seed = FreshSeed();
  Mutator mutator(seed, kHloPieces);
  int accepted = 0;
  constexpr int kRounds = 6000;
  for (int round = 0; round < kRounds; ++round) {
    const std::string text =
        mutator.Mutate(std::string(kHloPrograms[mutator.Below(std::size(kHloPrograms))]));
    const absl::StatusOr<Module> module = ParseHloText(text, "f.hlo");
    if (!module.ok()) {
      const std::string message(module.status().message());
      ASSERT_EQ(message.rfind("f.hlo:", 0), 0u) << message << "\n" << text;
      ASSERT_EQ(message.find('\n'), std::string::npos) << message;
      ASSERT_LT(message.size(), 2000u) << text;
      continue;
    }
    ++accepted;
    const std::string written = ToHloText(*module);
    const absl::StatusOr<Module> again = ParseHloText(written, "written");
    ASSERT_TRUE(again.ok()) << again.status() << "\n" << text << "\n----\n" << written;
    ASSERT_EQ(*again, *module) << text << "\n----\n" << written;
  }
  std::cout << accepted << " of " << kRounds << " damaged programs were still valid\n";
  EXPECT_GT(accepted, 0);
}

}  // namespace
}  // namespace meshwright
