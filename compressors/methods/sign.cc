// One bit per element: signSGD, EF-signSGD, 1-bit SGD, and one bit of 3LC. All send one or two
// values and a bit for each element; they differ in the values.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "compressors/kernels/quantize.h"
#include "compressors/methods/dense.h"
#include "compressors/methods/quantizers.h"
#include "compressors/wire/scale.h"

namespace thinpipe {
namespace {

std::size_t bytes_of(std::size_t n) { return (n + 7) / 8; }

/// Checks that the last byte of n bits is filled with zeros. @throws PayloadError
void check_filled(std::span<const std::byte> bits, std::size_t n) {
  if (n % 8 != 0 && (static_cast<unsigned>(bits.back()) >> (n % 8)) != 0) {
    throw PayloadError("bits after the last element's are not zero");
  }
}

void add_bits(ByteReader& in, SignValues values, std::span<float> out) {
  const auto bits = in.get_bytes(bytes_of(out.size()), "bits");
  check_filled(bits, out.size());
  sign_unpack_add(reinterpret_cast<const std::uint8_t*>(bits.data()), values, out);
}

/// Computes the values in the pass that packs the bits; the remainder takes another pass.
class ScaledSignBucket : public BucketCodec {
 public:
  explicit ScaledSignBucket(SignScale scale)
      : scale_(scale), header_((scale == SignScale::kMeans ? 2 : 1) * sizeof(float)) {}

  std::size_t max_size(std::size_t n) const override { return header_ + bytes_of(n); }
  std::size_t encode(Signal& c, const BucketContext& /*context*/, std::span<float> remainder,
                     ByteWriter& out) override {
    const auto space = out.free();
    auto* const bits = reinterpret_cast<std::uint8_t*>(space.data()) + header_;
    const PendingSum* const sum = c.take_sum();
    const SignedSums sums = sum != nullptr ? pack_signs_of_sum(*sum, scale_, bits)
                                           : pack_signs(c.values(), scale_, bits);
    const SignValues values = sign_values(scale_, sums, c.size());
    std::memcpy(space.data(), &values, header_);
    if (!remainder.empty()) leave_signs(c.values(), values, remainder);
    out.advance(max_size(c.size()));
    return (values.positive == 0 ? 0 : c.size() - sums.negatives) +
           (values.negative == 0 ? 0 : sums.negatives);
  }
  std::size_t encode_buckets(std::span<const float> c, std::size_t bucket,
                             const BucketContext& context, std::span<float> remainder,
                             std::span<std::byte> out) override {
    // Greater buckets are summed as whole tensors are, on GPUs as well.
    if (bucket > kMaxFused) return BucketCodec::encode_buckets(c, bucket, context, remainder, out);
    return sign_buckets(c, bucket, scale_, remainder, reinterpret_cast<std::uint8_t*>(out.data()));
  }
  void decode_add(ByteReader& in, float factor, std::span<float> out) const override {
    SignValues values;
    if (scale_ == SignScale::kMagnitude) {
      values.positive = in.get<float>("the mean magnitude");
      check_scale(values.positive, "the mean magnitude");
      values.negative = -values.positive;
    } else {
      values.positive = in.get<float>("the mean of the non-negative");
      values.negative = in.get<float>("the mean of the negative");
      check_finite(values.positive, "the mean of the non-negative");
      check_finite(values.negative, "the mean of the negative");
    }
    add_bits(in, {factor * values.positive, factor * values.negative}, out);
  }
  int passes(bool keeps) const override { return keeps ? 2 : 1; }

 private:
  static constexpr std::size_t kMaxFused = 2 * kSignBlock;

  SignScale scale_;
  std::size_t header_;  ///< bytes of the values
};

class SignBucket : public BucketCodec {
 public:
  explicit SignBucket(float scale) : scale_(scale) {}

  std::size_t max_size(std::size_t n) const override { return bytes_of(n); }
  std::size_t encode(Signal& signal, const BucketContext& /*context*/, std::span<float> remainder,
                     ByteWriter& out) override {
    const auto c = signal.values();
    sign_pack(c, {scale_, -scale_}, remainder, reinterpret_cast<std::uint8_t*>(out.free().data()));
    out.advance(bytes_of(c.size()));
    return c.size();
  }
  void decode_add(ByteReader& in, float factor, std::span<float> out) const override {
    add_bits(in, {factor * scale_, -(factor * scale_)}, out);
  }
  int passes(bool /*keeps*/) const override { return 1; }

