#ifndef MESHWRIGHT_HLO_STABLEHLO_BYTECODE_ATTRIBUTES_H_
#define MESHWRIGHT_HLO_STABLEHLO_BYTECODE_ATTRIBUTES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/hlo/stablehlo/bytecode_file.h"
#include "meshwright/hlo/stablehlo/bytecode_formats.h"

namespace meshwright {

// Writes the attributes and types of bytecode as MLIR prints them, those of VHLO as what they are
// in StableHLO. They are named by their numbers in the file. Attributes share parts, so that a
// short file can stand for an endless text: what is written is limited.
class BytecodeAttributes {
 public:
  // `file` must outlive the object. No text that is appended to may become larger than `limit`, and
  // no more parts are looked at than that.
  BytecodeAttributes(const BytecodeFile& file, size_t limit) : file_(file), limit_(limit) {}

  absl::Status AppendType(uint64_t type, std::string& out);
  absl::Status AppendAttribute(uint64_t attribute, std::string& out);
  // An attribute of Shardy without the name of what it is: `<@mesh, [{"x"}]>`.
  absl::Status AppendBare(uint64_t attribute, std::string& out);
  // ` loc(#loc5)`, or nothing if the location is unknown.
  absl::Status AppendLocation(uint64_t attribute, std::string& out);
  // Lines `#loc5 = loc(...)` for all locations that were appended, parts before wholes.
  absl::Status AppendLocationLines(std::string& out);

  // An error at the place of an attribute.
  absl::Status Error(uint64_t attribute, std::string_view message) const;

  // ---- what attributes say ----
  using Named = std::vector<std::pair<std::string, uint64_t>>;
  absl::StatusOr<Named> Dictionary(uint64_t attribute);
  absl::StatusOr<std::vector<uint64_t>> Array(uint64_t attribute);
  // The value of a string or a symbol.
  absl::StatusOr<std::string> String(uint64_t attribute);
  // The values of a number and of a tensor of such, in VHLO.
  absl::StatusOr<int64_t> Integer(uint64_t attribute);
  absl::StatusOr<std::vector<int64_t>> Integers(uint64_t attribute);
  struct Function {
    std::vector<uint64_t> inputs, results;  // types
  };
  // The value of an attribute that is the type of a function.
  absl::StatusOr<Function> FunctionType(uint64_t attribute);

 private:
  // Counts parts that are looked at; an error, at `data`, if they have become too many.
  absl::Status Charge(uint64_t parts, const BytecodeCursor& data);

  enum class Part : uint8_t { kWhole, kPart };  // kPart: of another attribute of the same dialect

  absl::StatusOr<const BytecodeFile::Entry*> Find(const std::vector<BytecodeFile::Entry>& entries,
                                                  std::string_view what, uint64_t number) const;
  // A cursor behind the code of an attribute; an error unless its format is `special`.
  struct Coded {
    BytecodeCursor data;
    const BytecodeFile::Entry* entry = nullptr;
    const BytecodeFormat* format = nullptr;  // nullptr if the entry is text
  };
  absl::StatusOr<Coded> Decode(const std::vector<BytecodeFile::Entry>& entries, bool types,
                               uint64_t number) const;
  absl::StatusOr<Coded> DecodeAttribute(uint64_t number) const {
    return Decode(file_.attributes, false, number);
  }
  absl::Status Append(const Coded& coded, Part part, std::string& out);
  absl::Status AppendAttribute(uint64_t attribute, Part part, std::string& out);
  absl::Status AppendFormat(std::string_view format, BytecodeCursor& data, Part parts,
                            std::string& out);
  absl::Status AppendPlaceholder(char kind, BytecodeCursor& data, Part parts, std::string& out);
  absl::Status AppendSpecial(BytecodeSpecial special, BytecodeCursor& data, std::string& out);
  absl::Status AppendDictionary(uint64_t attribute, std::string& out);
  absl::StatusOr<std::string_view> StringAt(BytecodeCursor& data) const;

  // ---- bytecode_literals.cc ----
  absl::Status AppendInteger(BytecodeCursor& data, std::string& out);
  absl::Status AppendFloat(BytecodeCursor& data, std::string& out);
  absl::Status AppendArray(BytecodeCursor& data, std::string& out);
  absl::Status AppendElements(BytecodeCursor& data, std::string& out);
  struct Tensor {
    std::vector<int64_t> dims;
    std::string element;
  };
  absl::StatusOr<Tensor> TensorType(uint64_t type);
  absl::StatusOr<std::string_view> Blob(BytecodeCursor& data) const;

  // ---- bytecode_shardings.cc ----
  absl::Status AppendConvolution(BytecodeCursor& data, std::string& out);
  absl::Status AppendQuantized(BytecodeCursor& data, bool per_axis, std::string& out);
  absl::Status AppendMesh(BytecodeCursor& data, std::string& out);
  absl::Status AppendDimension(BytecodeCursor& data, std::string& out);
  absl::Status AppendSharding(BytecodeCursor& data, BytecodeSpecial special, std::string& out);
  absl::Status AppendAxes(BytecodeCursor& data, std::string_view name, std::string& out);
  absl::Status AppendShardingRule(BytecodeCursor& data, std::string& out);
  absl::Status AppendFactors(BytecodeCursor& data, std::string_view open,
                             std::string_view separator, std::string_view close, std::string& out);

  // ---- bytecode_locations.cc ----
  // Writes the line of a location behind those of its parts. Nothing if it is unknown or was
  // written before.
  absl::Status AppendLocationLine(uint64_t attribute, int depth, std::string& out);
  absl::StatusOr<bool> IsKnownLocation(uint64_t attribute) const;
  absl::Status AppendLocationPart(char kind, BytecodeCursor& data, int depth, std::string& lines,
                                  std::string& line);
  absl::Status AppendLocationName(uint64_t attribute, int depth, std::string& lines,
                                  std::string& line);

  const BytecodeFile& file_;
  size_t limit_;
  size_t charged_ = 0;
  int depth_ = 0;
  absl::flat_hash_map<uint64_t, bool> locations_;  // that were appended; whether there is a line
  std::vector<uint64_t> location_order_;
};

// `[b, 0, 1, f]`: at which dimensions of an operand of a convolution stand the two that `letters`
// name, and the spatial ones. Empty if they do not fit each other.
std::string ConvolutionLabels(std::string_view letters, int64_t first, int64_t second,
                              const std::vector<int64_t>& spatial);

// `text` in quotes, with MLIR's escapes.
void AppendMlirString(std::string_view text, std::string& out);
// `@name`, in quotes if it needs them.
void AppendMlirSymbol(std::string_view name, std::string& out);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_STABLEHLO_BYTECODE_ATTRIBUTES_H_
