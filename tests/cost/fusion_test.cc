#include "meshwright/cost/fusion.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/cost/graphs.h"

namespace meshwright {
namespace {

struct Fused {
  Program program;
  FusionInfo info;

  explicit Fused(const std::string& entry)
      : program(ParseProgram(ModuleText(entry))), info(AnalyzeFusion(program.graph)) {}
  bool Stored(const char* name) const { return info.materialized[program[name].index()]; }
  bool Free(const char* name) const { return info.free[program[name].index()]; }
  bool Kernel(const char* name) const { return info.kernel[program.Op(name).index()]; }
  std::vector<double> Reads(const char* name) const {
    return info.traffic[program.Op(name).index()].operand_bytes;
  }
  std::vector<double> Writes(const char* name) const {
    return info.traffic[program.Op(name).index()].result_bytes;
  }
  double Repeated(const char* name) const {
    return info.traffic[program.Op(name).index()].repeated;
  }
  double TotalBytes() const {
    double sum = 0;
    for (const FusionInfo::Traffic& traffic : info.traffic) {
      for (double bytes : traffic.operand_bytes) sum += bytes;
      for (double bytes : traffic.result_bytes) sum += bytes;
    }
    return sum;
  }
};

using Bytes = std::vector<double>;

TEST(AnalyzeFusion, ElementwiseChainIsOneKernel) {
  const Fused f(R"(
    a = f32[1000] parameter(0)
    b = f32[1000] parameter(1)
    sum = f32[1000] add(a, b)
    exp = f32[1000] exponential(sum)
    ROOT half = bf16[1000] convert(exp)
  )");
  EXPECT_FALSE(f.Stored("sum"));
  EXPECT_FALSE(f.Stored("exp"));
  EXPECT_TRUE(f.Stored("half"));
  EXPECT_TRUE(f.Kernel("half"));
  EXPECT_FALSE(f.Kernel("sum"));
  // What a kernel reads is charged to the operator that reads it.
  EXPECT_EQ(f.Reads("sum"), (Bytes{4000, 4000}));
  EXPECT_EQ(f.Reads("exp"), (Bytes{0}));
  EXPECT_EQ(f.Writes("sum"), (Bytes{0}));
  EXPECT_EQ(f.Writes("half"), (Bytes{2000}));
  EXPECT_EQ(f.TotalBytes(), 10000);
}

TEST(AnalyzeFusion, KernelReadsAValueOnce) {
  const Fused f(R"(
    a = f32[1000] parameter(0)
    neg = f32[1000] negate(a)
    square = f32[1000] multiply(neg, neg)
    ROOT out = f32[1000] add(square, a)
  )");
  EXPECT_EQ(f.TotalBytes(), 8000);
}

TEST(AnalyzeFusion, CausalMasksAreFree) {
  const Fused f(R"(
    scores = f32[64,64] parameter(0)
    rows = s32[64,64] iota(), iota_dimension=0
    cols = s32[64,64] iota(), iota_dimension=1
    mask = pred[64,64] compare(rows, cols), direction=GE
    low = f32[] constant(-1e9)
    fill = f32[64,64] broadcast(low), dimensions={}
    ROOT masked = f32[64,64] select(mask, scores, fill)
  )");
  for (const char* name : {"rows", "cols", "mask", "low", "fill"}) {
    EXPECT_TRUE(f.Free(name)) << name;
    EXPECT_FALSE(f.Stored(name)) << name;
  }
  EXPECT_FALSE(f.Free("masked"));
  EXPECT_FALSE(f.Free("scores"));
  EXPECT_EQ(f.Reads("masked"), (Bytes{0, 64 * 64 * 4, 0}));
}

TEST(AnalyzeFusion, FreeOutputIsStored) {
  const Fused f(R"(
    ROOT i = s32[100] iota(), iota_dimension=0
  )");
  EXPECT_TRUE(f.Free("i"));
  EXPECT_TRUE(f.Stored("i"));
  EXPECT_EQ(f.Writes("i"), (Bytes{400}));
}

TEST(AnalyzeFusion, ReduceEndsAKernelAndSoftmaxRecomputesTheExponential) {
  const Fused f(R"(
    x = bf16[32,1024] parameter(0)
    wide = f32[32,1024] convert(x)
    zero = f32[] constant(0)
    shift = f32[32] reduce(wide, zero), dimensions={1}, to_apply=add
    shifts = f32[32,1024] broadcast(shift), dimensions={0}
    centred = f32[32,1024] subtract(wide, shifts)
    exp = f32[32,1024] exponential(centred)
    total = f32[32] reduce(exp, zero), dimensions={1}, to_apply=add
    totals = f32[32,1024] broadcast(total), dimensions={0}
    quotient = f32[32,1024] divide(exp, totals)
    ROOT out = bf16[32,1024] convert(quotient)
  )");
  for (const char* name : {"wide", "shifts", "centred", "exp", "totals", "quotient"})
    EXPECT_FALSE(f.Stored(name)) << name;
  for (const char* name : {"shift", "total", "out"}) EXPECT_TRUE(f.Stored(name)) << name;
  // Three kernels read x: the two sums and the quotient.
  EXPECT_EQ(f.Reads("wide"), (Bytes{3 * 32 * 1024 * 2}));
  EXPECT_EQ(f.TotalBytes(), 4 * 32 * 1024 * 2 + 2 * 128 /* written */ + 2 * 128 + 128 /* read */);
}

TEST(AnalyzeFusion, StoresWhatIsDearToRecompute) {
  // A sum of two arrays, wanted by 2 and by 5 kernels.
  const auto text = [](int kernels) {
    std::string entry =
        "a = f32[32,1024] parameter(0)\nb = f32[32,1024] parameter(1)\nzero = f32[] constant(0)\n"
        "sum = f32[32,1024] add(a, b)\n";
    std::string list, types;
    for (int i = 0; i < kernels; ++i) {
      absl::StrAppend(&entry, "r", i,
                      " = f32[32] reduce(sum, zero), dimensions={1}, to_apply=add\n");
      absl::StrAppend(&list, i > 0 ? ", r" : "r", i);
      types += i > 0 ? ", f32[32]" : "f32[32]";
    }
    return entry + "ROOT out = (" + types + ") tuple(" + list + ")\n";
  };
  EXPECT_FALSE(Fused(text(3)).Stored("sum"));  // 3 x 2 reads against 2 + 1 + 3
  EXPECT_TRUE(Fused(text(4)).Stored("sum"));
}

// A mask takes less memory than what it is made of, which its users' kernels read anyway.
TEST(AnalyzeFusion, RecomputesFromWhatAKernelReadsAnyway) {
  const Fused f(R"(
    a = f32[1000] parameter(0)
    b = f32[1000] parameter(1)
    mask = pred[1000] compare(a, b), direction=LT
    up = f32[1000] select(mask, a, b)
    down = f32[1000] select(mask, b, a)
    zero = f32[] constant(0)
    one = f32[] reduce(up, zero), dimensions={0}, to_apply=add
    other = f32[] reduce(down, zero), dimensions={0}, to_apply=add
    ROOT r = (f32[], f32[]) tuple(one, other)
  )");
  EXPECT_FALSE(f.Stored("mask"));
  EXPECT_FALSE(f.Kernel("mask"));
}

// lgamma is one operator in StableHLO and a hundred in HLO: how long a chain is changes nothing.
TEST(AnalyzeFusion, RecomputesFromWhatAKernelReadsAnywayHoweverLongItTakes) {
  for (const int steps : {1, 3, 4, 5, 20}) {
    std::string chain = "v0 = f32[1000] multiply(a, b)\n";
    for (int i = 1; i <= steps; ++i) {
      absl::StrAppend(&chain, "v", i, " = f32[1000] tanh(v", i - 1, ")\n");
    }
    const Fused f(absl::StrCat("a = f32[1000] parameter(0)\n b = f32[1000] parameter(1)\n", chain,
                               "p = pred[1000] compare(v", steps, R"(, a), direction=LT
      s = f32[1000] select(p, a, b)
      t = f32[1000] select(p, b, a)
      ROOT out = (f32[1000], f32[1000]) tuple(s, t)
    )"));
    EXPECT_FALSE(f.Stored("p")) << steps;
    EXPECT_EQ(f.TotalBytes(), 2 * 12000) << steps;
  }
}

TEST(AnalyzeFusion, BitsOfOneWidthAreElementwise) {
  const Fused f(R"(
    a = f32[1000] parameter(0)
    bits = s32[1000] bitcast-convert(a)
    more = s32[1000] add(bits, bits)
    bytes = s8[1000,4] bitcast-convert(more)
    ROOT r = s8[1000,4] negate(bytes)
  )");
  EXPECT_FALSE(f.Kernel("bits"));
  EXPECT_TRUE(f.Kernel("more"));
  EXPECT_TRUE(f.Kernel("bytes"));
}

TEST(AnalyzeFusion, LibraryCallsNeedMemoryAndViewsAreNone) {
  const Fused f(R"(
    x = f32[8,64,16] parameter(0)
    w = f32[16,32] parameter(1)
    half = bf16[8,64,16] convert(x)
    flat = bf16[512,16] reshape(half)
    whalf = bf16[16,32] convert(w)
    turned = bf16[32,16] transpose(whalf), dimensions={1,0}
    dot = bf16[512,32] dot(flat, turned), lhs_contracting_dims={1}, rhs_contracting_dims={1}
    ROOT out = bf16[8,64,32] reshape(dot)
  )");
  EXPECT_TRUE(f.Stored("half"));
  EXPECT_FALSE(f.Stored("flat"));
  EXPECT_TRUE(f.Stored("whalf"));
  EXPECT_FALSE(f.Stored("turned"));
  EXPECT_TRUE(f.Stored("dot"));
  EXPECT_FALSE(f.Stored("out"));
  EXPECT_FALSE(f.Kernel("flat"));
  EXPECT_EQ(f.Reads("dot"), (Bytes{512 * 16 * 2, 32 * 16 * 2}));
  EXPECT_EQ(f.Writes("dot"), (Bytes{512 * 32 * 2}));
  EXPECT_EQ(f.Reads("flat"), (Bytes{0}));
}

TEST(AnalyzeFusion, PartsReadWhatTheyNeed) {
  const Fused f(R"(
    table = f32[1000,64] parameter(0)
    ids = s32[10,1] parameter(1)
    half = bf16[1000,64] convert(table)
    rows = bf16[10,64] gather(half, ids), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,64}
    ROOT out = bf16[10,64] negate(rows)
  )");
  EXPECT_FALSE(f.Stored("half"));
  EXPECT_FALSE(f.Stored("rows"));
  EXPECT_EQ(f.Reads("half"), (Bytes{10 * 64 * 4}));
  EXPECT_EQ(f.Reads("rows"), (Bytes{0, 40}));
}

TEST(AnalyzeFusion, GathersReadRowsAsOftenAsTheyAreIndexed) {
  const Fused f(R"(
    table = f32[10,64] parameter(0)
    ids = s32[1000,1] parameter(1)
    ROOT rows = f32[1000,64] gather(table, ids), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,64}
  )");
  EXPECT_EQ(f.Reads("rows"), (Bytes{1000 * 64 * 4, 4000}));
}

TEST(AnalyzeFusion, ReductionsOfOneElementEachAreViews) {
  const Fused f(R"(
    x = f32[1000,1] parameter(0)
    zero = f32[] constant(0)
    exp = f32[1000,1] exponential(x)
    sum = f32[1000] reduce(exp, zero), dimensions={1}, to_apply=add
    ROOT out = f32[1000] negate(sum)
  )");
  EXPECT_FALSE(f.Stored("exp"));
  EXPECT_FALSE(f.Kernel("sum"));
  EXPECT_EQ(f.TotalBytes(), 8000);
}

// A convert to twice the width reads less than it would write, in however many kernels.
TEST(AnalyzeFusion, ConvertsFuseIntoAnyNumberOfKernels) {
  std::string entry =
      "a = bf16[32,1024] parameter(0)\nzero = f32[] constant(0)\nwide = f32[32,1024] convert(a)\n";
  std::string list, types;
  for (int i = 0; i < 20; ++i) {
    absl::StrAppend(&entry, "r", i,
                    " = f32[32] reduce(wide, zero), dimensions={1}, to_apply=add\n");
    absl::StrAppend(&list, i > 0 ? ", r" : "r", i);
    types += i > 0 ? ", f32[32]" : "f32[32]";
  }
  EXPECT_FALSE(Fused(entry + "ROOT out = (" + types + ") tuple(" + list + ")\n").Stored("wide"));
}

// The kernel of a gather computes an index for each element of a row.
TEST(AnalyzeFusion, IndicesThatTakeLongAreStored) {
  const auto text = [](int operators) {
    std::string entry = "table = f32[10,64] parameter(0)\ni0 = s32[1000,1] parameter(1)\n";
    for (int i = 0; i < operators; ++i)
      absl::StrAppend(&entry, "i", i + 1, " = s32[1000,1] negate(i", i, ")\n");
    return absl::StrCat(entry, "last = s32[1000,1] copy(i", operators,
                        ")\nROOT rows = f32[1000,64] gather(table, last), offset_dims={1}, "
                        "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
                        "slice_sizes={1,64}\n");
  };
  EXPECT_FALSE(Fused(text(5)).Stored("i5"));
  EXPECT_TRUE(Fused(text(50)).Stored("i50"));
}

TEST(AnalyzeFusion, GathersOfShortRowsReadSectors) {
  const Fused f(R"(
    table = f32[1000] parameter(0)
    ids = s32[1000,1] parameter(1)
    ROOT rows = f32[1000] gather(table, ids), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1}
  )");
  EXPECT_EQ(f.Reads("rows"), (Bytes{1000 * 32, 4000}));
}

