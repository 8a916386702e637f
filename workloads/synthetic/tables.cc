#include "workloads/synthetic/tables.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "workloads/synthetic/portable_math.h"

namespace thinpipe {
namespace {

constexpr double kNumbers = 4294967296.0;  // 2^32

StraightPiece piece_of(float base, float slope) {
  return std::bit_cast<std::uint32_t>(base) | StraightPiece{std::bit_cast<std::uint32_t>(slope)}
                                                  << 32;
}

StraightPiece mirror_image(StraightPiece piece) { return piece ^ 0x8000000080000000; }

/// `pieces` become those of `function`, times `sign`, from f = 2^lowest_exponent on.
template <int kBits, class Function>
void lay_pieces(Function function, double sign, int lowest_exponent,
                std::span<StraightPiece> pieces) {
  constexpr std::size_t kPerOctave = std::size_t{1} << kBits;
  const auto value_at = [&](std::size_t i) {
    const double mantissa = 1 + static_cast<double>(i % kPerOctave) / kPerOctave;
    return sign *
           function(std::ldexp(mantissa, lowest_exponent + static_cast<int>(i / kPerOctave)));
  };
  double end = value_at(0);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const double begin = end;
    end = value_at(i + 1);
    const double slope = (end - begin) * kPerOctave;
    pieces[i] = piece_of(static_cast<float>(begin - slope), static_cast<float>(slope));
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
  mirrored = distribution.below == distribution.above && below == above && below == 1U << 31;
  const auto lay = [&](auto function, double sign, std::size_t part) {
    const auto at = std::span(pieces).subspan(part * kPart, kPart);
    lay_pieces<kBits>(function, sign, kLowestExponent, at.first(kPart - 1));
    at.back() = piece_of(static_cast<float>(sign * function(0.5)), 0);
  };
  lay([&](double f) { return distribution.below->upper(f); }, -1, 0);
  lay([&](double f) { return distribution.below->lower(f); }, -1, 1);
  if (distribution.below == distribution.above) {
    std::transform(pieces.begin(), pieces.begin() + 2 * kPart, pieces.begin() + 2 * kPart,
                   mirror_image);
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
    lay_pieces<kBits>(value, sign, kLowestExponent, std::span(pieces).subspan(part * kPart, kPart));
    return from;
  };
  mirrored = distribution.below == distribution.above && distribution.negative == 0.5 &&
             distribution.positive == 0.5;
  low = static_cast<float>(-lay(*distribution.below, distribution.negative, -1, 0));
  if (mirrored) {
    low = high = 0;
    std::transform(pieces.begin(), pieces.begin() + kPart, pieces.begin() + kPart, mirror_image);
    return;
  }
  high = static_cast<float>(lay(*distribution.above, distribution.positive, 1, 1));
  // Without zeros the two meet in one place, however they were rounded.
  if (distribution.negative + distribution.positive > 1 - 1e-12) high = low;
}

}  // namespace thinpipe
