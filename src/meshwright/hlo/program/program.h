#ifndef MESHWRIGHT_HLO_PROGRAM_PROGRAM_H_
#define MESHWRIGHT_HLO_PROGRAM_PROGRAM_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "meshwright/base/input_file.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/hlo/module.h"
#include "meshwright/hlo/stablehlo/reader.h"

namespace meshwright {

// The text of a StableHLO program and where its values stand in it.
struct StablehloText {
  std::string text;
  StablehloSource source;
};

// A program as read: the module, its graph (which points into it), and where it came from.
struct Program {
  InputFile input;
  std::unique_ptr<const Module> module;
  Graph graph;
  std::optional<StablehloText> stablehlo;  // if it is StableHLO
};

// Whether InputFile::kind is that of a program.
bool IsProgramKind(std::string_view kind);

// Reads HLO text, a binary HloModuleProto, StableHLO text or bytecode or what jax.export
// serializes, each of them gzipped or not, told apart by content.
// "-" is standard input. Errors name the file, and line and column where there are some.
absl::StatusOr<Program> ReadProgram(const std::string& path);
// The same from bytes at hand; `name` stands for the path in errors and in `input`.
absl::StatusOr<Program> ParseProgram(std::string contents, const std::string& name);

// `module` in the format that InputFile::kind names, uncompressed.
std::string WriteInFormat(std::string_view kind, const Module& module);

// Bytes of the file at `path`, or of all standard input if that is "-". A directory is an error.
absl::StatusOr<std::string> ReadInput(const std::string& path);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_PROGRAM_PROGRAM_H_
