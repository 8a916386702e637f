// All-reduce with 4-bit integers on the way, in two levels (ZeRO++'s qgZ).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "compressors/kernels/blocks.h"
#include "workloads/exchange/pattern.h"
#include "workloads/exchange/patterns.h"
#include "workloads/exchange/streams.h"
#include "workloads/exchange/traffic.h"
#include "workloads/exchange/transport.h"

namespace thinpipe {

struct QgzOptions {
  int group = 2;            ///< ranks of a group, neighbours in number; divides all of them
  std::size_t block = 256;  ///< elements with one scale (BlockFormat::block)
  /// Format of the mean on its way back: codes as BlockFormat has them, or floats as they are.
  enum class Gather { kInt4, kInt8, kFloat } gather = Gather::kInt8;
};

/// qgZ (Wang et al., ZeRO++, arXiv 2306.10209, section 3.3) and an all-gather behind it. With n
/// ranks in groups of g, G = n / g:
///  1. every rank quantises its array to 4 bits, cut into g slices, and sends slice j to the j-th
///     of its own group, which takes the codes back to floats and adds them up in the order of
///     ranks;
///  2. that slice's sum is quantised again, cut into G chunks, and chunk b sent to the j-th of
///     group b, which adds up what the groups sent: each element has been quantised twice, whatever
///     n is, where a ring would do it n - 1 times;
///  3. chunks, times the factor, are gathered by all (BlockGather): as 8-bit integers, as ZeRO++
///     gathers weights (section 3.1), or as `gather` says.
/// A rank's own part is quantised as well, as by DeepSpeed. Rounding is to nearest. Unlike ZeRO++,
/// whose chunk i must end on rank i, the j-th slice's chunks are neighbours here: chunks are
/// gathered, so nothing has to be moved before.
class Qgz {
 public:
  /// @throws InputError unless groups are of equal size.
  Qgz(const QgzOptions& options, int ranks);

  /// result becomes factor * the sum of what `own` of all ranks was quantised to, quantised: the
  /// same bits on every rank. Both of the same size on every rank, apart in memory.
  /// @throws PayloadError for what others sent that does not fit.
  void run(Transport& transport, std::span<const float> own, std::span<float> result, float factor);

  /// The same of an array that is quantised already, elsewhere, as coded_slices() says. @throws
  /// InputError for one that is not as long as it must be
  void run_coded(Transport& transport, std::span<const std::span<const std::byte>> slices,
                 std::span<float> result, float factor);
  /// The slices that run() sends first.
  CodedSlices coded_slices(std::size_t elements) const;

  /// Computes the result of run() from every rank's array: plainly, through the registry's
  /// compressors.
  void expected(std::span<const std::span<const float>> arrays, float factor,
                std::span<float> out) const;

  /// Elements [begin, end) that rank j of any group adds up in step 1, and of these those of the
  /// rank in group b in step 2.
  struct Range {
    std::size_t begin, end;
    std::size_t size() const { return end - begin; }
  };
  Range slice(std::size_t elements, std::size_t j) const;
  Range chunk(std::size_t elements, std::size_t j, std::size_t b) const;
  /// Bytes of so many elements on the way out and back.
  std::size_t reduced_bytes(std::size_t elements) const;
  std::size_t gathered_bytes(std::size_t elements) const;

 private:
  /// One level of the reduce-scatter: part i, ranges(i), goes to rank peers(i) as codes(i, room)
  /// says, which may write to the room; `sum` becomes that of what all peers sent of own_part.
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

/// Traffic of a rank in run() of so many elements; docs/patterns.md derives it.
Traffic qgz_reduce_traffic(std::size_t elements, const QgzOptions& options, int ranks, int rank);

}  // namespace thinpipe
