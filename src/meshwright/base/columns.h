#ifndef MESHWRIGHT_BASE_COLUMNS_H_
#define MESHWRIGHT_BASE_COLUMNS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/base/printable.h"

// Tables and paragraphs for a terminal, names and all (base/printable.h).

namespace meshwright {

// Cells, made printable, in columns as wide as their widest cell, `right` where they are set flush
// right. If the line is too long, the first column gives way, then the widest ones.
std::string Columns(std::vector<std::vector<std::string>> rows, const std::vector<bool>& right);

// Columns that Columns() needs for `rows` if nothing gives way.
size_t ColumnsWidth(const std::vector<std::vector<std::string>>& rows);

// Words, made printable, in lines that fit; those after the first begin with `indent` spaces. Ends
// with a newline. Unlike Wrapped (base/wrap.h), for text with names in it: words that are too long
// lose their middle.
std::string WrapWords(std::string_view text, size_t indent);

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_COLUMNS_H_
