#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <iostream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/base/file.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/hlo/program/reader.h"
#include "meshwright/hlo/proto/hlo.pb.h"
#include "meshwright/hlo/proto/reader.h"
#include "meshwright/hlo/proto/sharding.h"
#include "meshwright/hlo/proto/writer.h"
#include "meshwright/hlo/text/reader.h"
#include "meshwright/hlo/text/writer.h"
#include "tests/testing/data.h"
#include "tests/testing/exhaustive.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;

std::string Contents(std::string_view name) {
  absl::StatusOr<std::string> contents = ReadFileMaybeGzip(HloData(name));
  EXPECT_TRUE(contents.ok()) << contents.status();
  return contents.ok() ? *std::move(contents) : "";
}

Module Read(const std::string& path) {
  absl::StatusOr<Module> module = ReadHlo(path);
  EXPECT_TRUE(module.ok()) << module.status();
  return module.ok() ? *std::move(module) : Module();
}

class ProtoFileTest : public ::testing::TestWithParam<std::string_view> {};

// Text and proto of one program, both written by XLA, are one module. `attributes` has every opcode
// with every attribute that both can hold.
TEST_P(ProtoFileTest, ProtoAndTextAreEqual) {
  Module from_proto = Read(HloData(StrCat(GetParam(), ".hlo.pb.gz")));
  const Module from_text = Read(HloData(StrCat(GetParam(), ".hlo.txt.gz")));
  for (size_t c = 0; c < from_proto.computations.size(); ++c) {  // the style of printing
    from_proto.computations[c].has_signature = from_text.computations.at(c).has_signature;
  }
  EXPECT_EQ(ToHloText(from_proto), ToHloText(from_text));
  EXPECT_TRUE(from_proto == from_text);
}

TEST_P(ProtoFileTest, WritingAndReadingIsIdentity) {
  const Module module = Read(HloData(StrCat(GetParam(), ".hlo.pb.gz")));
  const std::string bytes = ToHloProto(module);
  const absl::StatusOr<Module> back = ParseHloProto(bytes, "back.pb");
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_TRUE(*back == module);
  EXPECT_EQ(ToHloProto(*back), bytes);
  // Nothing had to travel in fields that XLA does not know.
  proto::HloModuleProto proto;
  ASSERT_TRUE(proto.ParseFromString(bytes));
  EXPECT_EQ(proto.text_attributes_size(), 0);
  for (const auto& computation : proto.computations()) {
    for (const auto& instruction : computation.instructions()) {
      EXPECT_EQ(instruction.text_attributes_size(), 0) << instruction.name();
      EXPECT_TRUE(instruction.text_sharding().empty()) << instruction.name();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Files, ProtoFileTest,
                         ::testing::Values("attributes", "mlp_4096x4.train", "tiny_gpt.train"),
                         [](const auto& info) {
                           std::string name(info.param);
                           for (char& c : name) c = std::isalnum(c) ? c : '_';
                           return name;
                         });

TEST(ProtoTest, SharedPrograms) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  if (!std::filesystem::exists(MESHWRIGHT_SHARED)) {
    std::cout << "shared programs: not used (no " << MESHWRIGHT_SHARED << ")\n";
    return;
  }
  int used = 0;
  for (const auto& entry : std::filesystem::directory_iterator(StrCat(MESHWRIGHT_SHARED, "/hlo"))) {
    const std::string path = entry.path().string();
    if (!path.ends_with(".hlo.txt.gz")) continue;
    SCOPED_TRACE(path);
    const Module module = Read(path);
    const absl::StatusOr<Module> back = ParseHloProto(ToHloProto(module), path);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_TRUE(*back == module);
    const absl::StatusOr<Graph> graph = BuildGraph(module);
    ASSERT_TRUE(graph.ok()) << graph.status();
    EXPECT_TRUE(graph->warnings.empty()) << graph->warnings[0];
    const bool scan = path.find(".scan") != std::string::npos;
    EXPECT_EQ(graph->loops.size(), scan ? 2u : 0u);
    for (const Loop& loop : graph->loops) EXPECT_EQ(loop.trip_count, 32);
    ++used;
  }
  std::cout << "shared programs: " << used << " used\n";
}

TEST(ProtoTest, WrappedModuleIsFound) {
  const std::string bytes = Contents("mlp_4096x4.train.hlo.pb.gz");
  proto::HloProto wrapper;
  ASSERT_TRUE(wrapper.mutable_hlo_module()->ParseFromString(bytes));
  const absl::StatusOr<Module> wrapped = ParseHloProto(wrapper.SerializeAsString(), "w.pb");
  ASSERT_TRUE(wrapped.ok()) << wrapped.status();
  EXPECT_TRUE(*wrapped == *ParseHloProto(bytes, "m.pb"));
  proto::HloSnapshot snapshot;
  *snapshot.mutable_hlo() = wrapper;
  const absl::StatusOr<Module> dumped = ParseHloProto(snapshot.SerializeAsString(), "s.pb");
  ASSERT_TRUE(dumped.ok()) << dumped.status();
  EXPECT_TRUE(*dumped == *wrapped);
}

TEST(ProtoTest, WhatXlaHasNoFieldForSurvives) {
  const absl::StatusOr<Module> module =
      ParseHloText(R"(HloModule m, num_partitions=4, is_scheduled=true
ENTRY e {
  a = f32[4]{0} parameter(0), future_attribute={1,2}, sharding={devices=[2]<=[2] future}
  b = f32[4]{0} negate(a), metadata={op_name="n" future_field=3}
  ROOT c = f32[4]{0} custom-call(b), custom_call_target="t", backend_config="text"
})",
                   "t.hlo");
  ASSERT_TRUE(module.ok()) << module.status();
  const absl::StatusOr<Module> back = ParseHloProto(ToHloProto(*module), "t.pb");
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(ToHloText(*back), ToHloText(*module));
  EXPECT_TRUE(*back == *module);
}

