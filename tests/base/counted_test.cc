#include "meshwright/base/counted.h"

#include <gtest/gtest.h>

namespace meshwright {
namespace {

TEST(Counted, OneAndMany) {
  EXPECT_EQ(Counted(0, "stage"), "0 stages");
  EXPECT_EQ(Counted(1, "stage"), "1 stage");
  EXPECT_EQ(Counted(2, "stage"), "2 stages");
  EXPECT_EQ(Counted(1, "micro-batch", "micro-batches"), "1 micro-batch");
  EXPECT_EQ(Counted(2, "micro-batch", "micro-batches"), "2 micro-batches");
}

}  // namespace
}  // namespace meshwright
