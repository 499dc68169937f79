#ifndef MESHWRIGHT_TESTS_FUZZ_FUZZ_H_
#define MESHWRIGHT_TESTS_FUZZ_FUZZ_H_

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "meshwright/hlo/program/program.h"

// What the fuzzers share. libFuzzer calls a target's function with bytes that it mutates; the
// sanitizers report what goes wrong in memory and arithmetic, libFuzzer what takes too long or too
// much memory, and ExpectAnswer refusals that are no answers.

namespace meshwright::fuzzing {

inline std::string_view Bytes(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Ends the process unless `status` is one that a user can act on: OK, or a refusal in words that
// does not claim to be a bug of ours.
inline void ExpectAnswer(const absl::Status& status) {
  if (status.ok() || (status.code() != absl::StatusCode::kInternal && !status.message().empty()))
    return;
  std::fprintf(stderr, "no answer: %s\n", status.ToString().c_str());
  std::abort();
}

// Reads a program as `plan` does, whatever its format, and writes it as `plan --emit` would.
inline void ReadAndWriteProgram(std::string_view contents) {
  const absl::StatusOr<Program> program = ParseProgram(std::string(contents), "input");
  ExpectAnswer(program.status());
  if (program.ok()) WriteInFormat(program->input.kind, *program->module);
}

}  // namespace meshwright::fuzzing

#endif  // MESHWRIGHT_TESTS_FUZZ_FUZZ_H_
