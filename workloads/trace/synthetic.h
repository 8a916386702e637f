// Small traces drawn from a distribution, for tests of the parts that replay traces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace thinpipe {

/// What to draw. The trace's origin is "synthetic", so that no report takes it for training.
struct SyntheticTrace {
  std::vector<std::vector<std::int64_t>> shapes = {{20, 25}, {20}, {300, 40}, {300}};
  std::size_t ranks = 2;
  std::size_t steps = 3;
  std::uint64_t seed = 1;
  double compute_seconds = 0.003;  ///< forward + backward of every step; a third is forward
  float scale = 1e-3F;  ///< Laplace scale b of the first tensor; later ones differ by up to 4x
  bool squares = false;
};

/// Writes a trace whose tensors "tensor-0", "tensor-1", ... hold Laplace(0, b) values, drawn anew
/// for every rank and step. The same arguments give the same bytes. Gradients become ready from
/// the last tensor to the first, spread evenly over the backward pass.
/// @throws InputError, SystemError as TraceWriter does.
void make_synthetic_trace(const std::filesystem::path& folder, const SyntheticTrace& what = {});

}  // namespace thinpipe
