#include "meshwright/hlo/instruction_folder.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "absl/strings/str_format.h"
#include "meshwright/hlo/element_value.h"

namespace meshwright {
namespace {

// Types whose values a double holds exactly.
bool IsFoldedFloat(ElementType type) {
  return type == ElementType::kF32 || type == ElementType::kF64 || type == ElementType::kBF16 ||
         type == ElementType::kF16;
}
bool IsFoldedInteger(ElementType type) {
  return (IsInteger(type) && ElementBits(type) >= 8) || type == ElementType::kPred;
}
bool IsUnsigned(ElementType type) {
  return type == ElementType::kPred || type == ElementType::kU8 || type == ElementType::kU16 ||
         type == ElementType::kU32 || type == ElementType::kU64;
}

__int128 ToInteger(ElementType type, const std::string& bytes) {
  uint64_t bits = 0;
  std::memcpy(&bits, bytes.data(), std::min(bytes.size(), sizeof(bits)));
  if (IsUnsigned(type)) return bits;
  const int unused = static_cast<int>(64 - 8 * bytes.size());
  return static_cast<int64_t>(bits << unused) >> unused;
}

std::string FromInteger(ElementType type, __int128 value) {
  if (type == ElementType::kPred) return std::string(1, static_cast<char>(value & 1));
  const auto bits = static_cast<uint64_t>(value);
  return std::string(reinterpret_cast<const char*>(&bits), static_cast<size_t>(ElementBytes(type)));
}

std::optional<std::string> FromDouble(ElementType type, double value) {
  std::string bytes;
  const std::string text = std::isnan(value)   ? "nan"
                           : std::isinf(value) ? (value > 0 ? "inf" : "-inf")
                                               : absl::StrFormat("%.17g", value);
  if (!AppendElement(type, text, bytes)) return std::nullopt;
  return bytes;
}

std::optional<double> FoldFloat(Opcode opcode, double a, double b) {
  switch (opcode) {
    case Opcode::kAdd:
      return a + b;
    case Opcode::kSubtract:
      return a - b;
    case Opcode::kMultiply:
      return a * b;
    case Opcode::kDivide:
      return a / b;
    case Opcode::kMaximum:
      return std::isnan(a) || std::isnan(b) ? std::nan("") : std::max(a, b);
    case Opcode::kMinimum:
      return std::isnan(a) || std::isnan(b) ? std::nan("") : std::min(a, b);
    case Opcode::kNegate:
      return -a;
    case Opcode::kAbs:
      return std::fabs(a);
    case Opcode::kSqrt:
      if (a < 0) return std::nullopt;
      return std::sqrt(a);
    case Opcode::kFloor:
      return std::floor(a);
    case Opcode::kCeil:
      return std::ceil(a);
    default:
      return std::nullopt;
  }
}

std::optional<__int128> FoldInteger(Opcode opcode, __int128 a, __int128 b) {
  switch (opcode) {
    case Opcode::kAdd:
      return a + b;
    case Opcode::kSubtract:
      return a - b;
    case Opcode::kMultiply:
      return static_cast<__int128>(static_cast<unsigned __int128>(a) *
                                   static_cast<unsigned __int128>(b));
    case Opcode::kDivide:
      if (b == 0) return std::nullopt;
      return a / b;
    case Opcode::kRemainder:
      if (b == 0) return std::nullopt;
      return a % b;
    case Opcode::kMaximum:
    case Opcode::kMinimum:
      return (opcode == Opcode::kMaximum) == (a > b) ? a : b;
    case Opcode::kAnd:
      return a & b;
    case Opcode::kOr:
      return a | b;
    case Opcode::kXor:
      return a ^ b;
    case Opcode::kNot:
      return ~a;
    case Opcode::kNegate:
      return -a;
    case Opcode::kAbs:
      return a < 0 ? -a : a;
    default:
      return std::nullopt;
  }
}

template <typename T>
std::optional<std::string> FoldCompare(const std::string& direction, T a, T b) {
  bool holds = false;
  if (direction == "EQ") holds = a == b;
  if (direction == "NE") holds = a != b;
  if (direction == "LT") holds = a < b;
  if (direction == "LE") holds = a <= b;
  if (direction == "GT") holds = a > b;
  if (direction == "GE") holds = a >= b;
  return std::string(1, holds ? '\1' : '\0');
}

std::optional<std::string> FoldConvert(ElementType from, const std::string& element,
                                       ElementType to) {
  if (IsFoldedInteger(from) && IsFoldedInteger(to)) {
    const __int128 value = ToInteger(from, element);
    return FromInteger(to, to == ElementType::kPred ? value != 0 : value);
  }
  if (IsFoldedInteger(from) && IsFoldedFloat(to)) {
    return FromDouble(to, static_cast<double>(ToInteger(from, element)));
  }
  if (!IsFoldedFloat(from)) return std::nullopt;
  const double value = ElementAsDouble(from, element.data());
  if (IsFoldedFloat(to)) return FromDouble(to, value);
  constexpr double kExact = 9e15;  // beyond, rounding and saturation would have to be settled
  if (!IsFoldedInteger(to) || !(std::fabs(value) < kExact)) return std::nullopt;
  return FromInteger(to, to == ElementType::kPred ? value != 0 : static_cast<int64_t>(value));
}

}  // namespace

std::optional<std::string> FoldElements(const Instruction& instruction,
                                        absl::Span<const ElementType> types,
                                        absl::Span<const std::string> operands) {
  const ElementType result = instruction.shape.type;
  switch (instruction.opcode) {
    case Opcode::kConvert:
      return FoldConvert(types[0], operands[0], result);
    case Opcode::kSelect:
      if (types[0] != ElementType::kPred || types[1] != result || types[2] != result) {
        return std::nullopt;
      }
      return operands[0][0] != 0 ? operands[1] : operands[2];
    case Opcode::kCompare:
      if (types[0] != types[1] || result != ElementType::kPred) return std::nullopt;
      if (IsFoldedInteger(types[0])) {
        return FoldCompare(instruction.direction, ToInteger(types[0], operands[0]),
                           ToInteger(types[0], operands[1]));
      }
      if (!IsFoldedFloat(types[0]) || FindAttribute(instruction, "type") != nullptr) {
        return std::nullopt;
      }
      return FoldCompare(instruction.direction, ElementAsDouble(types[0], operands[0].data()),
                         ElementAsDouble(types[0], operands[1].data()));
    default:
      break;
  }
  if (operands.empty() || operands.size() > 2 || types[0] != result || types.back() != result) {
    return std::nullopt;
  }
  const std::string& last = operands.back();
  if (IsFoldedInteger(result)) {
    const auto value =
        FoldInteger(instruction.opcode, ToInteger(result, operands[0]), ToInteger(result, last));
    return value.has_value() ? std::optional(FromInteger(result, *value)) : std::nullopt;
  }
  if (!IsFoldedFloat(result)) return std::nullopt;
  const auto value = FoldFloat(instruction.opcode, ElementAsDouble(result, operands[0].data()),
                               ElementAsDouble(result, last.data()));
  return value.has_value() ? FromDouble(result, *value) : std::nullopt;
}

bool IsCommutative(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAdd:
    case Opcode::kMultiply:
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kAnd:
    case Opcode::kOr:
    case Opcode::kXor:
      return true;
    default:
      return false;
  }
}

