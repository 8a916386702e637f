#include "workloads/replay/parameter_server.h"

#include "base/clock.h"

namespace thinpipe {

ParameterServer::ParameterServer(Transport& transport, const std::vector<ReplayUnit>& units,
                                 const UnitAveragerOptions& options, int workers, int server)
    : layout_(push_pull_layout(units, options.exchange, workers, {.threads = options.threads})),
      averager_(units, layout_, options, server),
      exchange_(transport, layout_, server) {}

ServerReport ParameterServer::step(std::uint64_t index) {
  const double begin = now_seconds();
  exchange_.step(averager_, averager_.begin_step(index));
  note_served();
  return {averager_.report(), now_seconds() - begin};
}

void ParameterServer::note_served() {
  served_.clear();
  for (const std::size_t i : averager_.taking_part()) {
    const std::size_t bucket = averager_.unit(i).bucket;
    const ServedUnit& unit = exchange_.served(i);
    if (served_.empty() || served_.back().bucket != bucket)
      served_.push_back({bucket, unit});
    else if (unit.answered > served_.back().unit.answered)
      served_.back().unit = unit;
  }
}

}  // namespace thinpipe
