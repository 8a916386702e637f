#include "harness/predict/break_even.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace thinpipe {

PredictedBreakEven predicted_break_even(const std::function<double(double)>& gain, double least,
                                        double most) {
  constexpr int kEachDecade = 10;
  constexpr double kPrecision = 1e-3;
  PredictedBreakEven result;
  result.pays_at_least = gain(least) > 0;
  result.pays_at_most = gain(most) > 0;
  const int steps = static_cast<int>(std::ceil(kEachDecade * std::log10(most / least)));
  double above = most;
  bool pays_above = result.pays_at_most;
  for (int i = steps - 1; i >= 0; --i) {
    double below = least * std::pow(most / least, static_cast<double>(i) / steps);
    const bool pays_below = gain(below) > 0;
    if (pays_below && !pays_above) {
      while (above / below > 1 + kPrecision) {
        const double middle = std::sqrt(above * below);
        (gain(middle) > 0 ? below : above) = middle;
      }
      result.rate = std::sqrt(above * below);
      return result;
    }
    above = below;
    pays_above = pays_below;
  }
  return result;
}

nlohmann::json break_even_json(const PredictedBreakEven& result) {
  return {{"rate", result.rate ? nlohmann::json(*result.rate) : nlohmann::json(nullptr)},
          {"pays_at_least_rate", result.pays_at_least},
          {"pays_at_most_rate", result.pays_at_most}};
}

}  // namespace thinpipe
