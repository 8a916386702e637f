// A pass for the means, one for the bits, one for the error; all of them row by row.
#include "compressors/quantize/column_means.h"

#include <algorithm>
#include <array>

#include "compressors/encode/scale.h"
#include "compressors/kernels/columns.h"
#include "compressors/kernels/sign_bits.h"
#include "compressors/quantize/sign_bits.h"

namespace thinpipe {
namespace {

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

  QuantizeReport encode(std::span<const float> c, const QuantizeContext& /*context*/,
                        std::span<float> remainder, ByteWriter& out) override {
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
    const auto bytes = in.get_bytes((out.size() + 7) / 8, "bits");
    in.expect_end();
    const std::size_t used = out.size() % 8;
    if (used != 0 && (static_cast<unsigned>(bytes.back()) >> used) != 0) {
      throw PayloadError("bits after the last element's are not zero");
    }
    const auto* bits = reinterpret_cast<const std::uint8_t*>(bytes.data());
    // Columns in blocks: a block's means are copied once, out of a payload at any address.
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

  /// Bits at ... at + n - 1 from the first bit of `aligned` on.
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
  std::vector<float> floats_;        ///< sums of few rows: positive, negative, counts of the former
  std::vector<double> sums_;         ///< positive, negative
  std::vector<std::size_t> counts_;  ///< of the non-negative
  std::vector<float> means_;         ///< positive, negative; as they stand in the payload
};

}  // namespace

std::size_t columns_of(const std::vector<std::int64_t>& shape, std::size_t elements) {
  const std::size_t rows = shape.size() < 2 ? elements : static_cast<std::size_t>(shape[0]);
  return rows == 0 ? 0 : elements / rows;
}

std::unique_ptr<Quantizer> make_column_means_quantizer(const std::vector<std::int64_t>& shape,
                                                       std::size_t elements) {
  const std::size_t columns = columns_of(shape, elements);
  // The payload of one column is that of the whole tensor.
  if (columns < 2) return make_bucket_quantizer(make_two_means_bucket(), {});
  return std::make_unique<ColumnMeansQuantizer>(elements / columns, columns);
}

}  // namespace thinpipe
