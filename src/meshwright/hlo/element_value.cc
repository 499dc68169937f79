#include "meshwright/hlo/element_value.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

static_assert(std::endian::native == std::endian::little,
              "Literal::data is little-endian and copied as it lies in memory");

// What a format does with the codes of the largest exponent.
enum class Specials {
  kIeee,        // infinities and NaNs
  kNanAllOnes,  // "FN": no infinity; NaN is all ones
  kNanNegZero,  // "FNUZ": no infinity, no -0; the code of -0 is NaN
  kNone,        // every code is a number
};

// A binary floating-point format: [sign] exponent mantissa, most significant first.
struct FloatFormat {
  ElementType type;
  int exponent_bits;
  int mantissa_bits;
  int bias;
  Specials specials;
  bool has_sign = true;

  int sign_shift() const { return exponent_bits + mantissa_bits; }
  uint64_t mantissa_mask() const { return (uint64_t{1} << mantissa_bits) - 1; }
  uint64_t magnitude_mask() const { return (uint64_t{1} << sign_shift()) - 1; }
  uint64_t exponent_mask() const { return magnitude_mask() ^ mantissa_mask(); }
};

constexpr FloatFormat kFormats[] = {
    {ElementType::kF64, 11, 52, 1023, Specials::kIeee},
    {ElementType::kF32, 8, 23, 127, Specials::kIeee},
    {ElementType::kBF16, 8, 7, 127, Specials::kIeee},
    {ElementType::kF16, 5, 10, 15, Specials::kIeee},
    {ElementType::kF8E5M2, 5, 2, 15, Specials::kIeee},
    {ElementType::kF8E4M3, 4, 3, 7, Specials::kIeee},
    {ElementType::kF8E3M4, 3, 4, 3, Specials::kIeee},
    {ElementType::kF8E4M3FN, 4, 3, 7, Specials::kNanAllOnes},
    {ElementType::kF8E4M3B11FNUZ, 4, 3, 11, Specials::kNanNegZero},
    {ElementType::kF8E5M2FNUZ, 5, 2, 16, Specials::kNanNegZero},
    {ElementType::kF8E4M3FNUZ, 4, 3, 8, Specials::kNanNegZero},
    {ElementType::kF4E2M1FN, 2, 1, 1, Specials::kNone},
    {ElementType::kF8E8M0FNU, 8, 0, 127, Specials::kNanAllOnes, /*has_sign=*/false},
};

const FloatFormat* FindFormat(ElementType type) {
  for (const FloatFormat& format : kFormats) {
    if (format.type == type) return &format;
  }
  return nullptr;
}

bool IsNan(const FloatFormat& format, uint64_t code) {
  const uint64_t magnitude = code & format.magnitude_mask();
  switch (format.specials) {
    case Specials::kIeee:
      return magnitude > format.exponent_mask();
    case Specials::kNanAllOnes:
      return magnitude == format.magnitude_mask();
    case Specials::kNanNegZero:
      return code == uint64_t{1} << format.sign_shift();
    case Specials::kNone:
      return false;
  }
  return false;
}

uint64_t NanCode(const FloatFormat& format, bool negative, std::optional<uint64_t> payload) {
  const uint64_t sign = negative && format.has_sign ? uint64_t{1} << format.sign_shift() : 0;
  switch (format.specials) {
    case Specials::kIeee:
      return sign | format.exponent_mask() |
             payload.value_or(uint64_t{1} << (format.mantissa_bits - 1));
    case Specials::kNanAllOnes:
      return sign | format.magnitude_mask();
    case Specials::kNanNegZero:
      return uint64_t{1} << format.sign_shift();
    case Specials::kNone:
      return 0;
  }
  return 0;
}

double Decode(const FloatFormat& format, uint64_t code) {
  if (IsNan(format, code)) return std::numeric_limits<double>::quiet_NaN();
  const uint64_t magnitude = code & format.magnitude_mask();
  const bool negative = (code >> format.sign_shift() & 1) != 0;
  double value;
  if (format.specials == Specials::kIeee && magnitude == format.exponent_mask()) {
    value = std::numeric_limits<double>::infinity();
  } else {
    const auto exponent = static_cast<int>(magnitude >> format.mantissa_bits);
    const uint64_t mantissa = magnitude & format.mantissa_mask();
    // Without mantissa bits there are no subnormal numbers: exponent 0 is a power of two too.
    const bool subnormal = exponent == 0 && format.mantissa_bits > 0;
    const uint64_t hidden = subnormal ? 0 : uint64_t{1} << format.mantissa_bits;
    value = std::ldexp(static_cast<double>(hidden | mantissa),
                       (subnormal ? 1 : exponent) - format.bias - format.mantissa_bits);
  }
  return negative ? -value : value;
}

