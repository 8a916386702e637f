// What a bench found on a device, for people.
#pragma once

#include <string>

#include "harness/bench/bench.h"
#include "harness/bench/table.h"

namespace thinpipe {

/// A line: what the GPU is, and what it ran at.
std::string device_heading(const BenchDevice& device);

/// One group: heading, roofline, rows by encode time, the fastest that compresses marked. Times of
/// a call, not of an element: small tensors take as long as their launches.
std::string device_table(BenchGroup group);

}  // namespace thinpipe
