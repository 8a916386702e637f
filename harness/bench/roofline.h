// Memory roofline of the machine: reading, copying and STREAM's triad, as fast as they go.
#pragma once

#include <cstddef>
#include <span>

namespace thinpipe {

class Team;  // timed_roofline.h

/// Streams in which one thread reads at a time. One linear stream does not use all of the memory's
/// bandwidth; t_R is the best of these.
inline constexpr int kStreamCounts[] = {1, 2, 4, 8};

/// The sum of all elements, each read once: `streams` (of kStreamCounts) equal stretches of the
/// array in turn, a few cache lines ahead each. Every thread of the team has its own share.
double read_streams(std::span<const float> x, int streams, Team& team);

/// to = from. STREAM's copy: reads 4 and writes 4 bytes an element.
void copy_array(std::span<const float> from, std::span<float> to, Team& team);

/// to = a + factor * b. STREAM's triad: reads 8 and writes 4 bytes an element.
void triad(std::span<const float> a, std::span<const float> b, float factor, std::span<float> to,
           Team& team);

}  // namespace thinpipe