bool IsNeutral(Opcode opcode, ElementType type, const std::string& element, bool left) {
  if (IsFoldedFloat(type)) {
    const double value = ElementAsDouble(type, element.data());
    if (opcode == Opcode::kMultiply) return value == 1;
    if (opcode == Opcode::kDivide) return !left && value == 1;
    // x + -0.0 is x for every x, x + 0.0 is not for x = -0.0.
    if (opcode == Opcode::kAdd) return value == 0 && std::signbit(value);
    if (opcode == Opcode::kSubtract) return !left && value == 0 && !std::signbit(value);
    return false;
  }
  if (!IsFoldedInteger(type)) return false;
  const __int128 value = ToInteger(type, element);
  const __int128 ones = ToInteger(type, FromInteger(type, ~__int128{0}));
  switch (opcode) {
    case Opcode::kAdd:
    case Opcode::kOr:
    case Opcode::kXor:
      return value == 0;
    case Opcode::kSubtract:
    case Opcode::kShiftLeft:
    case Opcode::kShiftRightArithmetic:
    case Opcode::kShiftRightLogical:
      return !left && value == 0;
    case Opcode::kMultiply:
      return value == 1;
    case Opcode::kDivide:
      return !left && value == 1;
    case Opcode::kAnd:
      return value == ones;
    default:
      return false;
  }
}

}  // namespace meshwright
