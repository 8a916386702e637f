// Collectives: how the payloads of all ranks become one aggregate. A collective derives from each
// operation that it has; operation<AllReduce>(collective) finds the operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compressors/element_type.h"
#include "compressors/spec.h"
#include "workloads/collectives/push_pull_options.h"
#include "workloads/collectives/sparse_pairs.h"
#include "workloads/collectives/transport.h"

namespace thinpipe {

/// The operations by which payloads of all ranks become one aggregate.
enum class Exchange { kAllReduce, kAllGather, kSparseAllReduce, kPushPull };

/// Returns "allreduce", "allgather", "sparsereduce" or "pushpull", as records name them.
const char* to_string(Exchange exchange);

class Collective {
 public:
  virtual ~Collective() = default;

  /// Returns the traffic that this rank has sent so far; zeros where the collective cannot count
  /// it.
  virtual TransportCounters counters() const = 0;
};

/// Computes `factor` times the sum of the ranks' arrays, in 64-bit floats, rounded once.
void sum_over_ranks(std::span<const std::span<const float>> arrays, float factor,
                    std::span<float> out);

/// Sums dense arrays.
class AllReduce {
 public:
  static constexpr Exchange kExchange = Exchange::kAllReduce;

  /// Sets `result` to factor * sum of `own` over ranks, with the same bits on every rank. Both are
  /// arrays of elements of this type, of the same size on every rank, and do not overlap. 16-bit
  /// elements are added in 32 bits and rounded once (flows.h).
  virtual void all_reduce(ElementType type, std::span<const std::byte> own,
                          std::span<std::byte> result, float factor) = 0;
  void all_reduce(std::span<const float> own, std::span<float> result, float factor) {
    all_reduce(ElementType::kFloat32, std::as_bytes(own), std::as_writable_bytes(result), factor);
  }

  /// Computes the expected result of the last all_reduce() without the network. `arrays` are the
  /// arrays of all ranks, by rank. Elements of any type are passed and returned as floats. If
  /// all_reduce() is lossy(), it must have returned these very bits. Otherwise sums may have been
  /// added in another order, and the two results may differ by rounding.
  virtual void expected_all_reduce(ElementType /*type*/,
                                   std::span<const std::span<const float>> arrays, float factor,
                                   std::span<float> out) const {
    sum_over_ranks(arrays, factor, out);
  }
  /// Returns whether the order is known in which all_reduce() adds the ranks' values. If it is
  /// unknown and changes the result, a sum can be checked only within a rounding bound.
  virtual bool knows_order() const { return true; }
  /// Returns whether all_reduce() of such elements loses precision between ranks, so that the order
  /// of the additions counts.
  virtual bool lossy(ElementType type) const { return type != ElementType::kFloat32; }

 protected:
  ~AllReduce() = default;
};

/// How an all-reduce quantises an array before it sends anything.
struct CodedSlices {
  Spec codes;                         ///< the compressor of each slice's payload
  std::vector<std::size_t> elements;  ///< of slices, one after the other
};

/// An all-reduce whose first step quantises this rank's array. A caller may do this step itself,
/// for example on a GPU.
class CodedAllReduce : public AllReduce {
 public:
  /// Returns how all_reduce() of so many elements quantises the array.
  virtual CodedSlices coded_slices(std::size_t elements) const = 0;
  /// Does the remaining steps of all_reduce() with slices that the caller has quantised. The result
  /// has the same bits as that of all_reduce().
  /// @throws InputError for a slice of the wrong length
  virtual void all_reduce_coded(std::span<const std::span<const std::byte>> slices,
                                std::span<float> result, float factor) = 0;

 protected:
  ~CodedAllReduce() = default;
};

/// This rank's side of an all-gather of messages that are not in the collective's memory but, for
/// example, on a GPU. Copying overlaps with the exchange. The first bytes of this rank's message
/// are sent while its last bytes are still being copied. Arrived messages are copied to their
/// destination while others arrive. The collective calls all functions, in the thread of its
/// caller.
class StagedGather {
 public:
  virtual ~StagedGather() = default;

  /// Returns this rank's message, of which the first ready() bytes are valid.
  virtual std::span<const std::byte> own() const = 0;
  /// Returns how many bytes are valid. Never decreases, and reaches the message's size without
  /// further calls.
  virtual std::size_t ready() = 0;
  /// Takes a rank's complete message, which is valid until the collective's next all-gather. May be
  /// called for this rank's own message.
  virtual void arrived(int rank, std::span<const std::byte> message) = 0;
};

/// Brings every rank's message to all ranks.
class AllGather {
 public:
  static constexpr Exchange kExchange = Exchange::kAllGather;

