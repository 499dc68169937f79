#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/base/strings.h"
#include "meshwright/hlo/stablehlo/bytecode_text.h"
#include "meshwright/hlo/stablehlo/reader.h"

// Bytecode that no writer makes: each is refused in one line that says the byte, at once, whatever
// its numbers claim.

namespace meshwright {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Writes bytecode of version 6 with the dialects builtin and func and the operations
// builtin.module, func.func and func.return.
class BytecodeWriter {
 public:
  static std::string Number(uint64_t value) {
    if (value < 128) return std::string(1, static_cast<char>(value << 1 | 1));
    std::string bytes(1, '\0');
    for (int i = 0; i < 64; i += 8) bytes += static_cast<char>(value >> i & 0xff);
    return bytes;
  }
  static std::string Numbers(std::initializer_list<uint64_t> values) {
    std::string bytes;
    for (const uint64_t value : values) bytes += Number(value);
    return bytes;
  }
  static std::string Section(int id, std::string_view data) {
    return StrCat(std::string(1, static_cast<char>(id)), Number(data.size()), data);
  }

  uint64_t String(std::string_view text) {
    strings_.emplace_back(text);
    return strings_.size() - 1;
  }
  uint64_t Attribute(std::string data) {
    attributes_.push_back(std::move(data));
    return attributes_.size() - 1;
  }
  uint64_t Type(std::string data) {
    types_.push_back(std::move(data));
    return types_.size() - 1;
  }

  // `ir`: the top-level block.
  std::string File(std::string_view ir) const {
    std::string strings = Number(strings_.size());
    for (size_t i = strings_.size(); i-- > 0;) strings += Number(strings_[i].size() + 1);
    for (const std::string& text : strings_) StrAppend(&strings, text, std::string(1, '\0'));
    std::string sizes = Numbers({attributes_.size(), types_.size()});
    std::string data;
    for (const auto* entries : {&attributes_, &types_}) {
      if (entries->empty()) continue;
      sizes += Numbers({0, entries->size()});
      for (const std::string& entry : *entries) {
        sizes += Number(entry.size() << 1 | 1);
        data += entry;
      }
    }
    // Two dialects without versions; three operations, registered.
    const std::string dialects =
        Numbers({2, 0 << 1, 1 << 1, 3, 0, 1, 2 << 1 | 1, 1, 2, 3 << 1 | 1, 4 << 1 | 1});
    return StrCat("ML\xefR", Number(6), "test", std::string(1, '\0'), Section(0, strings),
                  Section(1, dialects), Section(2, data), Section(3, sizes), Section(4, ir));
  }

