// The interface of every gradient compressor. In each step of training, a compressor encodes the
// gradient of one tensor into a payload. Its memory is the state that it carries from step to step,
// such as the residual: the sum of the values that were not sent so far.
//
// Example:
//
//   std::vector<float> send(thinpipe::Compressor& sender, const std::vector<float>& gradient) {
//     std::vector<std::byte> payload(sender.max_encoded_size());
//     payload.resize(sender.encode({.values = gradient}, payload).encoded_bytes);
//     std::vector<float> received(gradient.size());
//     sender.decode_add(payload, 1, received);  // any compressor of this spec and tensor
//     return received;
//   }
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"

namespace thinpipe {

/// Difference between a decoded payload and the array that was encoded, as sums of squares. The
/// distortion of several tensors is the sum of their distortions.
struct Distortion {
  double error_squares = 0;  ///< |decoded - c|^2
  double input_squares = 0;  ///< |c|^2; c is the encoded array, gradient plus memory

  /// Returns |decoded - c| / |c| (L2 norms); 0 when c is all zeros.
  double relative() const {
    return input_squares == 0 ? 0 : std::sqrt(error_squares / input_squares);
  }
  Distortion& operator+=(const Distortion& other) {
    error_squares += other.error_squares;
    input_squares += other.input_squares;
    return *this;
  }
};

/// How payloads of several workers become one aggregate.
enum class Aggregation {
  kAllReduce,  ///< the payload is a dense array; arrays are summed element by element
  kAllGather,  ///< every worker receives every payload and decodes all of them
};

/// Returns "allreduce" or "allgather".
constexpr const char* to_string(Aggregation aggregation) {
  return aggregation == Aggregation::kAllReduce ? "allreduce" : "allgather";
}

/// Reports a payload from outside that cannot be decoded: truncated, too long, out of range.
class PayloadError : public InputError {
 public:
  using InputError::InputError;
};

/// Tensor properties that sender and receivers know beforehand, so that payloads do not contain
/// them (Sparse Binary Compression, SBC, section II).
struct TensorInfo {
  std::string name;
  std::vector<std::int64_t> shape;  ///< row-major; empty for a scalar
  std::size_t elements = 0;         ///< product of `shape`; may be 0
};

/// Maximum of CompressorSettings::threads. It is above the core count of target machines, and stops
/// a typing error from starting thousands of threads.
inline constexpr int kMaxThreads = 256;

/// Settings shared by all tensors of one worker.
struct CompressorSettings {
  std::uint64_t seed = 1;  ///< shared by all workers; drives sampling and stochastic rounding
  int rank = 0;            ///< this worker; part of the seed where workers draw different numbers
  int threads = 1;         ///< threads one encode may use
};

/// One tensor's gradient in one step. The second moment of an element is the sum, over the samples
/// of the batch B, of (gradient of the sample / |B|)^2 (Tsuzuku et al., section 4).
struct GradientInput {
  std::span<const float> values;   ///< the tensor's d elements, which should be finite
  std::span<const float> squares;  ///< d second moments, or empty
  std::uint64_t step = 0;          ///< counts from 0
  double epoch = 0;                ///< for warm-up schedules
  /// The greatest SharedScale::prepare() over all workers; 0: this worker's own scale.
  float shared_scale = 0;
};

/// Statistics of one encode. The caller measures the time.
struct EncodeReport {
  std::size_t encoded_bytes = 0;      ///< exact size of the payload
  std::size_t target_elements = 0;    ///< k = max(ceil(ratio d), 1); 0 without a target
  std::size_t selected_elements = 0;  ///< k-hat: elements in the payload
  double threshold = 0;               ///< on |c|; NaN where the method used none
  /// Passes over the d elements. May depend on the threads, and on steps since load_state().
  int passes = 0;
};

/// One tensor's compressor with its memory. Not thread-safe. A method that can do more also derives
/// from SharedScale, MultiRound or SparsePayload, which callers find by dynamic_cast.
///
/// Gradients should be finite, and thinpipe's commands check that before they encode. Otherwise
/// encode() does not crash, and the payload can be decoded. Each method decides what it sends for a
/// NaN or an infinity.
class Compressor {
 public:
  virtual ~Compressor() = default;

  /// Returns d, the number of elements of the tensor.
  virtual std::size_t elements() const = 0;

  /// Returns an upper bound of the payload in bytes, for any input in any step.
  virtual std::size_t max_encoded_size() const = 0;

  /// Adds the gradient to the memory, compresses the sum, writes the payload to the front of
  /// `payload` (at least max_encoded_size() bytes) and keeps unsent values in the memory.
  /// @throws InputError when sizes do not fit or a required input (squares) is missing.
  virtual EncodeReport encode(const GradientInput& gradient, std::span<std::byte> payload) = 0;

  /// Returns true if the payload consists of the gradient's floats and the compressor has no
  /// memory. A caller may then send the floats from their own address instead of calling encode().
  virtual bool verbatim() const { return false; }

  /// Returns true if payloads decode to changes of an estimate of the gradient (EF21). The estimate
  /// is the sum of all changes so far.
  virtual bool incremental() const { return false; }

