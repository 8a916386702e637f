// Quantisers that process a tensor bucket by bucket, each with its own scales.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "compressors/kernels/random.h"
#include "compressors/quantize/quantizer.h"

namespace thinpipe {

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

  /// Encodes one bucket of at least one element, as Quantizer::encode_signal does. @returns an
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
  std::size_t bucket = 0;    ///< elements of a bucket, the last may have fewer; 0: the whole tensor
  std::uint64_t stream = 0;  ///< random_stream() of the tensor
};

/// Computes out += step * level for codes of `bits` bits (kernels/quantize.h). @throws PayloadError
void get_levels(ByteReader& in, float step, int bits, std::span<float> out);

/// Makes a quantiser that encodes a tensor bucket by bucket. The payload is the encoded buckets,
/// one after the other. It is empty for a tensor without elements.
std::unique_ptr<Quantizer> make_bucket_quantizer(std::unique_ptr<BucketCodec> codec,
                                                 const BucketOptions& options);

}  // namespace thinpipe
