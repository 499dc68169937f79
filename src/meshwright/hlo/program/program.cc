#include "meshwright/hlo/program/program.h"

#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/base/file.h"
#include "meshwright/base/sha256.h"
#include "meshwright/base/status.h"
#include "meshwright/hlo/known_branches.h"
#include "meshwright/hlo/partitioned.h"
#include "meshwright/hlo/program/file_kind.h"
#include "meshwright/hlo/program/known_attributes.h"
#include "meshwright/hlo/program/reader.h"
#include "meshwright/hlo/proto/reader.h"
#include "meshwright/hlo/proto/writer.h"
#include "meshwright/hlo/stablehlo/reader.h"
#include "meshwright/hlo/text/reader.h"
#include "meshwright/hlo/text/writer.h"

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

// How the formats are called in a plan, and who reads and writes them.
struct FormatRow {
  HloFormat format;
  const char* kind;
  absl::StatusOr<StablehloProgram> (*read)(std::string_view contents, std::string_view name);
  std::string (*write)(const Module& module);
};
template <auto kParse>
absl::StatusOr<StablehloProgram> ReadModule(std::string_view contents, std::string_view name) {
  MW_ASSIGN_OR_RETURN(Module module, kParse(contents, name));
  std::vector<std::string> warnings;
  if (std::string unknown = UnknownAttributesWarning(module); !unknown.empty()) {
    warnings.push_back(std::move(unknown));
  }
  CallKnownBranches(module);
  return StablehloProgram{std::move(module), {}, {}, std::move(warnings)};
}
constexpr FormatRow kProgramFormats[] = {
    {HloFormat::kText, "hlo_text", &ReadModule<&ParseHloText>, &ToHloText},
    {HloFormat::kProto, "hlo_proto", &ReadModule<&ParseHloProto>, &ToHloProto},
    // StableHLO is annotated in its own text (annotate_stablehlo.h), not written anew.
    {HloFormat::kMlir, "stablehlo", &ReadStablehlo, &ToHloText},
};

}  // namespace

bool IsProgramKind(std::string_view kind) {
  return std::any_of(std::begin(kProgramFormats), std::end(kProgramFormats),
                     [&](const FormatRow& row) { return kind == row.kind; });
}

absl::StatusOr<Program> ReadProgram(const std::string& path) {
  MW_ASSIGN_OR_RETURN(std::string contents, ReadInput(path));
  MW_ASSIGN_OR_RETURN(Program program,
                      ParseProgram(std::move(contents), path == "-" ? "<stdin>" : path));
  program.input.path = path;
  return program;
}

absl::StatusOr<Program> ParseProgram(std::string contents, const std::string& name) {
  std::string sha256 = Sha256Hex(contents);
  MW_ASSIGN_OR_RETURN(contents, MaybeGunzip(std::move(contents), name));
  MW_RETURN_IF_ERROR(DecodeProgram(contents, name));
  MW_RETURN_IF_ERROR(CheckFileKind(contents, name, WantedFile::kProgram));
  const HloFormat format = DetectHloFormat(contents);
  const FormatRow& row = *std::find_if(std::begin(kProgramFormats), std::end(kProgramFormats),
                                       [&](const FormatRow& r) { return r.format == format; });
  MW_ASSIGN_OR_RETURN(StablehloProgram read, row.read(contents, name));
  MW_RETURN_IF_ERROR(CheckNotPartitioned(read.module, name));
  Program program;
  program.input = {name, row.kind, std::move(sha256)};
  program.module = std::make_unique<const Module>(std::move(read.module));
  if (format == HloFormat::kMlir) {
    program.stablehlo =
        StablehloText{std::move(read.text.empty() ? contents : read.text), std::move(read.source)};
  }
  absl::StatusOr<Graph> graph = BuildGraph(*program.module);
  if (!graph.ok()) {
    return absl::Status(graph.status().code(), absl::StrCat(name, ": ", graph.status().message()));
  }
  program.graph = *std::move(graph);
  program.graph.warnings.insert(program.graph.warnings.begin(), read.warnings.begin(),
                                read.warnings.end());
  return program;
}

std::string WriteInFormat(std::string_view kind, const Module& module) {
  for (const FormatRow& row : kProgramFormats) {
    if (kind == row.kind) return row.write(module);
  }
  return ToHloText(module);
}

}  // namespace meshwright
