// Records in the formats of other programs.
#pragma once

#include <string>
#include <vector>

#include "reports/record/launches.h"

namespace thinpipe {

/// Comma-separated values (RFC 4180), a row a sample: `launch`, `id`, `status`, a column for each
/// axis that any point has, `metric`, `unit`, `better`, `kind`, `sample` (its number) and `value`,
/// empty where it was not finite.
std::string export_csv(const std::vector<LaunchRecords>& launches);

/// Google Benchmark's JSON, which its compare.py reads: a row a sample of each time in seconds,
/// named `metric/id`; the first launch's machine as context. Metrics with one value a point are
/// counters of its rows. Points that are not `ok` are only named, in the context's `left_out`.
std::string export_google_benchmark(const std::vector<LaunchRecords>& launches);

/// Bencher's metric format: for each point's id each metric's median, with its 95 % interval as
/// `lower_value` and `upper_value` where the samples allow one. Only points that are `ok`.
std::string export_bmf(const std::vector<LaunchRecords>& launches);

/// Chrome's trace events, which the Perfetto UI opens: the recorded step of every point, a process
/// a point and rank, threads for what it computes, its codec and what it exchanges (more of a kind
/// where such phases overlap), all ranks on one clock, arrows along each bucket; points one after
/// the other. @throws InputError when no point has a timeline.
std::string export_perfetto(const std::vector<LaunchRecords>& launches);

}  // namespace thinpipe
