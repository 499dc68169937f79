#ifndef MESHWRIGHT_PUBLISHED_RUNS_ROW_H_
#define MESHWRIGHT_PUBLISHED_RUNS_ROW_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "meshwright/base/csv.h"

namespace meshwright::transformer {

// One row of a table of runs, by name of column. A column that the table lacks is empty.
class RowReader {
 public:
  RowReader(const CsvTable& table, const CsvRow& row, std::string_view file)
      : table_(table), row_(row), file_(file) {}

  // Without white space around it.
  std::string Text(std::string_view column) const;

  // nullopt if empty. The first field that is no positive number is remembered.
  std::optional<double> Number(std::string_view column, bool or_zero = false);
  std::optional<int64_t> Count(std::string_view column, bool or_zero = false);

  // Columns that have to be numbers even in rows that are not taken.
  void CheckNumbers();

  // The error of the first field that is wrong, with file and line.
  const absl::Status& status() const { return status_; }

 private:
  void Fail(std::string_view column, std::string_view text, std::string_view valid);

  const CsvTable& table_;
  const CsvRow& row_;
  std::string_view file_;
  absl::Status status_;
};

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_PUBLISHED_RUNS_ROW_H_
