#include "gtest/gtest.h"
#include "meshwright/inter/layers/batch.h"

namespace meshwright {
namespace {

// Values of the given shapes, and the dimension of each that runs over the batch.
struct Split {
  Graph graph;
  BatchSplit batch;
  void Add(std::vector<int64_t> dims, int32_t dimension) {
    Value value;
    value.shape = Shape::Array(ElementType::kF32, std::move(dims));
    graph.values.push_back(value);
    batch.dimension.push_back(dimension);
  }
};

TEST(BatchSplitTest, EverySplitDimensionMustDivide) {
  Split split;
  split.batch.size = 12;
  split.Add({12, 5}, 0);
  split.Add({7, 36}, 1);  // merged with three more
  split.Add({5, 5}, -1);
  for (int64_t n : {1, 2, 3, 4, 6, 12}) EXPECT_TRUE(split.batch.Divides(split.graph, n)) << n;
  for (int64_t n : {-1, 0, 5, 8, 24, 36}) EXPECT_FALSE(split.batch.Divides(split.graph, n)) << n;
  split.Add({2, 3}, 0);  // groups that span six samples
  EXPECT_TRUE(split.batch.Divides(split.graph, 2));
  EXPECT_FALSE(split.batch.Divides(split.graph, 4));
}

}  // namespace
}  // namespace meshwright
