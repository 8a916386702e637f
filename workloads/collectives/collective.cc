#include "workloads/collectives/collective.h"

#include <thread>

namespace thinpipe {

const char* to_string(Exchange exchange) {
  switch (exchange) {
    case Exchange::kAllReduce:
      return "allreduce";
    case Exchange::kAllGather:
      return "allgather";
    case Exchange::kSparseAllReduce:
      return "sparsereduce";
    case Exchange::kPushPull:
      return "pushpull";
  }
  return "";
}

void sum_over_ranks(std::span<const std::span<const float>> arrays, float factor,
                    std::span<float> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    double sum = 0;
    for (const auto& array : arrays) sum += static_cast<double>(array[i]);
    out[i] = static_cast<float>(sum * static_cast<double>(factor));
  }
}

const std::vector<std::span<const std::byte>>& AllGather::gather_staged(StagedGather& staged) {
  while (staged.ready() < staged.own().size()) std::this_thread::yield();
  const auto& messages = all_gather(staged.own());
  for (std::size_t rank = 0; rank < messages.size(); ++rank)
    staged.arrived(static_cast<int>(rank), messages[rank]);
  return messages;
}

}  // namespace thinpipe
