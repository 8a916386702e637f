// Traces made from other traces by slicing and merging. Values are copied bit for bit, in their
// dtype.
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

/// Creates a folder. The destructor removes the folder again unless keep() was called. It removes
/// only the files and folders that file() has named.
class NewFolder {
 public:
  /// Creates the folder and its parents. @throws InputError if the folder is not empty.
  explicit NewFolder(std::filesystem::path path);
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  /// Returns the path of a file that is about to be written, and creates its parent folders.
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

}  // namespace thinpipe
