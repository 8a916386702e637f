// Traces made of parts of others: values go from file to file as they are, bit for bit and in the
// dtype they have.
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

/// Creates a folder and removes what was put into it, unless keep() is called. It removes the files
/// and folders that it was told of, by name, and nothing that somebody else put there.
class NewFolder {
 public:
  /// Creates the folder and its parents. @throws InputError when it holds anything already.
  explicit NewFolder(std::filesystem::path path);
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  /// The place of a file that is about to be written; makes the folders on the way to it.
  /// @param name relative, with `/`. @throws SystemError
  std::filesystem::path file(const std::string& name);
  void keep() { kept_ = true; }

 private:
  std::filesystem::path path_;
  std::vector<std::filesystem::path> files_;
  std::vector<std::filesystem::path> folders_;  // parents before children
  bool created_ = false;
  bool kept_ = false;
};

/// The parts of a trace to keep. Empty lists keep all.
struct SliceOptions {
  /// Ranges of training steps, both ends included.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> steps = {};
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranks = {};
  std::vector<std::string> tensors = {};  ///< globs of names
};

/// The kept parts of the trace, as indices in ascending order.
struct SliceParts {
  std::vector<std::size_t> steps, ranks, tensors;
};

/// @throws InputError where a part is empty, naming what there is to choose from.
SliceParts slice_parts(const Trace& trace, const SliceOptions& options);

/// Writes those parts of `trace` into the new folder `out`. Ranks are numbered anew from 0; ready
/// orders close up. Provenance holds the identity of the whole and its provenance.
/// Every file that is read must have the hash that the trace has of it.
/// @throws InputError; SystemError when the disk refuses: then nothing is left.
void slice_trace(const Trace& trace, const SliceParts& parts, const std::filesystem::path& out);

/// The parts that each of several traces of one model has: ranks of the same steps, or steps of all
/// ranks.
enum class MergeBy { kAuto, kRanks, kSteps };

/// Writes all of them as one trace. By ranks: all must have the same training steps; the ranks of
/// the first come first. By steps: all must have as many ranks, and no step twice. Auto: ranks
/// where the steps are the same, else steps. Model, tensors, dtype, origin and second moments must
/// agree; the first trace's ready orders are taken.
/// @return what was merged: kRanks or kSteps.
/// @throws InputError naming the folder and what differs; SystemError: then nothing is left.
MergeBy merge_traces(std::span<const Trace> traces, MergeBy by, const std::filesystem::path& out);

}  // namespace thinpipe
