#include "workloads/synthetic/correlation.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "workloads/synthetic/portable_math.h"

namespace thinpipe {

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
  constexpr double kStep = 1.0 / 256, kReach = 9;
  constexpr double kInverseRoot = 0.39894228040143267794;  // 1 / sqrt(2 pi)
  std::vector<double> roots(kTerms + 2);
  for (std::size_t k = 0; k < roots.size(); ++k) roots[k] = std::sqrt(static_cast<double>(k));
  std::vector<double> moments(kTerms + 1);
  double squares = 0;
  for (int i = -static_cast<int>(kReach / kStep); i * kStep <= kReach; ++i) {
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
