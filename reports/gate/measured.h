// A records file for the gate: every metric of every point, by launch.
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

/// Returns "encode_time of topk/...".
inline std::string series_title(const SeriesName& name) {
  return name.second + " of " + name.first;
}

/// The measurements of one metric of one point.
struct MetricSeries {
  std::string unit, better, kind;             ///< as in Metric
  std::vector<std::vector<double>> launches;  ///< finite samples of each launch with the metric

  /// Returns the median of each launch's samples; launches without samples are left out.
  std::vector<double> medians() const;
};

/// One side of a comparison.
struct Measured {
  std::filesystem::path file;
  std::string kind;  ///< of the headers: kRunKind and its like
  std::size_t launches = 0;
  bool in_turns = false;  ///< value i of a launch and value i of the other side are of one moment
  Header header;          ///< of the last launch
  std::vector<std::string> machines;              ///< machine_differences() between its launches
  std::vector<std::string> subjects;              ///< subject_differences() between its launches
  std::map<SeriesName, MetricSeries> series;      ///< of points that are `ok`
  std::map<std::string, std::string> not_good;    ///< ids of other points, with reasons
  std::map<std::string, std::string> normal_ids;  ///< Point::normal_id by id, where it is known
};

/// Returns the settings that all points of a launch have in common: `settings`, with the defaults
/// that headers leave out, and `seed`, `threads` and `simd`.
nlohmann::json common_settings(const Header& header);

/// Returns the differences between the subjects of two launches of one kind, each as `steps: 8
/// against 16`. Compares the traces and common_settings(), except the instruction set, which is the
/// machine's, and the threads of `bench`, which are in its points' ids. Ignores a setting that only
/// one side has, as with an older record.
std::vector<std::string> subject_differences(const Header& one, const Header& other);

/// Returns machine_differences() of the fingerprints, and the instruction set if it differs; points
/// of `bench` have their own.
std::vector<std::string> machine_differences(const Header& one, const Header& other);

/// A launch of a records file, with the last record of each point. Points have one name in all
/// launches of the file (PointNames).
struct TypedLaunch {
  Header header;
  std::filesystem::path file;
  std::map<std::string, Point> points = {};
};

/// Reads the launches of a records file. A folder's path is replaced by that of the file in it.
/// @throws InputError as read_records()
std::vector<TypedLaunch> typed_launches(std::filesystem::path& folder_or_file);

/// Reads `records.jsonl` of a folder, or the file itself. @throws InputError as read_records().
Measured read_measured(const std::filesystem::path& folder_or_file);

/// Returns `measured`, in which points have the ids that they have in `other`. The ids differ where
/// specs of equal meaning are written in different ways (PointNames).
Measured with_ids_of(const Measured& other, Measured measured);

/// Appends the launches of `more`. @throws InputError when they are of another kind
void append_launches(Measured& measured, const Measured& more);

}  // namespace thinpipe
