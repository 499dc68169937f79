#ifndef MESHWRIGHT_BASE_CSV_H_
#define MESHWRIGHT_BASE_CSV_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

// Tables of measured training runs as comma-separated values (RFC 4180): a header, then a run a
// line; fields may be quoted, and hold commas, doubled quotes and line ends then.

namespace meshwright {

struct CsvRow {
  int line = 0;                     // of the file, from 1
  std::vector<std::string> fields;  // as many as the header has
};

struct CsvTable {
  std::vector<std::string> header;
  std::vector<CsvRow> rows;
};

// Errors name file and line: a row of another length than the header, a quote that is not closed or
// stands inside a field, a column that occurs twice, no header.
absl::StatusOr<CsvTable> ParseCsv(std::string_view text, std::string_view file);

// The same row as text, quoted where it has to be, with a line end.
std::string CsvLine(const std::vector<std::string>& fields);

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_CSV_H_