TEST(AnalyzeFusion, PartsOfOneValueAddUpToTheWhole) {
  const Fused f(R"(
    x = f32[1000,64] parameter(0)
    even = f32[500,64] slice(x), slice={[0:1000:2], [0:64]}
    odd = f32[500,64] slice(x), slice={[1:1000:2], [0:64]}
    most = f32[500,64] slice(x), slice={[100:600], [0:64]}
    some = f32[500,64] add(even, odd)
    ROOT out = f32[500,64] multiply(some, most)
  )");
  EXPECT_EQ(f.Reads("even"), (Bytes{500 * 64 * 4}));
  EXPECT_EQ(f.Reads("odd"), (Bytes{500 * 64 * 4}));
  EXPECT_EQ(f.Reads("most"), (Bytes{0}));
}

// Sums of pairs, pairs of pairs and so on, as the first half of an associative scan makes them.
std::string Pairs(int levels) {
  std::string text = absl::StrCat("x0 = f32[", 1 << levels, "] parameter(0)\n");
  for (int level = 1; level <= levels; ++level) {
    const int size = 1 << (levels - level), before = 2 * size;
    absl::StrAppend(&text, "a", level, " = f32[", size, "] slice(x", level - 1,
                    "), slice={[0:", before, ":2]}\n");
    absl::StrAppend(&text, "b", level, " = f32[", size, "] slice(x", level - 1,
                    "), slice={[1:", before, ":2]}\n");
    absl::StrAppend(&text, level == levels ? "ROOT " : "", "x", level, " = f32[", size, "] add(a",
                    level, ", b", level, ")\n");
  }
  return text;
}

