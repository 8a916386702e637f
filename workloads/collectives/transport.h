// Point-to-point messages between ranks, which are all that a collective needs of a network; and
// how a transport waits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace thinpipe {

/// A transport's traffic for this rank, to compare with the link's counters.
struct TransportCounters {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;   ///< of all messages sent, without any framing
  std::uint64_t frames = 0;  ///< Ethernet frames if no two messages shared one

  TransportCounters operator-(const TransportCounters& before) const {
    return {messages - before.messages, bytes - before.bytes, frames - before.frames};
  }
};

/// Memory for messages of all ranks.
using MessageMemory = std::unique_ptr<std::byte[], std::function<void(std::byte*)>>;

/// Sends and receives messages. Messages of one tag between one pair of ranks arrive in the order
/// in which they were sent. Messages of different tags do not wait for each other. Not thread-safe.
class Transport {
 public:
  using Request = int;

  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Starts to send `data`, which the caller must not change until done(). `slot` names the
  /// request: a small number that the caller chooses. Sends and receives share the slots, and at
  /// most one request per slot is under way. Tags are 0 to 32767; the collective defines their
  /// meaning.
  virtual void send(Request slot, int peer, int tag, std::span<const std::byte> data) = 0;
  /// Starts to receive a message of this tag and at most data.size() bytes.
  virtual void receive(Request slot, int peer, int tag, std::span<std::byte> data) = 0;
  /// Returns whether the request in the slot has ended; for a receive, sets `received` to its
  /// length.
  virtual bool done(Request slot, std::size_t* received = nullptr) = 0;
  /// Yields the CPU for a moment, after a poll without progress.
  virtual void pause() = 0;
  /// Reports progress since the last pause.
  virtual void progressed() = 0;

  /// Returns the time in seconds, by a clock that all ranks of a machine share.
  virtual double now() const = 0;

  virtual TransportCounters counters() const = 0;

  /// Returns whether other threads of this rank work beside the one that calls the transport. In
  /// simulated time they do not.
  virtual bool has_threads() const { return true; }

  /// Returns memory for a message of each rank, with `stride` bytes for each. Its content is
  /// undefined. In a simulation of many ranks, messages share their bytes.
  virtual MessageMemory message_memory(std::size_t stride) const {
    const std::size_t bytes = static_cast<std::size_t>(size()) * stride;
    return {new std::byte[bytes], std::default_delete<std::byte[]>()};
  }
};

/// Decides whether a rank with nothing to do polls again at once, or how long it sleeps.
///
/// A waiting rank sleeps between polls. Its first sleep is short, so that small messages lose
/// little time. Later sleeps are longer, so that waiting ranks leave the CPU cores to working
/// ranks. For comparison, a segment of 32 kB takes 262 us at 1 Gbit/s. If ranks outnumber cores,
/// ranks that poll continuously starve the emulated links.
///
/// If every rank has a core, a rank polls for a moment before it sleeps, as long as most waits end
/// within that moment. Where most waits are longer, as on slow links, the rank sleeps at once. In
/// every sixteenth wait it still polls first, to test whether waits have become short.
class IdleRank {
 public:
  explicit IdleRank(bool has_core) : has_core_(has_core) {}

  /// Notes a poll without progress. @param now  in seconds
  /// @returns nanoseconds to sleep before the next poll
  long pause(double now) {
    if (!waits_) {
      waits_ = true;
      waits_since_ = now;
      sleep_ = kFirstSleep;
      asks_ = has_core_ && (short_waits_ >= kMostlyShort || ++slept_ % kProbeEvery == 0);
    }
    if (asks_ && now < waits_since_ + kMoment) return 0;
    if (asks_) short_waits_ -= short_waits_ / kMemory;
    asks_ = false;
    const long sleep = sleep_;
    sleep_ = std::min(2 * sleep_, kLongestSleep);
    return sleep;
  }
  /// Notes progress.
  void progressed() {
    if (asks_) short_waits_ += (kAllShort - short_waits_) / kMemory;
    waits_ = asks_ = false;
  }

 private:
  static constexpr long kFirstSleep = 10'000, kLongestSleep = 100'000;  // ns
  static constexpr double kMoment = 30e-6;                              // s
  static constexpr int kAllShort = 1024;
  static constexpr int kMostlyShort = 768;  // of kAllShort
  static constexpr int kMemory = 8;  // waits after which the weight of a wait is about a third
  static constexpr unsigned kProbeEvery = 16;

  bool has_core_;
  bool waits_ = false, asks_ = false;  ///< no progress since pause(); still polls
  double waits_since_ = 0;
  int short_waits_ = kAllShort;  ///< fraction of the last polling waits, in units of 1/kAllShort
  unsigned slept_ = 0;           ///< waits in which it slept at once
  long sleep_ = 0;
};

}  // namespace thinpipe
