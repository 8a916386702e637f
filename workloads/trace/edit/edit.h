// Traces made from other traces by slicing and merging. Values are copied bit for bit, in their
// dtype. Also the export of gradients to NumPy and safetensors files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "workloads/trace/trace.h"

namespace thinpipe {

/// The steps, ranks and tensors to keep of a trace. An empty list keeps all.
struct SliceOptions {
  /// Ranges of training steps, both ends included.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> steps = {};
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranks = {};
  std::vector<std::string> tensors = {};  ///< globs of names
};

/// The kept steps, ranks and tensors of a trace, as indices in ascending order.
struct SliceParts {
  std::vector<std::size_t> steps, ranks, tensors;
};

/// Returns the indices of the steps, ranks and tensors that `options` selects.
/// @throws InputError if a list selects nothing; the message shows which steps, ranks or tensors
/// exist.
SliceParts slice_parts(const Trace& trace, const SliceOptions& options);

/// Writes the selected parts of `trace` into the new folder `out`. Ranks are renumbered from 0, and
/// ready orders are renumbered without gaps. The provenance contains the identity and the
/// provenance of `trace`.
/// @throws InputError if a file's hash differs from the one in trace.json; SystemError if writing
/// fails. After an error nothing new is left in `out`.
void slice_trace(const Trace& trace, const SliceParts& parts, const std::filesystem::path& out);

/// How several traces of one model are merged: as more ranks of the same steps, or as more steps of
/// the same ranks. kAuto chooses.
enum class MergeBy { kAuto, kRanks, kSteps };

/// Writes all traces as one. kRanks requires equal training steps; the first trace's ranks come
/// first. kSteps requires equal numbers of ranks and different steps. kAuto merges by ranks if all
/// steps are equal, else by steps. Model, tensors, dtype, origin and second moments must agree. The
/// ready orders are the first trace's.
/// @return how the traces were merged: kRanks or kSteps.
/// @throws InputError naming the folder and the difference; SystemError if writing fails. After an
/// error nothing new is left in `out`.
MergeBy merge_traces(std::span<const Trace> traces, MergeBy by, const std::filesystem::path& out);

enum class ExportFormat { kNpy, kNpz, kSafetensors };

/// Writes rank-RRR/step-SSSSSSSS.npz or .safetensors for each selected rank and step, or one .npy a
/// tensor in the folder rank-RRR/step-SSSSSSSS. Ranks keep their numbers. Values are FP32 in
/// row-major order; second moments are named "q:NAME". In the names of .npy files every byte except
/// letters, digits, '.', '_' and '-' is written as %XX.
/// @return the number of files written.
/// @throws InputError if the folder is not empty; RunError if writing fails. After an error nothing
/// new is left in `out`.
std::size_t export_trace(const Trace& trace, const SliceParts& parts, ExportFormat format,
                         const std::filesystem::path& out);

}  // namespace thinpipe
