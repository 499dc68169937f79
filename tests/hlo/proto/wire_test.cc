#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "meshwright/base/strings.h"
#include "meshwright/hlo/proto/message.h"

// Bytes as https://protobuf.dev/programming-guides/encoding gives them.

namespace meshwright::proto {
namespace {

#define NODE_FIELDS(F)            \
  F(SCALAR, int64_t, number, 1)   \
  F(TEXT, std::string, text, 2)   \
  F(SUB, Node, child, 3)          \
  F(SCALARS, int32_t, list, 4)    \
  F(OPTIONAL, int32_t, maybe, 5)  \
  F(SCALARS, bool, flags, 6)      \
  F(SUBS, Node, children, 7)      \
  F(TEXTS, std::string, texts, 8) \
  F(SCALAR, float, real, 9)       \
  F(SCALARS, double, reals, 10)   \
  F(MAP, Node, map, 11)           \
  F(SCALAR, uint64_t, large, 30000)
MESHWRIGHT_PROTO_MESSAGE(Node, NODE_FIELDS)
#undef NODE_FIELDS

std::string Bytes(std::initializer_list<int> values) {
  std::string bytes;
  for (int value : values) bytes.push_back(static_cast<char>(value));
  return bytes;
}

TEST(ProtoWire, WritesWhatTheEncodingSays) {
  Node node;
  EXPECT_EQ(node.SerializeAsString(), "");
  node.set_number(150);
  EXPECT_EQ(node.SerializeAsString(), Bytes({0x08, 0x96, 0x01}));
  node.set_number(0);
  node.set_text("testing");
  EXPECT_EQ(node.SerializeAsString(), Bytes({0x12, 0x07}) + "testing");
  node.set_text("");
  node.mutable_child()->set_number(150);
  EXPECT_EQ(node.SerializeAsString(), Bytes({0x1a, 0x03, 0x08, 0x96, 0x01}));
  node.clear_child();
  for (int value : {3, 270, 86942}) node.add_list(value);
  EXPECT_EQ(node.SerializeAsString(), Bytes({0x22, 0x06, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05}));
  node.clear_list();
  node.set_maybe(0);
  EXPECT_EQ(node.SerializeAsString(), Bytes({0x28, 0x00}));
}

TEST(ProtoWire, NegativeIntegersTakeTenBytes) {
  Node node;
  node.set_maybe(-1);
  EXPECT_EQ(node.SerializeAsString(),
            Bytes({0x28, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}));
  Node back;
  ASSERT_TRUE(back.ParseFromString(node.SerializeAsString()));
  EXPECT_EQ(back.maybe(), -1);
}

TEST(ProtoWire, ReadsWhatItWrote) {
  Node node;
  node.set_number(std::numeric_limits<int64_t>::min());
  node.set_large(std::numeric_limits<uint64_t>::max());
  node.set_real(-0.0F);
  node.mutable_reals()->Add(0.5);
  for (bool flag : {true, false, true}) node.add_flags(flag);
  node.add_texts("");
  node.add_texts(std::string("\0x", 2));
  node.add_children()->add_children()->set_number(1);
  node.add_children();
  (*node.mutable_map())[-7].set_text("seven");
  const std::string bytes = node.SerializeAsString();
  Node back;
  ASSERT_TRUE(back.ParseFromString(bytes));
  EXPECT_EQ(back.SerializeAsString(), bytes);
  EXPECT_EQ(back.number(), node.number());
  EXPECT_EQ(back.large(), node.large());
  EXPECT_EQ(std::vector<bool>(back.flags().begin(), back.flags().end()),
            (std::vector<bool>{true, false, true}));
  EXPECT_EQ(back.texts(1), std::string("\0x", 2));
  EXPECT_EQ(back.children_size(), 2);
  EXPECT_EQ(back.children(0).children(0).number(), 1);
  EXPECT_EQ(back.map().at(-7).text(), "seven");
  EXPECT_FALSE(back.has_maybe());
  const Node copy = back;
  EXPECT_EQ(copy.SerializeAsString(), bytes);
}

TEST(ProtoWire, ReadsListsThatAreNotPackedAndSkipsWhatItDoesNotKnow) {
  Node node;
  // list = 1, a varint, 64 bits, bytes, a group with a field, 32 bits of unknown numbers, list = 2.
  ASSERT_TRUE(
      node.ParseFromString(Bytes({0x20, 1, 0x78, 5,    0x79, 1, 2,    3,    4, 5, 6, 7, 8,    0x7a,
                                  2,    9, 9,    0x7b, 0x78, 5, 0x7c, 0x7d, 1, 2, 3, 4, 0x20, 2})));
  ASSERT_EQ(node.list_size(), 2);
  EXPECT_EQ(node.list(0), 1);
  EXPECT_EQ(node.list(1), 2);
  // A known number with a type that it cannot have is not known either.
  ASSERT_TRUE(node.ParseFromString(Bytes({0x0a, 1, 9})));
  EXPECT_EQ(node.number(), 0);
}

TEST(ProtoWire, RefusesMalformedBytes) {
  const std::vector<std::string> malformed = {
      Bytes({0x08}),        // no value
      Bytes({0x08, 0x80}),  // a varint that does not end
      Bytes({0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}),  // too long
      Bytes({0x12, 0x05, 'a'}),  // fewer bytes than announced
      Bytes({0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}),
      Bytes({0x1a, 0x01, 0x08}),  // a message inside that is cut off
      Bytes({0x22, 0x01, 0x80}),  // a list that is cut off
      Bytes({0x4d, 1, 2}),        // half a float
      Bytes({0x00, 0x00}),        // field 0
      Bytes({0x0f}),
      Bytes({0x0e}),           // types that do not exist
      Bytes({0x7c}),           // the end of no group
      Bytes({0x7b, 0x78, 5}),  // a group without end
      Bytes({0x7b, 0x74}),     // ended as another
  };
  for (const std::string& bytes : malformed) {
    Node node;
    EXPECT_FALSE(node.ParseFromString(bytes)) << testing::PrintToString(bytes);
  }
}

TEST(ProtoWire, LimitsDepth) {
  const auto nested = [](int depth) {
    std::string bytes;
    for (int i = 0; i < depth; ++i) {
      std::string outer;
      AppendBytes(3, bytes, outer);
      bytes = std::move(outer);
    }
    return bytes;
  };
  Node node;
  EXPECT_TRUE(node.ParseFromString(nested(100)));
  EXPECT_FALSE(node.ParseFromString(nested(101)));
  EXPECT_FALSE(node.ParseFromString(std::string(1'000'000, 0x7b)));  // groups
}

}  // namespace
}  // namespace meshwright::proto
