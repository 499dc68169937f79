#include "meshwright/degrees/degree_table.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

#include "meshwright/degrees/fixes.h"

namespace meshwright::transformer {
namespace {

// Every degree at random, whether they go together or not.
Configuration RandomConfiguration(std::mt19937& random) {
  Configuration c;
  for (const Degree& degree : DegreeTable()) {
    if (degree.set == nullptr) continue;
    const int64_t most = std::min<int64_t>(degree.most, 40);
    degree.set(c, std::uniform_int_distribution<int64_t>(degree.least, most)(random));
  }
  return c;
}

TEST(DegreeTable, HasEveryKeyAndNameOnce) {
  std::set<std::string_view> keys, names;
  for (const Degree& degree : DegreeTable()) {
    EXPECT_TRUE(keys.insert(degree.key).second) << degree.key;
    if (!degree.name.empty()) EXPECT_TRUE(names.insert(degree.name).second) << degree.name;
    EXPECT_EQ(degree.name.empty(), degree.set == nullptr) << degree.key;
  }
  EXPECT_EQ(DegreesInOrder().size(), names.size());
}

// No member is without a row: all rows set make one configuration into another.
TEST(DegreeTable, HasEveryMember) {
  std::mt19937 random(1);
  for (int i = 0; i < 100; ++i) {
    const Configuration from = RandomConfiguration(random);
    Configuration to = RandomConfiguration(random);
    for (const Degree& degree : DegreeTable()) {
      if (degree.set != nullptr) degree.set(to, degree.value(from));
    }
    EXPECT_TRUE(to == from) << ConfigurationText(from);
  }
}

TEST(DegreeTable, OrderIsTotal) {
  std::mt19937 random(2);
  for (int i = 0; i < 1000; ++i) {
    const Configuration a = RandomConfiguration(random);
    Configuration b = a;
    EXPECT_FALSE(ConfigurationBefore(a, b));
    const auto& all = DegreesInOrder();
    const Degree& degree = *all[random() % all.size()];
    degree.set(b, degree.value(b) == degree.least ? degree.least + 1 : degree.least);
    EXPECT_NE(ConfigurationBefore(a, b), ConfigurationBefore(b, a)) << degree.name;
  }
}

// What is printed goes into --fix, between blanks as it stands or between commas.
TEST(ConfigurationText, IsWhatFixTakes) {
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    const Configuration c = RandomConfiguration(random);
    const std::string text = ConfigurationText(c);
    const absl::StatusOr<Fixes> fixes = ParseFixes({text});
    ASSERT_TRUE(fixes.ok()) << text << ": " << fixes.status();
    for (const Degree& degree : DegreeTable()) {
      const std::optional<int64_t> fix = degree.fix(*fixes);
      const bool shown = degree.shown != nullptr && degree.shown(c);
      ASSERT_EQ(fix.has_value(), shown) << text << ", " << degree.key;
      if (shown) EXPECT_EQ(*fix, degree.value(c)) << text << ", " << degree.key;
    }
  }
}

TEST(ConfigurationText, LeavesOutWhatIsUsual) {
  Configuration c{.tp = 8, .sequence_parallel = true, .pp = 4, .virtual_stages = 2};
  c.schedule = PipelineKind::kInterleaved;
  c.recompute = Recompute::kFull;
  c.recompute_stages = 3;
  c.zero = 1;
  EXPECT_EQ(ConfigurationText(c),
            "tp=8 pp=4 dp=1 sp=on schedule=interleaved vp=2 mbs=1 zero=1 recompute=full "
            "recompute_stages=3");
}

}  // namespace
}  // namespace meshwright::transformer
