#include "meshwright/transformer/tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "meshwright/base/file.h"
#include "meshwright/transformer/families/families.h"
#include "meshwright/transformer/model_reader.h"

namespace meshwright::transformer {
namespace {

using Json = nlohmann::json;

// Random configurations of every family, and the parameters that transformers' classes have for
// them (tests/data/transformer/make_parameters.py).
TEST(Tensors, AddUpToTheParametersOfTransformersClasses) {
  const absl::StatusOr<std::string> text =
      ReadFile(std::string(MESHWRIGHT_TEST_DATA) + "/transformer/parameters.json");
  ASSERT_TRUE(text.ok()) << text.status();
  std::set<std::string> families;
  const Json golden = Json::parse(*text);
  for (const Json& row : golden["rows"]) {
    const std::string config = row["config"].dump();
    SCOPED_TRACE(config);
    const absl::StatusOr<Model> model = ReadHuggingFaceConfig(config, "config.json");
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_EQ(CountParameters(Tensors(*model)).total, row["parameters"].get<int64_t>());
    families.insert(model->family);
  }
  EXPECT_GE(families.size(), 26u);
}

}  // namespace
}  // namespace meshwright::transformer
