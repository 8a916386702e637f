// The output of one command, and the figures of it that a table's column shows.
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

/// The output of one command of a reproduction.
struct ArmRecords {
  std::string label;
  std::string command = {};                ///< for a shell in the folder of all records
  Records records = {};                    ///< of run, train, bench and quality; else empty
  std::optional<StatsRecords> stats = {};  ///< of trace stats
  Document printed = {};                   ///< of commands that print JSON for programs
  std::string failure = {};                ///< why output is missing or incomplete; "" for none
};

/// A column of the table of reproduced figures.
struct ReproductionColumn {
  std::string name;                         ///< heading
  std::string (*format)(double) = nullptr;  ///< formats a figure
  /// Reads the figures of a compressor (as the records spell it; "" for all) from the records.
  std::function<MeasuredCell(const ArmRecords&, const std::string& compressor)> measure;
  std::string arm = {};      ///< label of the command whose records are read; "" for the row's
  bool of_learning = false;  ///< says nothing where the baseline did not learn
};

/// A training without compression (the baseline) counts as having learnt if its error rate or
/// perplexity is at most this fraction of that of chance. Chance is `training.chance` of the
/// records.
constexpr double kLearntBelow = 0.75;

/// Returns the reason if an arm's accuracy or perplexity means nothing, because the baseline `none`
/// (no compression) is hardly better than chance on average. The baseline is the arm's own. If the
/// arm has none, it is that of other arms with the same model, data and number of steps. Returns ""
/// if the baseline learnt, and for records without `none` or without `chance`.
std::string not_learnt(const ArmRecords& arm, const std::vector<ArmRecords>& all);

std::string format_percentage(double value);  ///< "91.25 %" of 91.25
std::string format_times(double value);       ///< "12.3x" of 12.34
std::string format_plain(double value);       ///< three significant digits

namespace columns {

// Columns of trainings, with one value per seed. Points with untrusted times still count for
// quality and bytes. Every step checks quality and bytes, and a point fails if they are wrong. A
// training that diverged has the accuracy or perplexity of chance, and misses every target.
ReproductionColumn accuracy();       ///< held-out, in percent, at the end
ReproductionColumn perplexity();     ///< held-out, at the end
ReproductionColumn bytes();          ///< encoded bytes of a worker and step, pulls included
ReproductionColumn times_smaller();  ///< bytes without compression over bytes()
/// The same ratio for a worker that pushes to a parameter server and pulls from it. Without
/// compression such a worker transfers twice the gradient.
ReproductionColumn server_times_smaller();
ReproductionColumn server_bits();       ///< likewise: bits per element and direction
ReproductionColumn training_seconds();  ///< emulated, of all steps; of trusted points
ReproductionColumn target_seconds();    ///< emulated, to the target; of trusted points
/// Time of `none` to reach the target divided by the compressor's time, for each seed with which
/// `none` reached it; 0 if the compressor missed the target.
ReproductionColumn sooner_at_target();
/// Bits per element that are pushed to a server, or pulled from it, in the steps from the fraction
/// `begin` of all steps to `end`.
ReproductionColumn bits_during(bool pulled, double begin, double end);

// Replays (`run`), one value per repeat: medians over its steps; of trusted points.
ReproductionColumn speed_up(double rate);           ///< over `none` in the same repeat; rate: bit/s
ReproductionColumn exchange_speed_up(double rate);  ///< the same of the exchange alone

// `bench`, one value per repetition.
ReproductionColumn encode_time();
/// Encode time of the method `over` at the same ratio over the compressor's.
ReproductionColumn encode_speed_up(const std::string& over);

// `trace stats`, of the whole model without error feedback, one value per step.
ReproductionColumn fit_distance(std::size_t fit);  ///< Kolmogorov-Smirnov; index of kFitNames
ReproductionColumn decay_exponent();               ///< SIDCo's definition 1: p
ReproductionColumn best_k_error(double ratio);     ///< for the fraction `ratio` of the elements

// `quality`, one value per worker; the first two also of trainings, one value per seed.
ReproductionColumn estimation_quality();  ///< k-hat over k, mean over steps
/// The factor between k-hat and k in either direction: exp of the mean of |ln(k-hat / k)| over
/// steps.
ReproductionColumn estimation_error();
ReproductionColumn kept_bits_per_element();
/// Bytes without compression over payload bytes, including steps that send nothing.
ReproductionColumn kept_times_smaller();

/// `predict --json`: the speed-up of `ranks` ranks over one rank, on links of `rate`.
ReproductionColumn predicted_scaling(double rate, int ranks);
/// `predict --json`: the speed-up over `none` on as many ranks, on links of `rate`.
ReproductionColumn predicted_speed_up(double rate, int ranks);

/// Cells of `predict --json`: a compressor on a network (ranks, rate, delay), with the collective
/// that has the shortest step.
struct PayingCells {
  std::string over = "both";  ///< baseline: none, bf16, or the faster of both
  bool memory_bound = false;  ///< codecs bound by the memory bandwidth of the trace's GPU
  double rate = 0;            ///< bit/s; 0: of all rates
};
/// One value for each cell: 100 if compression pays, else 0, so that the mean is a percentage.
/// Compression pays if the step is at least kPays times as fast as that of the baseline, which has
/// the collective with its shortest step, too.
ReproductionColumn paying_cells(const PayingCells& cells);
inline constexpr double kPays = 1.05;  ///< the models are not accurate enough for less

// The points of a command's records, and the values that count.

/// Returns the points of the compressor; all points for "".
std::vector<const Point*> points_of(const ArmRecords& arm, const std::string& compressor);

/// Returns the accuracy or perplexity of a model that knows only frequencies; nothing in records
/// that lack it.
std::optional<double> chance_of(const ArmRecords& arm);

/// Returns the mean of all samples; nothing without any.
std::optional<double> mean_sample(const Point& point, const MetricType& metric);

/// Returns the bits per element that a worker pushed, or pulled, in each step of a training with a
/// server. Empty where the records lack them.
std::vector<double> bits_by_step(const Point& point, bool pulled);

using PointKey = std::uint64_t (*)(const Point&);
inline std::uint64_t seed_of(const Point& point) { return point.axes.seed; }
inline std::uint64_t repeat_of(const Point& point) {
  return static_cast<std::uint64_t>(point.axes.repeat);
}

using PointValue = std::function<std::optional<double>(const Point&)>;

/// Returns one value per point. Failed points become complaints, and only diverged ones among them
/// may have a value; points without the value are ignored. If the values are times, all points that
/// are not `ok` become complaints.
MeasuredCell values_of(const std::vector<const Point*>& points, PointKey key,
                       const PointValue& value, bool are_times = false);
MeasuredCell times_of(const std::vector<const Point*>& points, PointKey key,
                      const PointValue& value);

}  // namespace columns

}  // namespace thinpipe
