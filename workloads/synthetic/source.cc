#include "workloads/synthetic/source.h"

#include <algorithm>
#include <stdexcept>

#include "compressors/random.h"

namespace thinpipe {
namespace {

// The rank whose random numbers all ranks share.
constexpr int kEverybody = -1;

// Stochastic quantisers hash the same names, ranks and steps: they must not see the same numbers.
std::uint64_t salted(std::uint64_t seed) {
  return SplitMix64::mix(seed ^ hash_name("synthetic gradients"));
}

}  // namespace

DrawnDistribution::DrawnDistribution(const ValueDistribution& distribution, double rho_step,
                                     double rho_worker) {
  if (rho_step == 0 && rho_worker == 0) {
    quantiles = std::make_unique<QuantileTable>(distribution);
    return;
  }
  copula = std::make_unique<CopulaTable>(distribution);
  const CopulaCorrelation correlation(*copula);
  normal_rho_step = correlation.of_normals(rho_step);
  normal_rho_worker = correlation.of_normals(rho_worker);
}

SyntheticSource::SyntheticSource(std::vector<Tensor> tensors, std::size_t ranks, std::size_t steps,
                                 std::uint64_t seed, std::vector<std::vector<TraceStepTimes>> times)
    : tensors_(std::move(tensors)),
      ranks_(ranks),
      steps_(steps),
      seed_(salted(seed)),
      times_(std::move(times)),
      slots_(ranks) {}

std::span<const float> SyntheticSource::gradient(std::size_t rank, std::size_t step,
                                                 std::size_t tensor) {
  if (step >= steps_) throw std::out_of_range("synthetic trace: step");
  const Tensor& drawn = tensors_.at(tensor);
  Slot* slot = nullptr;
  {
    const std::lock_guard lock(mutex_);
    auto& of_rank = slots_.at(rank);
    if (of_rank.empty()) of_rank.resize(tensors_.size());
    if (!of_rank[tensor]) of_rank[tensor] = std::make_unique<Slot>();
    slot = of_rank[tensor].get();
  }
  const std::lock_guard lock(slot->mutex);
  if (!slot->filled || slot->step != step) fill(drawn, rank, step, *slot);
  return slot->values.first(drawn.elements);
}

void SyntheticSource::fill(const Tensor& tensor, std::size_t rank, std::size_t step,
                           Slot& slot) const {
  const std::size_t n = tensor.elements;
  const DrawnDistribution& distribution = *tensor.distribution;
  if (slot.values.size() == 0) slot.values = Buffer<float>(n);
  const std::uint64_t own = random_stream(seed_, static_cast<int>(rank), tensor.name);
  if (distribution.quantiles) {
    draw_values(*distribution.quantiles, tensor.scale, random_key(own, step), slot.values.first(n));
  } else {
    const std::uint64_t common = random_stream(seed_, kEverybody, tensor.name);
    const double keep = distribution.normal_rho_step, shared = distribution.normal_rho_worker;
    // Without correlation of steps, no latent is needed after its value was made.
    if (keep > 0 && slot.latents.size() == 0) slot.latents = Buffer<std::int16_t>(latent_count(n));
    const std::span<std::int16_t> latents = slot.latents.first(keep > 0 ? latent_count(n) : 0);
    std::size_t from = step;
    if (keep > 0) from = slot.filled && slot.step < step ? slot.step + 1 : 0;
    for (std::size_t at = from; at <= step; ++at) {
      // Every step is normal with the same variance: the first has no step before it.
      const LatentStep next(own, common, at, at == 0 ? 0 : keep, shared);
      if (at < step) {
        step_latents(next, latents);
      } else {
        step_values(next, *distribution.copula, tensor.scale, latents, slot.values.first(n));
      }
    }
  }
  slot.step = step;
  slot.filled = true;
}

const TraceStepTimes& SyntheticSource::times(std::size_t rank, std::size_t step) const {
  if (rank >= ranks_ || step >= steps_) throw std::out_of_range("synthetic trace: rank or step");
  const auto& of_rank = times_[rank % times_.size()];
  return of_rank[step % of_rank.size()];
}

void SyntheticSource::release(std::size_t rank) {
  const std::lock_guard lock(mutex_);
  slots_.at(rank).clear();
}

}  // namespace thinpipe
