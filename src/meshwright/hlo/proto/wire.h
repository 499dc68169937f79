#ifndef MESHWRIGHT_HLO_PROTO_WIRE_H_
#define MESHWRIGHT_HLO_PROTO_WIRE_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

// The wire format of protocol buffers: https://protobuf.dev/programming-guides/encoding.

namespace meshwright::proto {

enum class WireType : uint8_t {
  kVarint = 0,
  kFixed64 = 1,
  kBytes = 2,
  kGroupStart = 3,
  kGroupEnd = 4,
  kFixed32 = 5,
};

struct WireTag {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
};

template <typename T>
concept WireScalar = std::is_arithmetic_v<T> || std::is_enum_v<T>;

template <WireScalar T>
constexpr WireType WireTypeOf() {
  if (std::is_same_v<T, float>) return WireType::kFixed32;
  if (std::is_same_v<T, double>) return WireType::kFixed64;
  return WireType::kVarint;
}

// Takes fields off the front of some bytes. Every function that returns bool returns false, and
// leaves the reader where it may not be used again, if the bytes are malformed.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : WireReader(bytes, kMaxDepth) {}

  bool ok() const { return depth_ >= 0; }
  bool AtEnd() const { return bytes_.empty(); }
  bool Tag(WireTag& tag);
  bool Bytes(std::string_view& bytes);  // a length, and as many bytes
  bool Skip(WireTag tag);               // the value of a field that is not known

  // A reader of what Bytes() gives; not ok() if that fails or messages are nested too deep.
  WireReader Nested();

  template <WireScalar T>
  bool Scalar(T& value) {
    if constexpr (std::is_floating_point_v<T>) {
      if (bytes_.size() < sizeof(T)) return false;
      std::memcpy(&value, bytes_.data(), sizeof(T));  // little-endian, see below
      bytes_.remove_prefix(sizeof(T));
    } else {
      uint64_t bits = 0;
      if (!Varint(bits)) return false;
      if constexpr (std::is_same_v<T, bool>) {
        value = bits != 0;
      } else {
        value = static_cast<T>(bits);
      }
    }
    return true;
  }

 private:
  static_assert(std::endian::native == std::endian::little);
  static constexpr int kMaxDepth = 100;  // protobuf's own limit

  WireReader(std::string_view bytes, int depth) : bytes_(bytes), depth_(depth) {}
  bool Varint(uint64_t& value);
  bool SkipGroup(uint32_t number);

  std::string_view bytes_;
  int depth_;  // of messages that may still be nested in this; negative: not ok()
};

void AppendVarint(uint64_t value, std::string& out);
void AppendTag(WireTag tag, std::string& out);

template <WireScalar T>
void AppendScalar(T value, std::string& out) {
  if constexpr (std::is_floating_point_v<T>) {
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    out.append(bytes, sizeof(T));
  } else if constexpr (std::is_unsigned_v<T>) {
    AppendVarint(value, out);
  } else {
    AppendVarint(static_cast<uint64_t>(static_cast<int64_t>(value)), out);
  }
}

// Whether proto3 leaves the value out. Minus zero is not zero.
template <WireScalar T>
bool IsZero(T value) {
  if constexpr (std::is_same_v<T, float>) return std::bit_cast<uint32_t>(value) == 0;
  if constexpr (std::is_same_v<T, double>) return std::bit_cast<uint64_t>(value) == 0;
  return value == T{};
}

}  // namespace meshwright::proto

#endif  // MESHWRIGHT_HLO_PROTO_WIRE_H_
