// How the payloads of all ranks meet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "compressors/element_type.h"
#include "compressors/spec.h"
#include "workloads/exchange/exchange_units.h"
#include "workloads/exchange/sparse_pairs.h"
#include "workloads/exchange/transport.h"

namespace thinpipe {

/// This rank's end of an all-gather of messages that lie elsewhere, as on a GPU: what is sent comes
/// here while it is sent, and what arrives leaves while more arrives. All of it is called by the
/// thread that exchanges.
class StagedGather {
 public:
  virtual ~StagedGather() = default;

  /// The own message, of which the first ready() bytes are here.
  virtual std::span<const std::byte> own() const = 0;
  /// Never less than before; all of it without anybody's doing in the end.
  virtual std::size_t ready() = 0;
  /// A rank's message is here as a whole, and stays until the pattern's next all-gather. The own
  /// one may be among them.
  virtual void arrived(int rank, std::span<const std::byte> message) = 0;
};

/// An all-gather between devices' memories, by a library that takes addresses in them. The device
/// is the calling thread's (DeviceCopies::use_in_this_thread), and nothing that it was asked for is
/// still under way on what is sent, or on where it arrives.
class DeviceAllGather {
 public:
  virtual ~DeviceAllGather() = default;

  /// The same number of words from every rank, by rank; these lie in the host's memory.
  virtual void gather_words(std::span<const std::uint32_t> own, std::span<std::uint32_t> all) = 0;
  /// Every rank's bytes, one after the other, all of them there when it returns.
  /// @param sizes  by rank @throws InputError for more than the library can count
  virtual void gather_on_device(const std::byte* device_own, std::span<const std::size_t> sizes,
                                std::byte* device_all) = 0;
};

/// How a pattern quantises an array before anything of it is sent.
struct CodedSlices {
  Spec codes;                         ///< payloads of this compressor, of each slice by itself
  std::vector<std::size_t> elements;  ///< of slices, one after the other
};

/// The exchanges that compressors need (Aggregation), over one choice of algorithms. A pattern
/// overrides those it can do (PatternInfo::exchanges); the others throw an InputError that names
/// the patterns that can.
class Pattern {
 public:
  virtual ~Pattern() = default;

  /// result becomes factor * sum of own over ranks, the same bits on every rank. Both are arrays of
  /// elements of this type, of the same size on every rank, and apart in memory. 16-bit elements
  /// are added in 32 bits and rounded once (element_sum.h).
  virtual void all_reduce(ElementType type, std::span<const std::byte> own,
                          std::span<std::byte> result, float factor);
  void all_reduce(std::span<const float> own, std::span<float> result, float factor) {
    all_reduce(ElementType::kFloat32, std::as_bytes(own), std::as_writable_bytes(result), factor);
  }

  /// Where all_reduce() of so many elements begins by quantising its own: how. Then
  /// all_reduce_coded() does the rest of it, with what was quantised elsewhere: the same bits.
  /// @throws InputError for slices that are not as long as they must be
  virtual std::optional<CodedSlices> coded_slices(std::size_t /*elements*/) const { return {}; }
  virtual void all_reduce_coded(std::span<const std::span<const std::byte>> slices,
                                std::span<float> result, float factor);

  /// Every rank's message, by rank; valid until the next call.
  virtual const std::vector<std::span<const std::byte>>& all_gather(std::span<const std::byte> own);
  /// all_gather() of a message that is still on its way here. Patterns that send in segments do not
  /// wait for the last of them; by default it waits for all of it, and tells of what arrived at the
  /// end.
  virtual const std::vector<std::span<const std::byte>>& gather_staged(StagedGather& staged);

  /// An all-gather of what lies on devices, with nothing in the host's memory; null where the
  /// pattern has none.
  virtual DeviceAllGather* on_devices() { return nullptr; }

  /// The sum of every rank's sparse vector, selected again (sparse_pairs.h): about k elements,
  /// the same bits on every rank, times the factor, and what this rank must put back into its
  /// memory. Valid until the next call. All ranks call it with the same k and dimension. Patterns
  /// may remember thresholds and the like from call to call: one pattern for what is summed again
  /// and again, a bucket.
  /// @throws InputError for own elements out of order or range, PayloadError for others'.
  virtual SparseSum sparse_all_reduce(SparseView own, std::size_t k, std::size_t dimension,
                                      float factor);

  /// How many of `dimension` elements ranks bring on average, rounded up: the same on every rank.
  /// The k of a sparse_all_reduce() of elements whose number each rank knows of its own only.
  virtual std::size_t mean_count(std::size_t own, std::size_t dimension);

  /// Computes the result of the last all_reduce() from each rank's array, by rank: plainly and
  /// without the network. Elements of any type are given and returned as floats. Exact to the bit
  /// where all_reduce() is lossy(); else within the rounding of sums in another order.
  virtual void expected_all_reduce(ElementType type, std::span<const std::span<const float>> arrays,
                                   float factor, std::span<float> out) const;
  /// The same of the last sparse_all_reduce(), from the vectors in full, to the bit:
  /// `out` and each of them have `dimension` elements, 0 where there is none.
  virtual void expected_sparse(std::span<const std::span<const float>> vectors, std::size_t k,
                               float factor, std::span<float> out) const;
  /// Whether the order is known in which all_reduce() adds: where it counts and is not, the sum can
  /// only be held against what rounding allows.
  virtual bool knows_order() const { return true; }
  /// Whether all_reduce() of such elements loses something on the way, so that its order counts.
  virtual bool lossy(ElementType type) const { return type != ElementType::kFloat32; }

  /// Where there are parameter servers: begins to push payloads of units (see PushPullLayout), none
  /// of which is on its way yet. Payloads stay untouched until all that was pushed is pulled. All
  /// workers push the units of a server in the same order. @returns a number to ask for it
  virtual std::size_t push(std::span<const UnitPayload> payloads);
  /// Moves what can be moved both ways, whatever push it is of, and where that was nothing lets
  /// others have the processor for a moment. @returns whether what servers made of all workers'
  /// payloads of that push is here. @throws PayloadError for an answer that cannot be one.
  virtual bool pull(std::size_t push);
  /// The moving alone: between pushes, while there is something else to wait for.
  virtual void progress();
  /// That of one unit; valid until it is pulled again.
  virtual std::span<const std::byte> pulled(std::size_t unit) const;

  /// Traffic sent so far; zeros where the pattern cannot tell.
  virtual TransportCounters counters() const = 0;
};

}  // namespace thinpipe
