#include "meshwright/hlo/stablehlo/reader.h"

#include <utility>

#include "meshwright/base/status.h"
#include "meshwright/hlo/stablehlo/bytecode_file.h"
#include "meshwright/hlo/stablehlo/bytecode_text.h"
#include "meshwright/hlo/stablehlo/generic_functions.h"
#include "meshwright/hlo/stablehlo/jax_export.h"
#include "meshwright/hlo/stablehlo/lowering.h"

namespace meshwright {
namespace {

absl::StatusOr<StablehloProgram> ReadStablehloText(std::string_view text,
                                                   std::string_view file_name) {
  const MlirAliases aliases(text);
  MW_ASSIGN_OR_RETURN(const MlirModule mlir, ParseMlirModule(text, file_name, aliases));
  return StablehloLowering(mlir, text, file_name, aliases).Lower();
}

}  // namespace

absl::StatusOr<StablehloProgram> ReadStablehlo(std::string_view text, std::string_view file_name) {
  JaxExportModule bytes{0, text.size(), {}};
  if (IsJaxExport(text)) {
    MW_ASSIGN_OR_RETURN(bytes, FindJaxExportModule(text, file_name));
  }
  const std::string_view bytecode = text.substr(bytes.offset, bytes.size);
  if (!bytecode.starts_with(kBytecodeMagic)) {
    if (!MayHaveGenericFunctions(text)) return ReadStablehloText(text, file_name);
    MW_ASSIGN_OR_RETURN(std::string short_text, WithShortFunctions(text, file_name));
    MW_ASSIGN_OR_RETURN(StablehloProgram program, ReadStablehloText(short_text, file_name));
    program.text = std::move(short_text);
    return program;
  }
  MW_ASSIGN_OR_RETURN(BytecodeText converted,
                      TextFromBytecode(bytecode, bytes.offset, file_name, bytes.platforms));
  absl::StatusOr<StablehloProgram> program = ReadStablehloText(converted.text, file_name);
  if (!program.ok()) return converted.AtBytes(program.status(), file_name);
  program->text = std::move(converted.text);
  return program;
}

absl::StatusOr<Module> ParseStablehlo(std::string_view text, std::string_view file_name) {
  MW_ASSIGN_OR_RETURN(StablehloProgram program, ReadStablehlo(text, file_name));
  return std::move(program.module);
}

}  // namespace meshwright
