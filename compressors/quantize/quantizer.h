// Codecs that send every element, of a whole tensor or bucket by bucket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "compressors/kernels/random.h"
#include "compressors/kernels/signal.h"
#include "compressors/wire/bytes.h"

namespace thinpipe {

/// A quantiser's report on one tensor.
struct QuantizeReport {
  std::size_t nonzero = 0;  ///< elements that decode to something other than zero
  int passes = 0;           ///< over the d elements
};

struct QuantizeContext {
  std::uint64_t step = 0;
  float shared_scale = 0;  ///< greatest scale_of() over all workers; 0: this worker's own
};

/// One tensor's quantiser with its state between steps, if any (PowerSGD's Q).
class Quantizer {
 public:
  virtual ~Quantizer() = default;

  /// Returns the upper bound of a payload in bytes.
  virtual std::size_t max_encoded_size(std::size_t elements) const = 0;

  /// Writes the payload of c to `out`. If `remainder` is not empty, writes the quantisation error
  /// to it: c minus the decoded payload. `remainder` may be the same array as c. c, the sum of
  /// gradient and error-feedback memory, need not be computed yet. A quantiser that begins with
  /// Signal::moments() computes the sum in the same pass, which saves one pass.
  virtual QuantizeReport encode(Signal& c, const QuantizeContext& context,
                                std::span<float> remainder, ByteWriter& out) = 0;
  QuantizeReport encode(std::span<const float> c, const QuantizeContext& context,
                        std::span<float> remainder, ByteWriter& out) {
    Signal signal(c);
    return encode(signal, context, remainder, out);
  }

  /// Computes out += factor * decoded. @throws PayloadError
  virtual void decode_add(ByteReader in, float factor, std::span<float> out) const = 0;

  // State carried between steps; most quantisers have none.
  virtual void reset() {}
  virtual std::size_t state_size() const { return 0; }
  virtual void save(ByteWriter& /*out*/) const {}
  virtual void load(ByteReader& /*in*/) {}
};

/// A quantiser whose scale all workers may share (SharedScale).
class ScaleOf {
 public:
  /// Returns this worker's scale for c, > 0 unless c is all zeros.
  virtual float scale_of(std::span<const float> c) const = 0;

 protected:
  ~ScaleOf() = default;
};

/// A quantiser that needs several all-reduces per step (MultiRound). c, the sum of gradient and
/// error-feedback memory, is the same array in all rounds of a step. The last round writes c minus
/// this worker's own contribution to `remainder`.
class QuantizerRounds {
 public:
  virtual int rounds() const = 0;
  virtual QuantizeReport first_round(std::span<const float> c, const QuantizeContext& context,
                                     std::span<const float> remainder, ByteWriter& out) = 0;
  /// Receives `mean`, the all-reduced mean of the floats of round `round` (counted from 1). Writes
  /// this worker's floats of the next round. After the last round, rounds(), writes the payload
  /// instead.
  virtual void next_round(int round, std::span<const float> mean, std::span<const float> c,
                          std::span<float> remainder, ByteWriter& out) = 0;
  virtual void own_payload(ByteWriter& out) const = 0;

 protected:
  ~QuantizerRounds() = default;
};

// Quantisers that process a tensor bucket by bucket, each with its own scales.

/// Position of a bucket, and its random numbers and scale.
struct BucketContext {
  std::size_t first = 0;   ///< index in the tensor of the bucket's first element
  RandomKey key = {};      ///< of this tensor and step; numbers depend on the element's index
  float shared_scale = 0;  ///< QuantizeContext::shared_scale
};

/// Codec of one bucket of consecutive elements.
class BucketCodec {
 public:
  virtual ~BucketCodec() = default;

  /// Returns the upper bound in bytes for a bucket of n >= 1 elements.
  virtual std::size_t max_size(std::size_t n) const = 0;

  /// Encodes one bucket of at least one element, as Quantizer::encode does. @returns an
  /// upper bound of the elements that decode to something other than 0.
  virtual std::size_t encode(Signal& c, const BucketContext& context, std::span<float> remainder,
                             ByteWriter& out) = 0;

  /// Returns true if every bucket of n elements takes exactly max_size(n) bytes and encode() has no
  /// state. Several threads may then encode and decode buckets in parallel.
  virtual bool fixed_size() const { return true; }

  /// Encodes consecutive buckets of `bucket` elements each; the last bucket may have fewer. The
  /// encoded buckets fill `out` exactly. Only for codecs of fixed size, some of which have one
  /// kernel for all buckets.
  virtual std::size_t encode_buckets(std::span<const float> c, std::size_t bucket,
                                     const BucketContext& context, std::span<float> remainder,
                                     std::span<std::byte> out);

  /// Computes out += factor * decoded. @throws PayloadError
  virtual void decode_add(ByteReader& in, float factor, std::span<float> out) const = 0;

  /// Returns how many times encode() passes over a bucket's elements. `keeps` is true if encode()
  /// also writes a remainder. If the bucket stays in the cache, all its passes count as one pass
  /// over main memory.
  virtual int passes(bool keeps) const = 0;

  /// Returns the upper bound in bytes of n elements in buckets.
  std::size_t max_size_of(std::size_t n, std::size_t bucket) const {
    const std::size_t last = n % bucket;
    return n / bucket * max_size(bucket) + (last == 0 ? 0 : max_size(last));
  }
};

struct BucketOptions {
  std::size_t bucket = 0;     ///< elements of a bucket, the last may have fewer; 0: all elements
  std::uint64_t stream = 0;   ///< random_stream() of the tensor
  bool shares_scale = false;  ///< the codec is a ScaleOf; the quantiser is then one too
};

/// Computes out += step * level for codes of `bits` bits (kernels/quantize.h). @throws PayloadError
void get_levels(ByteReader& in, float step, int bits, std::span<float> out);

/// Makes a quantiser that encodes a tensor bucket by bucket. The payload is the encoded buckets,
/// one after the other. It is empty for a tensor without elements.
std::unique_ptr<Quantizer> make_bucket_quantizer(std::unique_ptr<BucketCodec> codec,
                                                 const BucketOptions& options);

}  // namespace thinpipe
