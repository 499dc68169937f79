#include "meshwright/hlo/partitioned.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "meshwright/base/strings.h"
#include "meshwright/hlo/proto/reader.h"
#include "meshwright/hlo/proto/writer.h"
#include "meshwright/hlo/stablehlo/reader.h"
#include "meshwright/hlo/text/reader.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// What is said of a program; empty if it is whole.
std::string Verdict(const absl::StatusOr<Module>& module) {
  EXPECT_TRUE(module.ok()) << module.status();
  if (!module.ok()) return "";
  const absl::Status status = CheckNotPartitioned(*module, "f");
  if (!status.ok()) EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

// As text and as a proto, which must agree but for the line.
std::string VerdictOfHlo(std::string_view header, std::string_view instruction) {
  const absl::StatusOr<Module> module = ParseHloText(
      StrCat("HloModule m", header,
             "\nadd { x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = f32[] add(x, y) }\n"
             "ENTRY e {\n  a = f32[8] parameter(0)\n  ROOT r = ",
             instruction, "\n}\n"),
      "f.hlo");
  const std::string verdict = Verdict(module);
  if (module.ok()) {
    const std::string of_proto = Verdict(ParseHloProto(ToHloProto(*module), "f.pb"));
    EXPECT_EQ(of_proto.substr(of_proto.find(": ") + 1), verdict.substr(verdict.find(": ") + 1));
  }
  return verdict;
}

std::string VerdictOfStablehlo(std::string_view attributes, std::string_view operation) {
  return Verdict(ParseStablehlo(
      StrCat("module attributes {", attributes,
             "} {\n  func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {\n    %0 = ", operation,
             "\n    return %0 : tensor<8xf32>\n  }\n}\n"),
      "f.mlir"));
}

constexpr std::string_view kReduceRegion =
    "({\n    ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n      %s = stablehlo.add %x, %y : "
    "tensor<f32>\n      stablehlo.return %s : tensor<f32>\n    }) : (tensor<8xf32>) -> "
    "tensor<8xf32>";

TEST(Partitioned, RaggedAllToAllIsACollectiveToo) {
  EXPECT_THAT(VerdictOfStablehlo("",
                                 "stablehlo.custom_call @ragged_all_to_all(%a) {api_version = "
                                 "4 : i32} : (tensor<8xf32>) -> tensor<8xf32>"),
              HasSubstr("ragged_all_to_all among several devices: this program is partitioned"));
}

TEST(Partitioned, CollectivesAmongSeveralDevices) {
  for (const std::string_view groups :
       {"replica_groups={{0,1},{2,3}}", "replica_groups=[2,4]<=[8]",
        "replica_groups=[2,2]<=[2,2]T(1,0), channel_id=1", "channel_id=3, replica_groups={}",
        "replica_groups={{0},{1,2}}"}) {
    EXPECT_THAT(
        VerdictOfHlo("", StrCat("f32[8] all-reduce(a), to_apply=add, ", groups)),
        StartsWith("f:5:8: r: all-reduce among several devices: this program is partitioned "
                   "already, its shapes are those of shards; pass the one it was made"))
        << groups;
  }
  EXPECT_THAT(VerdictOfHlo(", num_partitions=2", "f32[8] all-reduce(a), to_apply=add"),
              HasSubstr("all-reduce among several devices"));
  EXPECT_THAT(VerdictOfHlo("", "f32[8] collective-permute(a), source_target_pairs={{0,1},{1,0}}"),
              HasSubstr("collective-permute among several devices"));
  EXPECT_THAT(VerdictOfHlo("", "f32[16] all-gather(a), dimensions={0}, replica_groups={{0,1}}"),
              HasSubstr("all-gather among several devices"));
  EXPECT_THAT(VerdictOfStablehlo(
                  "", StrCat("\"stablehlo.all_reduce\"(%a) <{replica_groups = dense<[[0, 1, 2, 3], "
                             "[4, 5, 6, 7]]> : tensor<2x4xi64>}> ",
                             kReduceRegion)),
              StartsWith("f:3:5: all-reduce.1: all-reduce among several devices: this program"));
  EXPECT_THAT(VerdictOfStablehlo("",
                                 "\"stablehlo.collective_permute\"(%a) <{source_target_pairs = "
                                 "dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> "
                                 "tensor<8xf32>"),
              HasSubstr("collective-permute among several devices"));
}

// A program that is lowered for one device may say so with collectives.
TEST(Partitioned, CollectivesOfOneDeviceAreNone) {
  EXPECT_EQ(VerdictOfHlo("", "f32[8] all-reduce(a), to_apply=add"), "");
  EXPECT_EQ(VerdictOfHlo("", "f32[8] all-reduce(a), to_apply=add, replica_groups={{0}}"), "");
  EXPECT_EQ(VerdictOfHlo("", "f32[8] all-reduce(a), to_apply=add, replica_groups={{0},{1}}"), "");
  EXPECT_EQ(VerdictOfHlo("", "f32[8] collective-permute(a), source_target_pairs={{0,0}}"), "");
  EXPECT_EQ(VerdictOfStablehlo("", StrCat("\"stablehlo.all_reduce\"(%a) <{replica_groups = "
                                          "dense<0> : tensor<1x1xi64>}> ",
                                          kReduceRegion)),
            "");
}

TEST(Partitioned, BodiesOfShardMap) {
  for (const std::string_view target :
       {"SPMDFullToShardShape", "SPMDShardToFullShape", "xla.sdy.GlobalToLocalShape",
        "xla.sdy.LocalToGlobalShape"}) {
    EXPECT_EQ(
        VerdictOfHlo("", StrCat("f32[4] custom-call(a), custom_call_target=\"", target, "\"")),
        StrCat("f:5:8: r: custom-call ", target,
               ": the body of a shard_map or pmap is written for one device and cannot be "
               "planned; lower the program without it"));
  }
}

TEST(Partitioned, Replicas) {
  const std::string wanted =
      " 8 replicas: every one of them runs this program on its own part of the data (pmap); pass "
      "one for the whole data: jax.jit(f).lower(...).as_text()";
  EXPECT_EQ(VerdictOfHlo(", replica_count=8", "f32[8] negate(a)"), StrCat("f:1:14:", wanted));
  EXPECT_EQ(
      VerdictOfStablehlo("mhlo.num_replicas = 8 : i32", "stablehlo.negate %a : tensor<8xf32>"),
      StrCat("f:1:40:", wanted));
}

// A program that asks which device it runs on is written for one of several.
TEST(Partitioned, KnowsItsDevice) {
  for (const std::string name : {"partition-id", "replica-id"}) {
    EXPECT_THAT(VerdictOfHlo("", StrCat("u32[] ", name, "()")),
                StartsWith(StrCat("f:5:8: r: ", name, ", which device this is: this program is")));
  }
  EXPECT_THAT(
      VerdictOfHlo("", "f32[8] negate(a), sharding={manual}"),
      StartsWith("f:5:8: r: sharding={manual}: the body of a shard_map or pmap is written"));
}

TEST(Partitioned, CountsThatAreNone) {
  for (const std::string count : {"0", "-4", "abc", "99999999999999999999"}) {
    const absl::StatusOr<Module> module = ParseHloText(
        StrCat("HloModule m, replica_count=", count, "\nENTRY e { a = f32[] parameter(0) }"), "f");
    EXPECT_EQ(Verdict(module), StrCat("f:1:14: replica_count: found ", count,
                                      ", expected a number of devices from 1"));
  }
  for (const std::string count : {"4.0 : f32", "\"4\"", "0 : i32"}) {
    EXPECT_THAT(VerdictOfStablehlo(StrCat("mhlo.num_partitions = ", count),
                                   "stablehlo.negate %a : tensor<8xf32>"),
                StartsWith("f:1:42: num_partitions: found "));
  }
}

TEST(Partitioned, CompiledForSeveralDevices) {
  EXPECT_THAT(VerdictOfHlo(", num_partitions=8, is_scheduled=true", "f32[8] negate(a)"),
              StartsWith("f:1:14: compiled for 8 devices: this program is partitioned already"));
  EXPECT_EQ(VerdictOfHlo(", is_scheduled=true", "f32[8] negate(a)"), "");
  EXPECT_THAT(
      Verdict(ParseHloText("HloModule m\nENTRY main.4_spmd { a = f32[] parameter(0) }", "f")),
      StartsWith("f:2:21: main.4_spmd is for several devices: this program is partitioned"));
  EXPECT_EQ(Verdict(ParseHloText("HloModule m\nENTRY step_spmd { a = f32[] parameter(0) }", "f")),
            "");
}

// Whole programs with annotations.
TEST(Partitioned, AnnotationsDoNotPartition) {
  EXPECT_EQ(VerdictOfHlo(", num_partitions=8", "f32[8] negate(a), sharding={devices=[8]<=[8]}"),
            "");
  EXPECT_EQ(VerdictOfHlo(", num_partitions=8",
                         "f32[8] custom-call(a), custom_call_target=\"Sharding\", "
                         "sharding={devices=[8]<=[8]}"),
            "");
  EXPECT_EQ(VerdictOfStablehlo("mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32",
                               "stablehlo.custom_call @Sharding(%a) {mhlo.sharding = "
                               "\"{devices=[8]<=[8]}\"} : (tensor<8xf32>) -> tensor<8xf32>"),
            "");
}

}  // namespace
}  // namespace meshwright
