#include "meshwright/published/runs/row.h"

#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "meshwright/base/strings.h"

namespace meshwright::transformer {
namespace {

constexpr double kMostCounted = 1e12;

constexpr const char* kNumberColumns[] = {"layers",
                                          "hidden",
                                          "ffn",
                                          "heads",
                                          "kv_heads",
                                          "seq",
                                          "vocab",
                                          "experts",
                                          "topk",
                                          "n_gpus",
                                          "dp",
                                          "etp",
                                          "grad_accum",
                                          "tp",
                                          "pp",
                                          "vpp",
                                          "cp",
                                          "ep",
                                          "mbs",
                                          "gbs",
                                          "zero",
                                          "iteration_time_s",
                                          "tokens_per_s_per_gpu",
                                          "tflops_per_gpu",
                                          "mem_gib",
                                          "mtp",
                                          "network"};

// In all others 0 says nothing that a run could have.
bool MayBeZero(std::string_view column) {
  return column == "zero" || column == "experts" || column == "mtp";
}

}  // namespace

std::string RowReader::Text(std::string_view column) const {
  for (size_t i = 0; i < table_.header.size(); ++i) {
    if (table_.header[i] == column) {
      return std::string(FromAbsl(absl::StripAsciiWhitespace(row_.fields[i])));
    }
  }
  return "";
}

std::optional<double> RowReader::Number(std::string_view column, bool or_zero) {
  const std::string text = Text(column);
  if (text.empty()) return std::nullopt;
  double value = 0;
  if (!absl::SimpleAtod(text, &value) || !std::isfinite(value) || value < 0 ||
      (value == 0 && !or_zero)) {
    Fail(column, text, MayBeZero(column) ? "a number from 0 on" : "a number above 0");
    return std::nullopt;
  }
  return value;
}

std::optional<int64_t> RowReader::Count(std::string_view column, bool or_zero) {
  const std::optional<double> value = Number(column, or_zero);
  if (!value.has_value()) return std::nullopt;
  if (*value != std::floor(*value) || *value > kMostCounted) {
    Fail(column, Text(column), "a whole number of at most 1e12");
    return std::nullopt;
  }
  return static_cast<int64_t>(*value);
}

void RowReader::CheckNumbers() {
  for (const char* const column : kNumberColumns) Number(column, /*or_zero=*/true);
}

void RowReader::Fail(std::string_view column, std::string_view text, std::string_view valid) {
  if (!status_.ok()) return;
  status_ = absl::InvalidArgumentError(StrCat(file_, ":", row_.line, ": ", column, " is \"", text,
                                              "\"; it must be ", valid, " or empty"));
}

}  // namespace meshwright::transformer
