#include "meshwright/cost/roofline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "meshwright/cluster/collective.h"
#include "meshwright/cost/kernel_rates.h"
#include "tests/testing/reference_texts.h"

namespace meshwright {
namespace {

Mesh One() { return MakeMesh({1}, *ParseCluster("h100-sxm")); }

Work Product(ElementType type, int64_t m, int64_t n, int64_t k, int64_t batch = 1) {
  Work work;
  work.opcode = Opcode::kDot;
  work.element_type = type;
  work.m = m;
  work.n = n;
  work.k = k;
  work.batch = batch;
  work.flops = 2.0 * m * n * k * batch;
  work.bytes = static_cast<double>(ElementBits(type) / 8 * batch * (m * k + k * n + m * n));
  return work;
}

TEST(RooflineCostModel, HandComputed) {
  RooflineOptions options;
  options.memory_efficiency = 1;
  options.kernel_launch_seconds = 1e-6;
  options.kernel_record_seconds = 0;
  const RooflineCostModel model(One(), options);
  EXPECT_TRUE(model.in_seconds());

  // k = 128 is the half-way point; m and n are nearly large: 17.9 us of computing against 10.6 us
  // of memory.
  const Work flat = Product(ElementType::kBF16, 4096, 4096, 128);
  const double large = 4096.0 / (4096 + 64);
  EXPECT_DOUBLE_EQ(model.ComputeSeconds(flat),
                   flat.flops / (989.4e12 * 0.74 * 0.5 * large * large) + 1e-6);
  // One row: the bytes of the matrix decide.
  const Work skinny = Product(ElementType::kBF16, 1, 4096, 4096);
  EXPECT_DOUBLE_EQ(model.ComputeSeconds(skinny), skinny.bytes / 3.35e12 + 1e-6);

  Work copy;
  copy.opcode = Opcode::kCopy;
  copy.bytes = 3.35e9;
  EXPECT_DOUBLE_EQ(model.ComputeSeconds(copy), 1e-3 + 1e-6);
  copy.kernels = 0;  // fused into another's kernel
  EXPECT_DOUBLE_EQ(model.ComputeSeconds(copy), 1e-3);

  EXPECT_EQ(model.ComputeSeconds(Work()), 0);
  Work fused;  // moves nothing of its own: no kernel
  fused.flops = 1e9;
  EXPECT_DOUBLE_EQ(model.ComputeSeconds(fused), 1e9 / (494.7e12 / 8));
}

// The host records each kernel of a step, those of a loop's rounds once.
TEST(RooflineCostModel, KernelsOutsideOfLoopsAreRecorded) {
  const RooflineCostModel model(One(),
                                {.kernel_launch_seconds = 1e-6, .kernel_record_seconds = 2e-6});
  Work work;
  work.bytes = 4;
  const double outside = model.ComputeSeconds(work);
  work.in_loop = true;
  EXPECT_NEAR(outside - model.ComputeSeconds(work), 2e-6, 1e-12);
}

// A measured efficiency is the device's; exact f32 is left to plain units.
TEST(RooflineCostModel, EfficiencyIsTheDevices) {
  const Work large = Product(ElementType::kBF16, 16384, 16384, 16384);
  const RooflineCostModel h100(One());
  const RooflineCostModel h200(MakeMesh({1}, *ParseCluster("1xh200")));
  EXPECT_NEAR(h100.ComputeSeconds(large) / h200.ComputeSeconds(large), 0.84 / 0.74, 0.01);
  Work exact = Product(ElementType::kF32, 4096, 4096, 4096);
  exact.plain_share = kExactProducts;
  EXPECT_NEAR(h200.ComputeSeconds(exact), 2.70e-3, 0.05e-3);  // one H200, JAX 0.11.2
}

TEST(RooflineCostModel, ProductsGetCheaperPerFlopAsTheyGrow) {
  const RooflineCostModel model(One());
  double previous = 1;
  for (int64_t size = 16; size <= 16384; size *= 2) {
    const Work work = Product(ElementType::kBF16, size, size, size);
    const double per_flop = model.ComputeSeconds(work) / work.flops;
    EXPECT_LT(per_flop, previous) << size;
    EXPECT_GT(per_flop, 1 / 989.4e12) << size;  // never beyond the data sheet
    previous = per_flop;
  }
}

TEST(RooflineCostModel, CollectivesAddTheirStart) {
  const Mesh mesh = MakeMesh({1, 8}, *ParseCluster("8xh100-sxm"));
  const RooflineCostModel model(mesh);
  EXPECT_DOUBLE_EQ(model.CollectiveSeconds(CollectiveKind::kAllGather, {1}, 1 << 20),
                   35e-6 + CollectiveSeconds(mesh, CollectiveKind::kAllGather, {1}, 1 << 20));
  EXPECT_EQ(model.CollectiveSeconds(CollectiveKind::kAllGather, {0}, 1 << 20), 0);
}

// Matrix products on an H100, longer than 60 us (shorter ones wait for the host, see roofline.cc).
void CheckMeasuredProducts(const std::string& measured) {
  const RooflineCostModel model(One());
  std::vector<double> errors;
  std::istringstream file(measured);
  for (std::string line; std::getline(file, line);) {
    std::istringstream in(line);
    std::string op, group, flops, type, microseconds;
    std::getline(in, op, ',');
    std::getline(in, group, ',');
    std::getline(in, flops, ',');
    std::getline(in, type, ',');
    std::getline(in, microseconds, ',');
    long long m = 0, k = 0, n = 0;
    if (std::sscanf(op.c_str(), "gemm_%lldx%lldx%lld", &m, &k, &n) != 3 ||
        std::stod(microseconds) < 60)
      continue;
    const Work work = Product(type == "bfloat16" ? ElementType::kBF16 : ElementType::kF32, m, n, k);
    ASSERT_DOUBLE_EQ(work.flops, std::stod(flops)) << line;
    errors.push_back(std::abs(model.ComputeSeconds(work) / (std::stod(microseconds) * 1e-6) - 1));
    EXPECT_LT(errors.back(), 0.45) << line;
  }
  ASSERT_EQ(errors.size(), 74u);
  std::sort(errors.begin(), errors.end());
  double sum = 0;
  for (double error : errors) sum += error;
  const double mean = sum / errors.size(), p90 = errors[errors.size() * 9 / 10];
  std::cout << errors.size() << " products, mean error " << mean << ", 90th percentile " << p90
            << ", worst " << errors.back() << "\n";
  EXPECT_LT(mean, 0.11);
  EXPECT_LT(p90, 0.20);
}

void CheckMeasuredCopies(const std::string& measured) {
  // Each is a program of its own, which starts later than one in a stream of kernels.
  const RooflineCostModel model(One(), {.kernel_launch_seconds = 3e-6, .kernel_record_seconds = 0});
  int rows = 0;
  std::istringstream file(measured);
  for (std::string line; std::getline(file, line);) {
    char op[16];
    double bytes = 0, microseconds = 0;
    if (std::sscanf(line.c_str(), "%15[a-z],1,%lf,bf16,%lf", op, &bytes, &microseconds) != 3 ||
        bytes < 1e8)
      continue;
    Work work;
    work.bytes = bytes;  // read and written together
    EXPECT_NEAR(model.ComputeSeconds(work) * 1e6 / microseconds, 1, 0.15) << line;
    ++rows;
  }
  EXPECT_EQ(rows, 6);
}

std::vector<ReferenceText> MeasuredKernels() {
  return ReferenceTexts("measured/h100x4_micro.csv.gz", "measured/h100x4_micro.csv");
}

TEST(RooflineCostModel, CloseToMeasuredProducts) {
  for (const ReferenceText& measured : MeasuredKernels()) {
    SCOPED_TRACE(measured.path);
    CheckMeasuredProducts(measured.text);
  }
}

TEST(RooflineCostModel, CloseToMeasuredCopies) {
  for (const ReferenceText& measured : MeasuredKernels()) {
    SCOPED_TRACE(measured.path);
    CheckMeasuredCopies(measured.text);
  }
}

}  // namespace
}  // namespace meshwright
