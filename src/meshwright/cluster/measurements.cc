#include "meshwright/cluster/measurements.h"

#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

constexpr std::array<absl::string_view, 5> kColumns = {"op", "group", "bytes_or_flops", "dtype",
                                                       "usec"};

class MeasurementRow {
 public:
  MeasurementRow(absl::string_view line, int number, std::string_view file)
      : fields_(absl::StrSplit(line, ',')), number_(number), file_(file) {}

  size_t size() const { return fields_.size(); }
  absl::string_view field(size_t i) const { return absl::StripAsciiWhitespace(fields_[i]); }

  absl::Status Error(size_t i, absl::string_view message) const {
    size_t column = 1;
    for (size_t j = 0; j < i && j < fields_.size(); ++j) column += fields_[j].size() + 1;
    return absl::InvalidArgumentError(
        absl::StrCat(ToAbsl(file_), ":", number_, ":", column, ": ", message));
  }
  absl::Status Wrong(size_t i, absl::string_view expected) const {
    return Error(i, absl::StrCat(kColumns[i], ": expected ", expected, ", found \"",
                                 absl::CHexEscape(std::string(field(i).substr(0, 40))), "\""));
  }

 private:
  std::vector<absl::string_view> fields_;
  int number_;
  std::string_view file_;
};

}  // namespace

absl::StatusOr<std::vector<Measurement>> ParseMeasurements(std::string_view text,
                                                           std::string_view file) {
  constexpr int64_t kMostDevices = 1 << 20;
  constexpr double kMostSeconds = 1e6;
  std::vector<Measurement> rows;
  int number = 0;
  bool header = false;
  for (absl::string_view line : absl::StrSplit(ToAbsl(text), '\n')) {
    ++number;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (absl::StripAsciiWhitespace(line).empty() || line[0] == '#') continue;
    const MeasurementRow row(line, number, file);
    if (row.size() != kColumns.size()) {
      return row.Error(0, absl::StrCat("found ", row.size(), " columns, expected ",
                                       "op,group,bytes_or_flops,dtype,usec"));
    }
    if (!header) {
      for (size_t i = 0; i < kColumns.size(); ++i) {
        if (row.field(i) != kColumns[i]) return row.Wrong(i, "the column's name in the first line");
      }
      header = true;
      continue;
    }
    Measurement m;
    m.op = std::string(row.field(0));
    m.type = std::string(row.field(3));
    m.line = number;
    double usec = 0;
    if (m.op.empty()) return row.Wrong(0, "the name of an operation");
    if (!absl::SimpleAtoi(row.field(1), &m.group) || m.group < 1 || m.group > kMostDevices)
      return row.Wrong(1, "a number of devices");
    if (!absl::SimpleAtod(row.field(2), &m.amount) || !(m.amount >= 0 && m.amount < 1e30))
      return row.Wrong(2, "bytes or operations");
    if (!absl::SimpleAtod(row.field(4), &usec) || !(usec >= 0 && usec < kMostSeconds * 1e6))
      return row.Wrong(4, "microseconds");
    m.seconds = usec * 1e-6;
    rows.push_back(std::move(m));
  }
  if (!header) {
    return absl::InvalidArgumentError(
        absl::StrCat(ToAbsl(file),
                     ":1:1: the file is empty; it begins with op,group,bytes_or_flops,dtype,usec"));
  }
  return rows;
}

}  // namespace meshwright
