#include "workloads/synthetic/tables.h"

#include <algorithm>
#include <cmath>

#include "workloads/synthetic/portable_math.h"

namespace thinpipe {
namespace {

constexpr double kNumbers = 4294967296.0;  // 2^32

/// f at the begin of a piece, and at `part` of its length.
double piece_place(int lowest_exponent, std::size_t piece, double part) {
  const double within = (static_cast<double>(piece % kPiecesPerOctave) + part) / kPiecesPerOctave;
  return std::ldexp(1 + within, lowest_exponent + static_cast<int>(piece / kPiecesPerOctave));
}

/// Pieces first ... first + count - 1 of the arrays become those of `function`, times `sign`.
template <class Function>
void lay_pieces(Function function, double sign, int lowest_exponent, std::size_t count, float* c0,
                float* c1, float* c2) {
  double end = sign * function(piece_place(lowest_exponent, 0, 0));
  for (std::size_t i = 0; i < count; ++i) {
    const double begin = end;
    end = sign * function(piece_place(lowest_exponent, i + 1, 0));
    const double wanted = sign * function(piece_place(lowest_exponent, i, 0.5));
    // Within these bounds the parabola does not turn round.
    const double one = (3 * begin + end) / 4, other = (begin + 3 * end) / 4;
    const double middle = std::clamp(wanted, std::min(one, other), std::max(one, other));
    constexpr double kLength = 1.0 / kPiecesPerOctave;
    c0[i] = static_cast<float>(begin);
    c1[i] = static_cast<float>((4 * middle - 3 * begin - end) / kLength);
    c2[i] = static_cast<float>((2 * begin - 4 * middle + 2 * end) / (kLength * kLength));
  }
}

std::uint32_t numbers_of(double share) {
  return static_cast<std::uint32_t>(std::min(std::floor(share * kNumbers + 0.5), kNumbers - 1));
}

}  // namespace

QuantileTable::QuantileTable(const ValueDistribution& distribution)
    : below(numbers_of(distribution.negative)), above(numbers_of(distribution.positive)) {
  if (std::uint64_t{below} + above > std::uint64_t{1} << 32) --above;  // both were rounded up
  share[0] = static_cast<float>(1.0 / std::max(below, 1U));
  share[1] = static_cast<float>(1.0 / std::max(above, 1U));
  const auto lay = [&](auto function, double sign, std::size_t part) {
    const std::size_t at = part * kSegments;
    lay_pieces(function, sign, kLowestExponent, kSegments, c0.data() + at, c1.data() + at,
               c2.data() + at);
  };
  lay([&](double f) { return distribution.below->upper(f); }, -1, 0);
  lay([&](double f) { return distribution.below->lower(f); }, -1, 1);
  if (distribution.below == distribution.above) {  // mirrored
    constexpr std::size_t kHalf = 2 * kSegments;
    for (auto* c : {&c0, &c1, &c2})
      std::transform(c->begin(), c->begin() + kHalf, c->begin() + kHalf,
                     [](float v) { return -v; });
    return;
  }
  lay([&](double f) { return distribution.above->upper(f); }, 1, 2);
  lay([&](double f) { return distribution.above->lower(f); }, 1, 3);
}

CopulaTable::CopulaTable(const ValueDistribution& distribution) {
  // Mirrored, the negative side is a positive one.
  const auto lay = [&](const Magnitudes& magnitudes, double side, double sign, std::size_t part) {
    const double from = side > 0 ? normal_upper_inverse(std::min(side, 1 - 1e-12)) : 16.0;
    const double all = normal_upper(from);
    const auto value = [&](double f) {
      const double beyond = normal_upper(from + f);
      const double upper = std::max(beyond / all, 1e-300);
      const double lower = std::max((all - beyond) / all, 1e-18);
      return upper < 0.5 ? magnitudes.upper(upper) : magnitudes.lower(lower);
    };
    const std::size_t at = part * kSegments;
    lay_pieces(value, sign, kLowestExponent, kSegments, c0.data() + at, c1.data() + at,
               c2.data() + at);
    return from;
  };
  low = static_cast<float>(-lay(*distribution.below, distribution.negative, -1, 0));
  high = static_cast<float>(lay(*distribution.above, distribution.positive, 1, 1));
  // Without zeros the two meet in one place, however they were rounded.
  if (distribution.negative + distribution.positive > 1 - 1e-12) high = low;
}

}  // namespace thinpipe
