#include "workloads/exchange/mean_count.h"

#include <span>

#include <fmt/format.h>

#include "compressors/compressor.h"

namespace thinpipe {

std::size_t MeanCount::run(Transport& transport, std::size_t own, std::size_t most) {
  if (own > most) throw InputError(fmt::format("{} elements of a vector of {}", own, most));
  const auto n = static_cast<std::size_t>(transport.size());
  counts_.assign(n, 0);
  counts_[static_cast<std::size_t>(transport.rank())] = static_cast<std::uint32_t>(own);
  sizes_.assign(n, sizeof(std::uint32_t));
  gather_.run(transport, sizes_, std::as_writable_bytes(std::span(counts_)));
  std::uint64_t sum = 0;
  for (std::size_t from = 0; from < n; ++from) {
    if (counts_[from] > most)
      throw PayloadError(fmt::format("rank {} announces {} elements of a vector of {}", from,
                                     counts_[from], most));
    sum += counts_[from];
  }
  return (sum + n - 1) / n;
}

}  // namespace thinpipe
