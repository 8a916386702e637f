#include "harness/worker/projections.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/splitmix64.h"

namespace thinpipe {

namespace {

using nlohmann::json;
constexpr double kNotComparable = std::numeric_limits<double>::infinity();

double weight(std::uint64_t bits) {
  const double magnitude = 0.5 + static_cast<double>(bits >> 12) * 0x1p-52;
  return (bits & 1) != 0 ? magnitude : -magnitude;
}

// JSON writes what is not finite as null.
double number(const json& value) {
  return value.is_number() ? value.get<double>() : kNotComparable;
}

}  // namespace

std::vector<double> project(std::span<const float> values, std::uint64_t seed) {
  SplitMix64 weights(SplitMix64::mix(seed + 1));
  std::vector<double> sums;
  for (std::size_t begin = 0; begin < values.size(); begin += kProjectedBlock) {
    double sum = 0;
    for (const float value :
         values.subspan(begin, std::min(kProjectedBlock, values.size() - begin)))
      sum += static_cast<double>(value) * weight(weights.next());
    sums.push_back(sum);
  }
  return sums;
}

double projected_error(const std::vector<json>& contributions, const std::vector<json>& results,
                       const std::vector<json>& largest) {
  double worst = 0;
  for (std::size_t rank = 0; rank < results.size(); ++rank)
    for (std::size_t piece = 0; piece < results[rank].size(); ++piece) {
      double off = 0;
      for (std::size_t block = 0; block < results[rank][piece].size(); ++block) {
        double mean = 0;
        for (const json& one : contributions)
          mean += piece < one.size() && block < one[piece].size() ? number(one[piece][block])
                                                                  : kNotComparable;
        mean /= static_cast<double>(contributions.size());
        const double difference = std::fabs(number(results[rank][piece][block]) - mean);
        off = std::isfinite(difference) ? std::max(off, difference) : kNotComparable;
      }
      const double scale = number(largest[rank].at(piece));
      worst = std::max(worst, scale > 0 ? off / scale : off);
      if (!std::isfinite(off) || !std::isfinite(scale)) return kNotComparable;
    }
  return worst;
}

}  // namespace thinpipe
