// Simulates peers whose messages are bytes of the fuzzer's input. Each message is taken off the
// front of the input, after two bytes that hold its length. If the input ends early, zeros fill the
// message.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <span>

#include "tests/fuzz/input.h"
#include "workloads/collectives/transport.h"

namespace thinpipe::fuzz {

/// Nothing more will come: thrown where a rank waits for it.
struct PeersAreSilent {};

class ScriptedTransport : public Transport {
 public:
  ScriptedTransport(Input& input, int rank, int size) : input_(input), rank_(rank), size_(size) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void send(Request slot, int peer, int, std::span<const std::byte> data) override {
    require(peer >= 0 && peer < size_ && peer != rank_, "messages go to another rank");
    require(!rooms_.contains(slot), "a slot has one request at a time");
    for (const std::byte one : data) sent_ += std::to_integer<std::uint64_t>(one);  // readable
  }
  void receive(Request slot, int peer, int, std::span<std::byte> data) override {
    require(peer >= 0 && peer < size_ && peer != rank_, "messages come from another rank");
    require(rooms_.emplace(slot, data).second, "a slot has one request at a time");
  }
  bool done(Request slot, std::size_t* received = nullptr) override {
    const auto at = rooms_.find(slot);
    if (at == rooms_.end()) return true;  // it was sent
    if (input_.rest().empty()) throw PeersAreSilent();
    const std::span<std::byte> room = at->second;
    const std::size_t size = std::min<std::size_t>(input_.get<std::uint16_t>(), room.size());
    for (std::byte& one : room.first(size))
      one = static_cast<std::byte>(input_.get<std::uint8_t>());
    if (received != nullptr) *received = size;
    rooms_.erase(at);
    return true;
  }
  void pause() override {
    if (input_.rest().empty() || rooms_.empty()) throw PeersAreSilent();
  }
  void progressed() override {}
  double now() const override { return 0; }
  TransportCounters counters() const override { return {.messages = 0, .bytes = sent_}; }

 private:
  Input& input_;
  int rank_, size_;
  std::map<Request, std::span<std::byte>> rooms_;
  std::uint64_t sent_ = 0;
};

}  // namespace thinpipe::fuzz
