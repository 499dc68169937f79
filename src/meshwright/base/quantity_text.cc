#include "meshwright/base/quantity_text.h"

#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace meshwright {
namespace {

std::string ThreeDigits(double value) {
  // 999.5 and above would round to four digits, which are then all significant.
  const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return absl::StrFormat("%.*f", decimals, value);
}

}  // namespace

std::string BytesText(double bytes) {
  if (bytes < 1024) return absl::StrCat(std::llround(bytes), " B");
  constexpr std::array<const char*, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = bytes / 1024;
  size_t unit = 0;
  while (value >= 1023.5 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return absl::StrCat(ThreeDigits(value), " ", kUnits[unit]);
}

std::string SecondsText(double seconds) {
  struct Unit {
    double seconds;
    const char* name;
  };
  constexpr std::array<Unit, 4> kUnits = {{{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}}};
  if (seconds == 0) return "0 s";
  for (const Unit& unit : kUnits) {
    if (std::abs(seconds) >= 0.9995 * unit.seconds) {
      return absl::StrCat(ThreeDigits(seconds / unit.seconds), " ", unit.name);
    }
  }
  return absl::StrFormat("%.3g s", seconds);
}

std::string DollarsText(double dollars) {
  constexpr double kShort = 1e12;  // no longer a number of some digits
  return dollars >= 1 && dollars < kShort ? absl::StrFormat("$%.2f", dollars)
                                          : absl::StrFormat("$%.3g", dollars);
}

std::string PlusMinusText(double share) {
  return absl::StrFormat(" ± %.0f %%", std::ceil(100 * share));
}

std::string RunTimeText(double seconds) {
  constexpr double kHour = 3600, kDay = 24 * kHour;
  if (seconds >= 2 * kDay) return absl::StrFormat("%.3g d", seconds / kDay);
  if (seconds >= 2 * kHour) return absl::StrFormat("%.3g h", seconds / kHour);
  return SecondsText(seconds);
}

}  // namespace meshwright
