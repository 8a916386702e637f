// Output of one command, and which of its figures a table's column shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "reports/gradients/records.h"
#include "reports/record/record.h"
#include "reports/reproduction/judge.h"

namespace thinpipe {

/// Output of one command of a reproduction.
struct ArmRecords {
  std::string label;
  std::string command = {};  ///< to be run again, by a shell in the folder of all records
  Records records = {};      ///< of run, train, bench and quality; else empty
  std::optional<StatsRecords> stats = {};  ///< of trace stats
  Document printed = {};                   ///< of commands that print JSON for programs
  std::string failure = {};                ///< why there is nothing, or not everything; "" for none
};

/// A column of the table that stands beside the paper's.
struct ReproductionColumn {
  std::string name;                         ///< heading
  std::string (*format)(double) = nullptr;  ///< a figure as people read it
  /// Measures a compressor (as the records spell it; "" for all there are) in the records.
  std::function<MeasuredCell(const ArmRecords&, const std::string& compressor)> measure;
  std::string arm = {};  ///< label of the command whose records are read, if not the row's
};

std::string format_percentage(double value);  ///< "91.25 %" of 91.25
std::string format_times(double value);       ///< "12.3x" of 12.34
std::string format_plain(double value);       ///< three significant digits

namespace columns {

// Trainings, a value a seed. Points with doubtful times count for quality and bytes: these are
// checked step by step, and a point where they do not hold has failed.
ReproductionColumn accuracy();       ///< held-out, in percent, at the end
ReproductionColumn perplexity();     ///< held-out, at the end
ReproductionColumn bytes();          ///< of a worker and step, as encoded; pulled ones included
ReproductionColumn times_smaller();  ///< bytes without compression over bytes()
/// The same where a worker pushes to a server and pulls from it, which without compression is
/// twice the gradient.
ReproductionColumn server_times_smaller();
ReproductionColumn server_bits();       ///< likewise: bits an element and way
ReproductionColumn training_seconds();  ///< emulated, of all steps; of trusted points
ReproductionColumn target_seconds();    ///< emulated, to the target; of trusted points
/// How many times sooner than `none` with the same seed it was at the target; 0 where it never was.
ReproductionColumn sooner_at_target();
/// Bits an element in the steps from the share `begin` of all to `end`: pushed to a server, or
/// pulled from it.
ReproductionColumn bits_during(bool pulled, double begin, double end);

// Replays (`run`), a value a repeat: medians over its steps; of trusted points.
ReproductionColumn speed_up(double rate);           ///< over `none` in the same repeat; rate: bit/s
ReproductionColumn exchange_speed_up(double rate);  ///< the same of the exchange alone

// `bench`, a value a repetition.
ReproductionColumn encode_time();
/// How many times sooner than the method of that name at the same ratio.
ReproductionColumn encode_speed_up(const std::string& over);

// `trace stats`, of the whole model without error feedback, a value a step.
ReproductionColumn fit_distance(std::size_t fit);  ///< Kolmogorov-Smirnov; index of kFitNames
ReproductionColumn decay_exponent();               ///< SIDCo's definition 1: p
ReproductionColumn best_k_error(double ratio);     ///< of the share `ratio` of the elements

// `quality`, a value a worker.
ReproductionColumn estimation_quality();  ///< k-hat over k, mean over steps
/// By what factor k-hat was off k, up or down: exp of the mean of |ln(k-hat / k)| over steps.
ReproductionColumn estimation_error();
ReproductionColumn kept_bits_per_element();
/// Bytes without compression over payload bytes, steps that send nothing included.
ReproductionColumn kept_times_smaller();

/// `predict --json`: how many times as much as one rank alone `ranks` of them do on links of
/// `rate`.
ReproductionColumn predicted_scaling(double rate, int ranks);

// Points of a command's records, and what of them counts.

/// Those of the compressor; of all where it is "".
std::vector<const Point*> points_of(const ArmRecords& arm, const std::string& compressor);

/// The only sample, or the mean of all; nothing without any.
std::optional<double> mean_sample(const Point& point, const MetricType& metric);

/// Bits an element that a worker pushed, or pulled, in each step of a training with a server. Empty
/// where the records do not say.
std::vector<double> bits_by_step(const Point& point, bool pulled);

using PointKey = std::uint64_t (*)(const Point&);
inline std::uint64_t seed_of(const Point& point) { return point.axes.seed; }
inline std::uint64_t repeat_of(const Point& point) {
  return static_cast<std::uint64_t>(point.axes.repeat);
}

using PointValue = std::function<std::optional<double>(const Point&)>;

/// A value a point; failed ones are complained about, and ones without the value passed over.
MeasuredCell values_of(const std::vector<const Point*>& points, PointKey key,
                       const PointValue& value);

/// The same of times: points that are not `ok` do not count, and are complained about.
MeasuredCell times_of(const std::vector<const Point*>& points, PointKey key,
                      const PointValue& value);

}  // namespace columns

}  // namespace thinpipe
