#include "meshwright/cli/option_checks.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace meshwright {

const CLI::Validator& IsSeed() {
  static const auto* const check = new CLI::Validator(
      [](std::string& text) {
        uint64_t seed = 0;
        if (std::all_of(text.begin(), text.end(), absl::ascii_isdigit) &&
            absl::SimpleAtoi(text, &seed)) {
          return std::string();
        }
        return absl::StrCat("found \"", text, "\"; a whole number from 0 to ", UINT64_MAX,
                            " needed");
      },
      "");
  return *check;
}

const CLI::Validator& IsOrdinal() {
  static const auto* const check = new CLI::Validator(
      [](std::string& text) {
        int64_t number = 0;
        if (std::all_of(text.begin(), text.end(), absl::ascii_isdigit) &&
            absl::SimpleAtoi(text, &number) && number > 0) {
          return std::string();
        }
        return absl::StrCat("found \"", text,
                            "\"; a whole number of more than 0, below 2^63, needed");
      },
      "");
  return *check;
}

CLI::Validator IsFileOf(WantedFile wanted) {
  return CLI::Validator(
      [wanted](std::string& path) { return std::string(CheckFileKindAt(path, wanted).message()); },
      "");
}

}  // namespace meshwright