TEST(ProtoTest, ShardingTextsReadBack) {
  for (const std::string_view text :
       {"{replicated}", "{manual}", "{unknown}", "{unreduced}", "{maximal device=3}",
        "{replicated shard_as 1}", "{devices=[2,4]<=[8]}", "{devices=[2,4]<=[4,2]T(1,0)}",
        "{devices=[2,2]0,2,1,3}", "{devices=[2,1,4]<=[8] last_tile_dim_replicate}",
        "{devices=[1,2,2]<=[4] last_tile_dims={manual, unreduced}}",
        "{devices=[8,1]<=[8] shard_like 3}", "{{devices=[2]<=[2]}, {replicated}}",
        "{mesh['x'=2,'y'=2], [{'x'}, {}]}", "{mesh['x'=2], replicated}", "{mesh['x'=2], manual}",
        "{mesh['x'=4,'y'=2], device_ids=([2,4]T(1,0)), [{'x':(1)2}, {'y', ?}], "
        "unreduced={'x':(2)2}}",
        "{maximal_mesh[device_id=3]}"}) {
    proto::OpSharding sharding;
    ASSERT_TRUE(ShardingFromText(text, &sharding)) << text;
    const absl::StatusOr<std::string> back = ShardingText(sharding);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(*back, text);
  }
  for (const std::string_view text : {"", "{", "replicated", "{devices=[2]}", "{{{replicated}}}",
                                      "{mesh['x'=2], [{'y'}]}", "{replicated} more"}) {
    proto::OpSharding sharding;
    EXPECT_FALSE(ShardingFromText(text, &sharding)) << text;
  }
}

TEST(ProtoTest, FormatsAreToldApart) {
  EXPECT_EQ(DetectHloFormat("HloModule m\nENTRY"), HloFormat::kText);
  EXPECT_EQ(DetectHloFormat(""), HloFormat::kText);
  EXPECT_EQ(DetectHloFormat(Contents("mlp_4096x4.train.hlo.pb.gz")), HloFormat::kProto);
  EXPECT_EQ(DetectHloFormat("// f\nmodule @jit_f attributes {}"), HloFormat::kMlir);
  EXPECT_EQ(DetectHloFormat("ML\xefR\x01"), HloFormat::kMlir);
}

// ---- errors ----

std::string ProtoErrorOf(const proto::HloModuleProto& proto) {
  const absl::StatusOr<Module> module = ParseHloProto(proto.SerializeAsString(), "f.pb");
  return module.ok() ? "no error" : std::string(FromAbsl(module.status().message()));
}