TEST(AnalyzeFusion, AKernelComputesNothingMoreThanFifteenTimes) {
  const Fused f(Pairs(3));  // x1 is computed four times for one of x3
  EXPECT_FALSE(f.Stored("x1"));
  EXPECT_FALSE(f.Stored("x2"));
  const Fused deep(Pairs(10));
  // Sixteen of x1 would make one of x5.
  EXPECT_FALSE(deep.Stored("x1"));
  int stored = 0;
  for (int level = 1; level < 10; ++level)
    stored += deep.Stored(absl::StrCat("x", level).c_str()) ? 1 : 0;
  EXPECT_EQ(stored, 2);
}

TEST(AnalyzeFusion, WhatIsIndexedInTwoWaysIsComputedTwice) {
  const Fused f(R"(
    x = f32[1000] parameter(0)
    e = f32[1000] exponential(x)
    turned = f32[1000] reverse(e), dimensions={0}
    shifted = f32[1000] multiply(turned, turned)
    ROOT out = f32[1000] add(e, shifted)
  )");
  EXPECT_EQ(f.Repeated("out"), 1000);
  const Fused same(R"(
    x = f32[1000] parameter(0)
    e = f32[1000] exponential(x)
    square = f32[1000] multiply(e, e)
    ROOT out = f32[1000] add(e, square)
  )");
  EXPECT_EQ(same.Repeated("out"), 0);
}

