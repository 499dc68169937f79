#include "meshwright/hlo/trip_count.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

#include "meshwright/base/strings.h"
#include "meshwright/hlo/text/reader.h"

namespace meshwright {
namespace {

// Trip count of the while in a program's entry computation.
std::optional<int64_t> CountOf(const Module& module) {
  const Computation& entry = module.entry_computation();
  for (const Instruction& instruction : entry.instructions) {
    if (instruction.opcode == Opcode::kWhile) return TripCount(module, instruction, entry);
  }
  ADD_FAILURE() << "no while";
  return std::nullopt;
}

std::optional<int64_t> CountOf(std::string_view text) {
  const absl::StatusOr<Module> module = ParseHloText(text, "test.hlo");
  EXPECT_TRUE(module.ok()) << module.status();
  return module.ok() ? CountOf(*module) : std::nullopt;
}

// `for (i = init; i DIRECTION limit; i += step)`, with the loop's other attributes.
std::optional<int64_t> CountFor(int64_t init, std::string_view direction, int64_t limit,
                                int64_t step, std::string_view type = "s32",
                                std::string_view attributes = "") {
  std::string text = StrCat(R"(HloModule m
condition {
  p = (T[], f32[4]) parameter(0)
  i = T[] get-tuple-element(p), index=0
  n = T[] constant()",
                            limit, R"()
  ROOT c = pred[] compare(i, n), direction=)",
                            direction, R"(
}
body {
  q = (T[], f32[4]) parameter(0)
  j = T[] get-tuple-element(q), index=0
  s = T[] constant()",
                            step, R"()
  k = T[] add(j, s)
  x = f32[4] get-tuple-element(q), index=1
  ROOT t = (T[], f32[4]) tuple(k, x)
}
ENTRY e {
  a = f32[4] parameter(0)
  i0 = T[] constant()",
                            init, R"()
  t0 = (T[], f32[4]) tuple(i0, a)
  ROOT w = (T[], f32[4]) while(t0), condition=condition, body=body)",
                            attributes, "\n}\n");
  for (size_t at; (at = text.find("T[]")) != std::string::npos;) text.replace(at, 1, type);
  return CountOf(text);
}

TEST(TripCountTest, CountsUpAndDown) {
  EXPECT_EQ(CountFor(0, "LT", 32, 1), 32);
  EXPECT_EQ(CountFor(0, "LE", 32, 1), 33);
  EXPECT_EQ(CountFor(3, "LT", 32, 4), 8);
  EXPECT_EQ(CountFor(32, "GT", 0, -1), 32);
  EXPECT_EQ(CountFor(32, "GE", 0, -3), 11);
  EXPECT_EQ(CountFor(0, "NE", 12, 3), 4);
  EXPECT_EQ(CountFor(5, "EQ", 5, 1), 1);
  EXPECT_EQ(CountFor(0, "LT", 10, 2, "u8"), 5);
  EXPECT_EQ(CountFor(0, "LT", int64_t{1} << 40, 1, "s64"), int64_t{1} << 40);
}

TEST(TripCountTest, LoopsThatAreNotEntered) {
  EXPECT_EQ(CountFor(5, "LT", 5, 1), 0);
  EXPECT_EQ(CountFor(5, "GT", 6, 1), 0);
  EXPECT_EQ(CountFor(5, "NE", 5, 1), 0);
  EXPECT_EQ(CountFor(5, "EQ", 4, 1), 0);
}

TEST(TripCountTest, LoopsThatDoNotEnd) {
  EXPECT_EQ(CountFor(0, "LT", 5, -1), std::nullopt);
  EXPECT_EQ(CountFor(0, "LT", 5, 0), std::nullopt);
  EXPECT_EQ(CountFor(0, "NE", 5, 2), std::nullopt);
  EXPECT_EQ(CountFor(0, "LE", 127, 1, "s8"), std::nullopt) << "127 + 1 wraps around";
}

TEST(TripCountTest, AgreesWithExecution) {
  const auto holds = [](int i, std::string_view direction, int n) {
    return direction == "LT"   ? i < n
           : direction == "LE" ? i <= n
           : direction == "GT" ? i > n
           : direction == "GE" ? i >= n
           : direction == "NE" ? i != n
                               : i == n;
  };
  for (const std::string_view direction : {"LT", "LE", "GT", "GE", "NE", "EQ"}) {
    for (int init = -3; init <= 3; ++init) {
      for (int limit = -3; limit <= 3; ++limit) {
        for (int step = -2; step <= 2; ++step) {
          int i = init, count = 0;
          for (; count < 20 && holds(i, direction, limit); ++count) i += step;
          const std::optional<int64_t> expected =
              count == 20 ? std::nullopt : std::optional<int64_t>(count);
          EXPECT_EQ(CountFor(init, direction, limit, step), expected)
              << init << " " << direction << " " << limit << " step " << step;
        }
      }
    }
  }
}

TEST(TripCountTest, BackendConfigComesFirst) {
  EXPECT_EQ(
      CountFor(
          0, "LT", 32, 1, "s32",
          R"(, backend_config={"known_trip_count":{"n":"7"},"known_init_step":{"init":"0","step":"1"}})"),
      7);
  EXPECT_EQ(CountFor(0, "LT", 32, 1, "s32", R"(, backend_config={"known_trip_count":{}})"), 32);
}

TEST(TripCountTest, LimitCarriedThroughTheLoopAndCalls) {
  EXPECT_EQ(CountOf(R"(HloModule m
next {
  a = s32[] parameter(0)
  one = s32[] constant(1)
  ROOT b = s32[] add(a, one)
}
less {
  l = s32[] parameter(0)
  r = s32[] parameter(1)
  ROOT c = pred[] compare(r, l), direction=GT
}
condition {
  p = (s32[], s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] get-tuple-element(p), index=1
  ROOT c = pred[] fusion(i, n), kind=kLoop, calls=less
}
body {
  q = (s32[], s32[], f32[4]) parameter(0)
  j = s32[] get-tuple-element(q), index=0
  k = s32[] call(j), to_apply=next
  n = s32[] get-tuple-element(q), index=1
  x = f32[4] get-tuple-element(q), index=2
  ROOT t = (s32[], s32[], f32[4]) tuple(k, n, x)
}
ENTRY e {
  a = f32[4] parameter(0)
  zero = s32[] constant(0)
  four = s64[] constant(4)
  three = s64[] constant(3)
  twelve = s64[] multiply(four, three)
  limit = s32[] convert(twelve)
  t0 = (s32[], s32[], f32[4]) tuple(zero, limit, a)
  ROOT w = (s32[], s32[], f32[4]) while(t0), condition=condition, body=body
})"),
            12);
}

TEST(TripCountTest, DataDependentLoopIsUnknown) {
  EXPECT_EQ(CountOf(R"(HloModule m
condition {
  p = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] get-tuple-element(p), index=1
  ROOT c = pred[] compare(i, n), direction=LT
}
body {
  q = (s32[], s32[]) parameter(0)
  j = s32[] get-tuple-element(q), index=0
  one = s32[] constant(1)
  k = s32[] add(j, one)
  n = s32[] get-tuple-element(q), index=1
  ROOT t = (s32[], s32[]) tuple(k, n)
}
ENTRY e {
  n = s32[] parameter(0)
  zero = s32[] constant(0)
  t0 = (s32[], s32[]) tuple(zero, n)
  ROOT w = (s32[], s32[]) while(t0), condition=condition, body=body
})"),
            std::nullopt);
}

}  // namespace
}  // namespace meshwright
