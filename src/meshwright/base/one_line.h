#ifndef MESHWRIGHT_BASE_ONE_LINE_H_
#define MESHWRIGHT_BASE_ONE_LINE_H_

#include <string>
#include <string_view>

#include "absl/strings/ascii.h"

namespace meshwright {

// `text` from elsewhere (a library, another process) for a message of one line: white space in a
// row, line ends among it, is one space; none is at the ends.
inline std::string OneLine(std::string_view text) {
  std::string line;
  for (const char c : text) {
    if (!absl::ascii_isspace(static_cast<unsigned char>(c))) {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  if (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_ONE_LINE_H_