 private:
  float scale_;
};

constexpr std::size_t kRows = kColumnRows;
/// Elements whose bits are aligned at a time.
constexpr std::size_t kMeansBlock = 1024;

class ColumnMeansQuantizer : public Quantizer {
 public:
  ColumnMeansQuantizer(std::size_t rows, std::size_t columns)
      : rows_(rows),
        columns_(columns),
        floats_(3 * columns),
        sums_(2 * columns),
        counts_(columns),
        means_(2 * columns) {}

  std::size_t max_encoded_size(std::size_t elements) const override {
    return means_.size() * sizeof(float) + (elements + 7) / 8;
  }

  QuantizeReport encode(Signal& signal, const QuantizeContext& /*context*/,
                        std::span<float> remainder, ByteWriter& out) override {
    const auto c = signal.values();
    find_means(c);
    out.put_bytes(std::as_bytes(std::span(means_)));
    sign_pack(c, {}, {}, reinterpret_cast<std::uint8_t*>(out.free().data()));
    out.advance((c.size() + 7) / 8);
    for (std::size_t row = 0; !remainder.empty() && row < rows_; ++row) {
      leave_row(c.data() + row * columns_, columns_, means_.data(), means_.data() + columns_,
                remainder.data() + row * columns_);
    }
    return {.nonzero = c.size(), .passes = remainder.empty() ? 2 : 3};
  }

  void decode_add(ByteReader in, float factor, std::span<float> out) const override {
    const auto encoded = in.get_bytes(means_.size() * sizeof(float), "means");
    const auto bytes = in.get_bytes(bytes_of(out.size()), "bits");
    in.expect_end();
    check_filled(bytes, out.size());
    const auto* bits = reinterpret_cast<const std::uint8_t*>(bytes.data());
    // Columns are decoded in blocks: a block's means are copied once out of the payload, which has
    // no alignment.
    std::array<float, kMeansBlock> positive;
    std::array<float, kMeansBlock> negative;
    std::array<std::uint8_t, kMeansBlock / 8> aligned;
    for (std::size_t first = 0; first < columns_; first += kMeansBlock) {
      const std::size_t n = std::min(kMeansBlock, columns_ - first);
      std::memcpy(positive.data(), encoded.data() + first * sizeof(float), n * sizeof(float));
      std::memcpy(negative.data(), encoded.data() + (columns_ + first) * sizeof(float),
                  n * sizeof(float));
      for (std::size_t i = 0; i < n; ++i) {
        check_finite(positive[i], "a mean of the non-negative");
        check_finite(negative[i], "a mean of the negative");
      }
      for (std::size_t row = 0; row < rows_; ++row) {
        const std::size_t at = row * columns_ + first;
        align(bits, bytes.size(), at, n, aligned.data());
        add_row(aligned.data(), n, positive.data(), negative.data(), factor, out.data() + at);
      }
    }
  }

 private:
  void find_means(std::span<const float> c) {
    float* const positive = floats_.data();
    float* const negative = positive + columns_;
    float* const counts = negative + columns_;
    std::fill(sums_.begin(), sums_.end(), 0.0);
    std::fill(counts_.begin(), counts_.end(), std::size_t{0});
    for (std::size_t first = 0; first < rows_; first += kRows) {
      std::fill(floats_.begin(), floats_.end(), 0.0F);
      for (std::size_t row = first; row < std::min(first + kRows, rows_); ++row) {
        add_row_by_sign(c.data() + row * columns_, columns_, positive, negative, counts);
      }
      for (std::size_t j = 0; j < columns_; ++j) {
        sums_[j] += double{positive[j]};
        sums_[columns_ + j] += double{negative[j]};
        counts_[j] += static_cast<std::size_t>(counts[j]);
      }
    }
    for (std::size_t j = 0; j < columns_; ++j) {
      means_[j] = mean(sums_[j], counts_[j]);
      means_[columns_ + j] = mean(sums_[columns_ + j], rows_ - counts_[j]);
    }
  }
  static float mean(double sum, std::size_t count) {
    return count == 0 ? 0.0F : finite(sum / static_cast<double>(count));
  }

  /// Copies the bits at ... at + n - 1 to `aligned`, from its first bit on.
  static void align(const std::uint8_t* bits, std::size_t size, std::size_t at, std::size_t n,
                    std::uint8_t* aligned) {
    const std::size_t shift = at % 8;
    for (std::size_t k = 0; k < (n + 7) / 8; ++k) {
      const std::size_t from = at / 8 + k;
      const unsigned upper = from + 1 < size ? bits[from + 1] : 0U;
      aligned[k] = static_cast<std::uint8_t>((bits[from] | (upper << 8)) >> shift);
    }
  }

