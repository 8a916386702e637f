// Records in the formats of other programs.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace thinpipe {

/// A header and the points after it, up to the next header, as JSON. If several points have one id,
/// the last one counts.
struct LaunchRecords {
  nlohmann::json header;
  std::vector<nlohmann::json> points;
};

/// Reads every launch of a folder's `records.jsonl`, or of the file itself, and checks each record
/// as read_records() does. @throws InputError as read_records()
std::vector<LaunchRecords> read_launches(const std::filesystem::path& folder_or_file);

/// Returns comma-separated values (RFC 4180), one row per sample. The columns are `launch`, `id`,
/// `status`, one for each axis that any point has, `metric`, `unit`, `better`, `kind`, `sample`
/// (the sample's number) and `value`. `value` is empty if it is not finite.
std::string export_csv(const std::vector<LaunchRecords>& launches);

/// Returns JSON in the format of Google Benchmark, which its compare.py reads. Each sample of a
/// metric in seconds has a row, named `metric/id`. The first launch's machine is the context. Other
/// metrics with one value per point are counters in all rows of the point. Points that are not `ok`
/// are named in the context's `left_out`.
std::string export_google_benchmark(const std::vector<LaunchRecords>& launches);

/// Returns Bencher's metric format: for each point id, the median of each metric over all launches,
/// with its 95 % interval as `lower_value` and `upper_value` if there are enough samples. The
/// interval is that of median_of(), with launches as repeats. Leaves out points that are not `ok`.
std::string export_bmf(const std::vector<LaunchRecords>& launches);

/// Returns Chrome's trace events, which the Perfetto UI opens: the recorded step of every point,
/// one point after the other. Each rank of a point is a process, with threads for compute, codec
/// and exchanges (several of a kind where phases overlap). All ranks share a clock. Arrows connect
/// the phases of each bucket, from compression to decoding. @throws InputError when no point has a
/// timeline
std::string export_perfetto(const std::vector<LaunchRecords>& launches);

}  // namespace thinpipe
