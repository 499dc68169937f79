#include "tests/export/megatron_checker.h"

#include <algorithm>
#include <cstdlib>
#include <set>

namespace meshwright {
namespace {

// Words of a bash array's body: blanks separate, single quotes keep together, double quotes
// likewise.
std::vector<std::string> ArrayWords(const std::string& body) {
  std::vector<std::string> words;
  std::string word;
  bool inside = false;
  char quote = 0;
  for (const char c : body) {
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      inside = true;
    } else if (c == ' ' || c == '\n') {
      if (inside) words.push_back(word);
      word.clear();
      inside = false;
    } else {
      word += c;
      inside = true;
    }
  }
  if (inside) words.push_back(word);
  return words;
}

// What argparse would have made of the options, with Megatron's defaults.
class Checker {
 public:
  Checker(const std::string& script, int64_t world)
      : script_(script), arguments_(ReadMegatronArguments(script)), world_(world) {}

  std::vector<std::string> Run() {
    ReadSizes();
    CheckKnown();
    Rules1To5();
    Rules6To11();
    Rules12To16();
    Rules17To21();
    return broken_;
  }

 private:
  void Need(bool holds, const std::string& rule) {
    if (!holds) broken_.push_back(rule);
  }
  bool Has(const std::string& name) const { return arguments_.contains("--" + name); }
  std::string Text(const std::string& name) const {
    const auto found = arguments_.find("--" + name);
    return found == arguments_.end() || found->second.empty() ? "" : found->second[0];
  }
  int64_t Number(const std::string& name, int64_t otherwise) const {
    return Has(name) ? std::atoll(Text(name).c_str()) : otherwise;
  }

  void ReadSizes() {
    tp_ = Number("tensor-model-parallel-size", 1);
    pp_ = Number("pipeline-model-parallel-size", 1);
    cp_ = Number("context-parallel-size", 1);
    ep_ = Number("expert-model-parallel-size", 1);
    etp_ = Number("expert-tensor-parallel-size", tp_);
    layers_ = Number("num-layers", 0);
    heads_ = Number("num-attention-heads", 0);
    experts_ = Number("num-experts", 0);
    dp_ = world_ / std::max<int64_t>(1, tp_ * pp_ * cp_);
    const std::string comm = Text("cp-comm-type");
    Need(comm.empty() || comm == "p2p" || comm == "all_gather" || comm == "a2a",
         "cp-comm-type is none of Transformer Engine's");
    Need(comm != "a2a" || heads_ % (tp_ * cp_) == 0,
         "cp-comm-type: heads are no multiple of tp cp");
    virtual_ = Number("num-virtual-stages-per-pipeline-rank", 1);
    if (Has("pipeline-model-parallel-layout")) {
      const std::string layout = Text("pipeline-model-parallel-layout");
      const int64_t stages = 1 + std::count(layout.begin(), layout.end(), '|');
      Need(stages % pp_ == 0, "8: stages of the layout are no multiple of pp");
      virtual_ = stages / pp_;
    }
  }

