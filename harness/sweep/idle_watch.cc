#include "harness/sweep/idle_watch.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace thinpipe {

void IdleWatch::after_step(const std::vector<nlohmann::json>& answers) {
  const ProcessorTime after = processor_time();
  spent_.resize(own_machines_ ? answers.size() : 1);
  for (std::size_t rank = 0; rank < spent_.size(); ++rank) {
    spent_[rank].idle += own_machines_ ? answers[rank].at("processors_idle").get<double>()
                                       : after.idle - before_.idle;
    spent_[rank].all +=
        own_machines_ ? answers[rank].at("processors_all").get<double>() : after.all - before_.all;
  }
}

std::optional<double> IdleWatch::idle() const {
  std::optional<double> least;
  for (const ProcessorTime& one : spent_)
    if (const std::optional<double> share = one.idle_share())
      least = std::min(least.value_or(1), *share);
  return least;
}

}  // namespace thinpipe
