#include "meshwright/inter/stages/search_time.h"

#include <gtest/gtest.h>

namespace meshwright {
namespace {

TEST(SearchTimeTest, PhasesEndBeforeTheDeadlineUnlessTheyMustAnswer) {
  double now = 0;
  bool interrupted = false;
  SearchTime time(
      10, [&] { return now; }, [&] { return interrupted; });
  now = 20;
  EXPECT_FALSE(time.Over());  // nothing was found yet
  time.Reserve(4);
  EXPECT_TRUE(time.Over());
  now = 5;
  EXPECT_FALSE(time.Over());
  EXPECT_DOUBLE_EQ(time.Left(), 1);
  now = 7;
  EXPECT_TRUE(time.Over());
  EXPECT_DOUBLE_EQ(time.Left(), 0);
  time.Reserve(0);
  EXPECT_FALSE(time.Over());
  interrupted = true;
  EXPECT_TRUE(time.Over());
  time.Require();
  EXPECT_FALSE(time.Over());
}

}  // namespace
}  // namespace meshwright
