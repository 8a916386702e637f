// Scans of payloads in which every code depends on all codes before it.
#pragma once

#include <cstdint>

#include "compressors/cuda/encode/device_decodes.h"
#include "compressors/cuda/kernels/scanned_positions.h"
#include "compressors/cuda/kernels/state_scan.h"

namespace thinpipe::cuda {

/// Plans the scan of a payload of `units` units.
inline void plan_scan(std::uint32_t units, DecodePlan& plan) {
  plan[DecodeGrid::kPositions] = units / kScanUnits + 1;
  plan.passed = plan[DecodeGrid::kPositions];
}
template <class Units, class Device>
void read_scanned(Device& device, const DecodeBatch& batch) {
  batch.launch(device, DecodeGrid::kPositions, PassPositions<Units>{});
  batch.launch(device, DecodeGrid::kPositions, ReadPositions<Units>{});
}

/// Plans the scan of a payload whose codes each begin where the previous one ends (state_scan.h).
template <class Stream>
void plan_states(const PayloadView& payload, DecodePlan& plan) {
  plan[DecodeGrid::kPositions] = static_cast<std::uint32_t>(
      std::uint64_t{8} * payload.bytes / (Stream::kBits * Stream::kSegments) + 1);
  plan.passed = StateWorkspace<Stream>::entries(plan[DecodeGrid::kPositions]);
}

}  // namespace thinpipe::cuda
