#ifndef MESHWRIGHT_SHARDING_CALL_CONFIG_H_
#define MESHWRIGHT_SHARDING_CALL_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/base/json_value.h"
#include "meshwright/hlo/module.h"

// What calls of libraries say of themselves in `backend_config`: JSON (XLA's own calls) or MLIR's
// text of a dictionary (typed FFI calls).

namespace meshwright {

// The object `member` of a configuration in JSON, quoted or as it stands; nullopt if there is none.
std::optional<InputJson> CallConfigObject(const Instruction& call, std::string_view member);

// Integers of a list, which protocol buffers write as text where they have 64 bits.
std::vector<int64_t> NumbersOf(const InputJson& json, const char* key);
int64_t NumberOr(const InputJson& json, const char* key, int64_t otherwise);

// `name = 3 : i64` and `name = true` in MLIR's text, at any depth.
std::optional<int64_t> CallConfigNumber(std::string_view config, std::string_view name);
std::optional<bool> CallConfigFlag(std::string_view config, std::string_view name);

}  // namespace meshwright

#endif  // MESHWRIGHT_SHARDING_CALL_CONFIG_H_
