#include "harness/reproduce/sidco_bench.h"

#include "harness/reproduce/shared_rows.h"

namespace thinpipe {

std::vector<Expectation> sidco_speed_expectations(const std::string& column) {
  std::vector<Expectation> rules;
  for (const char* ratio : kSidcoRatios) {
    const auto row = [ratio](const char* method) { return std::string(method) + " " + ratio; };
    const Expectation rule{.says = "", .arm = "", .bounded = Bounded::kValue, .column = column};
    rules.push_back(rule);
    rules.back().says = "SIDCo is faster than Top-k, " + std::string(ratio);
    rules.back().arm = row("SIDCo-E");
    rules.back().least = 1;
    rules.push_back(rule);
    rules.back().says = "and faster than DGC";
    rules.back().arm = row("SIDCo-E");
    rules.back().than = row("DGC");
    rules.back().bounded = Bounded::kRatio;
    rules.back().least = 1;
    rules.push_back(rule);
    rules.back().says = "DGC is slower than Top-k";
    rules.back().arm = row("DGC");
    rules.back().most = 1;
  }
  return rules;
}

std::vector<std::string> bench_differences() {
  return {
      "The paper timed PyTorch's operators (Top-k by sorting, DGC by random sampling on a CPU); "
      "here all are C++ with vector instructions, and Top-k is one pass over the values: what the "
      "paper found slow need not be slow here.",
      "What the paper timed on a GPU (fig. 1(a), fig. 16(a) to (d)) is left out: the compressors "
      "for GPUs have not run on one yet (docs/gpu.md)."};
}

}  // namespace thinpipe