  // Options that argparse does not know end a run.
  void CheckKnown() {
    static const std::set<std::string> kKnown = {"tensor-model-parallel-size",
                                                 "pipeline-model-parallel-size",
                                                 "context-parallel-size",
                                                 "cp-comm-type",
                                                 "use-tp-pp-dp-mapping",
                                                 "optimizer-cpu-offload",
                                                 "optimizer-offload-fraction",
                                                 "use-precision-aware-optimizer",
                                                 "exp-avg-dtype",
                                                 "exp-avg-sq-dtype",
                                                 "grad-reduce-in-bf16",
                                                 "cross-entropy-loss-fusion",
                                                 "cross-entropy-fusion-impl",
                                                 "cpu-offloading-num-layers",
                                                 "expert-model-parallel-size",
                                                 "expert-tensor-parallel-size",
                                                 "sequence-parallel",
                                                 "pipeline-model-parallel-layout",
                                                 "account-for-embedding-in-pipeline-split",
                                                 "account-for-loss-in-pipeline-split",
                                                 "num-virtual-stages-per-pipeline-rank",
                                                 "microbatch-group-size-per-virtual-pipeline-stage",
                                                 "use-distributed-optimizer",
                                                 "num-distributed-optimizer-instances",
                                                 "overlap-grad-reduce",
                                                 "overlap-param-gather",
                                                 "use-megatron-fsdp",
                                                 "data-parallel-sharding-strategy",
                                                 "outer-dp-sharding-strategy",
                                                 "init-model-with-meta-device",
                                                 "ckpt-format",
                                                 "no-gradient-accumulation-fusion",
                                                 "recompute-granularity",
                                                 "recompute-method",
                                                 "recompute-num-layers",
                                                 "recompute-modules",
                                                 "fp16",
                                                 "bf16",
                                                 "fp8-format",
                                                 "fp8-recipe",
                                                 "fp4-format",
                                                 "fp4-recipe",
                                                 "num-layers",
                                                 "hidden-size",
                                                 "ffn-hidden-size",
                                                 "num-attention-heads",
                                                 "multi-latent-attention",
                                                 "kv-lora-rank",
                                                 "q-lora-rank",
                                                 "qk-head-dim",
                                                 "qk-pos-emb-head-dim",
                                                 "v-head-dim",
                                                 "experimental-attention-variant",
                                                 "dsa-indexer-n-heads",
                                                 "dsa-indexer-head-dim",
                                                 "dsa-indexer-topk",
                                                 "dsa-indexer-loss-coeff",
                                                 "no-rope-fusion",
                                                 "kv-channels",
                                                 "group-query-attention",
                                                 "num-query-groups",
                                                 "max-position-embeddings",
                                                 "position-embedding-type",
                                                 "normalization",
                                                 "swiglu",
                                                 "squared-relu",
                                                 "disable-bias-linear",
                                                 "add-qkv-bias",
                                                 "qk-layernorm",
                                                 "untie-embeddings-and-output-weights",
                                                 "mtp-num-layers",
                                                 "num-experts",
                                                 "moe-router-topk",
                                                 "moe-ffn-hidden-size",
                                                 "moe-layer-freq",
                                                 "moe-shared-expert-intermediate-size",
                                                 "moe-router-score-function",
                                                 "moe-router-enable-expert-bias",
                                                 "moe-router-load-balancing-type",
                                                 "moe-aux-loss-coeff",
                                                 "moe-token-dispatcher-type",
                                                 "moe-grouped-gemm",
                                                 "seq-length",
                                                 "micro-batch-size",
                                                 "global-batch-size",
                                                 "train-iters",
                                                 "lr",
                                                 "lr-decay-style",
                                                 "lr-warmup-fraction",
                                                 "adam-beta1",
                                                 "adam-beta2",
                                                 "weight-decay",
                                                 "clip-grad",
                                                 "init-method-std",
                                                 "attention-dropout",
                                                 "hidden-dropout",
                                                 "log-interval",
                                                 "log-throughput",
                                                 "eval-iters",
                                                 "mock-data",
                                                 "tokenizer-type",
                                                 "vocab-size",
                                                 "data-path",
                                                 "split",
                                                 "tokenizer-model",
                                                 "save",
                                                 "load",
                                                 "save-interval"};
    for (const auto& [name, values] : arguments_) {
      Need(kKnown.contains(name.substr(2)), "unknown option " + name);
    }
  }

  void Rules1To5() {
    Need(world_ % (tp_ * pp_ * cp_) == 0, "1: tp pp cp do not divide the GPUs");
    Need(world_ % (etp_ * ep_ * pp_) == 0, "2: etp ep pp do not divide the GPUs");
    const int64_t batch = Number("global-batch-size", 0), micro = Number("micro-batch-size", 0);
    Need(batch > 0 && micro > 0 && batch % (micro * dp_) == 0, "3: micro-batch x dp");
    Need(heads_ > 0 && heads_ % tp_ == 0, "4: heads");
    const int64_t groups = Has("group-query-attention") ? Number("num-query-groups", 0) : heads_;
    Need(groups > 0 && heads_ % groups == 0, "5: groups of the heads");
    Need(groups > 0 && (groups % tp_ == 0 || tp_ % groups == 0), "5: query groups");
    micro_batches_ = batch / std::max<int64_t>(1, micro * dp_);
  }

