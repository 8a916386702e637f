// Point-to-point messages between ranks: all that an exchange pattern needs of a network; and how a
// transport waits.
#pragma once

#include <cstddef>
#include <cstdint>
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

/// Messages of one tag between one pair of ranks arrive in the order they were sent; those of
/// different tags do not wait for each other. Not thread-safe.
class Transport {
 public:
  using Request = int;
  static constexpr Request kNone = -1;

  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Starts to send; `data` stays untouched until done(). At most one request per slot is under
  /// way; slots are small numbers chosen by the caller, shared by sends and receives. Tags are 0 to
  /// 32767 and mean what the pattern wants.
  virtual void send(Request slot, int peer, int tag, std::span<const std::byte> data) = 0;
  /// Starts to receive a message of that tag and at most data.size() bytes.
  virtual void receive(Request slot, int peer, int tag, std::span<std::byte> data) = 0;
  /// Whether the request in the slot has ended; for a receive, `received` becomes its length.
  virtual bool done(Request slot, std::size_t* received = nullptr) = 0;
  /// Nothing could be done just now: lets others have the processor for a moment.
  virtual void pause() = 0;
  /// Something was done since the last pause.
  virtual void progressed() = 0;

  /// Seconds of a clock that all ranks of a machine share.
  virtual double now() const = 0;

  virtual TransportCounters counters() const = 0;
};

/// Says whether a rank that has nothing to do asks again at once, or how long it sleeps.
///
/// It sleeps, at first shortly, so that small messages lose little, then longer, so that ranks that
/// wait leave the processors to those that work: a segment of 32 kB takes 262 us at 1 Gbit/s. Ranks
/// that ask again and again instead starve the emulated links where ranks outnumber cores.
///
/// Where there is a core for every rank, it asks again for a moment before it sleeps, as long as
/// most waits end within that moment: where segments come faster than a sleep ends, not where a
/// link takes its time. Whether waits have become short is found out in every sixteenth.
class IdleRank {
 public:
  explicit IdleRank(bool has_core) : has_core_(has_core) {}

  /// Nothing could be done. @param now  in seconds
  /// @returns nanoseconds to sleep before asking again
  long pause(double now);
  /// Something was done.
  void progressed();

 private:
  static constexpr int kAllShort = 1024;

  bool has_core_;
  bool waits_ = false, asks_ = false;  ///< since the last progress; and has not slept yet
  double waits_since_ = 0;
  int short_waits_ = kAllShort;  ///< share of the last ones in which it asked again
  unsigned slept_ = 0;           ///< waits in which it did not
  long sleep_ = 0;
};

}  // namespace thinpipe
