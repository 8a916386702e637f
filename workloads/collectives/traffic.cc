#include "workloads/collectives/traffic.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>

#include "base/error.h"
#include "workloads/collectives/collectives.h"
#include "workloads/collectives/streams.h"

namespace thinpipe {
namespace {

// A collective with its parameters. @throws InputError as check_collective
struct Known {
  explicit Known(const Spec& collective)
      : info(find_collective(collective.name)), parameters(info.parameters, collective) {}
  const CollectiveInfo& info;
  Parameters parameters;
};

// Returns an operation's closed forms. @throws InputError where the collective has none
template <class Form>
const Form& closed(const std::optional<Form>& form, const Spec& collective) {
  if (form && form->traffic != nullptr) return *form;
  throw InputError("collective '" + collective.to_string() + "' has no closed form of its traffic");
}

}  // namespace

Traffic all_reduce_traffic(const Spec& collective, const SummedArray& array, int ranks, int rank) {
  const Known known(collective);
  return closed(known.info.reduce, collective).traffic(known.parameters, array, ranks, rank);
}

Traffic all_gather_traffic(const Spec& collective, std::span<const std::size_t> sizes, int rank) {
  const Known known(collective);
  if (sizes.size() == 1) return {};
  return closed(known.info.gather, collective)
      .traffic(known.parameters, MessageVolume(sizes), rank);
}

int all_reduce_steps(const Spec& collective, int ranks) {
  const Known known(collective);
  return closed(known.info.reduce, collective).steps(known.parameters, ranks);
}

int all_gather_steps(const Spec& collective, int ranks) {
  const Known known(collective);
  return closed(known.info.gather, collective).steps(known.parameters, ranks);
}

SparseTraffic sparse_all_reduce_traffic(const Spec& collective, const SparseSizes& sizes, int ranks,
                                        int rank) {
  const Known known(collective);
  if (!known.info.sparse) refuse_exchange(Exchange::kSparseAllReduce);
  return known.info.sparse->traffic(known.parameters, sizes, ranks, rank);
}

int sparse_all_reduce_steps(const Spec& collective, int ranks) {
  const Known known(collective);
  if (!known.info.sparse) refuse_exchange(Exchange::kSparseAllReduce);
  return known.info.sparse->steps(known.parameters, ranks);
}

// In step s a rank sends min(2^s, n - 2^s) blocks as one message: its own block and those of the
// ranks after it. It receives the same number of blocks, beginning with the block of the rank 2^s
// after it.
Traffic block_gather_traffic(std::span<const std::size_t> sizes, int rank) {
  const std::size_t n = sizes.size(), own = static_cast<std::size_t>(rank);
  const auto of = [&](std::size_t first, std::size_t count) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i) bytes += sizes[(first + i) % n];
    return plain_message(bytes);
  };
  Traffic traffic;
  for (std::size_t have = 1; have < n; have *= 2) {
    const std::size_t some = std::min(have, n - have);
    traffic.sent += of(own, some);
    traffic.received += of(own + have, some);
  }
  return traffic;
}

}  // namespace thinpipe
