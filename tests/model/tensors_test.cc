#include "meshwright/model/tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/file.h"
#include "meshwright/model/matmuls.h"
#include "meshwright/model/model_reader.h"
#include "meshwright/model/model_table.h"

namespace meshwright::transformer {
namespace {

using ::testing::ContainerEq;
using Json = nlohmann::json;

Model ReadText(const std::string& config) {
  absl::StatusOr<Model> model = ReadHuggingFaceConfig(config, "config.json");
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? *std::move(model) : Model();
}

// Name and shape, and how often it occurs.
using Counts = std::map<std::string, int64_t>;

std::string Key(const std::string& name, const std::vector<int64_t>& shape) {
  return absl::StrCat(name, " [", absl::StrJoin(shape, ", "), "]");
}

// Random configurations of every family, and what transformers' classes make of them
// (tests/data/transformer/make_parameters.py).
class TransformersClasses : public testing::Test {
 protected:
  void SetUp() override {
    const absl::StatusOr<std::string> text =
        ReadFile(std::string(MESHWRIGHT_TEST_DATA) + "/transformer/parameters.json");
    ASSERT_TRUE(text.ok()) << text.status();
    golden_ = Json::parse(*text);
  }
  Json golden_;
};

TEST_F(TransformersClasses, HaveAsManyParameters) {
  std::set<std::string> families;
  for (const Json& row : golden_["rows"]) {
    const std::string config = row["config"].dump();
    SCOPED_TRACE(config);
    const Model model = ReadText(config);
    EXPECT_EQ(CountParameters(Tensors(model)).total, row["parameters"].get<int64_t>());
    families.insert(model.family);
    EXPECT_FALSE(ModelJson(model, {.tokens = 8}).empty());
  }
  EXPECT_GE(families.size(), 61u);
}

TEST_F(TransformersClasses, HaveTensorsOfTheseNamesAndShapes) {
  int rows = 0;
  for (const Json& row : golden_["rows"]) {
    if (!row.contains("tensors")) continue;
    ++rows;
    const std::string config = row["config"].dump();
    SCOPED_TRACE(config);
    Counts found, expected;
    for (const Tensor& tensor : Tensors(ReadText(config))) {
      found[Key(tensor.name, tensor.shape)] += tensor.count;
    }
    for (const Json& tensor : row["tensors"]) {
      expected[Key(tensor[0], tensor[1].get<std::vector<int64_t>>())] += tensor[2].get<int64_t>();
    }
    EXPECT_THAT(found, ContainerEq(expected));
  }
  EXPECT_GE(rows, 40);
}

TEST_F(TransformersClasses, RunAsManyFlopsForward) {
  int rows = 0;
  for (const Json& row : golden_["rows"]) {
    if (!row.contains("forward_flops")) continue;
    ++rows;
    const std::string config = row["config"].dump();
    SCOPED_TRACE(config);
    const Model model = ReadText(config);
    const int64_t tokens = model.embedding.patches.has_value() ? model.embedding.positions
                                                               : row["tokens"].get<int64_t>();
    const FlopCounts flops = CountModelFlops(model, {.sequences = 1, .tokens = tokens}).total();
    EXPECT_EQ(flops.dense_forward, row["forward_flops"].get<double>());
  }
  EXPECT_GE(rows, 200);
}

}  // namespace
}  // namespace meshwright::transformer
