// How memories store arrays of floats in a state, and compare them.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>

#include "compressors/kernels/parallel.h"
#include "compressors/wire/bytes.h"

namespace thinpipe {

/// Fewer scattered elements than this are not worth a second thread.
constexpr std::size_t kMinParallelScatter = 50000;
/// Scattered elements whose lines are asked for ahead of their turn.
constexpr std::size_t kScatterAhead = 128;

inline void save_floats(ByteWriter& out, std::span<const float> values) {
  out.put_bytes(std::as_bytes(values));
}

inline void load_floats(ByteReader& in, std::span<float> values, const char* what) {
  const auto bytes = in.get_bytes(values.size_bytes(), what);
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
}

/// @throws PayloadError for a byte that is neither 0 nor 1.
inline bool load_flag(ByteReader& in, const char* what) {
  const auto found = in.get<std::uint8_t>(what);
  if (found > 1) {
    throw PayloadError(std::string("flag '") + what + "' of the memory: found " +
                       std::to_string(found) + ", expected 0 or 1");
  }
  return found == 1;
}

/// For memories that keep left = c - decoded.
inline Distortion distortion_of_remainder(std::span<const float> left,
                                          std::span<const float> decoded) {
  double error = 0;
  double norm = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const double kept = left[i];
    const double input = kept + static_cast<double>(decoded[i]);
    error += kept * kept;
    norm += input * input;
  }
  return {error, norm};
}

inline Distortion distortion_against(std::span<const float> c, std::span<const float> decoded) {
  double error = 0;
  double norm = 0;
  for (std::size_t i = 0; i < c.size(); ++i) {
    const double input = c[i];
    const double difference = static_cast<double>(decoded[i]) - input;
    error += difference * difference;
    norm += input * input;
  }
  return {error, norm};
}

/// c[p] = left(c[p], values[p]) at distinct positions; what is not finite is forgotten. On the
/// current threads: most of these elements have left the caches, a line each.
template <class Left>
void scatter(std::span<float> c, std::span<const std::uint32_t> positions,
             std::span<const float> values, Left left) {
  const std::size_t n = positions.size();
  const int threads = n < kMinParallelScatter ? 1 : threads_for(c.size());
  const auto parts = static_cast<std::size_t>(threads);
  parallel_parts(parts, threads, [&](std::size_t part) {
    const std::size_t end = n * (part + 1) / parts;
    for (std::size_t i = n * part / parts; i < end; ++i) {
      if (i + kScatterAhead < end) __builtin_prefetch(c.data() + positions[i + kScatterAhead], 1);
      const float value = left(c[positions[i]], values[i]);
      c[positions[i]] = std::isfinite(value) ? value : 0.0F;
    }
  });
}

/// c - decoded at the positions sent.
inline void subtract_sent(std::span<float> c, std::span<const std::uint32_t> positions,
                          std::span<const float> decoded) {
  scatter(c, positions, decoded, [](float kept, float sent) { return kept - sent; });
}

/// c + returned at the positions given back.
inline void add_returned(std::span<float> c, std::span<const std::uint32_t> positions,
                         std::span<const float> returned) {
  scatter(c, positions, returned, [](float kept, float back) { return kept + back; });
}

}  // namespace thinpipe
