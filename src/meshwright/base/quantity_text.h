#ifndef MESHWRIGHT_BASE_QUANTITY_TEXT_H_
#define MESHWRIGHT_BASE_QUANTITY_TEXT_H_

#include <string>

// Quantities for people to read: three significant digits and a unit.

namespace meshwright {

std::string BytesText(double bytes);      // "12.3 GiB", "512 B"
std::string SecondsText(double seconds);  // "1.23 ms", "45.6 us"
// The time that a whole run takes: "3.21 d", "5.2 h", "42.1 s".
std::string RunTimeText(double seconds);
std::string PlusMinusText(double share);  // " ± 8 %", rounded up
std::string DollarsText(double dollars);  // "$1234.56", "$0.0123"

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_QUANTITY_TEXT_H_
