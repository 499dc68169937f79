#ifndef MESHWRIGHT_PLAN_COLUMNS_H_
#define MESHWRIGHT_PLAN_COLUMNS_H_

#include <cstddef>
#include <string>
#include <vector>

namespace meshwright {

// Of every screen.
inline constexpr size_t kColumns = 80;

// `text` in `width` columns; what does not fit loses its middle.
std::string Fit(const std::string& text, size_t width);

// Columns as wide as their widest cell, `right` where they are set flush right; the first one gives
// way if the line is too long.
std::string Columns(std::vector<std::vector<std::string>> rows, const std::vector<bool>& right);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_COLUMNS_H_
