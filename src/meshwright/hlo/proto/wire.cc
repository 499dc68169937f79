#include "meshwright/hlo/proto/wire.h"

namespace meshwright::proto {
namespace {

constexpr int kVarintBits = 7;
constexpr int kMaxVarintBytes = 10;

}  // namespace

bool WireReader::Varint(uint64_t& value) {
  value = 0;
  for (int i = 0; i < kMaxVarintBytes && !bytes_.empty(); ++i) {
    const auto byte = static_cast<uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7f) << (kVarintBits * i);
    if (byte < 0x80) return true;
  }
  return false;
}

bool WireReader::Tag(WireTag& tag) {
  uint64_t bits = 0;
  if (!Varint(bits) || bits > UINT32_MAX || (bits & 7) > 5) return false;
  tag = {static_cast<uint32_t>(bits >> 3), static_cast<WireType>(bits & 7)};
  return tag.number != 0;
}

bool WireReader::Bytes(std::string_view& bytes) {
  uint64_t size = 0;
  if (!Varint(size) || size > bytes_.size()) return false;
  bytes = bytes_.substr(0, size);
  bytes_.remove_prefix(size);
  return true;
}

WireReader WireReader::Nested() {
  std::string_view inside;
  if (!Bytes(inside)) return WireReader({}, -1);
  return WireReader(inside, depth_ - 1);
}

bool WireReader::Skip(WireTag tag) {
  uint64_t number = 0;
  std::string_view bytes;
  switch (tag.type) {
    case WireType::kVarint:
      return Varint(number);
    case WireType::kBytes:
      return Bytes(bytes);
    case WireType::kFixed32:
    case WireType::kFixed64: {
      const size_t size = tag.type == WireType::kFixed32 ? 4 : 8;
      if (bytes_.size() < size) return false;
      bytes_.remove_prefix(size);
      return true;
    }
    case WireType::kGroupStart:
      return SkipGroup(tag.number);
    case WireType::kGroupEnd:
      break;
  }
  return false;
}

bool WireReader::SkipGroup(uint32_t number) {
  if (--depth_ < 0) return false;
  WireTag tag;
  while (Tag(tag)) {
    if (tag.type == WireType::kGroupEnd) {
      ++depth_;
      return tag.number == number;
    }
    if (!Skip(tag)) return false;
  }
  return false;
}

void AppendVarint(uint64_t value, std::string& out) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= kVarintBits;
  }
  out.push_back(static_cast<char>(value));
}

void AppendTag(WireTag tag, std::string& out) {
  AppendVarint(uint64_t{tag.number} << 3 | static_cast<uint64_t>(tag.type), out);
}

}  // namespace meshwright::proto
