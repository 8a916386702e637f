// A bench's points as docs/records.md lays them down.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "harness/bench/bench.h"

namespace thinpipe {

/// The header's `device`.
nlohmann::json device_json(const BenchDevice& device);

/// A record for each row, with every repetition's time, and one of status `failed` for each point
/// that was not measured or did not validate.
std::vector<nlohmann::json> bench_points(const BenchOptions& options, const BenchResult& result);

}  // namespace thinpipe
