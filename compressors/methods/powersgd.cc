// PowerSGD sends a matrix as two thin factors. Either all workers share the factors, which are
// all-reduced, or every worker has its own factors, which are all-gathered. Each step runs one step
// of subspace iteration: p = orthogonalised c q, q = c^T p (alg. 1 of the paper).
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "compressors/kernels/random.h"
#include "compressors/kernels/sums.h"
#include "compressors/kernels/transforms.h"
#include "compressors/methods/dense.h"
#include "compressors/methods/quantizers.h"

namespace thinpipe {
namespace {

// Sums follow the order of kernels/transforms.h.

/// Returns the dot product of at most kDotStretch elements.
double dot_of_range(const float* a, const float* b, std::size_t n) {
  std::array<double, kDotLanes> lanes{};
  for (std::size_t begin = 0; begin < n; begin += kDotLanes) {
    const std::size_t some = std::min(kDotLanes, n - begin);
    for (std::size_t i = 0; i < some; ++i)
      lanes[i] += static_cast<double>(a[begin + i]) * static_cast<double>(b[begin + i]);
  }
  // Lanes without a product are 0 and change nothing.
  for (std::size_t half = std::bit_ceil(std::min(n, kDotLanes)) / 2; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  return lanes[0];
}

/// Writes the products of columns k and i >= k to [k * count + i].
void multiply_columns(std::span<const float> columns, std::size_t rows,
                      std::span<double> products) {
  const std::size_t count = columns.size() / rows;
  std::fill(products.begin(), products.end(), 0);
  for (std::size_t first = 0; first < rows; first += kDotStretch) {
    const std::size_t n = std::min(kDotStretch, rows - first);
    for (std::size_t k = 0; k < count; ++k)
      for (std::size_t i = k; i < count; ++i)
        products[k * count + i] +=
            dot_of_range(columns.data() + k * rows + first, columns.data() + i * rows + first, n);
  }
}

/// Replaces the products by the Cholesky factor below its diagonal; `scales` gets the inverse of
/// the diagonal.
void factor(std::span<double> products, std::span<double> scales) {
  const std::size_t count = scales.size();
  for (std::size_t k = 0; k < count; ++k) scales[k] = products[k * count + k];  // before
  for (std::size_t k = 0; k < count; ++k) {
    double* const row = products.data() + k * count;
    scales[k] = unit_scale(scales[k], row[k]);
    for (std::size_t i = k + 1; i < count; ++i) row[i] *= scales[k];
    for (std::size_t m = k + 1; m < count; ++m)
      for (std::size_t i = m; i < count; ++i)
        products[m * count + i] = less_share(products[m * count + i], row[m], row[i]);
  }
}

/// Rows processed together: they stay in the first-level cache while projections are subtracted
/// from a column.
constexpr std::size_t kRowsAtOnce = 256;

/// Subtracts from each column its projections on the columns before it, then scales it to length 1.
void subtract_projections(std::span<float> columns, std::size_t rows,
                          std::span<const double> projections, std::span<const double> scales) {
  const std::size_t count = scales.size();
  std::array<double, kRowsAtOnce> left;
  for (std::size_t first = 0; first < rows; first += kRowsAtOnce) {
    const std::size_t n = std::min(kRowsAtOnce, rows - first);
    for (std::size_t k = 0; k < count; ++k) {
      float* const column = columns.data() + k * rows + first;
      for (std::size_t i = 0; i < n; ++i) left[i] = static_cast<double>(column[i]);
      for (std::size_t j = 0; j < k; ++j) {
        const float* const other = columns.data() + j * rows + first;
        const double projection = projections[j * count + k];
        for (std::size_t i = 0; i < n; ++i)
          left[i] = less_share(left[i], projection, static_cast<double>(other[i]));
      }
      for (std::size_t i = 0; i < n; ++i) column[i] = static_cast<float>(left[i] * scales[k]);
    }
  }
}

bool all_finite(std::span<const float> x) { return first_non_finite(x) == kAllFinite; }

class PowerSgdQuantizer : public Quantizer {
 public:
  PowerSgdQuantizer(const LowRankShape& shape, const PowerSgdOptions& options)
      : shape_(shape),
        warm_start_(options.warm_start),
        seed_(options.seed),
        p_(shape.rows * shape.rank),
        q_(shape.columns * shape.rank),
        decoded_p_(p_.size()),
        decoded_q_(q_.size()),
        workspace_(low_rank_workspace(shape)),
        products_(orthogonalize_workspace(shape.rank)) {
    PowerSgdQuantizer::reset();
  }

  std::size_t max_encoded_size(std::size_t /*elements*/) const override {
    return (p_.size() + q_.size()) * sizeof(float);
  }

  QuantizeReport encode(Signal& signal, const QuantizeContext& context, std::span<float> remainder,
                        ByteWriter& out) override {
    const auto c = signal.values();
    begin(context.step);
    low_rank_left(shape_, c.data(), q_.data(), p_.data());
    if (all_finite(p_)) orthogonalize(p_, shape_.rows, products_);
    low_rank_right(shape_, c.data(), p_.data(), workspace_, q_.data());
    if (!all_finite(p_) || !all_finite(q_)) {
      // A NaN or an overflow anywhere would spread to every element, so nothing is sent.
      std::fill(p_.begin(), p_.end(), 0.0F);
      std::fill(q_.begin(), q_.end(), 0.0F);
    }
    put_factors(q_, out);
    if (!remainder.empty()) {
      low_rank_subtract(shape_, p_.data(), q_.data(), c.data(), remainder.data());
    }
    return {.nonzero = c.size(), .passes = remainder.empty() ? 2 : 3};
  }

  void decode_add(ByteReader in, float factor, std::span<float> out) const override {
    get_floats(in, decoded_p_, "p");
    get_floats(in, decoded_q_, "q");
    in.expect_end();
    low_rank_add(shape_, decoded_p_.data(), decoded_q_.data(), factor, out.data());
  }

  void reset() override {
    std::fill(q_.begin(), q_.end(), 0.0F);
    begin(0);
  }
  std::size_t state_size() const override { return q_.size() * sizeof(float); }
  void save(ByteWriter& out) const override { save_floats(out, q_); }
  void load(ByteReader& in) override { get_floats(in, q_, "q"); }

 protected:
  void put_factors(std::span<const float> q, ByteWriter& out) const {
    save_floats(out, p_);
    save_floats(out, q);
  }
  /// Reads floats. @throws PayloadError unless all are finite.
  static void get_floats(ByteReader& in, std::vector<float>& values, const char* what) {
    const auto bytes = in.get_bytes(values.size() * sizeof(float), what);
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    if (all_finite(values)) return;
    throw PayloadError(std::string("a number of ") + what + " in the payload is not finite");
  }

  /// Fills columns of zeros with random numbers: such a column would stay zero for ever. Without
  /// warm start fills all columns, with other numbers in every step: what is orthogonal to Q is not
  /// sent and remains in the memory, so with one Q for all steps it would remain there for ever.
  void begin(std::uint64_t step) {
    for (std::size_t k = 0; k < shape_.rank; ++k) {
      const auto column = std::span(q_).subspan(k * shape_.columns, shape_.columns);
      if (warm_start_ && std::any_of(column.begin(), column.end(), [](float x) { return x != 0; }))
        continue;
      SplitMix64 random(seed_ + k + (warm_start_ ? 0 : shape_.rank * step));
      for (float& value : column) value = low_rank_random(random.next());
    }
  }

  LowRankShape shape_;
  bool warm_start_;
  std::uint64_t seed_;
  std::vector<float> p_;
  std::vector<float> q_;
  mutable std::vector<float> decoded_p_;  ///< workspace of decode_add()
  mutable std::vector<float> decoded_q_;
  std::vector<float> workspace_;  ///< of low_rank_right()
  std::vector<double> products_;  ///< of orthogonalize()
};

/// Factors that all workers share: p_ and q_ are means.
class PowerSgdRounds : public PowerSgdQuantizer, public QuantizerRounds {
 public:
  PowerSgdRounds(const LowRankShape& shape, const PowerSgdOptions& options)
      : PowerSgdQuantizer(shape, options), own_q_(q_.size()) {}

  int rounds() const override { return 2; }

  QuantizeReport first_round(std::span<const float> c, const QuantizeContext& context,
                             std::span<const float> remainder, ByteWriter& out) override {
    begin(context.step);
    low_rank_left(shape_, c.data(), q_.data(), p_.data());
    // A NaN or an overflow would spread to every worker, so nothing is sent.
    if (!all_finite(p_)) std::fill(p_.begin(), p_.end(), 0.0F);
    save_floats(out, p_);
    return {.nonzero = c.size(), .passes = remainder.empty() ? 2 : 3};
  }

  void next_round(int round, std::span<const float> mean, std::span<const float> c,
                  std::span<float> remainder, ByteWriter& out) override {
    if (round == 1) {
      std::copy(mean.begin(), mean.end(), p_.begin());
      if (!all_finite(p_)) std::fill(p_.begin(), p_.end(), 0.0F);  // the sum overflowed
      orthogonalize(p_, shape_.rows, products_);
      low_rank_right(shape_, c.data(), p_.data(), workspace_, own_q_.data());
      if (!all_finite(own_q_)) std::fill(own_q_.begin(), own_q_.end(), 0.0F);
      save_floats(out, own_q_);
      return;
    }
    std::copy(mean.begin(), mean.end(), q_.begin());
    if (!all_finite(q_)) {
      std::fill(p_.begin(), p_.end(), 0.0F);
      std::fill(q_.begin(), q_.end(), 0.0F);
    }
    put_factors(q_, out);
    // The memory keeps c minus this worker's own contribution instead of c minus the mean, because
    // the former is bounded. The choice changes no decoded value, now or later: the mean over all
    // workers' memories is the same in both cases.
    if (!remainder.empty()) {
      low_rank_subtract(shape_, p_.data(), own_q_.data(), c.data(), remainder.data());
    }
  }

  void own_payload(ByteWriter& out) const override { put_factors(own_q_, out); }

 private:
  std::vector<float> own_q_;  ///< this worker's c^T p
};

const Registration kPowerSgd{dense_method({
    .name = "powersgd",
    .summary = "matrices as products of two thin factors, warm-started; other tensors as they are",
    .source = "Vogels, Karimireddy and Jaggi, PowerSGD, alg. 1 and 2, arXiv 1905.13727",
    .aggregation_with = exchanged_as,
    .needs_whole = true,
    .memory = "residual",
    .parameters =
        {integer_parameter("rank", "4", "columns of the factors; 1 to 4 in the paper", 1, 256),
         flag_parameter("warm", "true", "start from the last step's factor"),
         exchange_parameter("allreduce: the means of P, then of Q (alg. 1); allgather: every "
                            "worker's own P and Q")},
    .quantizer =
        [](const Parameters& parameters, const TensorInfo& tensor,
           const CompressorSettings& settings) {
          return make_powersgd_quantizer(
              {.shape = tensor.shape,
               .elements = tensor.elements,
               .rank = parameters.count("rank"),
               .warm_start = parameters.flag("warm"),
               .seed = settings.seed ^ hash_name(tensor.name),
               .in_rounds = exchanged_as(parameters) == Aggregation::kAllReduce});
        },
    // For a square matrix of 16 million elements. Other tensors depend on their shape.
    .expected_bits =
        [](const Parameters& parameters) {
          return 32 * 2 * static_cast<double>(parameters.integer("rank")) / 4096;
        },
    // The product q = c^T p needs all of p = c q, orthonormalised. A memory also needs p q^T.
    .traffic =
        [](const Parameters& parameters) {
          const double products = parameters.choice("memory") == "none" ? 2 : 3;
          return EncodeTraffic{
              .sweeps = 2,
              .multiply_adds = products * static_cast<double>(parameters.integer("rank"))};
        },
})};

}  // namespace

std::size_t orthogonalize_workspace(std::size_t columns) { return columns * (columns + 1); }

void orthogonalize(std::span<float> columns, std::size_t rows, std::span<double> workspace) {
  if (rows == 0) return;
  const std::size_t count = columns.size() / rows;
  const std::span<double> products = workspace.first(count * count);
  const std::span<double> scales = workspace.subspan(count * count, count);
  for (std::size_t pass = 0; pass < orthogonalize_passes(count); ++pass) {
    multiply_columns(columns, rows, products);
    factor(products, scales);
    subtract_projections(columns, rows, products, scales);
  }
}

LowRankShape low_rank_shape(std::span<const std::int64_t> sides, std::size_t elements,
                            std::size_t rank) {
  if (sides.size() < 2 || elements == 0) return {};
  LowRankShape shape;
  shape.rows = static_cast<std::size_t>(sides[0]);
  shape.columns = elements / shape.rows;
  shape.rank = std::min({rank, shape.rows, shape.columns});
  return (shape.rows + shape.columns) * shape.rank < elements ? shape : LowRankShape{};
}

std::unique_ptr<Quantizer> make_powersgd_quantizer(const PowerSgdOptions& options) {
  const LowRankShape shape = low_rank_shape(options.shape, options.elements, options.rank);
  if (shape.rank == 0) return make_fp32_quantizer();
  if (options.in_rounds) return std::make_unique<PowerSgdRounds>(shape, options);
  return std::make_unique<PowerSgdQuantizer>(shape, options);
}

}  // namespace thinpipe