 private:
  std::vector<std::string> strings_ = {"builtin", "func", "module", "func", "return"};
  std::vector<std::string> attributes_ = {BytecodeWriter::Number(15)};  // 0: an unknown location
  std::vector<std::string> types_;
};
using W = BytecodeWriter;

// One operation builtin.module with the attributes `dictionary` and an empty body.
std::string ModuleWith(uint64_t dictionary) {
  return StrCat(W::Number(1 << 1), W::Number(0), "\x11", W::Number(0), W::Number(dictionary),
                W::Number(1 << 1 | 1), W::Section(4, W::Numbers({1, 0, 0})));
}

std::string TextError(const std::string& bytes) {
  const absl::StatusOr<BytecodeText> text = TextFromBytecode(bytes, 0, "f.mlirbc", {});
  EXPECT_FALSE(text.ok());
  if (text.ok()) return text->text;
  const std::string message(text.status().message());
  EXPECT_THAT(message, Not(HasSubstr("\n")));
  EXPECT_THAT(message, StartsWith("f.mlirbc: byte "));
  return message;
}

TEST(BytecodeErrors, ModuleThatIsWell) {
  W writer;
  const uint64_t name = writer.Attribute(W::Numbers({2, writer.String("mhlo.x")}));
  const uint64_t unit = writer.Attribute(W::Number(7));
  const uint64_t dictionary = writer.Attribute(W::Numbers({1, 1, name, unit}));
  EXPECT_EQ(TextFromBytecode(writer.File(ModuleWith(dictionary)), 0, "f", {}).value().text,
            "module attributes {mhlo.x} {\n}\n");
}

TEST(BytecodeErrors, WhatIsNoBytecode) {
  EXPECT_EQ(TextError("ML\xefR"), "f.mlirbc: byte 4: the bytecode ends in the middle of something");
  EXPECT_EQ(TextError("ML\xefR\x11test"),
            "f.mlirbc: byte 5: bytecode of version 8; versions 0 to 4 and 6 can be read. Write the "
            "program as text, or for version 6");
  EXPECT_EQ(TextError(std::string("ML\xefR\x0dtest\0", 10)),
            "f.mlirbc: byte 10: there is no section of the kind 0");
  EXPECT_EQ(TextError(std::string("ML\xefR\x0dtest\0\x04\x41", 12)),
            "f.mlirbc: byte 12: 32 bytes are expected, but only 0 follow");
  EXPECT_EQ(TextError(std::string("ML\xefR\x0dtest\0\x09\x01", 12)),
            "f.mlirbc: byte 12: a section of the unknown kind 9");
}

TEST(BytecodeErrors, NumbersOutOfBounds) {
  const W writer;
  // Operation 9; attribute 9; a dictionary that is a location.
  EXPECT_THAT(TextError(writer.File(StrCat(W::Number(1 << 1), W::Number(9)))),
              HasSubstr("operation 9 is named; there are 3 operations"));
  EXPECT_THAT(TextError(writer.File(ModuleWith(9))),
              HasSubstr("attribute 9 is named; there are 1"));
  EXPECT_THAT(TextError(writer.File(ModuleWith(0))), HasSubstr("expected a dictionary"));
  // A block of more arguments than there are bytes.
  EXPECT_THAT(TextError(writer.File(W::Numbers({0 << 1 | 1, uint64_t{1} << 60}))),
              HasSubstr("1152921504606846976 arguments, but only 0 bytes follow"));
}

TEST(BytecodeErrors, AttributesThatContainThemselves) {
  W writer;
  const uint64_t array = writer.Attribute(W::Numbers({0, 1, 1}));
  const uint64_t name = writer.Attribute(W::Numbers({2, writer.String("a")}));
  const uint64_t dictionary = writer.Attribute(W::Numbers({1, 1, name, array}));
  ASSERT_EQ(array, 1u);
  EXPECT_THAT(TextError(writer.File(ModuleWith(dictionary))),
              HasSubstr("attributes or types nested deeper than 128"));
}

// Forty lists, each of the one before twice: a billion items in 200 bytes.
TEST(BytecodeErrors, TextThatWouldBeEndless) {
  W writer;
  uint64_t list = writer.Attribute(W::Number(7));
  for (int i = 0; i < 40; ++i) list = writer.Attribute(W::Numbers({0, 2, list, list}));
  const uint64_t name = writer.Attribute(W::Numbers({2, writer.String("a")}));
  const uint64_t dictionary = writer.Attribute(W::Numbers({1, 1, name, list}));
  EXPECT_THAT(TextError(writer.File(ModuleWith(dictionary))),
              HasSubstr("the text of this bytecode would be larger than 4194304 bytes"));
}

// A dictionary of 20,000 entries, which 20,000 operations name.
TEST(BytecodeErrors, WorkThatWouldBeEndless) {
  W writer;
  const uint64_t name = writer.Attribute(W::Numbers({2, writer.String("a")}));
  std::string entries;
  for (int i = 0; i < 20'000; ++i) entries += W::Numbers({name, name});
  const uint64_t dictionary = writer.Attribute(StrCat(W::Number(1), W::Number(20'000), entries));
  std::string ir = W::Number(20'000 << 1);
  for (int i = 0; i < 20'000; ++i) {
    ir += StrCat(W::Number(2), "\x01", W::Number(0), W::Number(dictionary));
  }
  EXPECT_THAT(TextError(writer.File(ir)), HasSubstr("would be larger than"));
}

TEST(BytecodeErrors, RegionsNestedTooDeep) {
  const W writer;
  // Modules in modules, without sections of their own: the operation, no attributes, one region of
  // one block with no values and one operation.
  std::string ir = W::Number(1 << 1);
  for (int i = 0; i < 1000; ++i) {
    ir += StrCat(W::Number(0), "\x10", W::Number(0), W::Numbers({1 << 1, 1, 0, 1 << 1}));
  }
  EXPECT_THAT(TextError(writer.File(ir)), HasSubstr("regions nested deeper than 128"));
}

// What the text reader finds is said with the place in the bytecode.
TEST(BytecodeErrors, PlacesOfOperations) {
  W writer;
  const uint64_t none = writer.Attribute(W::Numbers({1, 0}));
  const std::string bytes = writer.File(ModuleWith(none));
  EXPECT_EQ(ReadStablehlo(bytes, "f.mlirbc").status().message(),
            StrCat("f.mlirbc: byte ", bytes.find("\x01\x11\x01"),
                   ": no function @main among the 0 functions of the module"));
}

}  // namespace
}  // namespace meshwright