  std::size_t rows_;
  std::size_t columns_;
  std::vector<float> floats_;        ///< of few rows: sums of either sign, counts of the positive
  std::vector<double> sums_;         ///< positive, negative
  std::vector<std::size_t> counts_;  ///< of the non-negative
  std::vector<float> means_;         ///< positive, negative; as in the payload
};

/// Makes the quantiser of one bit per element and two means, per bucket or per column.
std::unique_ptr<Quantizer> two_means(const Parameters& parameters, const TensorInfo& tensor,
                                     const CompressorSettings& settings) {
  const BucketOptions options = bucket_of(parameters, tensor, settings);
  if (!parameters.flag("columns")) return make_bucket_quantizer(make_two_means_bucket(), options);
  if (options.bucket == 0) return make_column_means_quantizer(tensor.shape, tensor.elements);
  throw InputError("spec '" + parameters.text() +
                   "': columns=true has means per column; expected bucket=0");
}

/// @param columns  default of the parameter: means per column, not per tensor
MethodInfo two_means_method(const std::string& name, const std::string& source,
                            const std::string& columns) {
  return dense_method(
      {.name = name,
       .summary = "one bit per element, decoded to the mean of the non-negative or the negative",
       .source = source,
       .memory = "residual",
       .parameters = {flag_parameter("columns", columns,
                                     "two means per column of the matrix with shape[0] rows"),
                      bucket_parameter("0")},
       .quantizer = two_means,
       // The means of columns are left out: their number depends on the shape.
       .expected_bits = [](const Parameters& parameters) {
         return 1 + bits_per_bucket(parameters, 64);
       }});
}

// The sign alone. The sum of all workers' signs has the sign of the majority.
const Registration kSignSgd{dense_method({
    .name = "signsgd",
    .summary = "one bit per element; the sign of the aggregate is the majority vote",
    .source = "Bernstein et al., signSGD, 2018, alg. 2; the trainer takes the aggregate's sign",
    .parameters = {real_parameter("scale", "1", "magnitude that every element decodes to", 1e-30,
                                  1e30)},
    .quantizer = in_buckets([](const Parameters& parameters) {
      return make_sign_bucket(static_cast<float>(parameters.real("scale")));
    }),
    .expected_bits = [](const Parameters&) { return 1.0; },
})};

// The sign times the mean magnitude, with error feedback.
const Registration kEfSignSgd{dense_method({
    .name = "efsignsgd",
    .summary = "one bit per element, the sign times the mean magnitude",
    .source = "Karimireddy et al., Error Feedback Fixes SignSGD, 2019, alg. 1",
    .memory = "residual",
    .parameters = {bucket_parameter("0")},
    .quantizer = in_buckets([](const Parameters&) { return make_mean_magnitude_bucket(); }),
    .expected_bits =
        [](const Parameters& parameters) { return 1 + bits_per_bucket(parameters, 32); },
})};

// 1-bit SGD: one bit per element and two means of every column.
const Registration kOneBit{two_means_method(
    "onebit", "Seide et al., 1-bit SGD, 2014, section 3.3; means of every column", "true")};

// 3LC's MQE 1-bit int: one bit per element and two means of the tensor.
const Registration kMqe{two_means_method(
    "mqe1bit", "Lim et al., 3LC, section 5.1: MQE 1-bit int; means of the whole tensor", "false")};

}  // namespace

std::unique_ptr<BucketCodec> make_two_means_bucket() {
  return std::make_unique<ScaledSignBucket>(SignScale::kMeans);
}
std::unique_ptr<BucketCodec> make_mean_magnitude_bucket() {
  return std::make_unique<ScaledSignBucket>(SignScale::kMagnitude);
}
std::unique_ptr<BucketCodec> make_sign_bucket(float scale) {
  return std::make_unique<SignBucket>(scale);
}

std::size_t columns_of(const std::vector<std::int64_t>& shape, std::size_t elements) {
  const std::size_t rows = shape.size() < 2 ? elements : static_cast<std::size_t>(shape[0]);
  return rows == 0 ? 0 : elements / rows;
}

std::unique_ptr<Quantizer> make_column_means_quantizer(const std::vector<std::int64_t>& shape,
                                                       std::size_t elements) {
  const std::size_t columns = columns_of(shape, elements);
  // A payload of one column equals that of the whole tensor.
  if (columns < 2) return make_bucket_quantizer(make_two_means_bucket(), {});
  return std::make_unique<ColumnMeansQuantizer>(elements / columns, columns);
}

}  // namespace thinpipe
