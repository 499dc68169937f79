// In place of the bundled page where MESHWRIGHT_REPORT is off.
#include "meshwright/report/page_parts.h"

namespace meshwright::report_page {

const char kHead[] = "", kTail[] = "";
const std::size_t kHeadBytes = 0, kTailBytes = 0;

}  // namespace meshwright::report_page