// Nearest code, ties to even. Too large values become infinity, or nullopt where there is none.
std::optional<uint64_t> Encode(const FloatFormat& format, double value) {
  const bool negative = std::signbit(value);
  if (!format.has_sign && (negative || value == 0)) return std::nullopt;
  const uint64_t sign = negative ? uint64_t{1} << format.sign_shift() : 0;
  const uint64_t infinity = format.exponent_mask();
  const double magnitude = std::fabs(value);
  uint64_t code;
  if (std::isinf(magnitude)) {
    if (format.specials != Specials::kIeee) return std::nullopt;
    code = infinity;
  } else {
    const int smallest = (format.mantissa_bits > 0 ? 1 : 0) - format.bias;
    const int exponent = magnitude == 0 ? smallest : std::max(std::ilogb(magnitude), smallest);
    const auto quanta = static_cast<uint64_t>(
        std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent)));
    // One formula for normal and subnormal numbers: rounding up carries into the exponent.
    code = (static_cast<uint64_t>(exponent + format.bias) << format.mantissa_bits) + quanta -
           (uint64_t{1} << format.mantissa_bits);
    if (format.specials == Specials::kIeee) {
      code = std::min(code, infinity);
    } else if (code > format.magnitude_mask() || IsNan(format, code)) {
      return std::nullopt;
    }
  }
  if (format.specials == Specials::kNanNegZero && code == 0) return 0;
  return sign | code;
}

bool ParseFloat(const FloatFormat& format, std::string_view text, uint64_t& code) {
  const bool negative = text.starts_with("-");
  std::string_view magnitude = text.substr(negative || text.starts_with("+") ? 1 : 0);
  if (magnitude.starts_with("nan")) {
    if (format.specials == Specials::kNone) return false;
    magnitude.remove_prefix(3);
    std::optional<uint64_t> payload;
    if (!magnitude.empty()) {
      uint64_t bits = 0;
      if (!magnitude.starts_with("(0x") || !magnitude.ends_with(")")) return false;
      const char* stop = magnitude.data() + magnitude.size() - 1;
      const auto [end, error] = std::from_chars(magnitude.data() + 3, stop, bits, 16);
      if (error != std::errc() || end != stop || bits == 0 || bits > format.mantissa_mask()) {
        return false;
      }
      payload = bits;
    }
    code = NanCode(format, negative, payload);
    return true;
  }
  // What remains is "inf" or begins with a digit or a point: from_chars would also take another
  // sign, and words such as "NaN" and "Infinity" in any case, which are no element values.
  if (magnitude != "inf" &&
      (magnitude.empty() || (!absl::ascii_isdigit(magnitude[0]) && magnitude[0] != '.'))) {
    return false;
  }
  const char* end = magnitude.data() + magnitude.size();
  // f32 is read as such: by way of double it would be rounded twice.
  if (format.type == ElementType::kF32) {
    float value = 0;
    const auto [stop, error] = std::from_chars(magnitude.data(), end, value);
    if (stop != end || error == std::errc::invalid_argument) return false;
    if (error == std::errc()) {
      code = std::bit_cast<uint32_t>(negative ? -value : value);
      return true;
    }
  }
  double value = 0;
  const auto [stop, error] = std::from_chars(magnitude.data(), end, value);
  if (stop != end || error == std::errc::invalid_argument) return false;
  // from_chars does not say in which direction the value is out of range; strtod does.
  if (error == std::errc::result_out_of_range) {
    value = std::strtod(std::string(magnitude).c_str(), nullptr);
  }
  const std::optional<uint64_t> encoded = Encode(format, negative ? -value : value);
  if (!encoded.has_value()) return false;
  code = *encoded;
  return true;
}

