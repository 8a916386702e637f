#include "workloads/trace/synthetic.h"

#include <cmath>
#include <span>
#include <string>

#include <fmt/format.h>

#include "workloads/trace/draws.h"
#include "workloads/trace/trace_format.h"
#include "workloads/trace/trace_writer.h"

namespace thinpipe {

namespace {

// Inverse of the Laplace distribution function at u in (0, 1).
float laplace(double u, double scale) {
  const double centred = u - 0.5;
  return static_cast<float>(std::copysign(scale * std::log1p(-2 * std::fabs(centred)), -centred));
}

TraceStepTimes spread_times(const SyntheticTrace& what, std::uint64_t step) {
  TraceStepTimes times;
  times.forward = what.compute_seconds / 3;
  times.backward = what.compute_seconds - times.forward;
  const std::size_t count = what.shapes.size();
  for (std::size_t i = 0; i < count; ++i) {
    times.ready.push_back(times.backward * static_cast<double>(count - i) /
                          static_cast<double>(count));
  }
  times.loss = 1 / (1 + static_cast<double>(step));
  return times;
}

}  // namespace

void make_synthetic_trace(const std::filesystem::path& folder, const SyntheticTrace& what) {
  TraceDescription description{"synthetic", kOriginSynthetic, {}, what.ranks, what.squares, {}};
  for (std::size_t i = 0; i < what.shapes.size(); ++i) {
    TraceTensor tensor;
    tensor.name = fmt::format("tensor-{}", i);
    tensor.shape = what.shapes[i];
    tensor.ready_order = what.shapes.size() - 1 - i;
    description.tensors.push_back(std::move(tensor));
  }
  description.provenance = {
      {"distribution", "laplace"}, {"scale", what.scale}, {"seed", what.seed}};
  TraceWriter writer(folder, description);

  Draws random(what.seed);
  for (std::size_t step = 0; step < what.steps; ++step) {
    for (std::size_t rank = 0; rank < what.ranks; ++rank) {
      std::vector<std::vector<float>> values;
      std::vector<std::vector<float>> squares;
      for (std::size_t i = 0; i < what.shapes.size(); ++i) {
        std::size_t elements = 1;
        for (const std::int64_t dimension : what.shapes[i])
          elements *= static_cast<std::size_t>(dimension);
        const double scale = what.scale * std::exp2(static_cast<double>(i % 3));
        std::vector<float>& drawn = values.emplace_back(elements);
        for (float& value : drawn) value = laplace(random.uniform(), scale);
        if (!what.squares) continue;
        std::vector<float>& moments = squares.emplace_back(elements);
        for (float& moment : moments) {
          const float spread = laplace(random.uniform(), scale);
          moment = spread * spread;
        }
      }
      const std::vector<std::span<const float>> gradients(values.begin(), values.end());
      const std::vector<std::span<const float>> moments(squares.begin(), squares.end());
      writer.add(step, rank, spread_times(what, step), gradients, moments);
    }
  }
  writer.finish();
}

}  // namespace thinpipe
