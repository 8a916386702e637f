// Answers of the ranks in the steps of one point and counters of the links meanwhile: their
// metrics, and reasons not to trust them.
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
  WireCount wire;                  ///< in them
  std::optional<double> idle_cpu;  ///< share of the processors' time nobody used; if long enough
  std::optional<double> goodput_ratio;  ///< calibration of the link: goodput / TCP ceiling; if any
  std::string goodput_of = "the link";  ///< which it is of: "rack0-spine up"
  /// Distance of sums in 16 bits from the mean of what was sent, relative to its greatest element;
  /// and the greatest fraction of what rounding allows an element.
  std::optional<double> sum_error;
  double sum_error_of_bound = 0;
  double worst_error = 0;  ///< of the checked aggregates, relative to their largest element
  std::uint64_t checked_steps = 0;
  /// Reference of the aggregates in these: "elements" of every rank's contribution, their
  /// "projections", or "none", where ranks only told whether they ended alike.
  std::string reference = "elements";
  std::uint32_t frame_bytes = 1514;    ///< of a full frame, as qdiscs count it
  std::uint32_t payload_bytes = 1448;  ///< of TCP, in it
  bool lossless = true;   ///< the link itself neither drops, doubles nor reorders frames
  double time_scale = 1;  ///< of times that scale_step() rewrote
  /// Steps from one exchange to the next: a metric's sample is the mean over so many.
  std::size_t period = 1;
  bool overlapped = false;  ///< buckets left while compute went on
  bool on_device = false;   ///< gradients lay in a GPU's memory
  /// Steps of hooks that do nothing: s of the slowest rank.
  std::vector<double> without_exchange;
  bool servers_heard = true;    ///< what ranks ended with is what servers had answered, to the bit
  bool identical_ranks = true;  ///< all ranks ended every checked step with the same bits
};

/// The bytes that what the ranks sent may take on the wire.
struct WireBounds {
  double least = 0;  ///< every frame full
  double most = 0;   ///< every message in frames of its own, each acknowledged by a frame
};
WireBounds wire_bounds(const PointSamples& samples);

/// Bus bandwidth of one step as nccl-tests defines it, in bit/s of payload: what each rank must
/// send over its link, over the time the exchange took on the rank that waited least in it.
/// All-reduce of S bytes: 2(n-1)/n S; all-gather of S bytes in all: (n-1)/n S. With parameter
/// servers, what the busiest link must carry one way, be it a worker's or a server's.
double bus_bandwidth(const StepAnswers& step, bool overlapped);

/// The `validation` of docs/records.md.
nlohmann::json validation_of(const PointSamples& samples);

/// The metrics of the point.
Metrics metrics_of(const PointSamples& samples, std::size_t dense_bytes);

/// Adds the timelines of all ranks in the step of median length.
/// @param one_clock  of all ranks; else each rank's times count from its own step's begin
void put_timeline(const PointSamples& samples, bool one_clock, Point& point);

/// The `servers` of docs/records.md: every server's times and bytes, step by step.
nlohmann::json per_server(const PointSamples& samples);

/// Why the bytes that the links counted do not add up.
std::vector<std::string> wire_doubts(const PointSamples& samples);

/// Why these figures should not be trusted; empty when nothing speaks against them.
std::vector<std::string> doubts_about(const PointSamples& samples);

/// Why they are wrong; empty when all checks passed.
std::vector<std::string> faults_of(const PointSamples& samples);

}  // namespace thinpipe
