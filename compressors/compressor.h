// The interface every gradient compressor has, whatever parts it is made of.
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

/// How far what receivers decode is from what was to be sent: sums of squares, so that the
/// distortions of several tensors add up to that of all of them.
struct Distortion {
  double error_squares = 0;  ///< |decoded - c|^2
  double input_squares = 0;  ///< |c|^2, c being what was compressed: gradient plus memory

  /// |decoded - c| / |c| (L2); 0 when c is all zeros.
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
  kAllReduce,  ///< the payload is a dense array (Summation) and sums element by element
  kAllGather,  ///< every worker receives every payload and decodes all of them
};

const char* to_string(Aggregation aggregation);

/// A payload that came from outside could not be decoded: truncated, too long, out of range.
class PayloadError : public InputError {
 public:
  using InputError::InputError;
};

/// Tensor properties that both ends know beforehand (shared configuration, SBC section II).
struct TensorInfo {
  std::string name;
  std::vector<std::int64_t> shape;  ///< row-major; empty for a scalar
  std::size_t elements = 0;         ///< product of `shape`; may be 0
};

/// Settings shared by all tensors of one worker.
struct CompressorSettings {
  std::uint64_t seed = 1;  ///< shared by all workers; drives sampling and stochastic rounding
  int rank = 0;            ///< this worker; enters the seed where workers must differ
  int threads = 1;         ///< threads one encode may use
};

/// One tensor's gradient in one step.
struct GradientInput {
  std::span<const float> values;   ///< d elements. Must be finite: see Compressor::encode.
  std::span<const float> squares;  ///< d second moments q, or empty (Tsuzuku et al. need them)
  std::uint64_t step = 0;          ///< counts from 0
  double epoch = 0;                ///< for warm-up schedules
  /// Greatest prepare() over all workers, where a method shares its scale; 0: this worker's own.
  float shared_scale = 0;
};

/// Statistics of one encode. Times are the caller's business.
struct EncodeReport {
  std::size_t encoded_bytes = 0;      ///< exact size of the payload
  std::size_t target_elements = 0;    ///< k = max(ceil(ratio d), 1); 0 where a method has no target
  std::size_t selected_elements = 0;  ///< k-hat: elements the payload carries
  double threshold = 0;               ///< on |c|; NaN where the method used none
  int passes = 0;                     ///< passes over the d elements
};

/// One tensor's compressor with the state it carries between steps. Not thread-safe.
///
/// Non-finite input: `encode` never crashes and its payload always decodes, but what a NaN or an
/// infinity turns into is the method's own; thinpipe's drivers look for them before encoding.
class Compressor {
 public:
  virtual ~Compressor() = default;

  /// d, the number of elements of the tensor.
  virtual std::size_t elements() const = 0;

  /// Upper bound of a payload in bytes, whatever the input; known before the first step.
  virtual std::size_t max_encoded_size() const = 0;

  /// Adds the gradient to the memory, compresses, writes the payload to the front of `payload`
  /// (at least max_encoded_size() bytes) and keeps what was not sent.
  /// @throws InputError when sizes do not fit or a required input (squares) is missing.
  virtual EncodeReport encode(const GradientInput& gradient, std::span<std::byte> payload) = 0;

  /// Where workers share a scale (TernGrad section 4.3): takes the gradient into the memory and
  /// returns this worker's scale. The next encode(), with the same gradient and the workers'
  /// greatest scale in it, does not add it again. Optional: encode() alone uses the own scale.
  virtual float prepare(const GradientInput& gradient);
  virtual bool shares_scale() const { return false; }

  /// True: encode() copies the gradient's floats as they lie, selects all of them and carries
  /// nothing over. A caller that can send them from there need not call it.
  virtual bool verbatim() const { return false; }

  /// True: what is decoded is a change of what was decoded before, and the gradient estimate is
  /// the sum over all steps (EF21).
  virtual bool incremental() const { return false; }

  /// out += factor * decoded. Needs only the payload and the shared configuration, so any
  /// worker's compressor of the same spec and tensor decodes any other worker's payload.
  /// @throws PayloadError when the payload is malformed; `out` is then unspecified.
  virtual void decode_add(std::span<const std::byte> payload, float factor,
                          std::span<float> out) const = 0;

