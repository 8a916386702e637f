// The points of a run, ordered as reports read them: by group, compressor and link rate.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reports/record/record.h"
#include "reports/statistics/statistics.h"

namespace thinpipe {

/// Speed-up over no compression at one measured link rate.
struct SpeedupAtRate {
  double rate = 0;   ///< bit/s
  Estimate speedup;  ///< step time of `none` over the compressor's
};

/// Whether a compressor is faster than the baseline at a rate, by the interval of its speed-up.
enum class Pays {
  kYes,   ///< the interval lies above 1
  kNo,    ///< no part of it lies above 1
  kOpen,  ///< the interval has values on both sides: statistically indistinguishable
};
/// Judges by the interval; by the value where there is no interval.
Pays pays(const Estimate& speedup);

/// The link rate at which a compressor's step takes as long as the baseline's.
struct BreakEven {
  enum class Kind {
    kNothingMeasured,
    kPaysEverywhere,  ///< significantly faster than the baseline at every measured rate
    kPaysNowhere,     ///< at no measured rate faster
    kOpen,            ///< indistinguishable at some rates, and without a crossing that counts
    kPaysBelow,       ///< faster below `rate`
    kPaysAbove,       ///< faster above `rate`
  };
  Kind kind = Kind::kNothingMeasured;
  double rate = 0;                  ///< bit/s; for kPaysBelow and kPaysAbove
  std::optional<double> low, high;  ///< the interval around `rate`; an open end is nullopt
  int crossings = 0;                ///< of the curve with 1
};

/// Interpolates the break-even rate. Between two adjacent measured rates, ln(speed-up) is taken as
/// linear in ln(rate). The break-even rate is the rate at which this line is 0. If the curve
/// crosses from faster to slower several times, the crossing at the highest rate counts, if the
/// compressor is significantly faster at some rate below it. Otherwise the highest crossing from
/// slower to faster counts, if the compressor is significantly faster at some rate above it. If
/// neither counts, the result is kOpen. Nothing is extrapolated beyond the measured rates. `low`
/// and `high` are crossings of the curves through the lower and through the upper ends of the
/// intervals. Each is set only if its curve crosses on that side of `rate`. `points` ascend in
/// rate; a speed-up of exactly 1 is not faster.
BreakEven break_even(std::span<const SpeedupAtRate> points);

/// One compressor at one link rate, over its repeats. Only `ok` repeats count. Where there are
/// none, the `invalid` ones are shown as such, and no conclusion rests on them.
struct Cell {
  double rate = 0;
  Status status = Status::kFailed;
  std::vector<const Point*> used;    ///< the repeats behind the figures; none when all failed
  const Point* first = nullptr;      ///< the first repeat, whatever its status
  std::vector<std::string> reasons;  ///< of the repeats that are not ok, each once
  int ok = 0, invalid = 0, failed = 0;
  std::size_t steps = 0;  ///< finite step times behind the median
  std::optional<Estimate> step_time;
  BootstrappedMedian bootstrapped;  ///< of the step times
  /// `speedup` is the speed-up over the group's fastest baseline at this rate, whose label is
  /// `over` ("bf16"). The other two are the speed-ups over the fastest baseline of each kind. A
  /// speed-up is set only if both cells are ok.
  std::optional<Estimate> speedup, over_bf16, over_fp32;
  std::string over;
  /// Largest relative distance of a repeat's median from the median of all; of two or more repeats.
  std::optional<double> repeat_spread;

  /// Returns all finite samples of a metric over the used repeats, one inner vector a repeat.
  Repeats repeats(const MetricType& metric) const;
  std::optional<double> median_of_metric(const MetricType& metric) const;
  std::optional<double> mean_of_metric(const MetricType& metric) const;
  /// Returns the mean of a fidelity figure over the used repeats.
  std::optional<double> fidelity(std::optional<double> Fidelity::*figure) const;
  /// Returns the mean of a predicted metric over the used repeats.
  std::optional<double> prediction(const MetricType& metric) const;
};

/// One compressor (with one collective, bucketing and device) over all rates of its group.
struct Series {
  std::string compressor, method, collective, bucketing, device;
  std::optional<Baseline> baseline;
  std::string label = {};
  std::size_t style = 0;  ///< index of colour and marker; the same in every group; 0 is `none`
  std::vector<Cell> cells = {};  ///< ascending in rate
  /// From the ok cells of a compressor: over the faster baseline, and over `none` alone.
  BreakEven break_even = {}, break_even_fp32 = {};
  bool is_baseline() const { return baseline.has_value(); }
  bool is_overlapped() const {
    return bucketing.find("overlap=bucket") != std::string::npos ||
           bucketing.find("fragment_delay=") != std::string::npos;
  }
  const Cell* at(double rate) const;
};

/// Comparable series: equal ranks, engine, topology and stragglers; links differ in their rate
/// only.
struct Group {
  int ranks = 1;
  std::string link;            ///< the link spec without its rate; "" where it has only a rate
  std::string title;           ///< "4 ranks, racks, delay=10ms"
  std::string setting;         ///< the title without the ranks; may be ""
  std::vector<double> rates;   ///< ascending
  std::vector<Series> series;  ///< `none` first, then `bf16`, then by label
  /// Returns the fastest baseline that is ok at this rate, of `kind` if given; null without any.
  const Series* baseline(double rate, std::optional<Baseline> kind = {}) const;
  bool has_baseline(Baseline kind) const;
  /// Returns "none", "bf16" or "the faster of bf16 and none", by what was measured at any rate.
  std::string baseline_name() const;
};

/// Points into `records`, which must outlive it.
struct Summary {
  const Records* records = nullptr;
  std::vector<Group> groups;  ///< ascending in ranks
};

/// Groups the points. @throws InputError where points of one group have different time scales.
Summary summarize(const Records& records);

}  // namespace thinpipe
