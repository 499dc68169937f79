// Configurations of transformers: Hugging Face's config.json and the short form.

#include "meshwright/model/model_reader.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace meshwright;
  const std::string_view text = fuzzing::Bytes(data, size);
  fuzzing::ExpectAnswer(transformer::ParseModel(text, "input.json").status());
  fuzzing::ExpectAnswer(transformer::ParseModel(text, "input.yaml").status());
  return 0;
}
