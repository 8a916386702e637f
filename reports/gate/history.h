// A metric's values over many record files, and whether its newest value belongs there.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reports/gate/gate.h"
#include "reports/gate/measured.h"
#include "reports/gate/policy.h"

namespace thinpipe {

/// One launch's value: the median of times, the mean of others.
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

/// Where a launch comes from.
struct HistoryLaunch {
  std::string created, revision, processor;  ///< "" where its header does not say
  std::filesystem::path file;
};

struct History {
  std::size_t launches = 0;            ///< of the newest one's kind
  std::vector<HistoryLaunch> origins;  ///< of each of them, 0 the oldest
  std::string kind;
  std::vector<std::string> notes;  ///< files and launches passed over, and why
  std::map<SeriesName, HistorySeries> series;
  std::map<std::string, std::string> not_good;  ///< points of the newest launch that are not `ok`
};

/// Every `*.jsonl` below a folder, by name; of a file, the file itself.
/// @throws InputError when it cannot be read, or has more than 100,000 files and folders.
std::vector<std::filesystem::path> history_files(const std::filesystem::path& folder_or_file);

/// Reads every `*.jsonl` below a folder, each launch an entry, in the order of their `created`.
/// Only launches of the newest one's kind count; times in seconds, also only those of its machine.
/// @throws InputError when there is no such folder, or not one launch in it.
History read_history(const std::filesystem::path& folder);
/// The same of several folders; single files may be among them.
History read_history(const std::vector<std::filesystem::path>& folders);

/// How the newest of some values stands to those before it, since the last step.
struct Standing {
  std::size_t since = 0;  ///< index of the first value after the last accepted step
  double typical = 0;     ///< the median since then, the newest left out
  double change = 0;      ///< newest / typical - 1; the difference where that is 0
  /// |newest - typical| in units of 1.4826 MAD sqrt(1 + 1/n), the scatter to expect of one more
  /// value; infinite where all were equal and this one is not.
  double z = 0;
  double scatter = 0;  ///< that scatter, in the metric's unit
};

/// Values farther than this are no scatter: 3.5, the usual bound for the robust z.
inline constexpr double kOutlyingZ = 3.5;
/// Fewer earlier values say nothing.
inline constexpr std::size_t kFewestBefore = 5;
/// So many values in a row, outlying the same way by the margin or more, are a step that has been
/// accepted: what comes after is held against them.
inline constexpr std::size_t kStepLength = 3;

/// @param margin  a share; changes below it are none
/// Nothing where fewer than kFewestBefore values stand before the newest one since the last step.
std::optional<Standing> standing(const std::vector<double>& values, double margin);

/// Each value as it stood to those before it when it was the newest, and where levels changed.
struct Trend {
  std::vector<std::optional<Standing>> standings;  ///< as many as values
  std::vector<std::size_t> steps;  ///< indices of the first values after accepted steps
};

Trend trend(const std::vector<double>& values, double margin);

/// How far from the typical value one more would not be outlying, in the metric's unit.
double quiet_reach(const Standing& standing, double margin);

/// Farther than scatter goes, and by the margin or more.
bool is_outlying(const Standing& standing, double margin);

/// The newest launch against those before it: times and quality by `standing` (margins:
/// policy.stored_margin, policy.quality_margin), exact values by equality with the launch before.
/// Metrics with too few predecessors are unclear; those of the launch before that the newest lacks
/// are missing.
GateOutcome judge_history(const History& history, const GatePolicy& policy);

/// "▁▂▅█": the last `width` values between their smallest and their largest.
std::string sparkline(const std::vector<double>& values, std::size_t width);

}  // namespace thinpipe
