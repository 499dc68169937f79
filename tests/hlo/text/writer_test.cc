#include "meshwright/hlo/text/writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "meshwright/base/file.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/text/reader.h"
#include "tests/testing/data.h"
#include "tests/testing/exhaustive.h"

namespace meshwright {
namespace {

// The text of what `text` is read as.
std::string Again(std::string_view text) {
  const absl::StatusOr<Module> module = ParseHloText(text, "test.hlo");
  EXPECT_TRUE(module.ok()) << module.status();
  return module.ok() ? ToHloText(*module) : "";
}

TEST(TextWriterTest, BriefStyle) {
  constexpr std::string_view kText =
      R"(HloModule jit_f, is_scheduled=true, input_output_alias={ {}: (0, {}, may-alias) }, buffer_donor={ (1, {}) }, entry_computation_layout={(f32[2]{0}, f32[])->f32[]}, num_partitions=2

FileNames
1 "/f.py"

FunctionNames
1 "f"

FileLocations
1 {file_name_id=1 function_name_id=1 line=1 end_line=1 column=2 end_column=3}

StackFrames
1 {file_location_id=1 parent_frame_id=1}


add.1 {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

ENTRY main {
  x = f32[2]{0} parameter(0), sharding={devices=[2]<=[2]}, metadata={op_name="x[\'y\']" stack_frame_id=1}
  z = f32[] parameter(1)
  ROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=add.1, frontend_attributes={a="b",c={"d":1}}, control-predecessors={z}, backend_config={"a":"b"}
}

)";
  EXPECT_EQ(Again(kText), kText);
}

TEST(TextWriterTest, LongStyle) {
  constexpr std::string_view kText = R"(HloModule m

%f (p: f32[2]) -> f32[2] {
  ROOT %p = f32[2]{0} parameter(0)
}, execution_thread="host"

ENTRY %e (x: f32[2]) -> (f32[2], f32[2], f32[2], f32[2], f32[2], /*index=5*/f32[2]) {
  %x = f32[2]{0} parameter(0)
  %y = f32[2]{0} fusion(%x), kind=kLoop, calls=%f
  ROOT %t = (f32[2]{0}, f32[2]{0}, f32[2]{0}, f32[2]{0}, f32[2]{0}, /*index=5*/f32[2]{0}) tuple(%x, %x, %x, %x, %y, /*index=5*/%y)
}

)";
  EXPECT_EQ(Again(kText), kText);
}

// Instructions in the order and spelling of XLA's printer.
TEST(TextWriterTest, AttributesComeInXlaOrder) {
  const std::vector<std::string_view> lines = {
      R"(dot.1 = f32[5,2,4]{2,1,0} dot(a, b), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1}, operand_precision={highest,highest}, algorithm=dot_tf32_tf32_f32)",
      R"(cmp = pred[8]{0} compare(v, v), direction=LT, type=TOTALORDER)",
      R"(srt = f32[8]{0} sort(v), dimensions={0}, is_stable=true, to_apply=lt)",
      R"(ag = f32[16]{0} all-gather(v), channel_id=1, replica_groups=[1,2]<=[2], dimensions={0}, use_global_device_ids=true)",
      R"(rs = f32[4]{0} reduce-scatter(v), channel_id=2, replica_groups={{0,1}}, use_global_device_ids=true, dimensions={0}, to_apply=add)",
      R"(ars = ((f32[8]{0}), f32[8]{0}) all-reduce-start(v), channel_id=3, replica_groups={}, to_apply=add, output_to_operand_aliasing={{1}: (0, {})})",
      R"(cp = f32[8]{0} collective-permute(v), channel_id=4, source_target_pairs={{0,1},{1,0}})",
      R"(cv = f32[8,14,14,6]{3,2,1,0} convolution(img, ker), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=2, operand_precision={high,high})",
      R"(cc = f32[8]{0} custom-call(v), custom_call_target="t", operand_layout_constraints={f32[8]{0}}, custom_call_has_side_effect=true, api_version=API_VERSION_STATUS_RETURNING, called_computations={add, lt}, backend_config="x y")",
      R"(cl = f32[] call(s, s), to_apply=add, is_composite=true, frontend_attributes={composite.name="n"})",
      R"(cnd = f32[] conditional(q, s, s), true_computation=neg, false_computation=neg)",
      R"(sw = f32[] conditional(n, s, s), branch_computations={neg, neg})",
      R"(ga = f32[3,4]{1,0} gather(tab, idx), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,4}, indices_are_sorted=true)",
      R"(sca = f32[10,4]{1,0} scatter(tab, idx, upd), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, indices_are_sorted=true, unique_indices=true, to_apply=add)",
      R"(sas = f32[8]{0} select-and-scatter(v, v, s), window={size=1}, select=lt, scatter=add)",
      R"(io = s32[4,2]{1,0} iota(), iota_dimension=1)",
      R"(rp = f32[8]{0} reduce-precision(v), exponent_bits=5, mantissa_bits=2)",
      R"(ats = ((f32[8]{0}), f32[8]{0}) all-to-all-start(v), channel_id=5, replica_groups={{0,1}}, dimensions={0})",
      R"(atd = f32[8]{0} all-to-all-done(ats))",
      R"(pd = f32[11]{0} pad(v, s), padding=1_2)",
      R"(pi = f32[18]{0} pad(v, s), padding=1_2_1)",
      R"(c0 = f32[2,2]{1,0} constant({ { 1, 2.5 }, { -0, inf } }))",
      R"(c1 = pred[] constant(false))",
      R"(c2 = (s32[], pred[2]{0}) constant((3, {1, 0})))",
      R"(c3 = f32[4000]{0} constant({...}))",
      R"(tok = token[] after-all())",
  };
  std::string text = R"(HloModule m

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

lt {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = pred[] compare(a, b), direction=LT
}

neg {
  a = f32[] parameter(0)
  ROOT s = f32[] negate(a)
}

ENTRY e {
  a = f32[5,2,3]{2,1,0} parameter(0)
  b = f32[5,3,4]{2,1,0} parameter(1)
  v = f32[8]{0} parameter(2)
  s = f32[] parameter(3)
  q = pred[] parameter(4)
  n = s32[] parameter(5)
  img = f32[8,14,14,4]{3,2,1,0} parameter(6)
  ker = f32[3,3,2,6]{3,2,1,0} parameter(7)
  tab = f32[10,4]{1,0} parameter(8)
  idx = s32[3,1]{1,0} parameter(9)
  upd = f32[3,4]{1,0} parameter(10)
)";
  for (const std::string_view line : lines) StrAppend(&text, "  ", line, "\n");
  text += "  ROOT t = () tuple()\n}\n\n";
  EXPECT_EQ(Again(text), text);
}

TEST(TextWriterTest, OtherAttributesInUnusualOrderComeBack) {
  const absl::StatusOr<Module> module = ParseHloText(R"(HloModule m
ENTRY e {
  v = f32[8] parameter(0)
  ROOT g = f32[16] all-gather(v), zzz=1, use_global_device_ids=true, dimensions={0}, channel_id=1, aaa={ 2 }
}
)",
                                                     "test.hlo");
  ASSERT_TRUE(module.ok()) << module.status();
  const absl::StatusOr<Module> again = ParseHloText(ToHloText(*module), "again");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, *module);
}

