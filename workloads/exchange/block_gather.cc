#include "workloads/exchange/block_gather.h"

#include <algorithm>
#include <numeric>

namespace thinpipe {

void BlockGather::run(Transport& transport, std::span<const std::size_t> sizes,
                      std::span<std::byte> blocks) {
  const auto n = static_cast<std::size_t>(transport.size());
  const auto rank = static_cast<std::size_t>(transport.rank());
  begins_.assign(n + 1, 0);
  for (std::size_t i = 0; i < n; ++i) begins_[i + 1] = begins_[i] + sizes[(rank + i) % n];
  rotated_.resize(begins_[n]);
  const std::size_t before = std::accumulate(sizes.begin(), sizes.begin() + rank, std::size_t{0});
  std::copy_n(blocks.begin() + static_cast<std::ptrdiff_t>(before), sizes[rank], rotated_.begin());
  for (std::size_t have = 1; have < n; have *= 2) {
    const std::size_t some = std::min(have, n - have);
    streams_.send(static_cast<int>((rank + n - have) % n),
                  std::span(rotated_).first(begins_[some]));
    streams_.receive(
        static_cast<int>((rank + have) % n),
        std::span(rotated_).subspan(begins_[have], begins_[have + some] - begins_[have]));
    streams_.run(transport);
  }
  // Rank 0's block lies behind those from this rank on.
  const auto zero = static_cast<std::ptrdiff_t>(begins_[n - rank]);
  std::rotate_copy(rotated_.begin(), rotated_.begin() + zero, rotated_.end(), blocks.begin());
}

}  // namespace thinpipe