  /// True: a payload is a list of elements, position and value each, that can be asked for: what a
  /// sparse all-reduce sums and selects from again (workloads/exchange/sparse_pairs.h). The values
  /// are those that decode_add would add; the codecs of the payload are not used then.
  virtual bool has_pairs() const { return false; }
  /// The most pairs a payload carries. 0 without pairs.
  virtual std::size_t max_pairs() const { return 0; }
  /// Writes the pairs of a payload, positions ascending and distinct, to the front of two arrays of
  /// room for max_pairs(). @returns how many.
  /// @throws PayloadError when the payload is malformed; what was written is then unspecified.
  virtual std::size_t decode_pairs(std::span<const std::byte> payload,
                                   std::span<std::uint32_t> positions,
                                   std::span<float> values) const;

  /// Whether the memory takes back what was sent but is in no aggregate. False: that is lost.
  virtual bool takes_back() const { return false; }
  /// Puts values back that a selection after the exchange has dropped: the memory then holds them
  /// as if they had not been sent (residual, accumulated velocity: added; EF21's estimate: taken
  /// off), so that over all workers the sum of inputs = the sum of what the aggregates hold + the
  /// sum of memories, element by element. They need not be this worker's own: any worker may take
  /// what is dropped. Other changes by sending remain: a masked velocity, the variances of Tsuzuku
  /// et al. Call it after distortion(), where that is asked for, and before the next encode() or
  /// hold(). Positions ascend strictly and are less than elements().
  /// @throws InputError for sizes or positions that do not fit.
  virtual void give_back(std::span<const std::uint32_t> positions, std::span<const float> values);

  /// Where the method is exchanged by all-reduces: how many of them a step takes one after the
  /// other (PowerSGD, alg. 1: of P, then of Q). 1: encode()'s payload is summed, and that is all.
  /// Else encode() is the step of a job of this worker alone, and a job of several calls
  /// first_round() instead and then next_round() rounds() times. Between a step's rounds there is
  /// no state to be saved, and the gradient must stay where it is.
  virtual int rounds() const { return 1; }

  /// As encode(), but what is written are the floats that the first all-reduce takes.
  virtual EncodeReport first_round(const GradientInput& gradient, std::span<std::byte> payload);

  /// Takes the mean over workers of the floats written last, the same bits on every worker, and
  /// writes those of the next round; in the last call the payload of the aggregate, for decode_add.
  /// @returns bytes written, at most max_encoded_size(). @throws InputError when sizes do not fit.
  virtual std::size_t next_round(std::span<const float> mean, std::span<std::byte> payload);

  /// After the last round: the payload of this worker's part. The mean over workers of these,
  /// decoded, is the aggregate; what stays in this worker's memory is c less its own part.
  /// @returns bytes written
  virtual std::size_t own_payload(std::span<std::byte> payload) const;

  /// Returns the distortion of the last encode; c is the gradient plus the memory. Call right after
  /// encode with the same gradient and the payload it wrote, or after the last round with
  /// own_payload(). Not part of a step's time.
  virtual Distortion distortion(const GradientInput& gradient,
                                std::span<const std::byte> payload) const = 0;

  /// Unsent residual carried over to the next step: d elements, or empty without such a memory.
  /// Valid after encode() or hold(), until the next call that changes the compressor.
  virtual std::span<const float> residual() const { return {}; }

  /// Exchange every `period()`-th step (SBC fig. 2a "delay"); 1 for all but delayed methods.
  /// In the steps between, the driver calls hold() instead of encode().
  virtual std::uint64_t period() const { return 1; }
  virtual void hold(const GradientInput& gradient);

  /// Forgets everything carried between steps.
  virtual void reset() = 0;

  /// Checkpoint of what is carried between steps.
  /// load_state @throws InputError when the bytes are not of this spec and tensor.
  virtual void save_state(std::vector<std::byte>& state) const = 0;
  virtual void load_state(std::span<const std::byte> state) = 0;
};

}  // namespace thinpipe
