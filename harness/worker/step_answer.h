// The answers of ranks to `step` (harness/launch/launch.h), and the table of a worker's
// measurements, from which messages, metrics and the `per_rank` of records come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "base/machine_load.h"
#include "reports/record/metrics.h"
#include "workloads/exchange/transport.h"
#include "workloads/replay/parameter_server.h"
#include "workloads/replay/step_report.h"

namespace thinpipe {

/// A step of a worker or of a parameter server.
struct RankStep {
  TransportCounters sent;    ///< in the step
  ProcessorTime processors;  ///< of its machine meanwhile; 0 of a machine that others share
};

/// Times as the clock had them, where the report has an emulated machine's. s.
struct RawTimes {
  double compute = 0, compress = 0, exchange = 0, decode = 0, total = 0;
};

struct WorkerStep : RankStep, StepReport {
  double relative_error = 0;  ///< told afterwards, by `account`
  /// Likewise, of the means that this rank compressed, where every rank averages some.
  std::optional<double> second_relative_error;
  std::optional<RawTimes> raw;  ///< with a time scale other than 1
  /// s of the emulated machine by which its exchange may be off (harness/sweep/time_scaling.h).
  double skew = 0;
};

struct ServerStep : RankStep, ServerReport {
  std::vector<ServedBucket> served;
  double relative_error = 0;  ///< told afterwards, by `account`
};

/// One step, by rank.
struct StepAnswers {
  std::vector<WorkerStep> workers;
  std::vector<ServerStep> servers;  ///< whose ranks come after the workers'
};

/// How the values of all workers become one of the step.
enum class OverRanks {
  kSlowest,       ///< that of the rank which took longest: the step waited for it
  kLeastWaiting,  ///< that of the rank whose exchange times hold least waiting for others
  kGreatest,
  kMean,
};

/// A measurement of one worker in one step. A new one needs its member, its row in step_answer.cc
/// and, if it is a metric, a row in reports/record/metrics.h.
struct StepField {
  using Member =
      std::variant<double WorkerStep::*, std::uint64_t WorkerStep::*, bool WorkerStep::*>;
  enum class There { kAlways, kOnDevice, kIfAny };

  const char* name;  ///< in messages and in `per_rank`
  Member member;
  bool per_rank = false;               ///< is in it
  const MetricType* metric = nullptr;  ///< null for none
  OverRanks over = OverRanks::kMean;
  There there = There::kAlways;  ///< which points have the metric

  double of(const WorkerStep& step) const {
    return std::visit([&](auto one) { return static_cast<double>(step.*one); }, member);
  }
};
std::span<const StepField> step_fields();

/// The `stepped` messages.
nlohmann::json stepped(const WorkerStep& step);
nlohmann::json stepped(const ServerStep& step);
/// The answers in such messages. @param messages  by rank, `workers` of workers first
StepAnswers step_answers(const std::vector<nlohmann::json>& messages, int workers);

/// The `per_rank` of docs/records.md. @param steps  at least one
nlohmann::json per_rank(const std::vector<StepAnswers>& steps);

}  // namespace thinpipe
