// Memory roofline of the machine: read, copy and STREAM's triad at full speed.
#pragma once

#include <cstddef>
#include <span>

namespace thinpipe {

class Team;  // timed_roofline.h

/// Numbers of streams that one thread reads at the same time when the read time is measured. One
/// linear stream does not use all of the memory bandwidth. The roofline's read time t_R is the best
/// time over these numbers of streams.
inline constexpr int kStreamCounts[] = {1, 2, 4, 8};

/// Reads every element once and returns the sum. Every thread of the team has its own range of the
/// array. The thread divides this range into `streams` (of kStreamCounts) equal streams and reads
/// them in turn, a few cache lines of each at a time.
double read_streams(std::span<const float> x, int streams, Team& team);

/// to = from. STREAM's copy: reads 4 and writes 4 bytes an element.
void copy_array(std::span<const float> from, std::span<float> to, Team& team);

/// to = a + factor * b. STREAM's triad: reads 8 and writes 4 bytes an element.
void triad(std::span<const float> a, std::span<const float> b, float factor, std::span<float> to,
           Team& team);

}  // namespace thinpipe
