#include <string>
#include <string_view>
#include <vector>

#include "meshwright/base/strings.h"
#include "tests/sharding/call_stand_ins.h"

// One example or more for each row of the table of calls.

namespace meshwright {
namespace {

// The part of XLA's configuration of a fused attention that a rule reads.
std::string FusedAttention(std::string_view mask, std::string_view lhs_batch, bool backward,
                           std::string_view more = "") {
  return StrCat(", backend_config={\"cudnn_fmha_backend_config\": {\"mask_type\": \"", mask,
                "\", \"", backward ? "bmm2_grad_gemm2" : "bmm1",
                "_dot_dimension_numbers\": {\"lhs_batch_dimensions\": ", lhs_batch, "}", more,
                "}}");
}

constexpr std::string_view kHeadsThird = R"(["0", "2"])", kHeadsSecond = R"(["0", "1"])";

std::string Gemm(std::string_view epilogue, std::string_view beta) {
  return StrCat(R"(, backend_config={"gemm_backend_config": {"alpha_real": 1, "beta": )", beta,
                R"(, "epilogue": ")", epilogue,
                R"(", "dot_dimension_numbers": {"lhs_contracting_dimensions": ["2"],)",
                R"( "rhs_contracting_dimensions": ["1"], "lhs_batch_dimensions": ["0"],)",
                R"( "rhs_batch_dimensions": ["0"]}}})");
}

// A rule in which every dimension of the first operand but the last ones goes through.
CallExample Mark(std::string target) {
  return {{std::move(target), {"0:bs->bs"}}, {"f32 bs"}, {"f32 bs"}, "", "([i,j])->[i,j]"};
}

// Matrices of a batch, [b,m,n] in, with what else there is.
CallExample Solver(std::string target, std::vector<std::string> operands,
                   std::vector<std::string> results, std::vector<std::string> sums,
                   std::string rule) {
  return {{std::move(target), std::move(sums)},
          std::move(operands),
          std::move(results),
          "",
          std::move(rule)};
}

std::vector<CallExample> AttentionExamples() {
  const std::vector<std::string> backward = {"f32 bs(gr)d", "f32 btgd",    "f32 btge",
                                             "f32 b(gr)s",  "f32 bs(gr)e", "f32 bs(gr)e"};
  const std::vector<std::string> gradients = {"f32 b(gr)sd", "f32 bgtd", "f32 bgte", "u8 0"};
  return {
      {{"__cudnn$fmhaSoftmax",
        {"0:bs(gr)d 1:btgd 2:btge->b(gr)se", "0:bs(gr)d 1:btgd->b(gr)s", ""}},
       {"f32 bs(gr)d", "f32 btgd", "f32 btge"},
       {"f32 b(gr)se", "f32 b(gr)s", "u8 0"},
       FusedAttention("NO_MASK", kHeadsThird, false),
       "([b,s,g r (h),d],[b,t,g,d],[b,t,g,e])->([b,g r (h),s,e],[b,g r (h),s],[W]) t:whole d:whole "
       "e:whole "
       "W:whole"},
      {{"__cudnn$fmhaSoftmaxDropout", {"0:b(gr)sd 1:bgtd 2:bgte->b(gr)se", ""}},
       {"f32 b(gr)sd", "f32 bgtd", "f32 bgte"},
       {"f32 b(gr)se", "u8 0"},
       FusedAttention("CAUSAL", kHeadsSecond, false),
       "([b,g r (h),s,d],[b,g,t,d],[b,g,t,e])->([b,g r (h),s,e],[W]) s:whole t:whole d:whole "
       "e:whole "
       "W:whole"},
      {{"__cudnn$fmhaScaleBiasSoftmax", {"0:bs(gr)d 1:btgd 2:btge 3:z(gr)st 4:b 5:b->b(gr)se", ""}},
       {"f32 bs(gr)d", "f32 btgd", "f32 btge", "f32 1(gr)st", "s32 b", "s32 b"},
       {"f32 b(gr)se", "u8 0"},
       FusedAttention("PADDING", kHeadsThird, false),
       "([b,s,g r (h),d],[b,t,g,d],[b,t,g,e],[1,g r (h),s,t],[b],[b])->([b,g r (h),s,e],[W]) "
       "s:whole t:whole "
       "d:whole e:whole W:whole"},
      {{"__cudnn$fmhaSoftmaxF8",
        {"0:bs(gr)d 1:btgd 2:btge->b(gr)se", "max 0:bs(gr)d->1111", "max 0:bs(gr)d->1111",
         "0:bs(gr)d 1:btgd->b(gr)s", ""}},
       {"f32 bs(gr)d", "f32 btgd", "f32 btge", "f32 1111", "f32 1111", "f32 1111", "f32 1111",
        "f32 1111", "f32 1111"},
       {"f32 b(gr)se", "f32 1111", "f32 1111", "f32 b(gr)s", "u8 0"},
       FusedAttention("NO_MASK", kHeadsThird, false),
       "([b,s,g r (h),d],[b,t,g,d],[b,t,g,e],[1,1,1,1],[1,1,1,1],[1,1,1,1],[1,1,1,1],[1,1,1,1],"
       "[1,1,1,1])->([b,g r (h),s,e],[1,1,1,1],[1,1,1,1],[b,g r (h),s],[W]) b:max g:max r:max "
       "(h):max s:max "
       "t:whole "
       "d:whole e:whole W:whole"},
      {{"__cudnn$fmhaSoftmaxBackward",
        {"4:bs(gr)e 2:btge 1:btgd 3:b(gr)s->b(gr)sd", "4:bs(gr)e 2:btge 0:bs(gr)d->bgtd",
         "4:bs(gr)e 5:bs(gr)e 0:bs(gr)d 1:btgd->bgte", ""}},
       backward,
       gradients,
       FusedAttention("NO_MASK", kHeadsThird, true),
       "([b,s,g r (h),d],[b,t,g,d],[b,t,g,e],[b,g r (h),s],[b,s,g r (h),e],[b,s,g r (h),e])->([b,g "
       "r (h),"
       "s,d],[b,g,t,d],"
       "[b,g,t,e],[W]) r:sum (h):sum s:sum t:whole d:whole e:whole W:whole"},
      {{"__cudnn$fmhaScaleBiasSoftmaxBackward",
        {"4:bs(gr)e 2:btge 1:btgd 3:b(gr)s->b(gr)sd", "4:bs(gr)e 2:btge 0:bs(gr)d->bgtd",
         "4:bs(gr)e 6:bs(gr)e 0:bs(gr)d 1:btgd->bgte", "4:bs(gr)e 2:btge 5:z(gr)st->z(gr)st", ""}},
       {"f32 bs(gr)d", "f32 btgd", "f32 btge", "f32 b(gr)s", "f32 bs(gr)e", "f32 1(gr)st",
        "f32 bs(gr)e"},
       {"f32 b(gr)sd", "f32 bgtd", "f32 bgte", "f32 1(gr)st", "u8 0"},
       FusedAttention("NO_MASK", kHeadsThird, true),
       "([b,s,g r (h),d],[b,t,g,d],[b,t,g,e],[b,g r (h),s],[b,s,g r (h),e],[1,g r (h),s,t],[b,s,g "
       "r (h),e])->"
       "([b,g r (h),s,d],[b,g,t,d],[b,g,t,e],[1,g r (h),s,t],[W]) b:sum r:sum (h):sum s:sum "
       "t:whole d:whole "
       "e:whole "
       "W:whole"},
      {{"__cudnn$fmhaSoftmaxBackwardF8",
        {"4:bs(gr)e 2:btge 1:btgd->b(gr)sd", "4:bs(gr)e 2:btge 0:bs(gr)d->bgtd",
         "4:bs(gr)e 3:bs(gr)e 0:bs(gr)d 1:btgd->bgte", "max 4:bs(gr)e->1111", ""}},
       {"f32 bs(gr)d", "f32 btgd", "f32 btge", "f32 bs(gr)e", "f32 bs(gr)e", "f32 b(gr)s",
        "f32 1111"},
       {"f32 b(gr)sd", "f32 bgtd", "f32 bgte", "f32 1111", "u8 0"},
       FusedAttention("NO_MASK", kHeadsThird, true),
       "([b,s,g r (h),d],[b,t,g,d],[b,t,g,e],[b,s,g r (h),e],[b,s,g r (h),e],[b,g r "
       "(h),s],[1,1,1,1])->"
       "([b,g r (h),s,d],[b,g,t,d],[b,g,t,e],[1,1,1,1],[W]) b:max g:max r:whole (h):whole s:whole "
       "t:whole "
       "d:whole "
       "e:whole W:whole"},
      {{"te_fused_attn_forward_ffi",
        {"0:bs(gr)d 1:btgd 2:btge->bs(gr)e", "0:bs(gr)d 1:btgd->b(gr)sw"}},
       {"f32 bs(gr)d", "f32 btgd", "f32 btge", "f32 1", "s32 x"},
       {"f32 bs(gr)e", "f32 b(gr)s1"},
       ", backend_config={mask_type = 2 : i64}",
       "([b,s,g r,d],[b,t,g,d],[b,t,g,e],[1],[W])->([b,s,g r,e],[b,g r,s,1]) s:whole d:whole "
       "t:whole "
       "e:whole W:whole"},
      {{"te_fused_attn_backward_ffi",
        {"8:bs(gr)e 2:btge 1:btgd 5:b(gr)sw->bs(gr)d", "8:bs(gr)e 2:btge 0:bs(gr)d->btgd",
         "8:bs(gr)e 7:bs(gr)e 0:bs(gr)d 1:btgd->btge"}},
       {"f32 bs(gr)d", "f32 btgd", "f32 btge", "f32 1", "f32 1", "f32 b(gr)s1", "u32 1",
        "f32 bs(gr)e", "f32 bs(gr)e"},
       {"f32 bs(gr)d", "f32 btgd", "f32 btge"},
       ", backend_config={mask_type = 2 : i64}",
       "([b,s,g r,d],[b,t,g,d],[b,t,g,e],[1],[1],[b,g r,s,1],[1],[b,s,g r,e],[b,s,g r,e])->"
       "([b,s,g r,d],[b,t,g,d],[b,t,g,e]) s:whole r:sum d:whole t:whole e:whole"},
  };
}

std::vector<CallExample> ProductExamples() {
  return {
      {{"__cublas$gemm", {"0:bmk 1:bkn->bmn", ""}},
       {"f32 bmk", "f32 bkn"},
       {"f32 bmn", "u8 0"},
       Gemm("DEFAULT", "0"),
       "([b,m,k],[b,k,n])->([b,m,n],[W]) k:sum W:whole"},
      {{"__cublas$lt$matmul", {"0:bmk 1:bkn->bmn", ""}},
       {"f32 bmk", "f32 bkn"},
       {"f32 bmn", "u8 0"},
       Gemm("GELU", "0"),
       "([b,m,W],[b,W,n])->([b,m,n],[X]) W:whole X:whole"},
      {{"te_gemm_v2_ffi", {"0:bmk 2:kn->bmn"}},
       {"f32 bmk", "f32 1", "f32 kn", "f32 1", "f32 1"},
       {"f32 bmn"},
       ", backend_config={config = {lhs_axis_boundary = 2 : i64, lhs_transposed = false, "
       "rhs_axis_boundary = 1 : i64, rhs_transposed = false}}",
       "([i,j,l],[1],[l,k],[1],[1])->[i,j,k] l:sum"},
      {{"__cudnn$convForward", {"0:biuv 1:ioxy->bouv", ""}},
       {"f32 biuv", "f32 ioxy"},
       {"f32 bouv", "u8 0"},
       ", window={size=2x2}, dim_labels=bf01_io01->bf01",
       "([b,i,W,W],[i,o,W,W])->([b,o,W,W],[X]) i:sum W:whole X:whole"},
      {{"__cudnn$convBackwardInput", {"0:bouv 1:ioxy->biuv", ""}},
       {"f32 bouv", "f32 ioxy"},
       {"f32 biuv", "u8 0"},
       ", window={size=2x2}, dim_labels=bf01_io01->bf01",
       "([b,o,W,W],[i,o,W,W])->([b,i,W,W],[X]) o:sum W:whole X:whole"},
      {{"__cudnn$convBackwardFilter", {"0:biuv 1:bouv->ioxy", ""}},
       {"f32 biuv", "f32 bouv"},
       {"f32 ioxy", "u8 0"},
       ", window={size=2x2}, dim_labels=bf01_io01->bf01",
       "([b,i,W,W],[b,o,W,W])->([i,o,W,W],[X]) b:sum W:whole X:whole"},
  };
}

std::vector<CallExample> TransformerEngineExamples() {
  const std::vector<std::string> norm = {"f32 bsh", "f32 1", "f32 1", "f32 h", "f32 h"};
  return {
      {{"te_norm_forward_ffi", {"0:bsh 0:bsx 3:h->bsh", "", "", "", "", "0:bsh->bs", "0:bsh->bs"}},
       norm,
       {"f32 bsh", "f32 1", "f32 1", "f32 1", "f32 1", "f32 bs", "f32 bs"},
       "",
       "([i,j,h],[1],[1],[h],[W])->([i,j,h],[1],[1],[1],[1],[i,j],[i,j]) h:whole W:whole"},
      {{"te_norm_forward_ffi", {"0:bsh 0:bsx 3:h->bsh", "", "", "", "", "", "0:bsh->bs", ""}},
       norm,
       {"f32 bsh", "f32 1", "f32 1", "f32 1", "f32 1", "f32 1", "f32 bs", "u8 1"},
       "",
       "([i,j,h],[1],[1],[h],[W])->([i,j,h],[1],[1],[1],[1],[1],[i,j],[1]) h:whole W:whole"},
      {{"te_norm_backward_ffi",
        {"0:bsh 1:bsx 2:bs 3:bs 4:h->bsh", "0:bsh 1:bsh 2:bs->h", "0:bsh->h", ""}},
       {"f32 bsh", "f32 bsh", "f32 bs", "f32 bs", "f32 h"},
       {"f32 bsh", "f32 h", "f32 h", "u8 1"},
       "",
       "([i,j,h],[i,j,h],[i,j],[i,j],[h])->([i,j,h],[h],[h],[1]) h:whole i:sum j:sum"},
      {{"te_scaled_softmax_forward_ffi", {"0:bhst 0:bhsx->bhst"}},
       {"f32 bhst"},
       {"f32 bhst"},
       "",
       "([i,j,k,t])->[i,j,k,t] t:whole"},
      {{"te_scaled_softmax_backward_ffi", {"0:bhst 1:bhst 1:bhsx->bhst"}},
       {"f32 bhst", "f32 bhst"},
       {"f32 bhst"},
       "",
       "([i,j,k,t],[i,j,k,t])->[i,j,k,t] t:whole"},
      {{"te_scaled_masked_softmax_forward_ffi", {"0:bhst 0:bhsx 1:bist->bhst"}},
       {"f32 bhst", "f32 b1st"},
       {"f32 bhst"},
       "",
       "([b,h,s,t],[b,1,s,t])->[b,h,s,t] t:whole"},
      {{"te_scaled_upper_triang_masked_softmax_forward_ffi", {"0:bst 0:bsx->bst"}},
       {"f32 bst"},
       {"f32 bst"},
       "",
       "([i,s,t])->[i,s,t] s:whole t:whole"},
      {{"te_scaled_upper_triang_masked_softmax_backward_ffi", {"0:bst 1:bsx->bst"}},
       {"f32 bst", "f32 bst"},
       {"f32 bst"},
       "",
       "([i,s,t],[i,s,t])->[i,s,t] s:whole t:whole"},
      {{"te_act_lu_ffi", {"0:bsah->bsh", ""}},
       {"f32 bsah", "f32 1"},
       {"f32 bsh", "f32 1"},
       "",
       "([i,j,a,h],[1])->([i,j,h],[1]) a:whole"},
      {{"te_dact_dbias_quantize_ffi",
        {"0:bsh 1:bsah->bsah", "", "", "", "", "0:bsh 1:bsah->ah", ""}},
       {"f32 bsh", "f32 bsah", "f32 1"},
       {"f32 bsah", "f32 1", "f32 1", "f32 1", "f32 1", "f32 ah", "u8 1"},
       "",
       "([i,j,h],[i,j,a,h],[1])->([i,j,a,h],[1],[1],[1],[1],[a,h],[1]) a:whole i:sum j:sum"},
      {{"te_dbias_quantize_ffi", {"0:bsh->bsh", "", "", "", "", "0:bsh->h", ""}},
       {"f32 bsh", "f32 1"},
       {"f32 bsh", "f32 1", "f32 1", "f32 1", "f32 1", "f32 h", "u8 1"},
       "",
       "([i,j,h],[1])->([i,j,h],[1],[1],[1],[1],[h],[1]) i:sum j:sum"},
  };
}

std::vector<CallExample> OtherExamples() {
  return {
      {{"TopK", {"0:bsn->bsk", "0:bsn->bsk"}},
       {"f32 bsn"},
       {"f32 bsk", "s32 bsk"},
       "",
       "([i,j,n])->([i,j,m],[i,j,m]) n:whole m:whole"},
      {{"__gpu$TopK", {"0:bn->bk", "0:bn->bk"}},
       {"f32 bn"},
       {"f32 bk", "s32 bk"},
       "",
       "([i,n])->([i,m],[i,m]) n:whole m:whole"},
      {{"ApproxTopK", {"0:bn->bk", "0:bn 1:bn->bk"}},
       {"f32 bn", "s32 bn", "f32", "s32"},
       {"f32 bk", "s32 bk"},
       "",
       "([i,n],[i,n],[],[])->([i,m],[i,m]) n:whole m:whole"},
      {{"__cub$DeviceRadixSortPairs", {"0:bx 0:bn->bn", "0:bx 1:bn->bn", ""}},
       {"f32 bn", "f32 bn"},
       {"f32 bn", "f32 bn", "u8 0"},
       "",
       "([i,n],[i,n])->([i,n],[i,n],[W]) n:whole W:whole"},
      {{"xla.gpu.ext.cub_sort_keys", {"0:bx 0:bn->bn", ""}},
       {"f32 bn"},
       {"f32 bn", "u8 0"},
       "",
       "([i,n])->([i,n],[W]) n:whole W:whole"},
      {{"chlo.scan", {"0:bxs 0:bns 1:bs->bns", "0:bns 1:bs->bs"}},
       {"f32 bns", "f32 bs"},
       {"f32 bns", "f32 bs"},
       ", backend_config=\"{dimension = 1 : i64, is_elementwise = true}\"",
       "([i,W,j],[i,j])->([i,W,j],[i,j]) W:whole"},
      {{"cu_threefry2x32_ffi", {"0:bs 2:bs->bs", "1:bs 3:bs->bs"}},
       {"u32 bs", "u32 bs", "u32 bs", "u32 bs"},
       {"u32 bs", "u32 bs"},
       "",
       "([i,j],[i,j],[i,j],[i,j])->([i,j],[i,j])"},
      {{"hip_threefry2x32_ffi", {"0:bs 2:bs->bs", "1:bs 3:bs->bs"}},
       {"u32 bs", "u32 bs", "u32 bs", "u32 bs"},
       {"u32 bs", "u32 bs"},
       "",
       "([i,j],[i,j],[i,j],[i,j])->([i,j],[i,j])"},
      {{"cu_lu_pivots_to_permutation", {"0:bsk->bsn"}},
       {"s32 bsk"},
       {"s32 bsn"},
       "",
       "([i,j,k])->[i,j,n] k:whole n:whole"},
      Solver("lapack_sgetrf_ffi", {"f32 bmn"}, {"f32 bmn", "s32 bk", "s32 b"},
             {"0:bxn 0:bmn->bmn", "0:bmn->bk", "0:bmn->b"},
             "([i,W,W])->([i,W,W],[i,W],[i]) W:whole"),
      Solver("blas_strsm", {"f32 bnn", "f32 bnk"}, {"f32 bnk"}, {"0:bnx 1:bxk->bnk"},
             "([i,W,W],[i,W,W])->[i,W,W] W:whole"),
      Solver("cusolver_syevd_ffi", {"f32 bnn"}, {"f32 bnn", "f32 bn", "s32 b"},
             {"0:bnx 0:bxm->bnm", "0:bnx->bn", "0:bnx->b"},
             "([i,W,W])->([i,W,W],[i,W],[i]) W:whole"),
      Solver("__cusolver$cholesky", {"f32 bnn"}, {"f32 bnn", "u8 0", "s32 b"},
             {"0:bnx 0:bxm->bnm", "", "0:bnx->b"}, "([i,W,W])->([i,W,W],[X],[i]) W:whole X:whole"),
      Solver("cublas_getrf_batched_ffi", {"f32 bnn"}, {"f32 bnn", "s32 bn", "s32 b"},
             {"0:bnx 0:bxm->bnm", "0:bnx->bn", "0:bnx->b"},
             "([i,W,W])->([i,W,W],[i,W],[i]) W:whole"),
      Solver("hipsolver_geqrf_ffi", {"f32 bmn"}, {"f32 bmn", "f32 bn"},
             {"0:bmx 0:bxn->bmn", "0:bmn->bn"}, "([i,W,W])->([i,W,W],[i,W]) W:whole"),
      {{"__op$block_scaled_dot", {"0:bm(qw) 1:bn(qw) 2:bmq 3:bnq->bmn"}},
       {"f32 bm(qw)", "f32 bn(qw)", "f32 bmq", "f32 bnq"},
       {"f32 bmn"},
       "",
       "([b,m,q w],[b,n,q w],[b,m,q],[b,n,q])->[b,m,n] q:sum w:whole"},
  };
}

}  // namespace

const std::vector<CallExample>& CallExamples() {
  static const auto* const all = [] {
    auto* examples = new std::vector<CallExample>;
    for (const std::vector<CallExample>& some :
         {AttentionExamples(), ProductExamples(), TransformerEngineExamples(), OtherExamples()}) {
      examples->insert(examples->end(), some.begin(), some.end());
    }
    for (const char* target :
         {"Sharding", "xla.sdy.FuncResultSharding", "xla.sdy.PropagationBarrier", "MoveToHost",
          "MoveToDevice", "LayoutConstraint", "annotate_device_placement"}) {
      examples->push_back(Mark(target));
    }
    return examples;
  }();
  return *all;
}

}  // namespace meshwright