std::vector<std::string> Programs(const std::string& directory) {
  std::vector<std::string> paths;
  if (!std::filesystem::is_directory(directory)) return paths;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string path = entry.path().string();
    if (path.ends_with(".hlo.txt.gz") || path.ends_with(".compiled.txt.gz")) paths.push_back(path);
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// Reads every program, writes it, reads that, and compares. Returns how many there were.
size_t CheckPrograms(const std::string& directory) {
  const std::vector<std::string> paths = Programs(directory);
  for (const std::string& path : paths) {
    SCOPED_TRACE(path);
    const absl::StatusOr<std::string> text = ReadFileMaybeGzip(path);
    EXPECT_TRUE(text.ok()) << text.status();
    if (!text.ok()) continue;
    const absl::StatusOr<Module> module = ParseHloText(*text, path);
    EXPECT_TRUE(module.ok()) << module.status();
    if (!module.ok()) continue;
    const std::string written = ToHloText(*module);
    const absl::StatusOr<Module> again = ParseHloText(written, "written again");
    EXPECT_TRUE(again.ok()) << again.status();
    EXPECT_TRUE(again.ok() && *again == *module);
    EXPECT_EQ(std::count(written.begin(), written.end(), '\n'),
              std::count(text->begin(), text->end(), '\n'));
  }
  return paths.size();
}

TEST(TextWriterTest, ProgramsOfTheTestDataComeBack) {
  EXPECT_GE(CheckPrograms(MESHWRIGHT_TEST_DATA "/hlo"), 3u);
}

// Programs of pipelines, with loops and branches, and whatever lies beside the checkout.
TEST(TextWriterTest, SharedProgramsComeBack) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  EXPECT_GE(CheckPrograms(HloData("pipeline")), 10u);
  size_t count = 0;
  for (const char* directory : {"/hlo", "/measured", "/measured/compiled"}) {
    count += CheckPrograms(StrCat(MESHWRIGHT_SHARED, directory));
  }
  std::cout << (count > 0 ? StrCat("used ", count, " programs of ") : "not used: ")
            << MESHWRIGHT_SHARED << "\n";
}

}  // namespace
}  // namespace meshwright
