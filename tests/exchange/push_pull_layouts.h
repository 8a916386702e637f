// Units, servers and what they make of payloads, for tests of workers and servers.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "tests/exchange/thread_transport.h"
#include "workloads/exchange/push_pull_server.h"

namespace thinpipe {

// Around the edges of a segment, whose first 8 bytes are the head, and none at all.
inline const std::vector<std::size_t> kUnitSizes = {0,     1,     32759, 32760,
                                                    32761, 65528, 65529, 300001};

// Unlike a sum, this tells in which order the workers came: byte by byte, 3 times what was there
// plus theirs; as long as the longest.
inline void mix_payload(std::vector<std::byte>& answer, std::span<const std::byte> payload) {
  if (answer.size() < payload.size()) answer.resize(payload.size());
  for (std::size_t i = 0; i < payload.size(); ++i)
    answer[i] = static_cast<std::byte>(3 * std::to_integer<unsigned>(answer[i]) +
                                       std::to_integer<unsigned>(payload[i]));
}

class PayloadMixer : public UnitAggregator {
 public:
  explicit PayloadMixer(std::size_t units) : answers_(units) {}
  void add(std::size_t unit, int worker, std::span<const std::byte> payload) override {
    if (worker == 0) answers_[unit].clear();
    mix_payload(answers_[unit], payload);
  }
  std::span<const std::byte> answer(std::size_t unit) override { return answers_[unit]; }

 private:
  std::vector<std::vector<std::byte>> answers_;
};

inline PushPullLayout unit_layout(int workers, int servers, std::size_t units,
                                  std::size_t least = 1) {
  std::vector<std::size_t> elements(units);
  for (std::size_t i = 0; i < units; ++i) elements[i] = least + i;
  const std::vector<int> server_of = partition_units(elements, servers, Partition::kBalanced);
  PushPullLayout layout{.workers = workers, .servers = servers, .units = {}};
  for (std::size_t i = 0; i < units; ++i)
    layout.units.push_back({.name = "unit" + std::to_string(i),
                            .elements = elements[i],
                            .push_capacity = kUnitSizes.back(),
                            .pull_capacity = kUnitSizes.back(),
                            .server = server_of[i]});
  return layout;
}

}  // namespace thinpipe
