#include "meshwright/base/sha256.h"

#include <nettle/sha2.h>

#include <cstdint>

#include "absl/strings/escaping.h"

namespace meshwright {

std::string Sha256Hex(std::string_view data) {
  sha256_ctx context;
  sha256_init(&context);
  sha256_update(&context, data.size(), reinterpret_cast<const uint8_t*>(data.data()));
  std::string digest(SHA256_DIGEST_SIZE, '\0');
  sha256_digest(&context, digest.size(), reinterpret_cast<uint8_t*>(digest.data()));
  return absl::BytesToHexString(digest);
}

}  // namespace meshwright
