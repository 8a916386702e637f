// Cuts a tensor into buckets, and these into ranges for several threads.
#include <algorithm>
#include <exception>
#include <mutex>
#include <utility>

#include "compressors/kernels/parallel.h"
#include "compressors/kernels/quantize.h"
#include "compressors/kernels/sums.h"
#include "compressors/quantize/quantizer.h"

namespace thinpipe {

std::size_t BucketCodec::encode_buckets(std::span<const float> c, std::size_t bucket,
                                        const BucketContext& context, std::span<float> remainder,
                                        std::span<std::byte> out) {
  ByteWriter writer(out);
  BucketContext here = context;
  std::size_t nonzero = 0;
  for (std::size_t at = 0; at < c.size(); at += bucket) {
    const std::size_t n = std::min(bucket, c.size() - at);
    here.first = context.first + at;
    Signal signal(c.subspan(at, n));
    nonzero +=
        encode(signal, here, remainder.empty() ? remainder : remainder.subspan(at, n), writer);
  }
  return nonzero;
}

namespace {

/// Elements whose sum is computed and then coded while it is in the first-level cache.
constexpr std::size_t kFused = 4096;

/// Keeps the first error of several threads.
class FirstError {
 public:
  template <class Body>
  void guard(Body body) {
    try {
      body();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
};

class BucketQuantizer : public Quantizer {
 public:
  BucketQuantizer(std::unique_ptr<BucketCodec> codec, const BucketOptions& options)
      : codec_(std::move(codec)), options_(options) {}

  std::size_t max_encoded_size(std::size_t elements) const override {
    return elements == 0 ? 0 : codec_->max_size_of(elements, bucket_of(elements));
  }

  QuantizeReport encode(Signal& c, const QuantizeContext& context, std::span<float> remainder,
                        ByteWriter& out) override {
    BucketContext here{.first = 0,
                       .key = random_key(options_.stream, context.step),
                       .shared_scale = context.shared_scale};
    QuantizeReport report{.nonzero = 0,
                          .passes = options_.bucket == 0 ? codec_->passes(!remainder.empty()) : 1};
    const std::size_t size = bucket_of(c.size());
    if (c.size() == 0) return report;
    if (size >= c.size()) {
      report.nonzero = codec_->encode(c, here, remainder, out);
    } else if (in_ranges(size)) {
      report.nonzero = encode_ranges(c, here, remainder, out);
    } else {
      const auto values = c.values();
      for (; here.first < values.size(); here.first += size) {
        const std::size_t n = std::min(size, values.size() - here.first);
        Signal bucket(values.subspan(here.first, n));
        const auto left = remainder.empty() ? remainder : remainder.subspan(here.first, n);
        report.nonzero += codec_->encode(bucket, here, left, out);
      }
    }
    return report;
  }

  void decode_add(ByteReader in, float factor, std::span<float> out) const override {
    const std::size_t size = bucket_of(out.size());
    const auto decode = [&](ByteReader& from, std::size_t begin, std::size_t end) {
      for (; begin < end; begin += size) {
        codec_->decode_add(from, factor, out.subspan(begin, std::min(size, end - begin)));
      }
    };
    if (size == 0 || !in_ranges(size) || in.remaining() != max_encoded_size(out.size())) {
      decode(in, 0, out.size());
      in.expect_end();
      return;
    }
    const auto bytes = in.rest();
    FirstError error;
    parallel_stretches(out.size(), size, [&](std::size_t begin, std::size_t end) {
      error.guard([&] {
        ByteReader from(bytes.subspan(codec_->max_size_of(begin, size)));
        decode(from, begin, end);
      });
    });
    error.rethrow();
  }

 protected:
  std::unique_ptr<BucketCodec> codec_;

 private:
  std::size_t bucket_of(std::size_t elements) const {
    return options_.bucket == 0 ? elements : options_.bucket;
  }
  /// Returns true where each thread takes a range of buckets. Threads share each larger bucket
  /// instead.
  bool in_ranges(std::size_t bucket) const { return codec_->fixed_size() && bucket < kMinParallel; }

  std::size_t encode_ranges(Signal& c, const BucketContext& context, std::span<float> remainder,
                            ByteWriter& out) {
    const std::size_t size = options_.bucket;
    const PendingSum* const sum = c.take_sum();
    const auto values = c.values();
    const auto bytes = out.free().first(max_encoded_size(values.size()));
    // If a sum is still to be computed, few buckets are processed at a time.
    const std::size_t some = sum == nullptr ? values.size() : std::max(size, kFused / size * size);
    out.advance(bytes.size());
    return sum_of_stretches(values.size(), size, [&](std::size_t begin, std::size_t end) {
      std::size_t nonzero = 0;
      BucketContext here = context;
      for (here.first = begin; here.first < end; here.first += some) {
        const std::size_t n = std::min(some, end - here.first);
        if (sum != nullptr) {
          accumulate({sum->g + here.first, n}, sum->decay, sum->scale, {sum->r + here.first, n});
        }
        nonzero += codec_->encode_buckets(
            values.subspan(here.first, n), size, here,
            remainder.empty() ? remainder : remainder.subspan(here.first, n),
            bytes.subspan(codec_->max_size_of(here.first, size), codec_->max_size_of(n, size)));
      }
      return nonzero;
    });
  }

  BucketOptions options_;
};

/// One whose codec is a ScaleOf.
class SharedScaleQuantizer : public BucketQuantizer, public ScaleOf {
 public:
  using BucketQuantizer::BucketQuantizer;

  float scale_of(std::span<const float> c) const override {
    return dynamic_cast<const ScaleOf&>(*codec_).scale_of(c);
  }
};

}  // namespace

void get_levels(ByteReader& in, float step, int bits, std::span<float> out) {
  const auto packed = in.get_bytes(packed_size(out.size(), bits), "codes");
  if (!add_packed_levels(reinterpret_cast<const std::uint8_t*>(packed.data()), step, bits, out)) {
    throw PayloadError("bits after the last code are not zero");
  }
}

std::unique_ptr<Quantizer> make_bucket_quantizer(std::unique_ptr<BucketCodec> codec,
                                                 const BucketOptions& options) {
  if (options.shares_scale) {
    return std::make_unique<SharedScaleQuantizer>(std::move(codec), options);
  }
  return std::make_unique<BucketQuantizer>(std::move(codec), options);
}

}  // namespace thinpipe
