// Defaults of the Compressor interface.
#include "compressors/compressor.h"

#include <stdexcept>

namespace thinpipe {

const char* to_string(Aggregation aggregation) {
  switch (aggregation) {
    case Aggregation::kAllReduce:
      return "allreduce";
    case Aggregation::kAllGather:
      return "allgather";
  }
  return "unknown";
}

float Compressor::prepare(const GradientInput& /*gradient*/) {
  throw std::logic_error("prepare() of a compressor that shares no scale");
}

// A driver calls hold() only between the exchanges of a period longer than 1.
void Compressor::hold(const GradientInput& /*gradient*/) {
  throw std::logic_error("hold() of a compressor that exchanges in every step");
}

// A driver calls decode_pairs() only where has_pairs(), and give_back() only where takes_back().
std::size_t Compressor::decode_pairs(std::span<const std::byte> /*payload*/,
                                     std::span<std::uint32_t> /*positions*/,
                                     std::span<float> /*values*/) const {
  throw std::logic_error("decode_pairs() of a compressor whose payloads are no pairs");
}

void Compressor::give_back(std::span<const std::uint32_t> /*positions*/,
                           std::span<const float> /*values*/) {
  throw std::logic_error("give_back() to a compressor that takes nothing back");
}

// A driver calls the following only where rounds() is more than 1.
EncodeReport Compressor::first_round(const GradientInput& /*gradient*/,
                                     std::span<std::byte> /*payload*/) {
  throw std::logic_error("first_round() of a compressor that takes one round");
}

std::size_t Compressor::next_round(std::span<const float> /*mean*/,
                                   std::span<std::byte> /*payload*/) {
  throw std::logic_error("next_round() of a compressor that takes one round");
}

std::size_t Compressor::own_payload(std::span<std::byte> /*payload*/) const {
  throw std::logic_error("own_payload() of a compressor that takes one round");
}

}  // namespace thinpipe
