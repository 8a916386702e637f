// The answers of ranks to `step` (harness/launch/launch.h), and the table of a worker's
// measurements. Messages, metrics and the `per_rank` of records are made from this table.
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
#include "workloads/collectives/transport.h"
#include "workloads/replay/parameter_server.h"
#include "workloads/replay/step_report.h"

namespace thinpipe {

/// A step of a worker or of a parameter server.
struct RankStep {
  TransportCounters sent;    ///< in the step
  ProcessorTime processors;  ///< of its machine during the step; 0 on a shared machine
};

/// Measured times, in s, where the report has those of an emulated machine.
struct RawTimes {
  double compute = 0, compress = 0, exchange = 0, decode = 0, total = 0;
};

struct WorkerStep : RankStep, StepReport {
  double relative_error = 0;  ///< reported afterwards, by `account`
  /// The same of the means that this rank compressed, where every rank averages some units.
  std::optional<double> second_relative_error;
  std::optional<RawTimes> raw;  ///< with a time scale other than 1
  /// Error bound of the exchange, in s of the emulated machine (harness/sweep/time_scaling.h).
  double skew = 0;
};

struct ServerStep : RankStep, ServerReport {
  std::vector<ServedBucket> served;
  double relative_error = 0;  ///< reported afterwards, by `account`
};

/// The answers to one step, by rank.
struct StepAnswers {
  std::vector<WorkerStep> workers;
  std::vector<ServerStep> servers;  ///< whose ranks come after the workers'
};

/// How a step's value is computed from all workers' values.
enum class OverRanks {
  kSlowest,     ///< the value of the rank with the longest step: the step waited for it
  kMinWaiting,  ///< the value of the rank whose exchange waited least for other ranks
  kMax,
  kMean,
};

/// A measurement of one worker in one step. A new measurement needs a member of WorkerStep, a row
/// in step_answer.cc and, if it is a metric, a row in reports/record/metrics.h.
struct StepField {
  using Member =
      std::variant<double WorkerStep::*, std::uint64_t WorkerStep::*, bool WorkerStep::*>;
  enum class There { kAlways, kOnDevice, kIfAny };

  const char* name;  ///< in messages and in `per_rank`
  Member member;
  bool per_rank = false;               ///< whether `per_rank` has it
  const MetricType* metric = nullptr;  ///< null for none
  OverRanks over = OverRanks::kMean;
  There there = There::kAlways;  ///< which points have the metric

  double of(const WorkerStep& step) const {
    return std::visit([&](auto one) { return static_cast<double>(step.*one); }, member);
  }
};
std::span<const StepField> step_fields();

/// Returns the `stepped` message.
nlohmann::json stepped(const WorkerStep& step);
nlohmann::json stepped(const ServerStep& step);
/// Returns the answers in `stepped` messages. @param messages  by rank, those of `workers` first
StepAnswers step_answers(const std::vector<nlohmann::json>& messages, int workers);

/// Returns the `per_rank` of docs/records.md. @param steps  at least one
nlohmann::json per_rank(const std::vector<StepAnswers>& steps);

}  // namespace thinpipe
