#include "meshwright/plan/document/json_reader.h"

#include <cmath>
#include <limits>

#include "meshwright/base/json_value.h"

namespace meshwright {

absl::Status JsonErrorAt(absl::string_view path, absl::string_view message) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", message));
}

absl::Status WrongJsonType(const InputJson& json, absl::string_view path,
                           absl::string_view wanted) {
  return JsonErrorAt(path, absl::StrCat("found ", json.type_name(), ", expected ", wanted));
}

absl::Status ReadJson(const InputJson& json, const std::string& path, std::string& value) {
  if (!json.is_string()) return WrongJsonType(json, path, "a string");
  value = json.get_ref<const std::string&>();
  return absl::OkStatus();
}

absl::Status ReadJson(const InputJson& json, const std::string& path, int64_t& value) {
  constexpr const char* kWanted = "an integer from 0 to 2^63 - 1";
  if (!json.is_number_integer()) return WrongJsonType(json, path, kWanted);
  const bool fits = json.is_number_unsigned()
                        ? json.get<uint64_t>() <= uint64_t{std::numeric_limits<int64_t>::max()}
                        : json.get<int64_t>() >= 0;
  if (!fits) return JsonErrorAt(path, absl::StrCat("found ", json.dump(), ", expected ", kWanted));
  value = json.get<int64_t>();
  return absl::OkStatus();
}

absl::Status ReadJson(const InputJson& json, const std::string& path, uint64_t& value) {
  if (!json.is_number_unsigned()) return WrongJsonType(json, path, "an integer from 0 to 2^64 - 1");
  value = json.get<uint64_t>();
  return absl::OkStatus();
}

absl::Status ReadJson(const InputJson& json, const std::string& path, double& value) {
  if (!json.is_number()) return WrongJsonType(json, path, "a number");
  value = json.get<double>();
  if (!std::isfinite(value))
    return JsonErrorAt(path, absl::StrCat("found ", json.dump(), ", expected a finite number"));
  return absl::OkStatus();
}

absl::Status ReadJson(const InputJson& json, const std::string& path, bool& value) {
  if (!json.is_boolean()) return WrongJsonType(json, path, "true or false");
  value = json.get<bool>();
  return absl::OkStatus();
}

}  // namespace meshwright
