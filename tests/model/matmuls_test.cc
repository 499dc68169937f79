#include "meshwright/model/matmuls.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "meshwright/model/model_reader.h"
#include "meshwright/model/tensors.h"

namespace meshwright::transformer {
namespace {

Model Load(const std::string& name) {
  absl::StatusOr<Model> model = LoadModel(name);
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? *std::move(model) : Model();
}

// Counts the pairs one by one.
int64_t PairsOneByOne(const Attention& a, int64_t tokens) {
  int64_t pairs = 0;
  for (int64_t query = 0; query < tokens; ++query) {
    for (int64_t key = 0; key < tokens; ++key) {
      const bool in_order = !a.causal || key <= query;
      const bool in_window = a.window == 0 || std::abs(query - key) < a.window;
      const bool in_chunk = a.chunk == 0 || query / a.chunk == key / a.chunk;
      pairs += in_order && in_window && in_chunk;
    }
  }
  return pairs;
}

TEST(AttendedPairs, AreThoseOfTheMask) {
  for (const bool causal : {false, true}) {
    for (int64_t tokens = 1; tokens <= 12; ++tokens) {
      for (int64_t reach = 0; reach <= 14; ++reach) {
        const Attention window = {.causal = causal, .window = reach};
        const Attention chunk = {.causal = causal, .chunk = reach};
        EXPECT_EQ(AttendedPairs(window, tokens), PairsOneByOne(window, tokens))
            << causal << " " << tokens << " " << reach;
        EXPECT_EQ(AttendedPairs(chunk, tokens), PairsOneByOne(chunk, tokens))
            << causal << " " << tokens << " " << reach;
      }
    }
  }
}

// arXiv:2104.04473, section 5.1, without the factor 4 for backward and recomputation: forward
// 24 s l h^2 (1 + s / 6h) + 2 s h V.
TEST(CountModelFlops, IsMegatronsFormulaForGpt) {
  const double s = 2048, l = 96, h = 12288, v = 51200;
  const absl::StatusOr<Model> gpt = ReadShortForm(
      "model: {layers: 96, hidden: 12288, heads: 96, vocab: 51200, tied: true}", "gpt");
  ASSERT_TRUE(gpt.ok());
  const FlopCounts flops = CountModelFlops(*gpt, {.sequences = 3, .tokens = 2048}).total();
  EXPECT_DOUBLE_EQ(flops.dense_forward,
                   3 * (24 * s * l * h * h * (1 + s / (6 * h)) + 2 * s * h * v));
  EXPECT_DOUBLE_EQ(flops.dense_backward, 2 * flops.dense_forward);
  EXPECT_DOUBLE_EQ(flops.dense_forward - flops.forward, 3 * 4 * l * h * (s * s - s * (s + 1) / 2));
}

// Every matrix multiplies every token once: two operations per active parameter of a matrix.
TEST(CountModelFlops, IsTwiceTheActiveParametersOfMatrices) {
  for (const char* name : {"gpt2", "llama3-8b", "mixtral-8x7b", "qwen1.5-moe-a2.7b", "gemma2-9b",
                           "deepseek-v3", "deepseek-v2-lite", "gpt-oss-20b", "llama4-maverick",
                           "falcon-40b", "phi-2", "opt-350m", "bert-base"}) {
    SCOPED_TRACE(name);
    const Model model = Load(name);
    int64_t active = 0;
    for (const Tensor& tensor : Tensors(model)) {
      const PartGroup group = GroupOf(tensor.part);
      const bool table = tensor.part == Part::kTokenEmbedding ||
                         tensor.part == Part::kPositionEmbedding ||
                         tensor.part == Part::kTokenTypeEmbedding;
      // Biases have one dimension; those of experts in one tensor two, named so.
      const bool vector = tensor.shape.size() < 2 || tensor.name.ends_with("bias");
      const bool once = tensor.part == Part::kPooler || tensor.part == Part::kPooledHead;
      if (!table && !vector && !once && !tensor.mtp && group != PartGroup::kNorm) {
        active += tensor.active_elements;
      }
    }
    if (model.head.tied) active += model.head.outputs * model.embedding.dim;
    const ModelFlops flops = CountModelFlops(model, {.sequences = 1, .tokens = 512});
    double once = 0;
    for (const Matmul& product : HeadMatmuls(model, {.sequences = 1, .tokens = 512})) {
      if (product.m == 1) once += product.Flops(true);
    }
    EXPECT_DOUBLE_EQ(flops.total().forward - flops.attention.forward - once,
                     2.0 * 512 * static_cast<double>(active));
  }
}

TEST(LayerMatmuls, ListsProductsOfGroupedQueries) {
  const Model model = Load("llama3-8b");
  const Stack& stack = model.stacks[0];
  const std::vector<Matmul> products =
      LayerMatmuls(model, stack, stack.kinds[0], {.sequences = 2, .tokens = 100});
  ASSERT_EQ(products.size(), 9u);
  EXPECT_EQ(products[1].part, Part::kKey);
  EXPECT_EQ(products[1].m, 200);
  EXPECT_EQ(products[1].n, 1024);
  EXPECT_EQ(products[1].k, 4096);
  EXPECT_EQ(products[3].kind, MatmulKind::kScores);
  EXPECT_EQ(products[3].batch, 64);
  EXPECT_EQ(products[3].pairs, 5050);
  EXPECT_EQ(products[4].Flops(false), 2.0 * 64 * 5050 * 128);
  EXPECT_EQ(products[4].Flops(true), 2.0 * 64 * 100 * 100 * 128);
}

TEST(LayerMatmuls, GivesCrossAttentionTheKeysOfTheSource) {
  const Model model = Load("t5-small");
  const Stack& decoder = model.stacks[1];
  const Batch batch = {.sequences = 2, .tokens = 10, .source_tokens = 30};
  EXPECT_EQ(TokensOf(model, batch), 80);
  int found = 0;
  for (const Matmul& product : LayerMatmuls(model, decoder, decoder.kinds[1], batch)) {
    if (product.part == Part::kCrossKey) {
      ++found;
      EXPECT_EQ(product.m, 60);
    }
    if (product.part == Part::kCrossAttentionOutput && product.kind == MatmulKind::kScores) {
      ++found;
      EXPECT_EQ(product.pairs, 300);
      EXPECT_EQ(product.n, 30);
    }
  }
  EXPECT_EQ(found, 2);
}

// 17.58 GMACs of ViT-B/16 at 224 pixels (arXiv:2012.12877, table 5, has 17.6).
TEST(CountModelFlops, CountsPatchesOfImages) {
  const Model vit = Load("vit-b-16");
  const ModelFlops flops = CountModelFlops(vit, {.sequences = 1, .tokens = 197});
  EXPECT_NEAR(flops.total().forward / 2, 17.56e9, 0.02e9);
  // Pixels have no gradient.
  EXPECT_EQ(flops.embedding.backward, flops.embedding.forward);
}

TEST(MtpMatmuls, AddALayerAndAHeadPerModule) {
  const Model model = Load("deepseek-v3");
  const Batch batch = {.sequences = 1, .tokens = 64};
  const Stack& stack = model.stacks[0];
  const double layer =
      CountFlops(LayerMatmuls(model, stack, stack.kinds[model.mtp.kind], batch)).forward;
  const double head = CountFlops(HeadMatmuls(model, batch)).forward;
  EXPECT_DOUBLE_EQ(CountFlops(MtpMatmuls(model, batch)).forward,
                   layer + head + 2.0 * 64 * 7168 * 2 * 7168);
}

}  // namespace
}  // namespace meshwright::transformer
