// Records in the formats of other programs.
#pragma once

#include <string>
#include <vector>

#include "reports/record/launches.h"

namespace thinpipe {

/// Returns comma-separated values (RFC 4180), one row per sample: `launch`, `id`, `status`, a
/// column for each axis of any point, `metric`, `unit`, `better`, `kind`, `sample` (its number) and
/// `value`, empty where it is not finite.
std::string export_csv(const std::vector<LaunchRecords>& launches);

/// Returns Google Benchmark's JSON, which its compare.py reads: one row per sample of each time in
/// seconds, named `metric/id`; the first launch's machine is the context. Metrics with one value
/// per point are counters of its rows. Points that are not `ok` are named in the context's
/// `left_out`.
std::string export_google_benchmark(const std::vector<LaunchRecords>& launches);

/// Returns Bencher's metric format: the median of each metric by point id, with its 95 % interval
/// as `lower_value` and `upper_value` where the samples allow one. Only points that are `ok`.
std::string export_bmf(const std::vector<LaunchRecords>& launches);

/// Returns Chrome's trace events, which the Perfetto UI opens: the recorded step of every point,
/// one point after the other. Each rank of a point is a process, with threads for compute, codec
/// and exchanges (several of a kind where phases overlap). All ranks share a clock, and arrows
/// follow each bucket. @throws InputError when no point has a timeline
std::string export_perfetto(const std::vector<LaunchRecords>& launches);

}  // namespace thinpipe
