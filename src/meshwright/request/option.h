#ifndef MESHWRIGHT_REQUEST_OPTION_H_
#define MESHWRIGHT_REQUEST_OPTION_H_

#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/base/json_value.h"

// What a command can be asked, one row an option. The command line registers these rows, the C
// interface and Python read them from JSON, documentation lists them.

namespace meshwright {

// Kinds of planning, as a set of bits.
using Kinds = uint32_t;

// Where an option's value goes. What stands there before it is read is the default; an empty text
// and a number out of the option's range mean that there is none.
using OptionValue =
    std::variant<std::string*, std::vector<std::string>*, int64_t*, uint64_t*, double*, bool*>;

// What an option takes, and what goes with it.
struct OptionRules {
  Kinds kinds = 0;        // that take it
  std::string unit = "";  // that a plain number in a text counts: "bytes"; empty: no number
  double least = 0, most = std::numeric_limits<double>::infinity();  // of numbers
  std::vector<std::string> words = {};  // the only texts that are taken; empty: any
  std::vector<std::string> known = {};  // the same where whoever reads the text checks it
  bool path = false;                    // of texts: names a file or folder that is read
  std::string needs = "";               // another option, without which this one says nothing
  std::vector<std::string> excludes = {};
  bool required = false;
  bool output = false;      // says what is printed (a flag), or which file is written (a text)
  std::string letter = "";  // of the command line: -o
  std::string takes = "";   // what help calls the value, where the unit does not say it: "MESH"
  std::string group = "";   // heading in the command line's help
};

struct Option : OptionRules {
  Option(std::string its_name, OptionValue its_value, std::string its_help, OptionRules rules = {})
      : OptionRules(std::move(rules)),
        name(std::move(its_name)),
        value(its_value),
        help(std::move(its_help)) {}
  std::string name;  // as on the command line, without dashes: "global-batch"
  OptionValue value;
  std::string help;
};
using Options = std::vector<Option>;

// Names of the options that a user gave.
using GivenOptions = std::set<std::string, std::less<>>;

// The option of this name; null: there is none.
const Option* FindOption(const Options& options, std::string_view name);

// Reads the JSON object `text`: an option's name, and a text, a number, true or false, or a list of
// texts, as the option takes. What is printed is not among them; files to be written are, so that
// they are checked to go with the rest. Errors name the option: JSON that does
// not parse, an unknown name (with the nearest known one), a value of another type or out of range,
// options that need or exclude others, one that is required.
absl::StatusOr<GivenOptions> ReadOptions(std::string_view text, const Options& options);

// Every option but those that say what is printed, as JSON: "name", "type" ("text", "texts",
// "integer", "number", "flag"), "unit", "default" (absent: none), "least" and "most" where there
// are any, "words", "known", "required", "group", "help"; "path": true of names of files and
// folders, "output" of those to be written; "kinds" where planning has several.
Json OptionsJson(const Options& options);

// What a command line says so that `options`, whose rows are those of `usual` in the same order,
// get the values that they have: "--seq", "4096" of every row whose value is another than the usual
// one.
std::vector<std::vector<std::string>> OptionWords(const Options& options, const Options& usual);

// What help calls the value: SIZE, DURATION, FILE, MESH; "" of plain numbers, flags and texts.
std::string ValueName(const Option& option);

// Whether the option has a default that can be shown, and that.
bool HasDefault(const Option& option);

}  // namespace meshwright

#endif  // MESHWRIGHT_REQUEST_OPTION_H_
