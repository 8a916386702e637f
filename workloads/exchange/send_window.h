// The segments of a ring that are on their way to the next rank.
#pragma once

#include <cstddef>
#include <span>

#include "workloads/exchange/transport.h"

namespace thinpipe {

/// At most `size` of them at a time, in the transport's slots from `first_slot` on, in turn.
class SendWindow {
 public:
  SendWindow(Transport& transport, int peer, int first_slot, std::size_t size, int tag = 0)
      : transport_(transport), peer_(peer), first_slot_(first_slot), tag_(tag), size_(size) {}

  std::size_t sent() const { return sent_; }
  bool full() const { return sent_ - done_ == size_; }
  bool empty() const { return sent_ == done_; }

  /// Not while full().
  void send(std::span<const std::byte> segment) {
    transport_.send(slot(sent_), peer_, tag_, segment);
    ++sent_;
  }

  /// Makes room where the oldest have ended. @returns whether any had
  bool collect() {
    const std::size_t before = done_;
    while (!empty() && transport_.done(slot(done_))) ++done_;
    return done_ != before;
  }

 private:
  int slot(std::size_t segment) const { return first_slot_ + static_cast<int>(segment % size_); }

  Transport& transport_;
  int peer_, first_slot_, tag_;
  std::size_t size_;
  std::size_t sent_ = 0, done_ = 0;
};

}  // namespace thinpipe
