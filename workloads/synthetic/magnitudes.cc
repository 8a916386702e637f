#include "workloads/synthetic/magnitudes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <utility>

#include "workloads/synthetic/portable_math.h"

namespace thinpipe {
namespace {

/// The x with (1 + shape x)^(-1/shape) = exp(-e), where e is an exponential's quantile: x = e for
/// shape 0.
class GeneralisedPareto final : public Magnitudes {
 public:
  explicit GeneralisedPareto(double shape) : shape_(shape) {}
  double upper(double p) const override { return bend(-portable_log(p)); }
  double lower(double q) const override { return bend(-portable_log1p(-q)); }

 private:
  double bend(double e) const { return shape_ == 0 ? e : portable_expm1(shape_ * e) / shape_; }
  double shape_;
};

/// Magnitudes whose tails beyond x are tails(x).
template <class Function>
class Inverted final : public Magnitudes {
 public:
  explicit Inverted(Function tails) : tails_(tails) {}
  double upper(double p) const override { return invert_tail(tails_, p, true); }
  double lower(double q) const override { return invert_tail(tails_, q, false); }

 private:
  Function tails_;
};

template <class Function>
std::shared_ptr<const Magnitudes> inverted(Function tails) {
  return std::make_shared<Inverted<Function>>(tails);
}

class EmpiricalMagnitudes final : public Magnitudes {
 public:
  /// @param sorted  ascending, at least one
  explicit EmpiricalMagnitudes(std::vector<float> sorted) : sorted_(std::move(sorted)) {}
  double upper(double p) const override { return at(last() + 0.5 - p * count()); }
  double lower(double q) const override { return at(q * count() - 0.5); }

 private:
  double count() const { return static_cast<double>(sorted_.size()); }
  double last() const { return count() - 1; }
  double at(double place) const {
    const double clamped = std::clamp(place, 0.0, last());
    const auto i = static_cast<std::size_t>(clamped);
    const double here = static_cast<double>(sorted_[i]);
    if (i + 1 == sorted_.size()) return here;
    return here + (clamped - static_cast<double>(i)) * (static_cast<double>(sorted_[i + 1]) - here);
  }
  std::vector<float> sorted_;
};

class NoMagnitudes final : public Magnitudes {
 public:
  double upper(double /*p*/) const override { return 0; }
  double lower(double /*q*/) const override { return 0; }
};

std::shared_ptr<const Magnitudes> empirical_magnitudes(std::vector<float> sample) {
  if (sample.empty()) return std::make_shared<NoMagnitudes>();
  std::sort(sample.begin(), sample.end());
  return std::make_shared<EmpiricalMagnitudes>(std::move(sample));
}

}  // namespace

const std::vector<std::string>& family_names() {
  static const std::vector<std::string> kNames{"laplace", "gamma",   "gpareto",
                                               "normal",  "student", "bernoulli-gaussian"};
  return kNames;
}

ValueDistribution make_family(const std::string& name, const FamilyParameters& parameters) {
  ValueDistribution made;
  made.negative = made.positive = 0.5 * (1 - parameters.zeros);
  if (name == "laplace") {
    made.above = std::make_shared<GeneralisedPareto>(0);
  } else if (name == "gamma") {
    made.above = inverted([shape = parameters.shape](double x) { return gamma_tails(shape, x); });
  } else if (name == "gpareto") {
    made.above = std::make_shared<GeneralisedPareto>(parameters.shape);
    made.finite_variance = parameters.shape < 0.5;
  } else if (name == "normal" || name == "bernoulli-gaussian") {
    made.above = inverted(normal_magnitude_tails);
  } else if (name == "student") {
    made.above =
        inverted([dof = parameters.dof](double x) { return student_magnitude_tails(dof, x); });
    made.finite_variance = parameters.dof > 2;
  } else {
    throw std::logic_error("no family '" + name + "'");
  }
  made.below = made.above;
  return made;
}

ValueDistribution make_empirical(std::vector<float> sample) {
  std::erase_if(sample, [](float value) { return !std::isfinite(value); });
  const auto all = static_cast<double>(sample.size());
  std::vector<float> below, above;
  for (const float value : sample) {
    if (value < 0) below.push_back(-value);
    if (value > 0) above.push_back(value);
  }
  ValueDistribution made;
  made.negative = all > 0 ? static_cast<double>(below.size()) / all : 0;
  made.positive = all > 0 ? static_cast<double>(above.size()) / all : 0;
  made.below = empirical_magnitudes(std::move(below));
  made.above = empirical_magnitudes(std::move(above));
  return made;
}

}  // namespace thinpipe
