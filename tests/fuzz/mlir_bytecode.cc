// Programs that begin as MLIR bytecode.

#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  meshwright::fuzzing::ReadAndWriteProgram(meshwright::fuzzing::Bytes(data, size));
  return 0;
}
