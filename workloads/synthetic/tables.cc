#include "workloads/synthetic/tables.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "workloads/synthetic/portable_math.h"

namespace thinpipe {
namespace {

constexpr double kNumbers = 2147483648.0;  // 2^31
constexpr std::uint32_t kSign = 0x80000000;
// Greatest fraction of a side; pieces from one half on are not used.
constexpr double kMaxProbability = 0.999;
// Values between two edges become zeros. This is the maximum distance of an edge from the mean, in
// standard deviations. The 32-bit difference between such an edge and a latent (the normally
// distributed number from which a value is made) overflows only if the latent is more than 6.1
// standard deviations away on the other side, which has a probability of 5e-10.
constexpr double kReach = 5.9;

StraightPiece piece_of(float base, float slope) {
  return std::bit_cast<std::uint32_t>(base) | StraightPiece{std::bit_cast<std::uint32_t>(slope)}
                                                  << 32;
}

StraightPiece mirror_image(StraightPiece piece) { return piece ^ 0x8000000080000000; }

/// The linear pieces of one side (positive or negative d) of one part of a table. Their values are
/// `function` of the distance |d|, times `sign`, the sign of d.
class Side {
 public:
  Side(PieceTable& table, std::size_t part, double sign)
      : bits_(table.bits), sign_(sign), part_(table.pieces.data() + part * table.part_size()) {}

  template <class Function>
  void lay(Function function) {
    const std::size_t per_octave = std::size_t{1} << bits_;
    const auto value_at = [&](std::size_t i) {
      const double mantissa = 1 + static_cast<double>(i % per_octave) / double(per_octave);
      return sign_ * function(std::ldexp(mantissa, static_cast<int>(i / per_octave)));
    };
    double end = value_at(0);
    for (std::size_t i = 0; i <= last(); ++i) {
      const double begin = end;
      end = value_at(i + 1);
      const double slope = (end - begin) * static_cast<double>(per_octave);
      at(i) = piece_of(static_cast<float>(begin - slope), static_cast<float>(slope));
    }
  }
  /// Copies the pieces of a positive side with the other sign.
  void lay_mirrored(const Side& positive) {
    for (std::size_t i = 0; i <= last(); ++i) at(i) = mirror_image(positive.at(i));
  }

 private:
  /// Returns the index of the piece that begins at 2^31, to which float conversion can round up.
  std::size_t last() const { return std::size_t{PieceTable::kOctaves} << bits_; }
  StraightPiece& at(std::size_t i) const {
    const std::uint32_t sign = sign_ < 0 ? kSign : 0;
    const std::uint32_t one = std::bit_cast<std::uint32_t>(1.0F) | sign;
    return part_[(one >> (PieceTable::kMantissaBits - bits_)) + i];
  }

