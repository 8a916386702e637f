// Quantisers that treat a tensor bucket by bucket, each with scales of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "compressors/kernels/random.h"
#include "compressors/quantize/quantizer.h"

namespace thinpipe {

/// Where a bucket lies and what it may use.
struct BucketContext {
  std::size_t first = 0;   ///< the tensor's element that is the bucket's first
  RandomKey key = {};      ///< of this tensor and step; numbers are drawn by the tensor's element
  float shared_scale = 0;  ///< QuantizeContext::shared_scale
};

/// How one bucket of consecutive elements is written.
class BucketCodec {
 public:
  virtual ~BucketCodec() = default;

  /// Upper bound in bytes for a bucket of n >= 1 elements.
  virtual std::size_t max_size(std::size_t n) const = 0;

  /// As Quantizer::encode_signal, for one bucket of at least one element. @returns how many decode
  /// to something other than 0, at most.
  virtual std::size_t encode(Signal& c, const BucketContext& context, std::span<float> remainder,
                             ByteWriter& out) = 0;

  /// Every bucket of n elements takes exactly max_size(n) bytes, and encode() keeps nothing:
  /// several threads may encode and decode.
  virtual bool fixed_size() const { return true; }

  /// For a codec of fixed size: encodes consecutive buckets of `bucket` elements, the last may have
  /// fewer, into exactly the bytes they take. One kernel for all of them, where there is one.
  virtual std::size_t encode_buckets(std::span<const float> c, std::size_t bucket,
                                     const BucketContext& context, std::span<float> remainder,
                                     std::span<std::byte> out);

  /// out += factor * decoded. @throws PayloadError
  virtual void decode_add(ByteReader& in, float factor, std::span<float> out) const = 0;

  /// Passes over a bucket's elements; `keeps`: there is a remainder to be left. Within a bucket
  /// that stays in the cache they are one pass over the memory.
  virtual int passes(bool keeps) const = 0;

  virtual bool shares_scale() const { return false; }
  virtual float scale_of(std::span<const float> /*c*/) const { return 0; }

  /// Bytes, at most, of n elements in buckets.
  std::size_t max_size_of(std::size_t n, std::size_t bucket) const {
    const std::size_t last = n % bucket;
    return n / bucket * max_size(bucket) + (last == 0 ? 0 : max_size(last));
  }
};

struct BucketOptions {
  std::size_t bucket = 0;    ///< elements of a bucket, the last may have fewer; 0: the whole tensor
  std::uint64_t stream = 0;  ///< random_stream() of the tensor
};

/// out += step * level, codes of `bits` bits (kernels/quantize.h). @throws PayloadError
void get_levels(ByteReader& in, float step, int bits, std::span<float> out);

/// Payload: the buckets, one after the other; nothing for a tensor without elements.
std::unique_ptr<Quantizer> make_bucket_quantizer(std::unique_ptr<BucketCodec> codec,
                                                 const BucketOptions& options);

}  // namespace thinpipe
