// Transfer of units' payloads from one rank to another, in segments.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "workloads/collectives/segments.h"
#include "workloads/collectives/transport.h"

namespace thinpipe {

/// Returns how many segments are in flight to each of `peers` peers, or from each, so that the
/// segments of all peers together fill a link.
std::size_t segments_for_each_of(int peers);

/// Bytes that several senders of a rank may send together.
struct SendBudget {
  std::size_t allowed = 0, used = 0;
};

/// Sends payloads to one peer, one after the other. The first segment of each payload begins with
/// the payload's head (kUnitHeadBytes).
///
/// A peer with several senders answers a unit when it has received the unit from all of them. No
/// sender should be far ahead of the others, since early data delays data for which the peer waits.
/// A paced sender may always send its first unanswered unit and the next unit. It sends later units
/// only up to `ahead` bytes beyond the end of the first unanswered unit. All senders to a peer must
/// then send the same units in the same order.
class UnitSender {
 public:
  static constexpr std::size_t kUnpaced = 0;

  /// @param first_slot  the sender uses the transport's slots first_slot to first_slot + window - 1
  /// @param most_units  the greatest number of units that may wait to be sent at a time
  /// @param ahead  number of bytes that a paced sender may send beyond the end of the first unit
  /// that was not answered yet; kUnpaced: no limit
  UnitSender(Transport& transport, int peer, int first_slot, std::size_t window, int tag,
             std::size_t most_units, std::size_t ahead = kUnpaced);

  /// Adds a payload, which stays untouched until idle().
  void add(std::uint32_t unit, std::span<const std::byte> payload);
  /// Notes, for a paced sender, that the peer's answer to a unit has arrived.
  void answered(std::uint32_t unit);

  /// Sets a limit that several senders share; null: no limit. Must outlive this.
  void share(SendBudget* budget) { budget_ = budget; }

  /// Sends segments that fit the window. @returns whether any data moved
  bool advance();
  bool idle() const { return next_ == waiting_.size() && window_.empty(); }

 private:
  struct Waiting {
    std::uint32_t unit;
    std::span<const std::byte> payload;
    std::size_t begin = 0;  ///< bytes of earlier payloads
    bool answered = false;
  };

  bool may_send() const;

  SendWindow window_;
  std::size_t window_size_, ahead_;
  std::vector<std::byte> staging_;  ///< first segments, by their index in the window
  std::vector<Waiting> waiting_;
  std::size_t next_ = 0;      ///< the index in waiting_ of the unit that is being sent
  std::size_t offset_ = 0;    ///< bytes of its payload that were sent
  std::size_t answered_ = 0;  ///< when paced: the number of leading units that are answered
  SendBudget* budget_ = nullptr;
};

/// The receiver of payloads that arrive.
class UnitSink {
 public:
  /// Returns the buffer for a payload of `length` bytes that begins to arrive from rank `peer`.
  /// @throws PayloadError when the rank may not send this unit, or so many bytes of it, now
  virtual std::span<std::byte> begin_unit(int peer, std::uint32_t unit, std::uint32_t length) = 0;
  /// Takes a payload that has arrived as a whole.
  virtual void end_unit(int peer, std::uint32_t unit, std::span<const std::byte> payload) = 0;

 protected:
  ~UnitSink() = default;
};

/// Receives the payloads of another rank's UnitSender.
class UnitReceiver {
 public:
  UnitReceiver(Transport& transport, int peer, int first_slot, std::size_t window, int tag)
      : transport_(transport), peer_(peer), window_(peer, first_slot, window, tag) {}

  /// Expects so many payloads more.
  void expect(std::size_t units) { window_.expect(units); }

  /// Takes segments that have arrived. @returns whether any data moved
  /// @throws PayloadError naming the peer for a malformed segment, or from the sink
  bool advance(UnitSink& sink);
  /// Returns the bytes received so far, with heads.
  std::size_t received() const { return received_; }

 private:
  void take(std::span<const std::byte> segment, UnitSink& sink);

  Transport& transport_;
  int peer_;
  ReceiveWindow window_;
  std::size_t received_ = 0;
  std::uint32_t unit_ = 0;  ///< that is arriving
  std::span<std::byte> payload_;
  std::size_t here_ = 0;  ///< bytes of it that have arrived
  bool arriving_ = false;
};

/// A rank's streams to and from all of its peers, by the peers' numbers.
struct UnitStreams {
  std::vector<UnitSender> senders;
  std::vector<UnitReceiver> receivers;

  /// Sets a limit for all senders together; null: no limit. Must outlive this.
  void share(SendBudget* budget) {
    for (UnitSender& sender : senders) sender.share(budget);
  }
  /// Returns the bytes received so far, with heads.
  std::size_t received() const {
    std::size_t bytes = 0;
    for (const UnitReceiver& receiver : receivers) bytes += receiver.received();
    return bytes;
  }
  /// Sends segments that fit the windows, to peer `first`, then to the next ones, wrapping round.
  /// @returns whether any data moved
  bool send(std::size_t first) {
    bool moved = false;
    for (std::size_t i = 0; i < senders.size(); ++i)
      moved = senders[(first + i) % senders.size()].advance() || moved;
    return moved;
  }
  /// Takes segments that have arrived. @returns whether any data moved @throws as
  /// UnitReceiver::advance()
  bool receive(UnitSink& sink) {
    bool moved = false;
    for (UnitReceiver& receiver : receivers) moved = receiver.advance(sink) || moved;
    return moved;
  }
  /// Returns whether all payloads have been sent.
  bool idle() const {
    return std::all_of(senders.begin(), senders.end(),
                       [](const UnitSender& sender) { return sender.idle(); });
  }
};

}  // namespace thinpipe
