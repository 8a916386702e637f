// A records file as a gate reads it: every metric of every point, launch by launch.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "reports/record/record.h"

namespace thinpipe {

/// A metric of a point, by the point's id and the metric's name.
using SeriesName = std::pair<std::string, std::string>;

/// All that was measured of it.
struct MetricSeries {
  std::string unit, better, kind;             ///< as in Metric
  std::vector<std::vector<double>> launches;  ///< samples of each launch that has it, finite ones

  /// One value a launch, the median of its samples; without launches that have none.
  std::vector<double> medians() const;
};

struct Measured {
  std::filesystem::path file;
  std::string kind;  ///< of the headers: kRunKind and its like
  std::size_t launches = 0;
  bool in_turns = false;  ///< value i of a launch and of the other side's are of one moment
  Document fingerprint;   ///< of the last launch
  std::vector<std::string> mixed;               ///< machine_differences() between its launches
  std::map<SeriesName, MetricSeries> series;    ///< of points that are `ok`
  std::map<std::string, std::string> not_good;  ///< id of a point that is not, and why
};

/// Reads `records.jsonl` of a folder, or the file itself. @throws InputError as read_records().
Measured read_measured(const std::filesystem::path& folder_or_file);

/// Adds the launches of `more`, later ones. @throws InputError when it is of another kind.
void append_launches(Measured& measured, const Measured& more);

}  // namespace thinpipe
