// A parameter server of a replayed job: averages what workers push, compresses the mean once for
// all of them, and keeps what that left out for the next step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "workloads/exchange/push_pull_server.h"
#include "workloads/replay/unit_averager.h"

namespace thinpipe {

/// What a server did in one step.
struct ServerReport : AveragedStep {
  double total = 0;  ///< s from the step's begin to its last answer's end: waiting, mostly
};

/// Of a bucket's units that this server has, the one that it answered last.
struct ServedBucket {
  std::size_t bucket = 0;
  ServedUnit unit;
};

class ParameterServer {
 public:
  /// @param units  all of them; those of other servers are passed over
  /// @param transport  of ranks 0 to workers - 1 and the servers; must outlive this
  /// @throws InputError as make_compressor
  ParameterServer(Transport& transport, const std::vector<ReplayUnit>& units,
                  const UnitAveragerOptions& options, int workers, int server);

  /// Serves one step of the workers.
  /// @throws PayloadError naming rank and unit when a worker's payload is malformed.
  ServerReport step(std::uint64_t index);

  /// Of the last step, by bucket.
  const std::vector<ServedBucket>& served() const { return served_; }
  const UnitAverager& averager() const { return averager_; }
  UnitAverager& averager() { return averager_; }

 private:
  void note_served();

  PushPullLayout layout_;
  UnitAverager averager_;
  PushPullServer exchange_;
  std::vector<ServedBucket> served_;
};

}  // namespace thinpipe
