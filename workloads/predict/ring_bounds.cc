#include "workloads/predict/ring_bounds.h"

#include <numeric>

namespace thinpipe {

double variance_all_reduce_time(double workers, double parameters, double bits, double beta) {
  return 2 * (workers - 1) * parameters * bits * beta / workers;
}

double variance_all_gather_bound(std::span<const double> messages, double block, double beta) {
  const double sum = std::accumulate(messages.begin(), messages.end(), 0.0);
  return (sum + (static_cast<double>(messages.size()) - 1) * block) * beta;
}

double variance_speed_up(double workers, double ratio) {
  return 2 * (workers - 1) * ratio / (workers * workers);
}

}  // namespace thinpipe
