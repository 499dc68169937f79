#ifndef MESHWRIGHT_REPORT_CSV_TABLES_H_
#define MESHWRIGHT_REPORT_CSV_TABLES_H_

#include <string>
#include <vector>

#include "meshwright/report/documents.h"

namespace meshwright {

// A file of comma-separated values (RFC 4180) with a header line.
struct CsvFile {
  std::string name;  // "instructions.csv"
  std::string contents;
};

// Every table of the plans, each with a column `plan` that names the document, and `stage` where
// stages have rows of their own: of equal stages the first, whose rows stand for all. Tables
// without rows are left out. docs/report.md lists the columns.
std::vector<CsvFile> CsvTables(const ReportDocuments& documents);

}  // namespace meshwright

#endif  // MESHWRIGHT_REPORT_CSV_TABLES_H_
