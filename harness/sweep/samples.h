// Samples of one point: the ranks' answers and the links' counters in its measured steps, the
// metrics made of them, and the reasons not to trust them.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/launch/machines.h"
#include "harness/worker/step_answer.h"
#include "reports/record/record.h"

namespace thinpipe {

/// The measured steps of one point.
struct PointSamples {
  std::vector<StepAnswers> steps;
  WireCount wire;                  ///< counted during these steps
  std::optional<double> idle_cpu;  ///< idle fraction of CPU time; none in steps of too few ticks
  std::optional<double> goodput_ratio;  ///< calibration of the link: goodput / TCP ceiling; if any
  std::string goodput_of = "the link";  ///< name of that link: "rack0-spine up"
  /// `sum_error` is the greatest distance of 16-bit sums from the mean of the payloads, relative to
  /// the mean's greatest element. `sum_error_of_bound` is the greatest ratio of an element's
  /// distance to its rounding bound.
  std::optional<double> sum_error;
  double sum_error_of_bound = 0;
  double worst_error = 0;  ///< of the checked aggregates, relative to their largest element
  std::uint64_t checked_steps = 0;
  /// Reference that the aggregates were compared with: "elements" of every rank's contribution,
  /// their "projections", or "none" where ranks only compared their results with each other.
  std::string reference = "elements";
  std::uint32_t frame_bytes = 1514;    ///< of a full frame, as qdiscs count it
  std::uint32_t payload_bytes = 1448;  ///< TCP payload of a full frame
  bool lossless = true;   ///< the link itself neither drops, duplicates nor reorders frames
  double time_scale = 1;  ///< time dilation, which scale_step() has taken out of the times
  /// Steps from one exchange to the next: a metric's sample is the mean over one period.
  std::size_t period = 1;
  bool overlapped = false;     ///< buckets were exchanged while compute went on
  bool on_device = false;      ///< gradients lay in a GPU's memory
  bool compute_works = false;  ///< compute phases used CPU time, so idle time shows nothing
  /// s of the slowest rank in each step without any exchange.
  std::vector<double> without_exchange;
  bool servers_heard = true;    ///< ranks ended with the servers' answers, bit for bit
  bool identical_ranks = true;  ///< all ranks ended every checked step with the same bits
};

/// Adds the ranks' accounts of a step.
/// @param accounts  `accounted` by worker, then by parameter server
void add_accounts(const std::vector<nlohmann::json>& accounts, StepAnswers& step);

/// Adds one checked step: the worst error, whether ranks ended alike, and the kind of reference.
/// @param accounts  `accounted` by worker, then by parameter server
/// @param compared  `compared` by worker, then by parameter server
void add_comparison(std::vector<nlohmann::json> accounts, std::vector<nlohmann::json> compared,
                    int workers, PointSamples& samples);

/// Bounds on the bytes that all ranks' messages take on the wire.
struct WireBounds {
  double least = 0;  ///< every frame full
  double most = 0;   ///< every message in frames of its own, each acknowledged by a frame
};
WireBounds wire_bounds(const PointSamples& samples);

/// Returns the bus bandwidth of one step as nccl-tests defines it, in bit/s of payload: the bytes
/// that each rank must send over its link, divided by the exchange time of the rank that waited
/// least. All-reduce of S bytes: 2(n-1)/n S; all-gather of S bytes in all: (n-1)/n S. With
/// parameter servers: the bytes in one direction of the busiest link, a worker's or a server's.
double bus_bandwidth(const StepAnswers& step, bool overlapped);

/// Returns the `validation` of docs/records.md.
nlohmann::json validation_of(const PointSamples& samples);

/// Returns the metrics of the point. @param dense_bytes  of one rank's uncompressed gradient
Metrics metrics_of(const PointSamples& samples, std::size_t dense_bytes);

/// Adds the timelines of all ranks in the step of median length.
/// @param one_clock  all ranks share a clock; else each rank's times count from its own step's
/// begin
void put_timeline(const PointSamples& samples, bool one_clock, Point& point);

/// Returns the `servers` of docs/records.md: every server's times and bytes, step by step.
nlohmann::json per_server(const PointSamples& samples);

/// Returns the reasons why the bytes that the links counted do not add up.
std::vector<std::string> wire_warnings(const PointSamples& samples);

/// Returns the reason not to trust times if 5 % of timed waits overran by `late` s or more; "" up
/// to `limit`.
std::string late_warning(double late, double limit);

/// Returns the reasons not to trust these figures; empty if there are none.
std::vector<std::string> warnings_about(const PointSamples& samples);

/// Returns the reasons why the point's results are wrong; empty if all checks passed.
std::vector<std::string> errors_of(const PointSamples& samples);

}  // namespace thinpipe
