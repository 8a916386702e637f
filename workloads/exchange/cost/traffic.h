// What each rank sends and receives in a pattern, in closed form: nothing is exchanged to know it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compressors/element_type.h"
#include "compressors/spec.h"

namespace thinpipe {

/// Messages and what is in them, without any framing of the transport.
struct Volume {
  std::uint64_t messages = 0, bytes = 0;

  Volume operator+(const Volume& other) const {
    return {messages + other.messages, bytes + other.bytes};
  }
  Volume operator-(const Volume& other) const {
    return {messages - other.messages, bytes - other.bytes};
  }
  Volume operator*(std::uint64_t times) const { return {messages * times, bytes * times}; }
  bool operator==(const Volume&) const = default;
};

/// Of one rank.
struct Traffic {
  Volume sent, received;
  bool operator==(const Traffic&) const = default;
};

/// The array that an all-reduce sums.
struct SummedArray {
  // NOLINTNEXTLINE(google-explicit-constructor)
  SummedArray(std::size_t n, ElementType of = ElementType::kFloat32) : elements(n), type(of) {}
  std::size_t elements;
  ElementType type;
};

/// Traffic of an all-reduce of such an array.
/// @throws InputError for a pattern that is unknown or has no closed form (openmpi), or does not
/// sum such elements.
Traffic all_reduce_traffic(const Spec& pattern, const SummedArray& array, int ranks, int rank);

/// Of an all-gather of one message a rank, `sizes` bytes by rank.
/// @throws InputError as all_reduce_traffic.
Traffic all_gather_traffic(const Spec& pattern, std::span<const std::size_t> sizes, int rank);

/// Messages that follow each other on the longest way through the pattern, where each is one
/// segment: what latency is paid for.
/// @throws InputError as all_reduce_traffic.
int all_reduce_steps(const Spec& pattern, int ranks);
int all_gather_steps(const Spec& pattern, int ranks);

}  // namespace thinpipe