  int bits_;
  double sign_;
  StraightPiece* part_;
};

/// Lays a part of a table: both sides, each a function of |d|, and the entry of d = 0, which is 0
/// if the table has zeros, else the innermost value.
/// @param symmetric  the sides are mirror images
template <class Positive, class Negative>
void lay_part(PieceTable& table, std::size_t part, Positive positive, Negative negative,
              bool symmetric) {
  Side above(table, part, 1), below(table, part, -1);
  above.lay(positive);
  if (symmetric) {
    below.lay_mirrored(above);
  } else {
    below.lay(negative);
  }
  table.pieces[part * table.part_size()] =
      piece_of(table.has_zeros() ? 0.0F : static_cast<float>(-negative(0.5)), 0);
}

}  // namespace

PieceTable::PieceTable(int bits_, std::size_t parts) : bits(bits_), pieces(parts * part_size()) {}

QuantileTable::QuantileTable(const ValueDistribution& distribution) : PieceTable(kBits, kParts) {
  const double below = std::floor(distribution.negative * kNumbers + 0.5);
  const double above =
      std::min(std::floor(distribution.positive * kNumbers + 0.5), kNumbers - below);
  // A random number v < low gives a negative value, and v > high gives a positive value. Any other
  // v gives 0. If the distribution has no zeros, low = high, and v = low gives a negative value.
  low = static_cast<std::int32_t>(std::min(below, kNumbers - 1));
  high = below + above == kNumbers ? low : static_cast<std::int32_t>(kNumbers - 1 - above);
  for (const std::size_t part : {0, 1}) {
    const auto values_of = [&](const Magnitudes& side, double size) {
      return [&side, size, part](double d) {
        const double p = std::min(0.5 * d / std::max(size, 1.0), kMaxProbability);
        return part == 0 ? side.lower(p) : side.upper(p);
      };
    };
    lay_part(*this, part, values_of(*distribution.above, above),
             values_of(*distribution.below, below),
             distribution.below == distribution.above && below == above);
  }
}

CopulaTable::CopulaTable(const ValueDistribution& distribution) : PieceTable(kBits, 1) {
  const auto edge = [](double side) {
    const double z = side > 0 ? normal_upper_inverse(std::min(side, 1 - 1e-12)) : kReach;
    return std::clamp(z, -kReach, kReach);
  };
  // The magnitude at a distance d, among the magnitudes beyond `from`.
  const auto values_of = [](const Magnitudes& magnitudes, double from) {
    return [&magnitudes, from, all = normal_upper(from)](double d) {
      const double beyond = normal_upper(from + d / kSigma);
      const double upper = std::max(beyond / all, 1e-300);
      const double lower = std::max((all - beyond) / all, 1e-18);
      return upper < 0.5 ? magnitudes.upper(upper) : magnitudes.lower(lower);
    };
  };
  const double from_above = edge(distribution.positive), from_below = edge(distribution.negative);
  const auto place = [](double z) {
    return static_cast<std::int32_t>(std::floor(kMiddle + z * kSigma + 0.5));
  };
  high = place(from_above);
  // Without zeros both edges are one position, regardless of rounding.
  const bool zeros = distribution.negative + distribution.positive < 1 - 1e-12;
  low = zeros ? std::min(place(-from_below), high - 1) : high;
  lay_part(*this, 0, values_of(*distribution.above, from_above),
           values_of(*distribution.below, from_below),
           distribution.below == distribution.above && from_above == from_below);
}

double copula_value(const CopulaTable& table, double z) {
  const double v = CopulaTable::kMiddle + z * CopulaTable::kSigma;
  const double above = v - static_cast<double>(table.high);
  const double below = v - static_cast<double>(table.low);
  if (above <= 0 && below >= 0) return 0;
  const bool negative = below < 0;
  const double distance = std::clamp(negative ? -below : above, 1.0, 0x1.fffffep30);
  const int octave = std::ilogb(distance);
  constexpr std::size_t kPerOctave = std::size_t{1} << CopulaTable::kBits;
  const double mantissa = std::ldexp(distance, -octave);
  const double whole = std::floor((mantissa - 1) * kPerOctave);
  const auto place = static_cast<std::size_t>(octave + 127) * kPerOctave +
                     static_cast<std::size_t>(whole) + (negative ? table.part_size() / 2 : 0);
  const StraightPiece word = table.pieces[place];
  const auto base = std::bit_cast<float>(static_cast<std::uint32_t>(word));
  const auto slope = std::bit_cast<float>(static_cast<std::uint32_t>(word >> 32));
  return static_cast<double>(base) + (mantissa - whole / kPerOctave) * static_cast<double>(slope);
}

CopulaCorrelation::CopulaCorrelation(const CopulaTable& table) {
  constexpr std::size_t kTerms = 60;
  constexpr double kStep = 1.0 / 256, kFarthest = 9;
  constexpr double kInverseRoot = 0.39894228040143267794;  // 1 / sqrt(2 pi)
  std::vector<double> roots(kTerms + 2);
  for (std::size_t k = 0; k < roots.size(); ++k) roots[k] = std::sqrt(static_cast<double>(k));
  std::vector<double> moments(kTerms + 1);
  double squares = 0;
  for (int i = -static_cast<int>(kFarthest / kStep); i * kStep <= kFarthest; ++i) {
    const double z = i * kStep;
    const double value = copula_value(table, z);
    const double weight = kStep * kInverseRoot * portable_exp(-0.5 * z * z);
    squares += weight * value * value;
    // Normalised: h_(k+1) = (z h_k - sqrt(k) h_(k-1)) / sqrt(k + 1).
    double before = 0, now = 1;
    for (std::size_t k = 0; k <= kTerms; ++k) {
      moments[k] += weight * value * now;
      const double next = (z * now - roots[k] * before) / roots[k + 1];
      before = now;
      now = next;
    }
  }
  const double variance = squares - moments[0] * moments[0];
  if (!(variance > 0)) {
    shares_ = {1};
    return;
  }
  double left = 1;
  for (std::size_t k = 1; k <= kTerms; ++k) {
    const double share = std::min(left, moments[k] * moments[k] / variance);
    shares_.push_back(share);
    left -= share;
  }
  shares_.push_back(left);
}

double CopulaCorrelation::of_values(double of_normals) const {
  double sum = 0;
  for (std::size_t k = shares_.size(); k-- > 0;) sum = (sum + shares_[k]) * of_normals;
  return sum;
}

double CopulaCorrelation::of_normals(double of_values) const {
  if (of_values <= 0) return 0;
  double low = 0, high = 1;
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (this->of_values(middle) < of_values ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

}  // namespace thinpipe
