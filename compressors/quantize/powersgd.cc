// One step of subspace iteration a time: p = orthogonalised c q, q = c^T p (alg. 1 of the paper).
#include "compressors/quantize/powersgd.h"

#include <algorithm>
#include <cstring>

#include "compressors/kernels/low_rank.h"
#include "compressors/kernels/low_rank_order.h"
#include "compressors/kernels/nonfinite.h"
#include "compressors/kernels/orthogonalize.h"
#include "compressors/quantize/fp32.h"
#include "compressors/random.h"

namespace thinpipe {
namespace {

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
        own_q_(options.in_rounds ? q_.size() : 0),
        room_(low_rank_room(shape)),
        products_(orthogonalize_room(shape.rank)) {
    PowerSgdQuantizer::reset();
  }

  std::size_t max_encoded_size(std::size_t /*elements*/) const override {
    return (p_.size() + q_.size()) * sizeof(float);
  }

  QuantizeReport encode(std::span<const float> c, const QuantizeContext& /*context*/,
                        std::span<float> remainder, ByteWriter& out) override {
    if (!warm_start_) reset();
    renew_empty_columns();
    low_rank_left(shape_, c.data(), q_.data(), p_.data());
    if (all_finite(p_)) orthogonalize(p_, shape_.rows, products_);
    low_rank_right(shape_, c.data(), p_.data(), room_, q_.data());
    if (!all_finite(p_) || !all_finite(q_)) {
      // A NaN or an overflow anywhere would reach every element: nothing is sent.
      std::fill(p_.begin(), p_.end(), 0.0F);
      std::fill(q_.begin(), q_.end(), 0.0F);
    }
    out.put_bytes(std::as_bytes(std::span<const float>(p_)));
    out.put_bytes(std::as_bytes(std::span<const float>(q_)));
    if (!remainder.empty()) {
      low_rank_subtract(shape_, p_.data(), q_.data(), c.data(), remainder.data());
    }
    return {.nonzero = c.size(), .passes = remainder.empty() ? 2 : 3};
  }

  int rounds() const override { return own_q_.empty() ? 1 : 2; }

  QuantizeReport first_round(std::span<const float> c, std::span<const float> remainder,
                             ByteWriter& out) override {
    if (!warm_start_) reset();
    renew_empty_columns();
    low_rank_left(shape_, c.data(), q_.data(), p_.data());
    // A NaN or an overflow would reach every worker: nothing is sent.
    if (!all_finite(p_)) std::fill(p_.begin(), p_.end(), 0.0F);
    out.put_bytes(std::as_bytes(std::span<const float>(p_)));
    return {.nonzero = c.size(), .passes = remainder.empty() ? 2 : 3};
  }

  void next_round(int round, std::span<const float> mean, std::span<const float> c,
                  std::span<float> remainder, ByteWriter& out) override {
    if (round == 1) {
      std::copy(mean.begin(), mean.end(), p_.begin());
      if (!all_finite(p_)) std::fill(p_.begin(), p_.end(), 0.0F);  // the sum overflowed
      orthogonalize(p_, shape_.rows, products_);
      low_rank_right(shape_, c.data(), p_.data(), room_, own_q_.data());
      if (!all_finite(own_q_)) std::fill(own_q_.begin(), own_q_.end(), 0.0F);
      out.put_bytes(std::as_bytes(std::span<const float>(own_q_)));
      return;
    }
    std::copy(mean.begin(), mean.end(), q_.begin());
    if (!all_finite(q_)) {
      std::fill(p_.begin(), p_.end(), 0.0F);
      std::fill(q_.begin(), q_.end(), 0.0F);
    }
    out.put_bytes(std::as_bytes(std::span<const float>(p_)));
    out.put_bytes(std::as_bytes(std::span<const float>(q_)));
    // c less the own part and not less the mean: the bounded one of the two. It makes no difference
    // to what is decoded, now or later, because the mean over workers of what is left is the same.
    if (!remainder.empty()) {
      low_rank_subtract(shape_, p_.data(), own_q_.data(), c.data(), remainder.data());
    }
  }

  void own_payload(ByteWriter& out) const override {
    out.put_bytes(std::as_bytes(std::span<const float>(p_)));
    out.put_bytes(std::as_bytes(std::span<const float>(own_q_)));
  }

  void decode_add(ByteReader in, float factor, std::span<float> out) const override {
    get_floats(in, decoded_p_, "p");
    get_floats(in, decoded_q_, "q");
    in.expect_end();
    low_rank_add(shape_, decoded_p_.data(), decoded_q_.data(), factor, out.data());
  }

  void reset() override {
    std::fill(q_.begin(), q_.end(), 0.0F);
    renew_empty_columns();
  }
  std::size_t state_size() const override { return q_.size() * sizeof(float); }
  void save(ByteWriter& out) const override {
    out.put_bytes(std::as_bytes(std::span<const float>(q_)));
  }
  void load(ByteReader& in) override { get_floats(in, q_, "q"); }

 private:
  /// @throws PayloadError unless all are finite.
  static void get_floats(ByteReader& in, std::vector<float>& values, const char* what) {
    const auto bytes = in.get_bytes(values.size() * sizeof(float), what);
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    if (all_finite(values)) return;
    throw PayloadError(std::string("a number of ") + what + " in the payload is not finite");
  }

  /// A column of zeros would stay one for ever; it begins anew with random numbers.
  void renew_empty_columns() {
    for (std::size_t k = 0; k < shape_.rank; ++k) {
      const auto column = std::span(q_).subspan(k * shape_.columns, shape_.columns);
      if (std::any_of(column.begin(), column.end(), [](float x) { return x != 0; })) continue;
      SplitMix64 random(seed_ + k);
      for (float& value : column) value = low_rank_random(random.next());
    }
  }

  LowRankShape shape_;
  bool warm_start_;
  std::uint64_t seed_;
  std::vector<float> p_;
  std::vector<float> q_;
  mutable std::vector<float> decoded_p_;  ///< workspace of decode_add
  mutable std::vector<float> decoded_q_;
  std::vector<float> own_q_;      ///< in rounds: this worker's c^T p, while q_ is the mean of all
  std::vector<float> room_;       ///< of low_rank_right()
  std::vector<double> products_;  ///< of orthogonalize()
};

}  // namespace

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
  return std::make_unique<PowerSgdQuantizer>(shape, options);
}

}  // namespace thinpipe
