// Records brought into the order in which they are read: groups, compressors, link rates.
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

/// Whether compression pays at a rate, as far as its interval tells.
enum class Pays {
  kYes,   ///< the interval lies above 1
  kNo,    ///< not above 1
  kOpen,  ///< it holds both: cannot be told
};
/// An estimate without an interval tells by its value.
Pays pays(const Estimate& speedup);

/// The link rate at which a compressor's step takes as long as the uncompressed one.
struct BreakEven {
  enum class Kind {
    kNothingMeasured,
    kPaysEverywhere,  ///< faster than `none` at every measured rate, and surely so
    kPaysNowhere,     ///< likewise not faster
    kOpen,            ///< at some rates it cannot be told, and nowhere does it turn about
    kPaysBelow,       ///< pays up to `rate`
    kPaysAbove,       ///< pays only from `rate` on
  };
  Kind kind = Kind::kNothingMeasured;
  double rate = 0;            ///< bit/s; for kPaysBelow and kPaysAbove
  std::optional<double> low;  ///< where the lower ends of the intervals cross 1
  std::optional<double> high;
  int crossings = 0;  ///< more than 1: the curve crosses 1 several times; `rate` is the highest
};

/// The rule: between two neighbouring measured rates ln(speed-up) is taken as linear in ln(rate),
/// and the break-even rate is where that line is 0. The crossing from paying to not paying at the
/// highest rate counts. Nothing is extrapolated beyond the measured rates.
/// `low` and `high` are the same crossing of the curves of the intervals' lower and upper ends,
/// where those cross. Where no interval lies on one side of 1, nothing is said to cross: kOpen.
/// `points` ascend in rate; a speed-up of exactly 1 does not pay.
BreakEven break_even(std::span<const SpeedupAtRate> points);

/// One compressor at one link rate: its repeats taken together. Only `ok` repeats count; where
/// there are none, the `invalid` ones are shown as such and nothing is concluded from them.
struct Cell {
  double rate = 0;
  Status status = Status::kFailed;
  std::vector<const Point*> used;    ///< the repeats behind the figures; none when all failed
  const Point* first = nullptr;      ///< of its repeats, whatever their status
  std::vector<std::string> reasons;  ///< of those that are not ok, each once
  int ok = 0, invalid = 0, failed = 0;
  std::size_t steps = 0;  ///< finite step times behind the median
  std::optional<Estimate> step_time;
  BootstrappedMedian bootstrapped;  ///< of the step times
  /// Over the fastest baseline of the group at this rate, which `over` names ("bf16"), and over the
  /// fastest of either kind; only between ok cells.
  std::optional<Estimate> speedup, over_bf16, over_fp32;
  std::string over;
  /// Largest relative distance of a repeat's median from the median of all; with two repeats or
  /// more.
  std::optional<double> repeat_spread;

  /// All finite samples of a metric over the used repeats; one inner vector a repeat.
  Repeats repeats(const MetricType& metric) const;
  std::optional<double> median_of_metric(const MetricType& metric) const;
  std::optional<double> mean_of_metric(const MetricType& metric) const;
  /// Mean over the used repeats of a figure of their fidelity.
  std::optional<double> fidelity(std::optional<double> Fidelity::*figure) const;
  /// The same in `prediction`.
  std::optional<double> prediction(const MetricType& metric) const;
};

/// One compressor (with one exchange pattern, feed and device) over all rates of its group.
struct Series {
  std::string compressor, method, pattern, feed, device, label;
  std::optional<Baseline> baseline;
  std::size_t style = 0;    ///< index of colour and marker; the same in every group; 0 is `none`
  std::vector<Cell> cells;  ///< ascending in rate
  /// For compressors, from the ok cells: over the faster baseline, and over `none` alone.
  BreakEven break_even, break_even_fp32;
  bool is_baseline() const { return baseline.has_value(); }
  bool is_overlapped() const { return feed.find("overlap=bucket") != std::string::npos; }
  const Cell* at(double rate) const;
};

/// Comparable series: the same number of ranks, topology and stragglers, links that differ in their
/// rate only.
struct Group {
  int ranks = 1;
  std::string link;            ///< the link spec without its rate; "" when the rate is all there is
  std::string title;           ///< "4 ranks, racks, delay=10ms"
  std::string setting;         ///< the title without the ranks; "" where they are all there is
  std::vector<double> rates;   ///< ascending
  std::vector<Series> series;  ///< `none` first, then `bf16`, then by label
  /// The fastest baseline that is ok at this rate, of that kind if one is given; null without any.
  const Series* baseline(double rate, std::optional<Baseline> kind = {}) const;
  bool has_baseline(Baseline kind) const;
  /// "none", "bf16" or "the faster of bf16 and none": by what was measured at any rate.
  std::string baseline_name() const;
};

/// Points into `records`, which must outlive it.
struct Summary {
  const Records* records = nullptr;
  std::vector<Group> groups;  ///< ascending in ranks
};

/// @throws InputError where points that are to be compared have different time scales.
Summary summarize(const Records& records);

}  // namespace thinpipe
