#include "meshwright/transformer/builtin_models.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "meshwright/base/strings.h"
#include "meshwright/transformer/model_reader.h"
#include "meshwright/transformer/tensors.h"

namespace meshwright::transformer {
namespace {

int64_t Parameters(const std::string& name) {
  const absl::StatusOr<Model> model = LoadModel(name);
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? CountParameters(Tensors(*model)).total : 0;
}

TEST(BuiltinModels, DumpAll) {
  for (const BuiltinModel& m : BuiltinModels()) {
    const absl::StatusOr<Model> model = LoadModel(m.name);
    if (!model.ok()) { std::printf("%s %s\n", m.name, std::string(model.status().message()).c_str()); continue; }
    const ParameterCounts c = CountParameters(Tensors(*model));
    std::printf("%-20s %16ld active %16ld mtp %ld untrained %ld\n", m.name, (long)c.total, (long)c.active, (long)c.mtp, (long)c.untrained);
  }
}

}  // namespace
}  // namespace meshwright::transformer