std::string FloatText(const FloatFormat& format, uint64_t code) {
  const bool negative = format.has_sign && (code >> format.sign_shift() & 1) != 0;
  if (IsNan(format, code)) {
    const uint64_t payload = code & format.mantissa_mask();
    const bool plain =
        format.specials != Specials::kIeee || payload == uint64_t{1} << (format.mantissa_bits - 1);
    const std::string_view sign = negative && format.specials != Specials::kNanNegZero ? "-" : "";
    return plain ? StrCat(sign, "nan") : absl::StrFormat("%snan(0x%x)", sign, payload);
  }
  const double value = Decode(format, code);
  if (std::isinf(value)) return negative ? "-inf" : "inf";
  for (int digits = 1; digits < 17; ++digits) {
    const std::string text = absl::StrFormat("%.*g", digits, value);
    uint64_t back = 0;
    if (!ParseFloat(format, text, back) || back != code) continue;
    // The same digits, with an exponent only where %g with six digits has one, as XLA prints: 5120,
    // not 5.12e+03.
    return absl::StrFormat("%.*g", std::max(digits, 6), std::strtod(text.c_str(), nullptr));
  }
  return absl::StrFormat("%.17g", value);
}

struct IntegerRange {
  int64_t min;
  uint64_t max;
};

IntegerRange RangeOf(ElementType type) {
  const int bits = ElementBits(type);
  // XLA reads -1 as 2^64 - 1, and no negative number as one of a shorter unsigned type.
  if (type == ElementType::kU64) return {std::numeric_limits<int64_t>::min(), ~uint64_t{0}};
  if (ElementTypeName(type)[0] == 'u') return {0, ~uint64_t{0} >> (64 - bits)};
  const uint64_t half = uint64_t{1} << (bits - 1);
  return {-static_cast<int64_t>(half - 1) - 1, half - 1};
}

bool ParseInteger(ElementType type, std::string_view text, uint64_t& bits) {
  const IntegerRange range = RangeOf(type);
  if (text.starts_with("-")) {
    int64_t value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || stop != text.data() + text.size() || value < range.min) {
      return false;
    }
    bits = static_cast<uint64_t>(value);
    return true;
  }
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), bits);
  return error == std::errc() && stop == text.data() + text.size() && bits <= range.max;
}

uint64_t LoadBits(const char* bytes, int count) {
  uint64_t bits = 0;
  std::memcpy(&bits, bytes, static_cast<size_t>(count));
  return bits;
}

int64_t SignExtend(uint64_t bits, int bytes) {
  const int unused = 64 - 8 * bytes;
  return static_cast<int64_t>(bits << unused) >> unused;
}

}  // namespace

int ElementBytes(ElementType type) { return (ElementBits(type) + 7) / 8; }

ElementType ComplexComponent(ElementType type) {
  if (type == ElementType::kC64) return ElementType::kF32;
  if (type == ElementType::kC128) return ElementType::kF64;
  return ElementType::kInvalid;
}

bool AppendElement(ElementType type, std::string_view text, std::string& data) {
  uint64_t bits = 0;
  if (type == ElementType::kPred) {
    bits = text == "true" || text == "1" ? 1 : 0;
    if (bits == 0 && text != "false" && text != "0") return false;
  } else if (IsInteger(type)) {
    if (!ParseInteger(type, text, bits)) return false;
  } else {
    const FloatFormat* format = FindFormat(type);
    if (format == nullptr || !ParseFloat(*format, text, bits)) return false;
  }
  data.append(reinterpret_cast<const char*>(&bits), static_cast<size_t>(ElementBytes(type)));
  return true;
}

std::string ElementText(ElementType type, const char* bytes) {
  if (const ElementType part = ComplexComponent(type); part != ElementType::kInvalid) {
    return StrCat("(", ElementText(part, bytes), ", ",
                  ElementText(part, bytes + ElementBytes(part)), ")");
  }
  const uint64_t bits = LoadBits(bytes, ElementBytes(type));
  if (type == ElementType::kPred) return bits != 0 ? "true" : "false";
  if (const FloatFormat* format = FindFormat(type)) return FloatText(*format, bits);
  return IsSigned(type) ? StrCat(SignExtend(bits, ElementBytes(type))) : StrCat(bits);
}

double ElementAsDouble(ElementType type, const char* bytes) {
  if (const ElementType part = ComplexComponent(type); part != ElementType::kInvalid) {
    return ElementAsDouble(part, bytes);
  }
  const uint64_t bits = LoadBits(bytes, ElementBytes(type));
  if (const FloatFormat* format = FindFormat(type)) return Decode(*format, bits);
  if (IsSigned(type)) return static_cast<double>(SignExtend(bits, ElementBytes(type)));
  return static_cast<double>(bits);
}

}  // namespace meshwright
