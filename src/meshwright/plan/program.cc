#include "meshwright/plan/program.h"

#include <sys/stat.h>

#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status.h"
#include "meshwright/hlo/proto_reader.h"
#include "meshwright/hlo/reader.h"
#include "meshwright/hlo/text_reader.h"
#include "meshwright/plan/sha256.h"

namespace meshwright {

absl::StatusOr<std::string> ReadInput(const std::string& path) {
  if (path == "-") return ReadFile("/dev/stdin");
  struct stat info = {};
  // Pipes (process substitution) end; devices like /dev/zero may not.
  if (stat(path.c_str(), &info) == 0 && (S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode))) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot read ", path, ": it is a device; for standard input write -"));
  }
  return ReadFile(path);
}

namespace {

// How the formats that can be read are called in a plan, and who reads them.
struct FormatRow {
  HloFormat format;
  const char* kind;
  absl::StatusOr<Module> (*parse)(std::string_view contents, std::string_view name);
};
constexpr FormatRow kFormats[] = {
    {HloFormat::kText, "hlo_text", &ParseHloText},
    {HloFormat::kProto, "hlo_proto", &ParseHloProto},
};

}  // namespace

absl::StatusOr<Program> ReadProgram(const std::string& path) {
  const std::string name = path == "-" ? "<stdin>" : path;
  MW_ASSIGN_OR_RETURN(std::string contents, ReadInput(path));
  std::string sha256 = Sha256Hex(contents);
  MW_ASSIGN_OR_RETURN(contents, MaybeGunzip(std::move(contents), name));
  const HloFormat format = DetectHloFormat(contents);
  for (const FormatRow& row : kFormats) {
    if (row.format != format) continue;
    MW_ASSIGN_OR_RETURN(Module module, row.parse(contents, name));
    Program program;
    program.input = {path, row.kind, std::move(sha256)};
    program.module = std::make_unique<const Module>(std::move(module));
    absl::StatusOr<Graph> graph = BuildGraph(*program.module);
    if (!graph.ok()) {
      return absl::Status(graph.status().code(),
                          absl::StrCat(name, ": ", graph.status().message()));
    }
    program.graph = *std::move(graph);
    return program;
  }
  return absl::UnimplementedError(absl::StrCat(
      name,
      ": this is MLIR (StableHLO), which cannot be read yet; give HLO text or an HloModuleProto, "
      "as jax.jit(f).lower(...).as_text(dialect=\"hlo\") writes it"));
}

}  // namespace meshwright
