#ifndef MESHWRIGHT_REPORT_REPORT_PAGE_H_
#define MESHWRIGHT_REPORT_REPORT_PAGE_H_

#include <string>

#include "absl/status/status.h"
#include "meshwright/report/documents.h"

namespace meshwright {

// Unimplemented if this program was built without the page (MESHWRIGHT_REPORT=OFF).
absl::Status CheckReportPage();

// The documents as one HTML file that needs nothing else: no network (its policy forbids it), no
// other file. What the documents hold is data in it, never markup or script. CheckReportPage must
// hold.
std::string ReportPage(const ReportDocuments& documents);

// The data of that page by itself: JSON in which no "<" occurs.
std::string ReportData(const ReportDocuments& documents);

}  // namespace meshwright

#endif  // MESHWRIGHT_REPORT_REPORT_PAGE_H_
