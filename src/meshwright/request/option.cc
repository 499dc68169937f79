#include "meshwright/request/option.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_join.h"
#include "meshwright/base/nearest_name.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

absl::Status WrongType(const Json& json, const char* wanted) {
  return absl::InvalidArgumentError(StrCat("found ", json.type_name(), ", expected ", wanted));
}

// Reads a value of JSON to where an option's value goes.
struct ValueReader {
  const Option& option;
  const Json& json;

  absl::Status operator()(std::string* value) const {
    if (json.is_number() && !option.unit.empty()) {
      // A number has the option's unit; in text some units must be written.
      *value = StrCat(json.dump(), option.unit == "bytes" ? "B" : "");
      return absl::OkStatus();
    }
    if (!json.is_string())
      return WrongType(json, option.unit.empty() ? "a string" : "a string or a number");
    *value = json.get_ref<const std::string&>();
    const std::vector<std::string>& words = option.words;
    if (words.empty() ? !value->empty()
                      : std::find(words.begin(), words.end(), *value) != words.end())
      return absl::OkStatus();
    return absl::InvalidArgumentError(words.empty()
                                          ? "found \"\"; leave the option out, or say what it is"
                                          : StrCat("found \"", *value, "\", expected \"",
                                                   absl::StrJoin(words, "\" or \""), "\""));
  }

  absl::Status operator()(std::vector<std::string>* values) const {
    if (!json.is_array()) return WrongType(json, "a list of strings");
    for (const Json& one : json) {
      if (!one.is_string()) return WrongType(one, "a string");
      values->push_back(one.get<std::string>());
    }
    return absl::OkStatus();
  }

  template <typename Integer>
  absl::Status operator()(Integer* value) const {
    constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<Integer>::max());
    const auto least = static_cast<uint64_t>(option.least);
    const uint64_t most =
        option.most < static_cast<double>(kMost) ? static_cast<uint64_t>(option.most) : kMost;
    if (!json.is_number_unsigned() || json.get<uint64_t>() < least || json.get<uint64_t>() > most) {
      return absl::InvalidArgumentError(
          StrCat("found ", json.is_number() ? json.dump() : std::string(json.type_name()),
                 ", expected an integer from ", least, " to ", most));
    }
    *value = json.get<Integer>();
    return absl::OkStatus();
  }

  absl::Status operator()(double* value) const {
    if (!json.is_number() || json.get<double>() < option.least ||
        json.get<double>() > option.most) {
      return absl::InvalidArgumentError(
          StrCat("found ", json.is_number() ? json.dump() : std::string(json.type_name()),
                 ", expected a number from ", option.least, " to ", option.most));
    }
    *value = json.get<double>();
    return absl::OkStatus();
  }

  absl::Status operator()(bool* value) const {
    if (!json.is_boolean()) return WrongType(json, "true or false");
    *value = json.get<bool>();
    return absl::OkStatus();
  }
};

absl::Status At(const Option& option, const absl::Status& status) {
  return absl::Status(status.code(), StrCat("option \"", option.name, "\": ", status.message()));
}

// Outputs that name files are written by whoever asks; flags say what a terminal shows.
bool IsOfTheTerminal(const Option& option) {
  return option.output && std::holds_alternative<bool*>(option.value);
}

absl::Status CheckTogether(const Options& options, const GivenOptions& given) {
  for (const Option& option : options) {
    if (!given.contains(option.name)) {
      if (!option.required || IsOfTheTerminal(option)) continue;
      return At(option, absl::InvalidArgumentError("is required"));
    }
    if (!option.needs.empty() && !given.contains(option.needs))
      return At(option, absl::InvalidArgumentError(StrCat("needs \"", option.needs, "\"")));
    for (const std::string& other : option.excludes) {
      if (given.contains(other))
        return At(option, absl::InvalidArgumentError(StrCat("excludes \"", other, "\"")));
    }
  }
  return absl::OkStatus();
}

}  // namespace

