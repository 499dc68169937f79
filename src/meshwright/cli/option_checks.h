#ifndef MESHWRIGHT_CLI_OPTION_CHECKS_H_
#define MESHWRIGHT_CLI_OPTION_CHECKS_H_

#include <CLI/CLI.hpp>

#include "meshwright/hlo/program/file_kind.h"

namespace meshwright {

// Checks of the words that users give options, for app.add_option(...)->check(...).

// A check of a 64-bit seed: digits, and no more than fit. (CLI11 takes -1 for 2^64 - 1.)
const CLI::Validator& IsSeed();

// A check of a number that counts from 1, of 63 bits. (CLI11's PositiveNumber prints the largest
// double.)
const CLI::Validator& IsOrdinal();

// A check of a file that is an argument, so that one of another kind is said to be that before any
// option is missed.
CLI::Validator IsFileOf(WantedFile wanted);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_OPTION_CHECKS_H_
