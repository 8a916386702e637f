// All-reduce that sends 4-bit integers, in two levels (ZeRO++'s qgZ).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "compressors/kernels/blocks.h"
#include "workloads/collectives/collective.h"
#include "workloads/collectives/collectives.h"
#include "workloads/collectives/streams.h"
#include "workloads/collectives/traffic.h"
#include "workloads/collectives/transport.h"

namespace thinpipe {

struct QgzOptions {
  int group = 2;            ///< consecutive ranks of a group; divides the number of ranks
  std::size_t block = 256;  ///< elements with one scale (BlockFormat::block)
  /// Format of the all-gathered mean: codes as BlockFormat has them, or 32-bit floats.
  enum class Gather { kInt4, kInt8, kFloat } gather = Gather::kInt8;
};

/// Implements qgZ (Wang et al., ZeRO++, arXiv 2306.10209, section 3.3), followed by an all-gather,
/// for n ranks in groups of g, with G = n / g:
///  1. Every rank cuts its array into g slices, quantises them to 4 bits and sends slice j to the
///     j-th rank of its own group. That rank decodes the slices to floats and adds them up in the
///     order of ranks.
///  2. Each slice's sum is quantised again and cut into G chunks. Chunk b is sent to the j-th rank
///     of group b, which adds up the chunks of all groups. By then each element has been quantised
///     twice for any n, where a ring would quantise it n - 1 times.
///  3. All ranks all-gather the chunks, times the factor (BlockGather): as 8-bit integers, as
///     ZeRO++ gathers weights (section 3.1), or in the format `gather`.
/// A rank's own slice is quantised as well, as by DeepSpeed. Rounding is to nearest. In ZeRO++
/// chunk i must end on rank i. In this implementation the j-th slice's chunks are contiguous, since
/// the all-gather needs no reordering.
class Qgz {
 public:
  /// @throws InputError unless groups are of equal size.
  Qgz(const QgzOptions& options, int ranks);

  /// Sets `result` to factor * the quantised sum of all ranks' quantised `own`, with the same bits
  /// on every rank. Both arrays have the same size on every rank and do not overlap.
  /// @throws PayloadError for a malformed array of another rank
  void run(Transport& transport, std::span<const float> own, std::span<float> result, float factor);

  /// Does the same as run() for an array that the caller has already quantised, in the slices and
  /// the format of coded_slices(). @throws InputError for a slice of the wrong length
  void run_coded(Transport& transport, std::span<const std::span<const std::byte>> slices,
                 std::span<float> result, float factor);
  /// Returns the slices that run() sends first.
  CodedSlices coded_slices(std::size_t elements) const;

  /// Computes the expected result of run() from every rank's array, through the registry's
  /// compressors.
  void expected(std::span<const std::span<const float>> arrays, float factor,
                std::span<float> out) const;

  /// A range of elements, [begin, end). slice() returns the range that the j-th rank of every group
  /// adds up in step 1. chunk() returns the range that the j-th rank of group b adds up in step 2.
  struct Range {
    std::size_t begin, end;
    std::size_t size() const { return end - begin; }
  };
  Range slice(std::size_t elements, std::size_t j) const;
  Range chunk(std::size_t elements, std::size_t j, std::size_t b) const;
  /// Returns the bytes of so many elements in the reduce-scatter and in the all-gather.
  std::size_t reduced_bytes(std::size_t elements) const;
  std::size_t gathered_bytes(std::size_t elements) const;

 private:
  /// Runs one level of the reduce-scatter. Sends part i of the array, the elements ranges(i), to
  /// rank peers(i). codes(i, buffer) returns the quantised values of part i, and may write them to
  /// the buffer. Sets `sum` to the sum of all peers' values of the part own_part.
  template <class Ranges, class Peers, class Codes>
  void exchange(Transport& transport, std::size_t parts, std::size_t own_part, Ranges ranges,
                Peers peers, Codes codes, std::vector<float>& sum);
  /// @param codes  of slices
  template <class Codes>
  void run_levels(Transport& transport, Codes codes, std::span<float> result, float factor);
  BlockFormat format(BlockElement element) const;
  bool gathers_floats() const { return options_.gather == QgzOptions::Gather::kFloat; }
  BlockFormat gather_format() const;

  QgzOptions options_;
  std::size_t groups_;
  Streams streams_{4};
  BlockGather gather_;
  std::vector<std::byte> outgoing_, incoming_, gathered_;
  std::vector<std::size_t> sizes_;
  std::vector<float> slice_, chunk_;
};

QgzOptions qgz_options(const Parameters& parameters);

/// Returns the traffic of a rank in run() of so many elements; docs/collectives.md derives it.
Traffic qgz_reduce_traffic(std::size_t elements, const QgzOptions& options, int ranks, int rank);

}  // namespace thinpipe