  void Rules6To11() {
    const bool layout = Has("pipeline-model-parallel-layout");
    const bool emb = Has("account-for-embedding-in-pipeline-split");
    const bool loss = Has("account-for-loss-in-pipeline-split");
    const int64_t counted = layers_ + (emb ? 1 : 0) + (loss ? 1 : 0);
    if (!layout) Need(counted % pp_ == 0, "6: layers by pp");
    Need(!Has("decoder-first-pipeline-num-layers") && !Has("decoder-last-pipeline-num-layers"),
         "7: first and last");
    if (layout) CheckLayout(emb || loss);
    const int ways = (layout ? 1 : 0) + (Has("num-virtual-stages-per-pipeline-rank") ? 1 : 0) +
                     (Has("num-layers-per-virtual-pipeline-stage") ? 1 : 0);
    Need(ways <= 1, "9: two ways to say how many virtual stages");
    if (!layout && virtual_ > 1)
      Need(counted / pp_ % virtual_ == 0, "10: layers by virtual stages");
    if (virtual_ > 1) {
      Need(pp_ > 1, "11: virtual stages need pp");
      const int64_t group = Number("microbatch-group-size-per-virtual-pipeline-stage", pp_);
      Need(pp_ <= group && group <= micro_batches_, "11: pp <= group <= micro-batches");
      const int64_t rest = group > 0 ? micro_batches_ % group : 0;
      Need(rest == 0 || rest >= pp_, "11: the last group of micro-batches is smaller than pp");
    }
  }

  void CheckLayout(bool accounts) {
    const std::string layout = Text("pipeline-model-parallel-layout");
    Need(!accounts, "8: the layout excludes account-for");
    Need(std::count(layout.begin(), layout.end(), 'E') == 1 && layout[0] == 'E', "8: E first");
    Need(std::count(layout.begin(), layout.end(), 'L') == 1 && layout.back() == 'L', "8: L last");
    Need(std::count(layout.begin(), layout.end(), 't') == layers_, "8: as many t as layers");
    Need(std::count(layout.begin(), layout.end(), 'm') == Number("mtp-num-layers", 0),
         "8: as many m as modules");
    const size_t m = layout.find('m');
    Need(m == std::string::npos || layout.find('t', m) == std::string::npos, "8: m behind all t");
    Need(layout.find_first_not_of("Etm|L") == std::string::npos, "8: unknown letters");
  }

  void Rules12To16() {
    const bool sequence = Has("sequence-parallel");
    Need(!sequence || tp_ > 1, "12: sequence parallel needs tp");
    Need(!sequence || Number("seq-length", 0) % (tp_ * cp_) == 0, "12: the sequence by tp cp");
    Need(!Has("tp-comm-overlap") || sequence, "13: overlap needs sequence parallel");
    Need(ep_ == 1 || experts_ > 0, "14: ep needs experts");
    Need(experts_ == 0 || experts_ % ep_ == 0, "14: experts by ep");
    Need(experts_ == 0 || tp_ == 1 || sequence, "14: experts and tp need sequence parallel");
    Need(ep_ == 1 || !Has("fp16"), "14: ep and fp16");
    Need(!Has("moe-grouped-gemm") || Has("bf16"), "14: grouped gemm is bf16");
    const int64_t tokens = Number("seq-length", 0);
    Need(tokens > 0 && (cp_ == 1 || tokens % (2 * cp_) == 0), "15: the sequence by 2 cp");
    Need(Number("max-position-embeddings", 0) >= tokens, "positions for the sequence");
    if (Has("overlap-param-gather")) {
      Need(Has("overlap-grad-reduce"), "16: param gather needs grad reduce");
      Need(Has("use-distributed-optimizer") || Has("use-megatron-fsdp"), "16: and an optimizer");
    }
    const int64_t copies = Number("num-distributed-optimizer-instances", 1);
    Need(dp_ * cp_ % copies == 0, "16: copies of the optimizer by dp cp");
    Need(world_ / (etp_ * ep_ * pp_) % copies == 0, "16: copies by the experts' replicas");
    Need(copies == 1 || Has("use-distributed-optimizer"), "16: copies of what is not sharded");
  }

