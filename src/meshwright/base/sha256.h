#ifndef MESHWRIGHT_BASE_SHA256_H_
#define MESHWRIGHT_BASE_SHA256_H_

#include <string>
#include <string_view>

namespace meshwright {

// SHA-256 of `data` as 64 lower-case hex digits.
std::string Sha256Hex(std::string_view data);

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_SHA256_H_
