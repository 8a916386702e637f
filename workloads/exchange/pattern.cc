#include "workloads/exchange/pattern.h"

#include "workloads/exchange/patterns.h"

namespace thinpipe {

void Pattern::all_reduce(std::span<const float>, std::span<float>, float) {
  refuse_exchange(Exchange::kAllReduce);
}

const std::vector<std::span<const std::byte>>& Pattern::all_gather(std::span<const std::byte>) {
  refuse_exchange(Exchange::kAllGather);
}

}  // namespace thinpipe