  void Rules17To21() {
    const std::string granularity = Text("recompute-granularity");
    if (granularity == "full") {
      Need(Has("recompute-method") && Has("recompute-num-layers"), "17: full");
      const bool block = Text("recompute-method") == "block";
      Need(block || Text("recompute-method") == "uniform", "17: a method");
      Need(Number("recompute-num-layers", 0) >= 1, "17: of layers");
    } else {
      Need(!Has("recompute-method") && !Has("recompute-num-layers"), "17: selective");
    }
    Need(!Has("distribute-saved-activations"), "17: distributed activations");
    Need(!Has("use-torch-fsdp2") || (pp_ == 1 && ep_ == 1), "18: torch FSDP 2");
    Need(!Has("cpu-offloading-num-layers") || (pp_ == 1 && granularity.empty()), "19: offloading");
    Need(!Has("cpu-offloading-num-layers") || (Number("cpu-offloading-num-layers", 0) >= 1 &&
                                               Number("cpu-offloading-num-layers", 0) < layers_),
         "19: fewer than all layers");
    const double away = std::atof(Text("optimizer-offload-fraction").c_str());
    Need(Has("optimizer-offload-fraction") == Has("optimizer-cpu-offload"), "19: a fraction");
    Need(!Has("optimizer-cpu-offload") ||
             (away > 0 && away <= 1 && Has("use-precision-aware-optimizer") &&
              Has("use-distributed-optimizer") && !Has("use-megatron-fsdp")),
         "19: offloading the optimizer");
    Need(!Has("exp-avg-dtype") || (Has("use-precision-aware-optimizer") &&
                                   Has("use-distributed-optimizer") && !Has("use-megatron-fsdp")),
         "types of moments are the precision-aware optimizer's");
    Need(!Has("use-tp-pp-dp-mapping") ||
             (cp_ == 1 && ep_ == 1 && !Has("use-megatron-fsdp") && (experts_ == 0 || etp_ == tp_)),
         "ranks along the pipeline first");
    Need(Has("bf16") != Has("fp16"), "20: one of bf16 and fp16, which the pipeline's type follows");
    const bool fsdp = Has("use-megatron-fsdp");
    Need(!fsdp || Text("ckpt-format") == "fsdp_dtensor", "Megatron-FSDP's checkpoints");
    Need(fsdp || !Has("ckpt-format"), "fsdp_dtensor is of Megatron-FSDP");
    const bool one = script_.find("\nexport CUDA_DEVICE_MAX_CONNECTIONS=1") != std::string::npos;
    Need(!fsdp || !one, "21: FSDP wants no CUDA_DEVICE_MAX_CONNECTIONS=1");
    Need(fsdp || one || (tp_ == 1 && cp_ == 1), "21: tp and cp want CUDA_DEVICE_MAX_CONNECTIONS=1");
  }

  const std::string& script_;
  const MegatronArguments arguments_;
  const int64_t world_;
  std::vector<std::string> broken_;
  int64_t tp_ = 1, pp_ = 1, cp_ = 1, dp_ = 1, ep_ = 1, etp_ = 1, virtual_ = 1;
  int64_t layers_ = 0, heads_ = 0, experts_ = 0, micro_batches_ = 0;
};

}  // namespace

MegatronArguments ReadMegatronArguments(const std::string& launch_script) {
  MegatronArguments arguments;
  const std::string begin = "\narguments=(\n";
  const size_t from = launch_script.find(begin);
  if (from == std::string::npos) return arguments;
  const size_t to = launch_script.find("\n)\n", from);
  std::string name;
  for (const std::string& word :
       ArrayWords(launch_script.substr(from + begin.size(), to - from - begin.size()))) {
    if (word.starts_with("--")) {
      name = word;
      arguments[name];
    } else {
      arguments[name].push_back(word);
    }
  }
  return arguments;
}

std::vector<std::string> BrokenMegatronRules(const std::string& launch_script, int64_t gpus) {
  return Checker(launch_script, gpus).Run();
}

}  // namespace meshwright
