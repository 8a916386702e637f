// Cuts a tensor into buckets.
#include "compressors/quantize/bucketed.h"

#include <algorithm>
#include <utility>

namespace thinpipe {
namespace {

class BucketQuantizer : public Quantizer {
 public:
  BucketQuantizer(std::unique_ptr<BucketCodec> codec, const BucketOptions& options)
      : codec_(std::move(codec)), options_(options) {}

  std::size_t max_encoded_size(std::size_t elements) const override {
    if (elements == 0) return 0;
    const std::size_t bucket = bucket_of(elements);
    const std::size_t last = elements % bucket;
    return elements / bucket * codec_->max_size(bucket) + (last == 0 ? 0 : codec_->max_size(last));
  }

  QuantizeReport encode(std::span<const float> c, const QuantizeContext& context,
                        std::span<float> remainder, ByteWriter& out) override {
    BucketContext bucket{.first = 0,
                         .key = random_key(options_.stream, context.step),
                         .shared_scale = context.shared_scale};
    QuantizeReport report{.nonzero = 0, .passes = options_.bucket == 0 ? codec_->passes() : 1};
    const std::size_t size = bucket_of(c.size());
    for (; bucket.first < c.size(); bucket.first += size) {
      const std::size_t n = std::min(size, c.size() - bucket.first);
      const auto left = remainder.empty() ? remainder : remainder.subspan(bucket.first, n);
      report.nonzero += codec_->encode(c.subspan(bucket.first, n), bucket, left, out);
    }
    return report;
  }

  void decode_add(ByteReader in, float factor, std::span<float> out) const override {
    const std::size_t size = bucket_of(out.size());
    for (std::size_t first = 0; first < out.size(); first += size) {
      codec_->decode_add(in, factor, out.subspan(first, std::min(size, out.size() - first)));
    }
    in.expect_end();
  }

  bool shares_scale() const override { return codec_->shares_scale(); }
  float scale_of(std::span<const float> c) const override { return codec_->scale_of(c); }

 private:
  std::size_t bucket_of(std::size_t elements) const {
    return options_.bucket == 0 ? elements : options_.bucket;
  }

  std::unique_ptr<BucketCodec> codec_;
  BucketOptions options_;
};

}  // namespace

std::unique_ptr<Quantizer> make_bucket_quantizer(std::unique_ptr<BucketCodec> codec,
                                                 const BucketOptions& options) {
  return std::make_unique<BucketQuantizer>(std::move(codec), options);
}

}  // namespace thinpipe
