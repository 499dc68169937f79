#include "meshwright/cluster/units.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "meshwright/base/status.h"

namespace meshwright {
namespace {

struct Unit {
  std::string_view name;  // lower case
  double scale;
};

constexpr double kKi = 1024.0;

constexpr Unit kPrefixes[] = {
    {"", 1},
    {"k", 1e3},
    {"m", 1e6},
    {"g", 1e9},
    {"t", 1e12},
    {"p", 1e15},
    {"ki", kKi},
    {"mi", kKi* kKi},
    {"gi", kKi* kKi* kKi},
    {"ti", kKi* kKi* kKi* kKi},
    {"pi", kKi* kKi* kKi* kKi* kKi},
};

constexpr Unit kDurations[] = {
    {"", 1},      {"s", 1},      {"ms", 1e-3}, {"us", 1e-6},  {"\xc2\xb5s", 1e-6},
    {"ns", 1e-9}, {"min", 60.0}, {"m", 60.0},  {"h", 3600.0}, {"d", 86400.0},
};

constexpr size_t kShown = 60;  // characters of arbitrary input in an error, which stays one line

// A number and what follows it, trimmed.
struct Split {
  double number = 0;
  std::string unit;
};

absl::Status Malformed(std::string_view text, const char* what, const char* examples) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", absl::CHexEscape(std::string(text.substr(0, kShown))), "\" is not ", what,
                   "; write for example ", examples));
}

// nullopt-like: ok() false without detail when there is no finite number >= 0 at the start.
bool SplitNumber(std::string_view view, Split* split) {
  std::string text(view);
  absl::StripAsciiWhitespace(&text);
  const auto result = std::from_chars(text.data(), text.data() + text.size(), split->number);
  if (result.ec != std::errc() || !std::isfinite(split->number) || split->number < 0) return false;
  split->unit = text.substr(result.ptr - text.data());
  absl::StripAsciiWhitespace(&split->unit);
  return true;
}

// Scale of `unit` in `table`, or 0.
double ScaleOf(const std::string& unit, absl::Span<const Unit> table) {
  const std::string lower = absl::AsciiStrToLower(unit);
  for (const Unit& candidate : table) {
    if (candidate.name == lower) return candidate.scale;
  }
  return 0;
}

// Bytes in a data unit such as "GiB", "GB", "G", "Gbit" or "" (bytes), or 0.
double DataScale(std::string unit) {
  if (absl::EndsWithIgnoreCase(unit, "bit")) {
    return ScaleOf(unit.substr(0, unit.size() - 3), kPrefixes) / 8;
  }
  // Nobody counts bits in powers of 1024 without saying "bit": "gib" is GiB.
  if (absl::EndsWith(unit, "B") || absl::EndsWithIgnoreCase(unit, "ib")) unit.pop_back();
  return ScaleOf(unit, kPrefixes);
}

}  // namespace

absl::StatusOr<int64_t> ParseBytes(std::string_view text) {
  Split split;
  const double scale = SplitNumber(text, &split) ? DataScale(split.unit) : 0;
  if (scale == 0)
    return Malformed(text, "a size in bytes", "\"80GiB\", \"80GB\" or a plain number");
  const double bytes = std::round(split.number * scale);
  // 2^63 is the first double that does not fit.
  if (bytes >= static_cast<double>(std::numeric_limits<int64_t>::max())) {
    return absl::OutOfRangeError(absl::StrCat("\"",
                                              absl::CHexEscape(std::string(text.substr(0, kShown))),
                                              "\" is more than a 64-bit number of bytes"));
  }
  return static_cast<int64_t>(bytes);
}

absl::StatusOr<double> ParseBandwidth(std::string_view text) {
  Split split;
  double scale = 0;
  if (SplitNumber(text, &split)) {
    std::string unit = split.unit;
    const bool per_second = absl::EndsWithIgnoreCase(unit, "/s");
    if (per_second) {
      scale = DataScale(unit.substr(0, unit.size() - 2));
    } else if (absl::EndsWith(unit, "bps")) {
      scale = ScaleOf(unit.substr(0, unit.size() - 3), kPrefixes) / 8;
    } else if (unit.empty()) {
      scale = 1;
    }
  }
  const double value = split.number * scale;
  if (scale == 0 || !std::isfinite(value)) {
    return Malformed(text, "a bandwidth", "\"900GB/s\", \"400Gbit/s\" or plain bytes per second");
  }
  return value;
}

absl::StatusOr<double> ParseDuration(std::string_view text) {
  Split split;
  const double scale = SplitNumber(text, &split) ? ScaleOf(split.unit, kDurations) : 0;
  const double value = split.number * scale;
  if (scale == 0 || !std::isfinite(value)) {
    return Malformed(text, "a duration", "\"30s\", \"3us\", \"5min\", \"10d\" or plain seconds");
  }
  return value;
}

absl::StatusOr<double> ParseFlops(std::string_view text) {
  Split split;
  double scale = 0;
  if (SplitNumber(text, &split)) {
    std::string unit = split.unit;
    for (const std::string suffix : {"flop/s", "flops", "ops"}) {
      if (absl::EndsWithIgnoreCase(unit, suffix)) {
        unit.resize(unit.size() - suffix.size());
        break;
      }
    }
    scale = ScaleOf(unit, kPrefixes);
  }
  const double value = split.number * scale;
  if (scale == 0 || !std::isfinite(value)) {
    return Malformed(text, "a rate of operations",
                     "\"989TFLOPS\", \"1.2PFLOP/s\" or plain operations per second");
  }
  return value;
}

}  // namespace meshwright
