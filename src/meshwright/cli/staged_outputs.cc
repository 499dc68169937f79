#include "meshwright/cli/staged_outputs.h"

#include "meshwright/base/status.h"

namespace meshwright {

absl::Status StagedOutputs::Add(const OutputFile& output, std::string_view data) {
  if (output.path.empty()) return absl::OkStatus();
  if (IsSpecialOutput(output.path)) {
    special_.emplace_back(output, data);
    return absl::OkStatus();
  }
  MW_ASSIGN_OR_RETURN(StagedFile file, StagedFile::Make(OutputTarget(output.path), data));
  files_.push_back(std::move(file));
  return absl::OkStatus();
}

absl::Status StagedOutputs::AddFolder(const OutputFile& output, const Artefacts& files) {
  if (output.path.empty()) return absl::OkStatus();
  MW_ASSIGN_OR_RETURN(StagedFolder folder, StagedFolder::Make(output.path, files, output.option));
  folders_.push_back(std::move(folder));
  return absl::OkStatus();
}

absl::Status StagedOutputs::Commit(absl::FunctionRef<absl::Status()> more) {
  for (const auto& [output, data] : special_) MW_RETURN_IF_ERROR(WriteOutput(output, data));
  MW_RETURN_IF_ERROR(more());
  // Folders may find their places taken meanwhile.
  for (StagedFolder& folder : folders_) MW_RETURN_IF_ERROR(folder.Commit());
  for (StagedFile& file : files_) MW_RETURN_IF_ERROR(file.Commit());
  return absl::OkStatus();
}

}  // namespace meshwright