  /// Computes out += factor * decoded. Does not use the memory, so any worker's compressor decodes
  /// any other worker's payload if both have the same spec and tensor.
  /// @throws PayloadError when the payload is malformed; `out` is then unspecified.
  virtual void decode_add(std::span<const std::byte> payload, float factor,
                          std::span<float> out) const = 0;

  /// Returns the distortion of the last encode(), which had this gradient and wrote this payload.
  /// Call it right after encode(). With MultiRound, call it after the last round, with the payload
  /// of own_payload(). Callers do not count this call in a step's time.
  virtual Distortion distortion(const GradientInput& gradient,
                                std::span<const std::byte> payload) const = 0;

  /// Returns the residual: d elements, or empty if the memory has none. Valid after encode() or
  /// hold(), until the next call that changes the compressor.
  virtual std::span<const float> residual() const { return {}; }

  /// Returns the number of steps per exchange, which is 1 unless the spec has a longer delay (SBC,
  /// fig. 2a). In steps without an exchange, the caller calls hold() instead of encode().
  virtual std::uint64_t period() const { return 1; }
  /// Adds the gradient of a step without an exchange to the memory. For a period longer than 1.
  virtual void hold(const GradientInput& gradient) = 0;

  /// Discards the memory.
  virtual void reset() = 0;

  /// save_state() replaces the contents of `state` by the serialized memory. load_state() restores
  /// the memory.
  /// @throws InputError from load_state() when the bytes are not of this spec and tensor.
  virtual void save_state(std::vector<std::byte>& state) const = 0;
  virtual void load_state(std::span<const std::byte> state) = 0;
};

/// A compressor whose scale all workers may share (TernGrad section 4.3).
class SharedScale {
 public:
  /// Adds the gradient to the memory and returns this worker's scale. The caller passes the same
  /// gradient and the greatest scale of all workers to the next encode(), which does not add the
  /// gradient again. Optional: encode() alone uses this worker's own scale.
  virtual float prepare(const GradientInput& gradient) = 0;

 protected:
  ~SharedScale() = default;
};

/// A compressor that needs several all-reduces in one step, one after the other (PowerSGD, alg. 1).
/// A job with one worker calls encode() in a step. A job with several workers calls first_round()
/// instead, and then next_round() rounds() times. Between the rounds of a step the state cannot be
/// saved, and the gradient must stay at its address.
class MultiRound {
 public:
  /// Returns the number of all-reduces, at least 2.
  virtual int rounds() const = 0;

  /// Encodes as encode() does, but writes the floats of the first all-reduce.
  virtual EncodeReport first_round(const GradientInput& gradient, std::span<std::byte> payload) = 0;

  /// Reads the mean over workers of the floats that the previous round wrote, and writes the floats
  /// of the next round. The mean must have the same bits on every worker. The last call writes the
  /// payload of the aggregate, for decode_add.
  /// @returns bytes written, at most max_encoded_size(). @throws InputError when sizes do not fit.
  virtual std::size_t next_round(std::span<const float> mean, std::span<std::byte> payload) = 0;

  /// Writes the payload of this worker's own contribution; call it after the last round. The
  /// aggregate is the mean over workers of the decoded contributions. The memory keeps c minus this
  /// worker's contribution.
  /// @returns bytes written
  virtual std::size_t own_payload(std::span<std::byte> payload) const = 0;

 protected:
  ~MultiRound() = default;
};

/// Returns the number of all-reduces that one step takes: MultiRound::rounds(), or 1.
inline int rounds_of(const Compressor& compressor) {
  const auto* const several = dynamic_cast<const MultiRound*>(&compressor);
  return several == nullptr ? 1 : several->rounds();
}

/// A compressor whose payload is a list of pairs of a position and a value. A sparse all-reduce
/// adds the pairs of the workers and selects again from the sums
/// (workloads/collectives/sparse_pairs.h). The all-reduce sends pairs in its own format instead of
/// the payload's.
class SparsePayload {
 public:
  /// Returns the greatest number of pairs of a payload.
  virtual std::size_t max_pairs() const = 0;
  /// Writes the pairs of a payload, positions ascending and distinct, to the front of two arrays of
  /// max_pairs() elements. The values equal those of decode_add().
  /// @returns the number of pairs
  /// @throws PayloadError when the payload is malformed; the arrays are then unspecified.
  virtual std::size_t decode_pairs(std::span<const std::byte> payload,
                                   std::span<std::uint32_t> positions,
                                   std::span<float> values) const = 0;

  /// Restores values to the memory: those that a worker sent, but that the selection from the sums
  /// dropped. Adds the values to a residual or an accumulated velocity, and subtracts them from
  /// EF21's estimate. With residuals, no value is then lost: for each element, the sum of all
  /// workers' gradients so far equals the sum that was selected so far plus the sum of all
  /// residuals. Any worker may restore a value, because the sum of the residuals is the same. Two
  /// effects of sending remain: a masked velocity, and the variances of Tsuzuku et al. Without a
  /// memory, the values are lost.
  /// Call it before the next encode() or hold(), but after distortion() if the caller needs the
  /// distortion. Positions ascend strictly and are less than elements().
  /// @throws InputError for sizes or positions that do not fit.
  virtual void give_back(std::span<const std::uint32_t> positions,
                         std::span<const float> values) = 0;

 protected:
  ~SparsePayload() = default;
};

}  // namespace thinpipe
