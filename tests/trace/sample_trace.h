// Small traces on disk, drawn from a distribution, for tests of code that replays traces.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "workloads/trace/draws.h"
#include "workloads/trace/trace.h"
#include "workloads/trace/trace_format.h"
#include "workloads/trace/trace_writer.h"

namespace thinpipe {

/// The trace to draw. The trace's origin is "synthetic", so that no report takes it for training.
struct SampleTrace {
  std::vector<std::vector<std::int64_t>> shapes = {{20, 25}, {20}, {300, 40}, {300}};
  std::size_t ranks = 2;
  std::size_t steps = 3;
  std::uint64_t seed = 1;
  double compute_seconds = 0.003;  ///< forward + backward of every step; a third is forward
  float scale = 1e-3F;  ///< Laplace scale b of the first tensor; later ones differ by up to 4x
  bool squares = false;
};

namespace sample {

inline TraceStepTimes spread_times(const SampleTrace& what, std::uint64_t step) {
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

}  // namespace sample

/// Writes a trace whose tensors "tensor-0", "tensor-1", ... hold Laplace(0, b) values, drawn anew
/// for every rank and step. The same arguments give the same bytes. Gradients become ready from
/// the last tensor to the first, spread evenly over the backward pass.
/// @throws InputError, SystemError as TraceWriter does.
inline void write_sample_trace(const std::filesystem::path& folder, const SampleTrace& what = {}) {
  TraceDescription description{"synthetic", kOriginSynthetic, {}, what.ranks, what.squares, {}};
  for (std::size_t i = 0; i < what.shapes.size(); ++i) {
    TraceTensor tensor;
    tensor.name = "tensor-" + std::to_string(i);
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
        for (float& value : drawn) value = random.laplace(scale);
        if (!what.squares) continue;
        std::vector<float>& moments = squares.emplace_back(elements);
        for (float& moment : moments) {
          const float spread = random.laplace(scale);
          moment = spread * spread;
        }
      }
      const std::vector<std::span<const float>> gradients(values.begin(), values.end());
      const std::vector<std::span<const float>> moments(squares.begin(), squares.end());
      writer.add(step, rank, sample::spread_times(what, step), gradients, moments);
    }
  }
  writer.finish();
}

/// Reads every gradient, second moment and time, so that a span that reaches out of its file is
/// noticed.
inline void touch_every_value(const Trace& trace) {
  double sum = 0;
  for (std::size_t step = 0; step < trace.steps(); ++step) {
    for (std::size_t rank = 0; rank < trace.ranks(); ++rank) {
      for (std::size_t i = 0; i < trace.tensors().size(); ++i) {
        for (const float value : trace.gradient(rank, step, i)) sum += static_cast<double>(value);
        for (const float value : trace.squares(rank, step, i)) sum += static_cast<double>(value);
        sum += trace.times(rank, step).ready.at(i);
      }
    }
  }
  [[maybe_unused]] volatile double sink = sum;  // keeps the loop from being removed
}

}  // namespace thinpipe
