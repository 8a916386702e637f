// Traffic of each rank in an exchange, in closed form, without an exchange.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "compressors/element_type.h"
#include "compressors/spec.h"
#include "workloads/collectives/segments.h"

namespace thinpipe {

/// Messages and their bytes, without any framing of the transport.
struct Volume {
  std::uint64_t messages = 0, bytes = 0;

  Volume operator+(const Volume& other) const {
    return {messages + other.messages, bytes + other.bytes};
  }
  Volume& operator+=(const Volume& other) { return *this = *this + other; }
  Volume operator-(const Volume& other) const {
    return {messages - other.messages, bytes - other.bytes};
  }
  Volume operator*(std::uint64_t times) const { return {messages * times, bytes * times}; }
  bool operator==(const Volume&) const = default;
};

/// Traffic of one rank.
struct Traffic {
  Volume sent, received;
  Traffic operator+(const Traffic& other) const {
    return {sent + other.sent, received + other.received};
  }
  bool operator==(const Traffic&) const = default;
};

/// The array that an all-reduce sums.
struct SummedArray {
  // NOLINTNEXTLINE(google-explicit-constructor)
  SummedArray(std::size_t n, ElementType of = ElementType::kFloat32) : elements(n), type(of) {}
  std::size_t elements;
  ElementType type;
};

/// Returns the traffic of one rank in an all-reduce of `array`.
/// @throws InputError for a collective that is unknown, has no closed form (openmpi) or does not
/// sum elements of the array's type
Traffic all_reduce_traffic(const Spec& collective, const SummedArray& array, int ranks, int rank);

/// Returns the traffic of one rank in an all-gather. Rank r contributes a message of sizes[r]
/// bytes.
/// @throws InputError as all_reduce_traffic
Traffic all_gather_traffic(const Spec& collective, std::span<const std::size_t> sizes, int rank);

/// Returns the number of message latencies in the collective's time. This is the length of its
/// longest chain of messages that wait for each other, if each message is one segment.
/// @throws InputError as all_reduce_traffic
int all_reduce_steps(const Spec& collective, int ranks);
int all_gather_steps(const Spec& collective, int ranks);

// Volumes of arrays and of framed messages (messages with their length before them), from which
// closed forms are composed.

/// Volumes of an array's slices.
class ArrayVolume {
 public:
  ArrayVolume(const SummedArray& array, int parts)
      : parts_{array.elements, static_cast<std::size_t>(parts), size_of(array.type)} {}
  /// Returns the volume of slices [first, last).
  Volume of(int first, int last) const {
    const auto from = static_cast<std::size_t>(first), to = static_cast<std::size_t>(last);
    return {parts_.segments(from, to), parts_.size(from, to) * parts_.element_bytes};
  }
  /// Returns the volume of slice `part` modulo the number of slices.
  Volume of(int part) const {
    const int wrapped = part % static_cast<int>(parts_.count);
    return of(wrapped, wrapped + 1);
  }
  Volume all() const { return of(0, static_cast<int>(parts_.count)); }

 private:
  Parts parts_;
};

/// Messages of all ranks, each with its length before it.
class MessageVolume {
 public:
  explicit MessageVolume(std::span<const std::size_t> sizes) : sizes_(sizes) {}
  int ranks() const { return static_cast<int>(sizes_.size()); }
  /// Returns the bytes of one rank's message without its length; the rank wraps round.
  std::size_t content(int rank) const { return sizes_[static_cast<std::size_t>(rank % ranks())]; }
  /// Returns the volume of one rank's message; the rank wraps round.
  Volume of(int rank) const {
    const std::size_t framed = content(rank) + sizeof(std::uint64_t);
    return {segments_of_bytes(framed), framed};
  }
  /// Returns the volume of `count` ranks' messages from `first` on; ranks wrap round.
  Volume of(int first, int count) const {
    Volume sum;
    for (int i = 0; i < count; ++i) sum += of(first + i);
    return sum;
  }
  Volume all() const { return of(0, ranks()); }

 private:
  std::span<const std::size_t> sizes_;
};

/// Returns the volume of one message of so many bytes, without a length, cut into segments.
constexpr Volume plain_message(std::size_t bytes) { return {segments_of_bytes(bytes), bytes}; }

/// Returns the logarithm to base 2 of a number of ranks, rounded down or up.
constexpr int floor_log2(int ranks) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(ranks))) - 1;
}
constexpr int ceil_log2(int ranks) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(ranks - 1)));
}

/// Returns the traffic of BlockGather (streams.h). @param sizes  of blocks, in bytes, by rank
Traffic block_gather_traffic(std::span<const std::size_t> sizes, int rank);

// Sparse all-reduces: bounds, since traffic depends on the data.

/// Sizes that are known beforehand.
struct SparseSizes {
  std::size_t own = 0;       ///< pairs of every rank
  std::size_t k = 0;         ///< the argument of sparse_all_reduce()
  std::size_t selected = 0;  ///< pairs of the result; gtopk: min(k, all distinct indices)
};

struct SparseTraffic {
  Traffic least;
  /// The traffic if all indices, and the selected indices, are spread evenly over ranks, which is
  /// the aim of balancing. For gtopk: the traffic if the ranks' vectors have no index in common.
  Traffic even;
  Traffic most;
};

/// Returns the traffic of one call. A call of oktopk that finds new regions or a new threshold
/// sends more: for either, the ranks all-gather a block of words of every rank.
/// @throws InputError for a collective that is unknown or has no sparse all-reduce
SparseTraffic sparse_all_reduce_traffic(const Spec& collective, const SparseSizes& sizes, int ranks,
                                        int rank);

/// Returns the length of the longest chain of messages that wait for each other, if each message is
/// one segment and nothing is balanced.
/// @throws InputError as sparse_all_reduce_traffic
int sparse_all_reduce_steps(const Spec& collective, int ranks);

/// The longest chain of messages of workers and parameter servers: a push and its answer.
inline constexpr int kPushPullSteps = 2;

}  // namespace thinpipe