TEST(AnalyzeFusion, UpdatesTouchWhatTheyUpdate) {
  const Fused f(R"(
    buffer = f32[1000,64] parameter(0)
    row = f32[1,64] parameter(1)
    at = s32[] parameter(2)
    zero = s32[] constant(0)
    zerof = f32[] constant(0)
    zeros = f32[1000,64] broadcast(zerof), dimensions={}
    into = f32[1000,64] dynamic-update-slice(buffer, row, at, zero)
    fresh = f32[1000,64] dynamic-update-slice(zeros, row, at, zero)
    ROOT out = (f32[1000,64], f32[1000,64]) tuple(into, fresh)
  )");
  EXPECT_EQ(f.Writes("into"), (Bytes{256}));
  EXPECT_EQ(f.Reads("into"), (Bytes{0, 256, 4, 0}));
  EXPECT_EQ(f.Writes("fresh"), (Bytes{256000 + 256}));  // filled first
}

TEST(AnalyzeFusion, DeadOperatorsMoveNothing) {
  const Fused f(R"(
    a = f32[1000] parameter(0)
    dead = f32[1000] exponential(a)
    deader = f32[1000] negate(dead)
    ROOT out = f32[1000] negate(a)
  )");
  EXPECT_EQ(f.TotalBytes(), 8000);
}

}  // namespace
}  // namespace meshwright
