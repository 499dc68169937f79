#ifndef MESHWRIGHT_CLI_OPTION_FACTS_H_
#define MESHWRIGHT_CLI_OPTION_FACTS_H_

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace meshwright {

// A check that begins so, and goes on like that of IsMember, says which words whoever reads the
// value knows, and refuses nothing.
inline constexpr char kKnownWords[] = "known ";

// What an option or an argument takes, as --help and the reference say it.
struct OptionFacts {
  std::vector<std::string> names;  // short ones first, with their dashes; of an argument its name
  std::string value;               // what stands for its value, "INT"; empty: it is a flag
  std::vector<std::string> words;  // that it may be; empty: any, or too many to list
  std::string limits;              // of the value: "1 to 1024", "xla, least-cost"; empty: none
  std::string default_value;       // empty: none
  std::string description;
  std::string group;  // the heading that it stands under
  bool argument = false, required = false, repeatable = false;
  std::vector<std::string> needs, excludes;  // names of other options
};

OptionFacts FactsOf(const CLI::Option& option);

// The description with limits, default and what the option goes with behind it.
std::string WithNotes(const OptionFacts& facts);

// Facts of all arguments and options of a command but hidden ones, in the order of their
// registration.
std::vector<OptionFacts> FactsOf(const CLI::App& command);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_OPTION_FACTS_H_