const Option* FindOption(const Options& options, std::string_view name) {
  const auto found = std::find_if(options.begin(), options.end(),
                                  [&](const Option& option) { return option.name == name; });
  return found == options.end() ? nullptr : &*found;
}

absl::StatusOr<GivenOptions> ReadOptions(std::string_view text, const Options& options) {
  MW_ASSIGN_OR_RETURN(const Json json, ParseJson(text, "options"));
  if (!json.is_object()) {
    return absl::InvalidArgumentError(
        StrCat("options: found ", json.type_name(), ", expected a JSON object"));
  }
  GivenOptions given;
  for (const auto& [name, value] : json.items()) {
    const Option* const option = FindOption(options, name);
    if (option == nullptr || IsOfTheTerminal(*option)) {
      std::vector<std::string> known;
      for (const Option& one : options) {
        if (!IsOfTheTerminal(one)) known.push_back(one.name);
      }
      return absl::InvalidArgumentError(StrCat("option \"", name,
                                               "\": there is no such option; did you mean \"",
                                               NearestName(name, known), "\"?"));
    }
    const absl::Status status = std::visit(ValueReader{*option, value}, option->value);
    if (!status.ok()) return At(*option, status);
    // Nothing is asked by a flag that is not set and by an empty list.
    if (value != false && !(value.is_array() && value.empty())) given.insert(name);
  }
  MW_RETURN_IF_ERROR(CheckTogether(options, given));
  return given;
}

std::vector<std::vector<std::string>> OptionWords(const Options& options, const Options& usual) {
  std::vector<std::vector<std::string>> words;
  for (size_t i = 0; i < options.size(); ++i) {
    const std::string name = StrCat("--", options[i].name);
    std::visit(
        [&]<typename Value>(const Value* value) {
          if (*value == *std::get<Value*>(usual[i].value)) return;
          if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
            for (const std::string& one : *value) words.push_back({name, one});
          } else if constexpr (std::is_same_v<Value, bool>) {
            words.push_back({name});
          } else {
            words.push_back({name, StrCat(*value)});
          }
        },
        options[i].value);
  }
  return words;
}

std::string ValueName(const Option& option) {
  constexpr std::pair<const char*, const char*> kUnits[] = {{"bytes", "SIZE"},
                                                            {"seconds", "DURATION"},
                                                            {"bytes a second", "BANDWIDTH"},
                                                            {"dollars", "DOLLARS"},
                                                            {"tokens", "TOKENS"}};
  if (!option.takes.empty()) return option.takes;
  if (option.path || (option.output && !std::holds_alternative<bool*>(option.value))) return "PATH";
  for (const auto& [unit, name] : kUnits) {
    if (option.unit == unit) return name;
  }
  return option.words.empty() && option.known.empty() ? "" : "WORD";
}

bool HasDefault(const Option& option) {
  return std::visit(
      [&](const auto* value) {
        using Value = std::decay_t<decltype(*value)>;
        if constexpr (std::is_same_v<Value, std::string>) return !value->empty();
        if constexpr (std::is_arithmetic_v<Value> && !std::is_same_v<Value, bool>) {
          return static_cast<double>(*value) >= option.least;
        }
        return false;
      },
      option.value);
}

Json OptionsJson(const Options& options) {
  constexpr const char* kTypes[] = {"text", "texts", "integer", "integer", "number", "flag"};
  Json list = Json::array();
  for (const Option& option : options) {
    if (IsOfTheTerminal(option)) continue;
    Json row = {{"name", option.name},         {"type", kTypes[option.value.index()]},
                {"unit", option.unit},         {"words", option.words},
                {"known", option.known},       {"path", option.path || option.output},
                {"required", option.required}, {"group", option.group},
                {"help", option.help}};
    if (HasDefault(option))
      std::visit([&](const auto* value) { row["default"] = *value; }, option.value);
    if (option.kinds != 0) row["kinds"] = option.kinds;
    if (option.output) row["output"] = true;
    if (option.least > 0) row["least"] = option.least;
    if (std::isfinite(option.most)) row["most"] = option.most;
    list.push_back(std::move(row));
  }
  return list;
}

}  // namespace meshwright
