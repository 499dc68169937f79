#include "meshwright/hlo/verify/verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "meshwright/base/strings.h"
#include "meshwright/hlo/text/reader.h"

namespace meshwright {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr std::string_view kOperands = R"(HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
lt { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = pred[] compare(a, b), direction=LT }
neg { a = f32[] parameter(0) ROOT s = f32[] negate(a) }
cond { a = (s32[], f32[]) parameter(0) ROOT s = pred[] constant(true) }
body { ROOT a = (s32[], f32[]) parameter(0) }
ENTRY e {
  m = f32[2,3] parameter(0)
  n = f32[3,4] parameter(1)
  h = bf16[2,3] parameter(2)
  s = f32[] parameter(3)
  i = s32[2,3] parameter(4)
  q = pred[2,3] parameter(5)
  t = (s32[], f32[]) parameter(6)
  p = pred[] parameter(7)
  k = s32[] parameter(8)
  b = f32[5,2,3] parameter(9)
  c = f32[5,3,4] parameter(10)
  v = f32[8] parameter(11)
  img = f32[4,8,8,6] parameter(12)
  ker = f32[3,3,3,10] parameter(13)
  x = s32[7,1] parameter(14)
  y = f32[7,3] parameter(15)
  o = token[] after-all()
  z = c64[2,3] parameter(16)
)";

// What the reader says about `instruction`, without the place; empty if it is accepted.
std::string Verdict(std::string_view instruction) {
  const absl::StatusOr<Module> module =
      ParseHloText(StrCat(kOperands, "  ROOT r = ", instruction, "\n}\n"), "f.hlo");
  if (module.ok()) return "";
  const std::string message(module.status().message());
  EXPECT_EQ(message.find("f.hlo:26:"), 0u) << message;
  const size_t at = message.find(" r: ");
  return at == std::string::npos ? message : message.substr(at + 4);
}

TEST(VerifierTest, AcceptsWhatXlaAccepts) {
  for (const char* instruction : {
           "f32[2,3] add(m, m)",
           "f32[2,3] add(m, h)",  // mixed precision
           "bf16[2,3] multiply(m, m)",
           "pred[2,3] compare(m, m), direction=LT",
           "f32[2,3] select(q, m, m)",
           "f32[2,3] select(p, m, m)",
           "(s32[], f32[]) select(p, t, t)",
           "f32[2,3] clamp(s, m, s)",
           "f32[2,3] clamp(m, m, s)",
           "s32[2,3] convert(m)",
           "pred[2,3] is-finite(m)",
           "c64[2,3] complex(m, m)",
           "f32[2,3] abs(z)",
           "f32[2,3] real(z)",
           "f32[2,<=3] negate(m)",
           "(s32[], f32[]) copy(t)",
           "(s32[], f32[]) opt-barrier(t)",
           "f32[2,3] add-dependency(m, o)",
           "f32[2,3,5] broadcast(m), dimensions={0,1}",
           "f32[3,2] broadcast(m), dimensions={1,0}",
           "f32[9] broadcast(s), dimensions={}",
           "f32[3,2] transpose(m), dimensions={1,0}",
           "f32[] transpose(s), dimensions={}",
           "f32[6] reshape(m)",
           "f32[1,1] reshape(s)",
           "f32[4,3] concatenate(m, h), dimensions={0}",
           "f32[1,2] slice(m), slice={[1:2], [0:3:2]}",
           "f32[0,3] slice(m), slice={[1:1], [0:3]}",
           "f32[3,5] pad(m, s), padding=2_-1x0_0_1",
           "s32[4,5] iota(), iota_dimension=1",
           "f32[2,3] reverse(m), dimensions={1}",
           "f32[2,4] dot(m, n), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
           "f32[2,3,3,4] dot(m, n)",
           "f32[5,2,4] dot(b, c), lhs_batch_dims={0}, lhs_contracting_dims={2}, "
           "rhs_batch_dims={0}, rhs_contracting_dims={1}",
           "s32[] dot(v, v), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
           "f32[4,6,6,10] convolution(img, ker), window={size=3x3}, dim_labels=b01f_01io->b01f, "
           "feature_group_count=2",
           "f32[4,4,3,10] convolution(img, ker), window={size=3x3 stride=2x2 pad=1_1x0_0}, "
           "dim_labels=b01f_01io->b01f, feature_group_count=2",
           "f32[2,6,6,10] convolution(img, ker), window={size=3x3}, dim_labels=b01f_01io->b01f, "
           "feature_group_count=2, batch_group_count=2",
           "f32[2,4] convolution(m, n), dim_labels=bf_io->bf",
           "c64[2,3] fft(z), fft_type=FFT, fft_length={3}",
           "c64[2,2] fft(m), fft_type=RFFT, fft_length={2,3}",
           "f32[2,5] fft(z), fft_type=IRFFT, fft_length={5}",
           "f32[2] reduce(m, s), dimensions={1}, to_apply=add",
           "f32[] reduce(m, s), dimensions={1,0}, to_apply=add",
           "f32[2,3] reduce(m, s), dimensions={}, to_apply=add",
           "f32[2] reduce-window(v, s), window={size=3 stride=3}, to_apply=add",
           "f32[8] reduce-window(v, s), window={size=8 pad=7_0}, to_apply=add",
           "f32[3] reduce-window(v, s), window={size=3 stride=2}, to_apply=add",
           "f32[15] reduce-window(v, s), window={size=1 lhs_dilate=2}, to_apply=add",
           "f32[0] reduce-window(v, s), window={size=9}, to_apply=add",
           "f32[8] select-and-scatter(v, v, s), window={size=1}, select=lt, scatter=add",
           "f32[8] sort(v), dimensions={0}, to_apply=lt",
           "(f32[2,3], s32[2,3]) sort(m, i), dimensions={1}, to_apply=lt",
           "f32[1,3] dynamic-slice(m, k, k), dynamic_slice_sizes={1,3}",
           "f32[2,3] dynamic-update-slice(m, m, k, k)",
           "f32[7,3] gather(m, x), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
           "index_vector_dim=1, slice_sizes={1,3}",
           "f32[3,7,1] gather(m, x), offset_dims={0}, collapsed_slice_dims={0}, "
           "start_index_map={0}, index_vector_dim=2, slice_sizes={1,3}",
           "f32[2,3] scatter(m, x, y), update_window_dims={1}, inserted_window_dims={0}, "
           "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add",
           "(s32[], f32[2,3]) tuple(k, m)",
           "() tuple()",
           "f32[] get-tuple-element(t), index=1",
           "f32[] call(s), to_apply=neg",
           "f32[] fusion(s), kind=kLoop, calls=neg",
           "f32[2,3] map(m, m), dimensions={0,1}, to_apply=add",
           "(s32[], f32[]) while(t), condition=cond, body=body",
           "f32[] conditional(p, s, s), true_computation=neg, false_computation=neg",
           "f32[] conditional(k, s, s, s), branch_computations={neg, neg, neg}",
           // Not checked.
           "f32[99] custom-call(m), custom_call_target=\"any\"",
           "f32[99] all-gather(v), dimensions={0}, replica_groups={}",
           "s8[2,3,4] bitcast-convert(m)",
           "f32[3,2]{1,0} bitcast(m)",
       }) {
    EXPECT_EQ(Verdict(instruction), "") << instruction;
  }
}

struct BadCase {
  const char* instruction;
  const char* verdict;
};

TEST(VerifierTest, SaysWhatIsWrong) {
  for (const BadCase& bad : {
           BadCase{"f32[2,4] add(m, m)", "shape mismatch: is f32[2,4], its operands give f32[2,3]"},
           {"s32[2,3] add(m, m)", "shape mismatch: is s32[2,3], its operands give f32[2,3]"},
           {"f32[2,3] add(m, n)",
            "operands must agree: operand 0 is f32[2,3], operand 1 is f32[3,4]"},
           {"f32[2,3] add(m, i)",
            "operands must agree: operand 0 is f32[2,3], operand 1 is s32[2,3]"},
           {"f32[2,3] negate(t)", "operand 0 must be an array, is tuple"},
           {"f32[2,3] compare(m, m), direction=LT",
            "shape mismatch: is f32[2,3], its operands give pred[2,3]"},
           {"f32[2,3] select(m, m, m)", "operand 0 must be of type pred, is f32[2,3]"},
           {"f32[2,3] select(q, m, n)", "operands 1 and 2 must agree: f32[2,3] and f32[3,4]"},
           {"f32[3,4] select(q, n, n)",
            "operand 0 must be a scalar or have the dimensions of operand 1, f32[3,4]; is "
            "pred[2,3]"},
           {"f32[2,3] clamp(n, m, s)",
            "operand 0 must be a scalar or have the type of operand 1, f32[2,3]; is f32[3,4]"},
           {"f32[2] copy(m)", "shape mismatch: is f32[2], its operands give f32[2,3]"},
           {"f32[2,3] broadcast(m), dimensions={0}",
            "dimensions= has 1 entries; the operand f32[2,3] has 2 dimensions"},
           {"f32[2,3] broadcast(m), dimensions={0,2}",
            "dimensions= has dimension 2; valid are 0 to 1"},
           {"f32[2,4] broadcast(m), dimensions={0,1}",
            "shape mismatch: is f32[2,4], its operands give f32[2,3]"},
           {"f32[3,2] transpose(m), dimensions={1,1}", "dimensions= has dimension 1 twice"},
           {"f32[2,3] transpose(m), dimensions={1,0}",
            "shape mismatch: is f32[2,3], its operands give f32[3,2]"},
           {"f32[7] reshape(m)",
            "shape mismatch: is f32[7] with 7 elements, its operand f32[2,3] has 6"},
           {"f32[4,3] concatenate(m, n), dimensions={0}",
            "operands must agree but in dimension 0: operand 0 is f32[2,3], operand 1 is "
            "f32[3,4]"},
           {"f32[2,3] concatenate(m), dimensions={2}",
            "dimensions= has dimension 2; valid are 0 to 1"},
           {"f32[1,3] slice(m), slice={[2:3], [0:3]}",
            "slice= of dimension 0 is [2:3:1]; it must stay inside 0:2 with a stride of at least "
            "1"},
           {"f32[1] slice(m), slice={[0:1]}",
            "slice= has 1 dimensions; the operand f32[2,3] has 2"},
           {"f32[2,3] pad(m, k), padding=0_0x0_0",
            "operand 1, the value to pad with, must be f32[]; is s32[]"},
           {"f32[2,3] pad(m, s), padding=0_0",
            "padding= has 1 dimensions; the operand f32[2,3] "
            "has 2"},
           {"f32[2,3] pad(m, s), padding=-3_0x0_0",
            "padding= of dimension 0 (-3_0_0) does not fit its size 2"},
           {"s32[4] iota(), iota_dimension=1", "iota_dimension= has dimension 1; valid are 0 to 0"},
           {"f32[2,3] reverse(m), dimensions={5}", "dimensions= has dimension 5; valid are 0 to 1"},
           {"f32[2,4] dot(m, n), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
            "contracting dimensions do not match: dimension 0 of f32[2,3] and 0 of f32[3,4]"},
           {"f32[2,4] dot(m, n), lhs_contracting_dims={1}, rhs_contracting_dims={}",
            "lhs and rhs have different numbers of contracting dimensions: 1 and 0"},
           {"f32[2,4] dot(m, n), lhs_contracting_dims={7}, rhs_contracting_dims={0}",
            "lhs batch and contracting dims has dimension 7; valid are 0 to 1"},
           {"f32[2,5] dot(m, n), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
            "shape mismatch: is f32[2,5], its operands give f32[2,4]"},
           {"f32[4,6,6,10] convolution(img, ker), window={size=3x3}, dim_labels=b01f_01io->b01f",
            "the input has 6 features in 1 groups, the kernel takes 3 a group"},
           {"f32[4,6,6,9] convolution(img, ker), window={size=3x3}, dim_labels=b01f_01io->b01f, "
            "feature_group_count=2",
            "shape mismatch: is f32[4,6,6,9], its operands give f32[4,6,6,10]"},
           {"f32[4,6,6,10] convolution(img, ker), window={size=2x3}, dim_labels=b01f_01io->b01f, "
            "feature_group_count=2",
            "window= has size 2 in spatial dimension 0, the kernel 3"},
           {"f32[4,6,10] convolution(m, n), window={size=3}, dim_labels=b0f_0io->b0f",
            "dim_labels= gives the input 3 dimensions; it is f32[2,3]"},
           {"f32[3] reduce(m, s), dimensions={1}, to_apply=add",
            "shape mismatch: is f32[3], its operands give f32[2]"},
           {"f32[2] reduce(m, s), dimensions={2}, to_apply=add",
            "dimensions= has dimension 2; valid are 0 to 1"},
           {"f32[2] reduce(m, n), dimensions={1}, to_apply=add",
            "operand 1, an initial value, must be a scalar; is f32[3,4]"},
           {"f32[2] reduce(m), dimensions={1}, to_apply=add",
            "takes arrays and as many initial values, found 1 operands"},
           {"f32[2] reduce(m, s), dimensions={1}, to_apply=neg",
            "to_apply=neg has 1 parameters, not 2"},
           {"f32[3] reduce-window(v, s), window={size=3 stride=3}, to_apply=add",
            "shape mismatch: is f32[3], its operands give f32[2]"},
           {"f32[8] reduce-window(v, s), window={size=3x3}, to_apply=add",
            "window= has 2 dimensions; the operand f32[8] has 1"},
           {"f32[8] reduce-window(v, s), window={size=1 pad=-9_0}, to_apply=add",
            "window= does not fit dimension 0"},
           {"f32[8] select-and-scatter(v, v, s), window={size=2}, select=lt, scatter=add",
            "operand 1, the source, must be f32[7]; is f32[8]"},
           {"c64[3,3] fft(z), fft_type=FFT, fft_length={3}",
            "shape mismatch: is c64[3,3], its operands give c64[2,3]"},
           {"c64[2,2] fft(m), fft_type=RFFT, fft_length={4}",
            "fft_length= needs size 4 in dimension 1 of operand 0, f32[2,3]"},
           {"f32[2,9] fft(z), fft_type=IRFFT, fft_length={9}",
            "fft_length= needs size 5 in dimension 1 of operand 0, c64[2,3]"},
           {"c64[2,3] fft(z), fft_type=FFT, fft_length={1,2,3}",
            "needs fft_type=, and as fft_length= the sizes of one to three last dimensions; "
            "operand 0 is c64[2,3]"},
           {"c64[2,3] fft(z), fft_type=FFT, fft_length={}",
            "needs fft_type=, and as fft_length= the sizes of one to three last dimensions; "
            "operand 0 is c64[2,3]"},
           {"f32[2,3] sort(m, i), dimensions={1}, to_apply=lt",
            "shape mismatch: is f32[2,3], its operands give (f32[2,3], s32[2,3])"},
           {"f32[1,3] dynamic-slice(m, k), dynamic_slice_sizes={1,3}",
            "takes a start index for each of 2 dimensions, found 1"},
           {"f32[1,3] dynamic-slice(m, k, s), dynamic_slice_sizes={1,3}",
            "operand 2, a start index, must be an integer scalar; is f32[]"},
           {"f32[3,3] dynamic-slice(m, k, k), dynamic_slice_sizes={3,3}",
            "dynamic_slice_sizes= has size 3 in dimension 0 of operand 0, f32[2,3]"},
           {"f32[2,3] dynamic-update-slice(m, n, k, k)",
            "operand 1, the update, has size 3 in dimension 0 of operand 0, f32[2,3]"},
           {"f32[7,3] gather(m, x), offset_dims={0}, collapsed_slice_dims={0}, "
            "start_index_map={0}, index_vector_dim=1, slice_sizes={1,3}",
            "shape mismatch: is f32[7,3], its operands give f32[3,7]"},
           {"f32[7,3] gather(m, x), offset_dims={1}, collapsed_slice_dims={0}, "
            "start_index_map={0,1}, index_vector_dim=1, slice_sizes={1,3}",
            "start_index_map= has 2 entries, an index vector 1"},
           {"f32[7,3] gather(m, x), offset_dims={1}, collapsed_slice_dims={0}, "
            "start_index_map={0}, index_vector_dim=3, slice_sizes={1,3}",
            "index_vector_dim=3 is not in 0 to 2"},
           {"f32[2,3] scatter(m, x, m), update_window_dims={1}, inserted_window_dims={0}, "
            "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add",
            "operand 2, an update, f32[2,3] does not fit the indices s32[7,1]"},
           {"f32[2,3] scatter(m, x, y), update_window_dims={1}, inserted_window_dims={}, "
            "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add",
            "update_window_dims=, inserted_window_dims= and input_batching_dims= have 1 entries; "
            "operand 0, f32[2,3], has 2 dimensions"},
           {"(s32[], f32[]) tuple(k)",
            "shape mismatch: is (s32[], f32[]), its operands give "
            "(s32[])"},
           {"f32[] get-tuple-element(t), index=2",
            "index=2 is out of range; the operand has 2 "
            "elements"},
           {"f32[] get-tuple-element(t), index=0",
            "shape mismatch: is f32[], its operands give s32[]"},
           {"f32[] get-tuple-element(m), index=0", "operand 0 must be a tuple, is f32[2,3]"},
           {"f32[] call(s, s), to_apply=neg", "computation neg has 1 parameters, it is given 2"},
           {"f32[] call(m), to_apply=neg",
            "computation neg takes parameter 0 as f32[], operand 0 is f32[2,3]"},
           {"s32[] fusion(s), kind=kLoop, calls=neg",
            "shape mismatch: is s32[], computation neg gives f32[]"},
           {"f32[2,3] map(m), dimensions={0,1}, to_apply=add",
            "computation add has 2 parameters, it is given 1"},
           {"(s32[], f32[]) while(t), condition=body, body=body",
            "shape mismatch: is pred[], computation body gives (s32[], f32[])"},
           {"f32[] while(s), condition=cond, body=body",
            "computation cond takes parameter 0 as (s32[], f32[]), operand 0 is f32[]"},
           {"f32[] conditional(p, s), branch_computations={neg}",
            "a pred selects from 2 branches, not 1"},
           {"f32[] conditional(s, s), branch_computations={neg}",
            "operand 0 must be pred[] or s32[], is f32[]"},
           {"f32[] conditional(k, s), branch_computations={neg, neg}",
            "takes a selector and an operand for each of 2 branches, found 2 operands"},
           {"f32[] conditional(p, s, s), branch_computations={}, false_computation=neg",
            "lacks one of the computations it calls"},
       }) {
    EXPECT_EQ(Verdict(bad.instruction), bad.verdict) << bad.instruction;
  }
}

TEST(VerifierTest, ErrorsOfModulesWithoutTextHaveNoLine) {
  absl::StatusOr<Module> module = ParseHloText(
      "HloModule m\nENTRY e {\n a = f32[2] parameter(0)\n ROOT b = f32[2] negate(a)\n}\n", "f");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_TRUE(VerifyModule(*module, "f.pb").ok());
  Instruction& b = module->computations[0].instructions[1];
  b.shape.dims[0] = 3;
  EXPECT_EQ(VerifyModule(*module, "f.pb").message(),
            "f.pb:4:7: b: shape mismatch: is f32[3], its operands give f32[2]");
  b.place = {};
  EXPECT_EQ(VerifyModule(*module, "f.pb").message(),
            "f.pb: b: shape mismatch: is f32[3], its operands give f32[2]");
}

TEST(VerifierTest, AbsurdAttributesDoNotOverflow) {
  EXPECT_THAT(Verdict("f32[8] reduce-window(v, s), window={size=9223372036854775807 "
                      "rhs_dilate=9223372036854775807}, to_apply=add"),
              HasSubstr("its operands give f32[0]"));
  EXPECT_THAT(Verdict("f32[8] reduce-window(v, s), window={size=1 "
                      "pad=9223372036854775807_9223372036854775807}, to_apply=add"),
              EndsWith("window= does not fit dimension 0"));
  EXPECT_THAT(Verdict("f32[2,3] pad(m, s), padding=0_0_9223372036854775807x0_0"),
              HasSubstr("does not fit its size 2"));
  EXPECT_THAT(Verdict("f32[1,3] slice(m), slice={[0:2:9223372036854775807], [0:3]}"), "");
}

}  // namespace
}  // namespace meshwright
