#ifndef MESHWRIGHT_HLO_STABLEHLO_BYTECODE_CURSOR_H_
#define MESHWRIGHT_HLO_STABLEHLO_BYTECODE_CURSOR_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace meshwright {

// Reads the primitives of MLIR bytecode off the front of some bytes of a file. Every function
// checks what is left, so that no size or index of a damaged file is trusted.
// Errors: `file: byte N: message`, N counted from the beginning of the file.
class BytecodeCursor {
 public:
  BytecodeCursor() = default;
  // `bytes` stands at `offset` in the file called `file_name`; both views must outlive the cursor.
  BytecodeCursor(std::string_view bytes, size_t offset, std::string_view file_name)
      : bytes_(bytes), offset_(offset), origin_(offset), file_name_(file_name) {}

  bool AtEnd() const { return position_ == bytes_.size(); }
  size_t remaining() const { return bytes_.size() - position_; }
  size_t offset() const { return offset_ + position_; }  // in the file
  std::string_view file_name() const { return file_name_; }

  absl::StatusOr<uint8_t> Byte();
  // A varint says by the zeros at the low end of its first byte how many bytes follow it.
  absl::StatusOr<uint64_t> Varint();
  // The same zigzag-coded: 0, -1, 1, -2, ...
  absl::StatusOr<int64_t> SignedVarint();
  // A varint whose lowest bit is a flag.
  absl::StatusOr<uint64_t> VarintWithFlag(bool& flag);
  // A number that counts things, of which each takes at least one byte of what is left.
  absl::StatusOr<size_t> Count(std::string_view things);
  // A count and as many signed varints.
  absl::StatusOr<std::vector<int64_t>> SignedVarints();
  absl::StatusOr<std::string_view> Bytes(uint64_t size);
  // The text up to a NUL, which is consumed.
  absl::StatusOr<std::string_view> NullTerminated();
  // Moves on to a multiple of `alignment`, counted from where the outermost cursor began.
  absl::Status Align(uint64_t alignment);
  // A cursor on `size` bytes, which this one moves past.
  absl::StatusOr<BytecodeCursor> Nested(uint64_t size);

  absl::Status Error(std::string_view message) const;

 private:
  std::string_view bytes_;
  size_t offset_ = 0;
  size_t origin_ = 0;  // the offset of the outermost cursor
  size_t position_ = 0;
  std::string_view file_name_;
};

// `file: byte N: message`
absl::Status BytecodeError(std::string_view file_name, size_t offset, std::string_view message);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_STABLEHLO_BYTECODE_CURSOR_H_
