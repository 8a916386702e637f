#include "harness/bench/inputs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "workloads/synthetic/draw.h"
#include "workloads/synthetic/synthetic.h"
#include "workloads/trace/trace.h"

namespace thinpipe {
namespace {

constexpr std::size_t kLine = 64 / sizeof(float);  // elements of a cache line

// Shape of the generalised Pareto distribution: P(|x| > t) = (1 + 0.4 t)^(-1 / 0.4). With this
// shape, a one-stage exponential fit selects 13 times too many elements at a ratio of 0.001, as it
// does with captured gradients.
constexpr double kParetoShape = 0.4;

void draw_squares(std::span<const float> gradient, std::span<float> out) {
  constexpr double kBatch = 32;
  double mean = 0;
  for (const float g : gradient) mean += static_cast<double>(g) * static_cast<double>(g);
  mean /= static_cast<double>(gradient.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double g = static_cast<double>(gradient[i]);
    out[i] = static_cast<float>(g * g / kBatch + mean);
  }
}

void copy_finite(std::span<const float> values, const std::string& what, std::span<float> out) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i]))
      throw InputError(
          fmt::format("{}: element {} is {}; bench needs finite values", what, i, values[i]));
    out[i] = values[i];
  }
}

}  // namespace

const std::vector<std::string>& distribution_names() {
  static const std::vector<std::string> kNames{"laplace", "normal", "normal_product", "gpareto"};
  return kNames;
}

void draw(const std::string& distribution, std::uint64_t seed, std::span<float> out) {
  const auto& names = distribution_names();
  if (std::find(names.begin(), names.end(), distribution) == names.end())
    throw InputError("unknown distribution " + in_quotes(distribution) +
                     did_you_mean(distribution, names));
  const bool product = distribution == "normal_product";
  const QuantileTable table(
      make_family(product ? "normal" : distribution, {.shape = kParetoShape}));
  const std::uint64_t stream = random_stream(seed, 0, "bench");
  draw_values(table, 1, random_key(stream, 0), out);
  if (!product) return;
  std::vector<float> other(out.size());
  draw_values(table, 1, random_key(stream, 1), other);
  std::transform(out.begin(), out.end(), other.begin(), out.begin(), std::multiplies<>());
}

std::size_t last_level_cache() {
  for (const int name : {_SC_LEVEL4_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE}) {
    const long bytes = ::sysconf(name);
    if (bytes > 0) return static_cast<std::size_t>(bytes);
  }
  return std::size_t{32} << 20;
}

void rotate_into(std::span<const float> values, std::size_t step, std::span<float> out) {
  const auto turn = static_cast<std::size_t>(0.6180339887 * static_cast<double>(values.size()));
  const std::size_t begin = step * turn % values.size();
  std::rotate_copy(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(begin),
                   values.end(), out.begin());
}

Arrays::Arrays(std::size_t count, std::size_t elements)
    : count_(count), elements_(elements), stride_((elements + kLine - 1) / kLine * kLine) {
  memory_ = Buffer<float>(count * stride_ + kLine);
  const auto address = reinterpret_cast<std::uintptr_t>(memory_.data()) / sizeof(float);
  first_ = memory_.data() + (kLine - address % kLine) % kLine;
  std::fill_n(first_, count * stride_, 0.0F);  // maps all pages before anything is timed
}

void Inputs::allocate(bool squares) {
  const std::size_t bytes = (elements() + kLine - 1) / kLine * kLine * sizeof(float);  // as Arrays
  // All inputs together are twice the cache's size. Every input is then evicted before it is read
  // again, whatever the replacement policy. There are at least two arrays, because the triad reads
  // two.
  std::size_t count = 2;
  if (residency_ == Residency::kMemory)
    count = std::max(count, (2 * last_level_cache() + bytes - 1) / bytes);
  gradients_ = Arrays(count, elements());
  outputs_ = Arrays(count, elements());
  if (squares) squares_ = Arrays(count, elements());
}

Inputs::Inputs(const BenchOptions& options, std::size_t elements, bool squares)
    : tensor_{.name = options.distribution, .shape = nearly_square(elements), .elements = elements},
      residency_(options.residency) {
  allocate(squares);
  draw(options.distribution, options.seed, gradients_[0]);
  if (squares) draw_squares(gradients_[0], squares_[0]);
  for (std::size_t i = 1; i < gradients_.count(); ++i) {
    rotate_into(gradients_[0], i, gradients_[i]);
    if (squares) rotate_into(squares_[0], i, squares_[i]);
  }
}

Inputs::Inputs(const BenchOptions& options, const Trace& trace, std::size_t tensor, bool squares)
    : tensor_{.name = trace.tensors().at(tensor).name,
              .shape = trace.tensors().at(tensor).shape,
              .elements = trace.tensors().at(tensor).elements},
      residency_(options.residency) {
  allocate(squares);
  for (std::size_t i = 0; i < gradients_.count(); ++i) {
    const std::size_t step = i % trace.steps();
    const std::size_t rank = i / trace.steps() % trace.ranks();
    const std::string what = fmt::format("{}: tensor '{}', rank {}, step {}",
                                         trace.folder().string(), tensor_.name, rank, step);
    const auto begin = std::chrono::steady_clock::now();
    const std::span<const float> gradient = trace.gradient(rank, step, tensor);
    const double seconds = std::max(seconds_since(begin), 1e-9);
    if (trace.generated())
      drawn_rate_ = std::max(drawn_rate_, static_cast<double>(gradient.size_bytes()) / seconds);
    copy_finite(gradient, what, gradients_[i]);
    if (step + 1 == trace.steps() || i + 1 == gradients_.count()) trace.release(rank);
    if (!squares) continue;
    const std::span<const float> q = trace.squares(rank, step, tensor);
    if (q.size() != elements())
      throw InputError(what + ": no second moments, which a compressor of this bench needs");
    copy_finite(q, what + ", second moments", squares_[i]);
  }
}

std::span<const float> Inputs::squares(std::size_t step) const {
  if (squares_.count() == 0) return {};
  return squares_[at(step)];
}

}  // namespace thinpipe
