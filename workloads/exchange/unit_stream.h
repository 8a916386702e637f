// Payloads of units on their way from one rank to another, in segments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "workloads/exchange/segments.h"
#include "workloads/exchange/transport.h"

namespace thinpipe {

/// Segments under way from or to each of so many peers: together they fill a link.
std::size_t segments_for_each_of(int peers);

/// Bytes that several senders of a rank may send together.
struct SendBudget {
  std::size_t allowed = 0, used = 0;
};

/// Sends payloads to one peer, one after the other. The first segment of each begins with its head.
///
/// Where several send to one peer that answers a unit when it has it of all of them, none should
/// be far ahead of the others: what it sends too early is in the way of what the peer waits for. A
/// paced sender sends the first unit that was not answered, the one after it, and so many bytes
/// after the first at most. All senders of a peer then need the same units in the same order.
class UnitSender {
 public:
  static constexpr std::size_t kUnpaced = 0;

  /// @param first_slot  of `window` slots of the transport
  /// @param most_units  that wait at a time
  /// @param ahead  bytes
  UnitSender(Transport& transport, int peer, int first_slot, std::size_t window, int tag,
             std::size_t most_units, std::size_t ahead = kUnpaced);

  /// The payload stays untouched until idle().
  void add(std::uint32_t unit, std::span<const std::byte> payload);
  /// Tells a paced sender that the peer's answer to a unit is here.
  void answered(std::uint32_t unit);

  /// Shared by all senders that are given it; null: there is no limit. Must outlive this.
  void share(SendBudget* budget) { budget_ = budget; }

  /// Sends what there is room for. @returns whether anything moved
  bool advance();
  bool idle() const { return next_ == waiting_.size() && window_.empty(); }

 private:
  struct Waiting {
    std::uint32_t unit;
    std::span<const std::byte> payload;
    std::size_t begin = 0;  ///< bytes of payloads before it
    bool answered = false;
  };

  bool may_send() const;

  SendWindow window_;
  std::size_t window_size_, ahead_;
  std::vector<std::byte> staging_;  ///< first segments, by their place in the window
  std::vector<Waiting> waiting_;
  std::size_t next_ = 0;      ///< of waiting_, that is being sent
  std::size_t offset_ = 0;    ///< bytes of its payload that were sent
  std::size_t answered_ = 0;  ///< of waiting_, paced: all before are answered
  SendBudget* budget_ = nullptr;
};

/// Where payloads go that arrive.
class UnitSink {
 public:
  /// A payload of so many bytes begins to arrive from that rank. @returns where it goes
  /// @throws PayloadError when that rank may not send such a unit or so much of it now.
  virtual std::span<std::byte> begin_unit(int peer, std::uint32_t unit, std::uint32_t length) = 0;
  /// It is there as a whole.
  virtual void end_unit(int peer, std::uint32_t unit, std::span<const std::byte> payload) = 0;

 protected:
  ~UnitSink() = default;
};

/// Receives what a UnitSender of another rank sends.
class UnitReceiver {
 public:
  UnitReceiver(Transport& transport, int peer, int first_slot, std::size_t window, int tag);

  /// So many payloads more are to come. No message is waited for that might not come.
  void expect(std::size_t units) { certain_ += units; }

  /// Takes what has arrived. @returns whether anything moved
  /// @throws PayloadError naming the peer for what is no segment of a payload, or by the sink.
  bool advance(UnitSink& sink);
  /// Bytes that have come so far, with heads.
  std::size_t received() const { return received_; }

 private:
  void take(std::span<const std::byte> segment, UnitSink& sink);

  Transport& transport_;
  int peer_, first_slot_, tag_;
  std::size_t window_;
  std::vector<std::byte> staging_;
  std::size_t certain_ = 0, posted_ = 0, arrived_ = 0;  ///< segments
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

  /// A limit for all that is sent together; null: there is none. Must outlive this.
  void share(SendBudget* budget);
  /// Bytes that have come so far, with heads.
  std::size_t received() const;
  /// Sends what there is room for, first to peer `first`, then to those after it, counted round.
  /// @returns whether anything moved
  bool send(std::size_t first);
  /// Takes what has arrived. @returns whether anything moved @throws as UnitReceiver::advance()
  bool receive(UnitSink& sink);
  /// Whether all has left.
  bool idle() const;
};

}  // namespace thinpipe
