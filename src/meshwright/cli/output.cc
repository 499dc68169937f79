#include "meshwright/cli/output.h"

#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

namespace fs = std::filesystem;

absl::Status CannotWrite(const OutputFile& output, absl::string_view reason) {
  return absl::InvalidArgumentError(
      absl::StrCat(output.option, ": cannot write ", output.path, ": ", reason));
}

// The file that a path leads to, whether it exists or not; absolute.
fs::path Target(const std::string& path) {
  constexpr int kMostLinks = 40;  // as Linux follows
  std::error_code error;
  // First of all absolute: where no part of a path exists, weakly_canonical() leaves it relative.
  fs::path target = fs::absolute(path, error);
  for (int links = 0; links < kMostLinks; ++links) {
    const fs::path canonical = fs::weakly_canonical(target, error);
    if (error) return target.lexically_normal();
    // A link to what does not exist is not followed.
    if (!fs::is_symlink(fs::symlink_status(canonical, error))) return canonical;
    target = canonical.parent_path() / fs::read_symlink(canonical, error);
  }
  return target;
}

bool SameFile(const std::string& a, const std::string& b) {
  std::error_code error;
  if (fs::equivalent(a, b, error)) return true;  // hard links too
  return Target(a) == Target(b);
}

bool IsSpecial(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  return !error && fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

// A file that a user may not write, or that nobody may (of which root could): renaming another over
// it would go round that.
bool IsReadOnly(const fs::path& path) {
  constexpr mode_t kAnyoneWrites = S_IWUSR | S_IWGRP | S_IWOTH;
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) return false;
  return (info.st_mode & kAnyoneWrites) == 0 || access(path.c_str(), W_OK) != 0;
}

absl::Status CheckWritable(const OutputFile& output) {
  if (output.path == "-") {
    return CannotWrite(output, "name a file; --json prints the plan to standard output");
  }
  std::error_code error;
  const fs::path target = Target(output.path);
  if (fs::is_directory(target, error)) return CannotWrite(output, "it is a directory");
  if (IsSpecial(target)) return absl::OkStatus();
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  if (!fs::is_directory(folder, error)) {
    return CannotWrite(output, absl::StrCat("the folder ", folder.string(), " does not exist"));
  }
  if (IsReadOnly(target)) {
    return CannotWrite(output, "it is read-only; name another file, or make it writable");
  }
  if (!CanWriteInto(folder.string())) {
    return CannotWrite(output, absl::StrCat("the folder ", folder.string(), " is not writable"));
  }
  return absl::OkStatus();
}

}  // namespace

CLI::Option* AddOutputOption(CLI::App& app, const std::string& names, std::string& path,
                             const std::string& description) {
  return app.add_option(names, path, description)
      ->type_name("PATH")
      ->check([](const std::string& name) {
        return std::string(name.empty() ? "the name is empty; name a file, or leave the option out"
                                        : "");
      });
}

bool CanWriteInto(const std::string& path) {
  std::string probe = absl::StrCat(path, "/.meshwright.XXXXXX");
  return mkdtemp(probe.data()) != nullptr && rmdir(probe.c_str()) == 0;
}

absl::Status CheckFolderApart(const OutputFile& folder, const std::vector<OutputFile>& outputs) {
  if (folder.path.empty()) return absl::OkStatus();
  fs::path path = Target(folder.path);
  if (!path.has_filename()) path = path.parent_path();  // "tables/"
  for (const OutputFile& output : outputs) {
    if (output.path.empty()) continue;
    const fs::path target = Target(output.path);
    if (target == path) {
      return CannotWrite(folder, absl::StrCat(output.option, " writes a file of that name"));
    }
    if (std::mismatch(path.begin(), path.end(), target.begin(), target.end()).first == path.end()) {
      return CannotWrite(folder,
                         absl::StrCat("it is made as a whole, and ", output.option, " writes ",
                                      output.path, " into it; name another folder"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckOutputs(const std::vector<OutputFile>& outputs,
                          const std::vector<std::string>& inputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const OutputFile& output = outputs[i];
    if (output.path.empty()) continue;
    MW_RETURN_IF_ERROR(CheckWritable(output));
    for (const std::string& input : inputs) {
      if (SameFile(output.path, input)) {
        return CannotWrite(output, "it is an input of this command; name another file");
      }
    }
    for (size_t j = 0; j < i; ++j) {
      if (!outputs[j].path.empty() && SameFile(outputs[j].path, output.path)) {
        return CannotWrite(output, absl::StrCat(outputs[j].option, " names the same file"));
      }
    }
  }
  return absl::OkStatus();
}

std::string OutputTarget(const std::string& path) { return Target(path).string(); }

bool IsSpecialOutput(const std::string& path) { return IsSpecial(Target(path)); }

absl::Status WriteOutput(const OutputFile& output, std::string_view data) {
  const fs::path target = Target(output.path);
  if (!IsSpecial(target)) return WriteFile(target.string(), data);
  std::FILE* const file = std::fopen(output.path.c_str(), "wb");
  if (file == nullptr) return CannotWrite(output, std::strerror(errno));
  const bool written = std::fwrite(data.data(), 1, data.size(), file) == data.size();
  const bool closed = std::fclose(file) == 0;
  if (!written || !closed) return CannotWrite(output, std::strerror(errno));
  return absl::OkStatus();
}

absl::Status PrintOutput(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (std::fflush(stdout) != 0 || !written) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot write to standard output: ", std::strerror(errno)));
  }
  return absl::OkStatus();
}

}  // namespace meshwright
