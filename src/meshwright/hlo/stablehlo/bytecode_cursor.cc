#include "meshwright/hlo/stablehlo/bytecode_cursor.h"

#include <bit>
#include <cstring>

#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"

namespace meshwright {

static_assert(std::endian::native == std::endian::little);

absl::Status BytecodeError(std::string_view file_name, size_t offset, std::string_view message) {
  return absl::InvalidArgumentError(StrCat(file_name, ": byte ", offset, ": ", message));
}

absl::Status BytecodeCursor::Error(std::string_view message) const {
  return BytecodeError(file_name_, offset(), message);
}

absl::StatusOr<uint8_t> BytecodeCursor::Byte() {
  if (AtEnd()) return Error("the bytecode ends in the middle of something");
  return static_cast<uint8_t>(bytes_[position_++]);
}

absl::StatusOr<uint64_t> BytecodeCursor::Varint() {
  MW_ASSIGN_OR_RETURN(const uint8_t first, Byte());
  if ((first & 1) != 0) return first >> 1;
  const auto more = static_cast<size_t>(first == 0 ? 8 : std::countr_zero(first));
  if (remaining() < more) return Error("the bytecode ends in the middle of a number");
  uint64_t value = 0;
  std::memcpy(&value, bytes_.data() + position_, more);
  position_ += more;
  if (more == 8) return value;
  return ((value << 8) | first) >> (more + 1);
}

absl::StatusOr<int64_t> BytecodeCursor::SignedVarint() {
  MW_ASSIGN_OR_RETURN(const uint64_t bits, Varint());
  return static_cast<int64_t>((bits >> 1) ^ (~(bits & 1) + 1));
}

absl::StatusOr<uint64_t> BytecodeCursor::VarintWithFlag(bool& flag) {
  MW_ASSIGN_OR_RETURN(const uint64_t bits, Varint());
  flag = (bits & 1) != 0;
  return bits >> 1;
}

absl::StatusOr<size_t> BytecodeCursor::Count(std::string_view things) {
  const size_t at = offset();
  MW_ASSIGN_OR_RETURN(const uint64_t count, Varint());
  if (count <= remaining()) return static_cast<size_t>(count);
  return BytecodeError(file_name_, at,
                       StrCat(count, " ", things, ", but only ", remaining(), " bytes follow"));
}

absl::StatusOr<std::vector<int64_t>> BytecodeCursor::SignedVarints() {
  MW_ASSIGN_OR_RETURN(const size_t count, Count("numbers"));
  std::vector<int64_t> values(count);
  for (int64_t& value : values) {
    MW_ASSIGN_OR_RETURN(value, SignedVarint());
  }
  return values;
}

absl::StatusOr<std::string_view> BytecodeCursor::Bytes(uint64_t size) {
  if (size > remaining()) {
    return Error(StrCat(size, " bytes are expected, but only ", remaining(), " follow"));
  }
  const std::string_view bytes = bytes_.substr(position_, static_cast<size_t>(size));
  position_ += bytes.size();
  return bytes;
}

absl::StatusOr<std::string_view> BytecodeCursor::NullTerminated() {
  const size_t end = bytes_.find('\0', position_);
  if (end == std::string_view::npos) return Error("the bytecode ends in the middle of a text");
  const std::string_view text = bytes_.substr(position_, end - position_);
  position_ = end + 1;
  return text;
}

absl::Status BytecodeCursor::Align(uint64_t alignment) {
  if (!std::has_single_bit(alignment)) {
    return Error(StrCat("an alignment of ", alignment, " bytes; it must be a power of two"));
  }
  const uint64_t rest = (offset() - origin_) & (alignment - 1);
  return rest == 0 ? absl::OkStatus() : Bytes(alignment - rest).status();
}

absl::StatusOr<BytecodeCursor> BytecodeCursor::Nested(uint64_t size) {
  const size_t at = offset();
  MW_ASSIGN_OR_RETURN(const std::string_view bytes, Bytes(size));
  BytecodeCursor nested(bytes, at, file_name_);
  nested.origin_ = origin_;
  return nested;
}

}  // namespace meshwright
