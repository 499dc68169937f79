#ifndef MESHWRIGHT_REPORT_PAGE_PARTS_H_
#define MESHWRIGHT_REPORT_PAGE_PARTS_H_

#include <cstddef>

// The page around its data, as report/build.mjs bundles it.

namespace meshwright::report_page {

extern const char kHead[], kTail[];
extern const std::size_t kHeadBytes, kTailBytes;  // 0: there is no page

}  // namespace meshwright::report_page

#endif  // MESHWRIGHT_REPORT_PAGE_PARTS_H_
