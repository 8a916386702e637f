// A metric's values over many record files, and whether the newest value is outlying.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reports/gate/gate.h"
#include "reports/gate/measured.h"

namespace thinpipe {

/// One launch's value: the median of times, the mean of other metrics.
struct HistoryEntry {
  std::size_t launch = 0;  ///< of History::launches, 0 the oldest
  std::string created;     ///< ISO 8601, UTC
  std::filesystem::path file;
  double value = 0;
};

/// A metric of a point, oldest launch first.
struct HistorySeries {
  std::string unit, better, kind;
  std::vector<HistoryEntry> entries;
};

/// The origin of a launch.
struct HistoryLaunch {
  std::string created, revision, processor;  ///< "" where the header lacks it
  std::filesystem::path file;
  /// Number of the newest launch with the same subject: subject_differences() finds none.
  std::size_t subject = 0;
};

struct History {
  std::size_t launches = 0;            ///< of the newest one's kind
  std::vector<HistoryLaunch> origins;  ///< by launch, 0 the oldest
  std::string kind;
  std::vector<std::string> notes;  ///< skipped files and launches, with reasons
  std::map<SeriesName, HistorySeries> series;
  std::map<std::string, std::string> not_good;  ///< points of the newest launch that are not `ok`
};

/// Returns every `*.jsonl` file below a folder, sorted by name. If the path is a file, returns this
/// file.
/// @throws InputError when the folder cannot be read, or has more than 100,000 files and folders.
std::vector<std::filesystem::path> history_files(const std::filesystem::path& folder_or_file);

/// Reads every `*.jsonl` file in a folder and its subfolders. Returns one entry for each launch,
/// ordered by `created`; launches that continue one another (`--resume`, `merge`) are one. Leaves
/// out launches whose kind (`run`, `bench`, ...) differs from the newest launch's. From launches on
/// other machines than the newest launch's, leaves out times in seconds. Leaves out of a series the
/// launches with another subject, such as another trace, than the series' newest launch.
/// @throws InputError when the folder does not exist or has no launch
History read_history(const std::filesystem::path& folder);
/// Reads several folders, or single files.
History read_history(const std::vector<std::filesystem::path>& folders);

/// The newest value compared with the values before it, since the last step.
struct Standing {
  std::size_t since = 0;  ///< index of the first value after the last accepted step
  double typical = 0;     ///< the median since then, without the newest
  double change = 0;      ///< newest / typical - 1; the difference where `typical` is 0
  /// |newest - typical| divided by 1.4826 MAD sqrt(1 + 1/n), the expected scatter of one more value
  /// (MAD: median absolute deviation of the n earlier values). Infinite if all earlier values are
  /// equal and the newest differs.
  double z = 0;
  double scatter = 0;  ///< the expected scatter, in the metric's unit
};

/// A value with a larger z is outlying: 3.5, the usual bound for the robust z.
inline constexpr double kOutlyingZ = 3.5;
/// The minimum of earlier values for a judgement.
inline constexpr std::size_t kMinBefore = 5;
/// The number of consecutive outlying values that make a step. All must lie on the same side, by
/// the margin or more. A step is accepted as the new normal: later values are compared with the
/// values since the step.
inline constexpr std::size_t kStepLength = 3;

/// Compares the newest value with the earlier values since the last step. Returns nothing if there
/// are fewer than kMinBefore such values.
/// @param margin  a fraction; smaller changes are ignored
std::optional<Standing> standing(const std::vector<double>& values, double margin);

/// Each value compared with those before it, and the accepted steps.
struct Trend {
  std::vector<std::optional<Standing>> standings;  ///< as many as values
  std::vector<std::size_t> steps;  ///< indices of the first values after accepted steps
};

Trend trend(const std::vector<double>& values, double margin);

/// Returns the distance from the typical value within which a value is not outlying, in the
/// metric's unit.
double quiet_reach(const Standing& standing, double margin);

/// Returns whether the value lies beyond the scatter, and by the margin or more.
bool is_outlying(const Standing& standing, double margin);

/// Compares the newest launch with the earlier launches. Times and quality metrics are judged by
/// standing(), with the margins policy.stored_margin and policy.quality_margin. Exact values must
/// equal those of the previous launch. A metric with too few earlier values is unclear. A metric
/// that the previous launch with the same subject has and the newest lacks is missing.
GateOutcome judge_history(const History& history, const GatePolicy& policy);

/// Returns "▁▂▅█": the last `width` values between their minimum and maximum.
std::string sparkline(const std::vector<double>& values, std::size_t width);

}  // namespace thinpipe