TEST(ProtoErrorsTest, NameThePlaceAndTheFault) {
  proto::HloModuleProto good;
  ASSERT_TRUE(good.ParseFromString(Contents("mlp_4096x4.train.hlo.pb.gz")));
  ASSERT_EQ(ProtoErrorOf(good), "no error");
  const auto broken = [&](auto&& damage) {
    proto::HloModuleProto proto = good;
    damage(proto, *proto.mutable_computations(0)->mutable_instructions(3));
    return ProtoErrorOf(proto);
  };
  EXPECT_EQ(broken([](auto& m, auto& i) { i.set_opcode("frobnicate"); }),
            "f.pb: computation \"relu.1\": instruction \"max.3\": unknown opcode \"frobnicate\"");
  EXPECT_THAT(broken([](auto& m, auto& i) { i.set_operand_ids(0, 77); }),
              HasSubstr("instruction \"max.3\": an operand has the id 77, which does not exist"));
  EXPECT_THAT(broken([](auto& m, auto& i) { i.set_operand_ids(0, i.id()); }),
              HasSubstr("instruction \"max.3\": its operands depend on itself"));
  EXPECT_THAT(broken([](auto& m, auto& i) { i.mutable_shape()->set_element_type(99); }),
              HasSubstr("unknown element type 99"));
  EXPECT_THAT(broken([](auto& m, auto& i) { i.mutable_shape()->set_dimensions(0, -1); }),
              HasSubstr("negative"));
  EXPECT_THAT(broken([](auto& m, auto& i) { i.mutable_shape()->set_dimensions(0, 5); }),
              HasSubstr("max.3"));
  EXPECT_THAT(broken([](auto& m, auto& i) { i.add_called_computation_ids(77); }),
              HasSubstr("a called computation has the id 77"));
  EXPECT_THAT(broken([](auto& m, auto& i) { m.mutable_computations(0)->set_root_id(77); }),
              HasSubstr("computation \"relu.1\": the root has the id 77"));
  EXPECT_THAT(broken([](auto& m, auto& i) { m.set_entry_computation_id(77); }),
              HasSubstr("the entry computation has the id 77"));
  EXPECT_THAT(broken([](auto& m, auto& i) {
                m.mutable_computations(0)->mutable_instructions(0)->set_parameter_number(4);
              }),
              HasSubstr("parameter number 4 is out of range"));
  EXPECT_THAT(broken([](auto& m, auto& i) {
                m.mutable_computations(0)->mutable_instructions(1)->mutable_literal()->add_f32s(1);
              }),
              HasSubstr("literal has 8 bytes"));
  EXPECT_THAT(broken([](auto& m, auto& i) { m.clear_computations(); }),
              HasSubstr("neither text nor a whole HloModuleProto or HloProto with computations"));
}

// As constants are written: XLA reads no literal without a layout.
void SetRowMajorLayout(Shape& shape) {
  for (Shape& element : shape.tuple) SetRowMajorLayout(element);
  if (!shape.is_array() || shape.has_layout || shape.rank() == 0) return;
  for (int64_t d = shape.rank(); d-- > 0;) shape.minor_to_major.push_back(d);
  shape.has_layout = true;
}
Module WithLayoutsOfConstants(Module module) {
  for (Computation& computation : module.computations) {
    for (Instruction& i : computation.instructions) {
      if (i.opcode == Opcode::kConstant) SetRowMajorLayout(i.shape);
    }
  }
  return module;
}

TEST(ProtoTest, ConstantsHaveLayouts) {
  const absl::StatusOr<Module> module = ParseHloText(R"(HloModule m
ENTRY main { ROOT c = s32[2,2] constant({{1,2},{3,4}}) })",
                                                     "test");
  ASSERT_TRUE(module.ok()) << module.status();
  const absl::StatusOr<Module> back = ParseHloProto(ToHloProto(*module), "test");
  ASSERT_TRUE(back.ok()) << back.status();
  const Instruction& constant = back->entry_computation().instructions[0];
  EXPECT_THAT(constant.shape.minor_to_major, ::testing::ElementsAre(1, 0));
  EXPECT_EQ(*back, WithLayoutsOfConstants(*module));
}

// Damaged bytes: an answer or an error of one line; an answer survives writing and reading.
TEST(ProtoErrorsTest, MutatedBytes) {
  const uint32_t seed = 20261128;
  SCOPED_TRACE(StrCat("seed ", seed));
  std::mt19937 random(seed);
  int accepted = 0, rejected = 0;
  for (const std::string_view name : {"attributes.hlo.pb.gz", "mlp_4096x4.train.hlo.pb.gz"}) {
    const std::string good = Contents(name);
    for (int round = 0; round < 1000; ++round) {
      std::string bytes = good;
      const int edits = 1 + static_cast<int>(random() % 4);
      for (int e = 0; e < edits; ++e) {
        const size_t at = random() % bytes.size();
        switch (random() % 4) {
          case 0:
            bytes[at] = static_cast<char>(random());
            break;
          case 1:
            bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
            break;
          case 2:
            bytes.erase(at, 1 + random() % 8);
            break;
          default:
            bytes.insert(at, bytes.substr(random() % bytes.size(), random() % 32));
            break;
        }
        if (bytes.empty()) bytes = "x";
      }
      const absl::StatusOr<Module> module = ParseHloProto(bytes, "fuzz.pb");
      if (!module.ok()) {
        ++rejected;
        EXPECT_EQ(module.status().message().find('\n'), std::string::npos) << module.status();
        continue;
      }
      ++accepted;
      const absl::StatusOr<Graph> graph = BuildGraph(*module);
      if (!graph.ok()) EXPECT_EQ(graph.status().message().find('\n'), std::string::npos);
      const absl::StatusOr<Module> back = ParseHloProto(ToHloProto(*module), "back.pb");
      ASSERT_TRUE(back.ok()) << back.status() << " round " << round << " of " << name;
      EXPECT_TRUE(*back == WithLayoutsOfConstants(*module)) << "round " << round << " of " << name;
    }
  }
  EXPECT_GT(accepted, 0);
  EXPECT_GT(rejected, 0);
}

}  // namespace
}  // namespace meshwright
