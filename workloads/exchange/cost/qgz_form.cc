#include "workloads/exchange/cost/bruck_form.h"
#include "workloads/exchange/cost/forms.h"

namespace thinpipe {

// A part goes to every other rank of the level: those of unequal length differ by an element.
Traffic qgz_reduce_traffic(std::size_t elements, const QgzOptions& options, int ranks, int rank) {
  const Qgz qgz(options, ranks);
  const auto n = static_cast<std::size_t>(ranks), g = static_cast<std::size_t>(options.group);
  const std::size_t j = static_cast<std::size_t>(rank) % g, b = static_cast<std::size_t>(rank) / g;
  const auto reduced = [&](Qgz::Range range) {
    return plain_message(qgz.reduced_bytes(range.size()));
  };
  Traffic traffic;
  for (std::size_t i = 0; i < g; ++i) {
    if (i == j) continue;
    traffic.sent = traffic.sent + reduced(qgz.slice(elements, i));
    traffic.received = traffic.received + reduced(qgz.slice(elements, j));
  }
  for (std::size_t i = 0; i < n / g; ++i) {
    if (i == b) continue;
    traffic.sent = traffic.sent + reduced(qgz.chunk(elements, j, i));
    traffic.received = traffic.received + reduced(qgz.chunk(elements, j, b));
  }
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < n; ++i)
    sizes.push_back(qgz.gathered_bytes(qgz.chunk(elements, i % g, i / g).size()));
  const Traffic gathered = block_gather_traffic(sizes, rank);
  return {.sent = traffic.sent + gathered.sent, .received = traffic.received + gathered.received};
}

}  // namespace thinpipe
