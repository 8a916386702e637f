#include "workloads/exchange/pattern.h"

#include <stdexcept>
#include <thread>

#include "workloads/exchange/patterns.h"

namespace thinpipe {

void Pattern::all_reduce(ElementType, std::span<const std::byte>, std::span<std::byte>, float) {
  refuse_exchange(Exchange::kAllReduce);
}

void Pattern::all_reduce_coded(std::span<const std::span<const std::byte>>, std::span<float>,
                               float) {
  throw std::logic_error("all_reduce_coded() of a pattern that quantises nothing first");
}

const std::vector<std::span<const std::byte>>& Pattern::all_gather(std::span<const std::byte>) {
  refuse_exchange(Exchange::kAllGather);
}

const std::vector<std::span<const std::byte>>& Pattern::gather_staged(StagedGather& staged) {
  while (staged.ready() < staged.own().size()) std::this_thread::yield();
  const auto& messages = all_gather(staged.own());
  for (std::size_t rank = 0; rank < messages.size(); ++rank)
    staged.arrived(static_cast<int>(rank), messages[rank]);
  return messages;
}

SparseSum Pattern::sparse_all_reduce(SparseView, std::size_t, std::size_t, float) {
  refuse_exchange(Exchange::kSparseAllReduce);
}

std::size_t Pattern::mean_count(std::size_t, std::size_t) {
  refuse_exchange(Exchange::kSparseAllReduce);
}

void Pattern::expected_all_reduce(ElementType, std::span<const std::span<const float>> arrays,
                                  float factor, std::span<float> out) const {
  for (std::size_t i = 0; i < out.size(); ++i) {
    double sum = 0;
    for (const auto& array : arrays) sum += static_cast<double>(array[i]);
    out[i] = static_cast<float>(sum * static_cast<double>(factor));
  }
}

void Pattern::expected_sparse(std::span<const std::span<const float>>, std::size_t, float,
                              std::span<float>) const {
  refuse_exchange(Exchange::kSparseAllReduce);
}

std::size_t Pattern::push(std::span<const UnitPayload>) { refuse_exchange(Exchange::kPushPull); }

bool Pattern::pull(std::size_t) { refuse_exchange(Exchange::kPushPull); }

void Pattern::progress() { refuse_exchange(Exchange::kPushPull); }

std::span<const std::byte> Pattern::pulled(std::size_t) const {
  refuse_exchange(Exchange::kPushPull);
}

}  // namespace thinpipe