  /// Returns every rank's message, by rank; valid until the next call.
  virtual const std::vector<std::span<const std::byte>>& all_gather(
      std::span<const std::byte> own) = 0;
  /// All-gathers messages while this rank's own message is still being completed. Collectives that
  /// send in segments begin before the message is complete. The default implementation waits for
  /// the complete message, and calls arrived() for all messages at the end.
  virtual const std::vector<std::span<const std::byte>>& gather_staged(StagedGather& staged);

 protected:
  ~AllGather() = default;
};

/// An all-gather between the memories of GPUs, by a library that takes device pointers. It uses the
/// calling thread's GPU (DeviceCopies::use_in_this_thread). The caller ensures that no work that
/// touches the arrays is still queued on that GPU.
class DeviceAllGather {
 public:
  /// Returns whether the library takes device pointers; if not, nothing else may be called.
  virtual bool takes_device_pointers() const = 0;
  /// Gathers the same number of words from every rank, by rank; both arrays are in host memory.
  virtual void gather_words(std::span<const std::uint32_t> own, std::span<std::uint32_t> all) = 0;
  /// Gathers the bytes of all ranks into `device_all`, in the order of the ranks. The gather is
  /// complete on return.
  /// @param sizes  by rank @throws InputError for more bytes than the library can count
  virtual void gather_on_device(const std::byte* device_own, std::span<const std::size_t> sizes,
                                std::byte* device_all) = 0;

 protected:
  ~DeviceAllGather() = default;
};

/// Sums sparse vectors and selects from the sum.
class SparseAllReduce {
 public:
  static constexpr Exchange kExchange = Exchange::kSparseAllReduce;

  /// Sums the sparse vectors of all ranks and selects about k elements of the sum. Returns a
  /// SparseSum: these elements times the factor, with the same bits on every rank, and the pairs
  /// that this rank must restore to its residual. The result is valid until the next call. All
  /// ranks must pass the same k and dimension. Collectives may keep thresholds from call to call,
  /// so use a separate collective for each vector that is summed repeatedly, such as a bucket.
  /// @throws InputError for own elements out of order or range, PayloadError for another rank's
  virtual SparseSum sparse_all_reduce(SparseView own, std::size_t k, std::size_t dimension,
                                      float factor) = 0;
  /// Returns the mean over ranks of `own`, rounded up; the same on every rank. `own` is the number
  /// of this rank's elements, out of `dimension`. The mean serves as the k of sparse_all_reduce()
  /// if ranks select different numbers of elements.
  virtual std::size_t mean_count(std::size_t own, std::size_t dimension) = 0;
  /// Computes the expected result of the last sparse_all_reduce() without the network, exact to the
  /// bit. `vectors` are the ranks' sparse vectors as dense vectors, with 0 where a sparse vector
  /// has no element. `out` and each vector have `dimension` elements.
  virtual void expected_sparse(std::span<const std::span<const float>> vectors, std::size_t k,
                               float factor, std::span<float> out) const = 0;

 protected:
  ~SparseAllReduce() = default;
};

/// Sends payloads of units (tensors or buckets, ExchangeUnit) to servers, which answer with an
/// average.
class PushPull {
 public:
  static constexpr Exchange kExchange = Exchange::kPushPull;

  /// Begins to push the payloads of units. No earlier push of these units may be unanswered. The
  /// caller must not change payloads until all pushes are pulled. All workers push the units of a
  /// server in the same order.
  /// @returns the push's number, for pull()
  virtual std::size_t push(std::span<const UnitPayload> payloads) = 0;
  /// Moves the data of all pushes in both directions, and yields the CPU for a moment where no data
  /// can be moved. @returns whether all answers to the push have arrived
  /// @throws PayloadError for a malformed answer
  virtual bool pull(std::size_t push) = 0;
  /// Moves data as pull() does, between pushes.
  virtual void progress() = 0;
  /// Returns the answer to one unit; valid until the unit is pulled again.
  virtual std::span<const std::byte> pulled(std::size_t unit) const = 0;

 protected:
  ~PushPull() = default;
};

/// Reports that a collective lacks an operation. @throws InputError naming collectives that have it
[[noreturn]] void refuse_exchange(Exchange exchange);

/// Returns the collective's operation: operation<AllGather>(collective).all_gather(own).
/// @throws InputError naming the collectives with the operation, where this one lacks it
template <class Operation>
Operation& operation(Collective& collective) {
  if (auto* const found = dynamic_cast<Operation*>(&collective)) return *found;
  refuse_exchange(Operation::kExchange);
}
template <class Operation>
const Operation& operation(const Collective& collective) {
  if (const auto* const found = dynamic_cast<const Operation*>(&collective)) return *found;
  refuse_exchange(Operation::kExchange);
}

}  // namespace thinpipe
