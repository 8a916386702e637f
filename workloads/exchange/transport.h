// Point-to-point messages between ranks: all that an exchange pattern needs of a network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace thinpipe {

/// What a transport carried for this rank, for holding the link's counters against it.
struct TransportCounters {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;   ///< of all messages sent, without any framing
  std::uint64_t frames = 0;  ///< Ethernet frames if no two messages shared one
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

}  // namespace thinpipe
