#include "workloads/exchange/ring_probe.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <thread>

#include "workloads/exchange/all_gather_flow.h"
#include "workloads/exchange/all_reduce_flow.h"
#include "workloads/exchange/ring.h"

namespace thinpipe {

RingProbe probe_ring(Transport& transport, const RingProbeOptions& options) {
  RingProbe probe;
  const std::vector<std::byte> message(std::max<std::size_t>(options.bytes, 1));
  const int ranks = transport.size();
  AllGatherFlow gather(ring_all_gather(ranks, transport.rank()), ranks, message.size());
  constexpr double kApart = 1e-3;  // s between the first rank to come and the last
  AllReduceFlow reduce(ring_all_reduce(ranks, transport.rank()));
  const std::vector<float> own(static_cast<std::size_t>(ranks), 1.0F);
  std::vector<float> sum(own.size());
  const auto all_reduce = [&] {
    reduce.run(transport, ElementType::kFloat32, std::as_bytes(std::span(own)),
               std::as_writable_bytes(std::span(sum)), 1);
  };
  const auto pause = [&](double late) {
    std::this_thread::sleep_for(std::chrono::duration<double>(options.pause + late));
  };
  const auto small = [&](double late) {
    pause(late);
    const double begin = transport.now();
    all_reduce();
    return transport.now() - begin;
  };
  const auto large = [&] {
    pause(0);
    all_reduce();  // all begin together
    const double begin = transport.now();
    gather.run(transport, message);
    return transport.now() - begin;
  };
  // Connections and memory are used for the first time in the first ones.
  small(0);
  large();
  for (int i = 0; i < options.small_rounds; ++i) {
    const int turn = (transport.rank() + i) % ranks;
    probe.small.push_back(small(kApart * turn / ranks));
  }
  for (int i = 0; i < options.large_rounds; ++i) probe.large.push_back(large());
  return probe;
}

}  // namespace thinpipe
