// Writes a trace folder; docs/trace-format.md is normative. Also its parts: a folder that is gone
// after an error, and a file with its hash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/output_file.h"
#include "workloads/trace/mapped_file.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

/// Creates a folder. The destructor removes the folder again unless keep() was called. It removes
/// only the files and folders that file() has named.
class NewFolder {
 public:
  /// Creates the folder and its parents.
  /// @param rule  ends the message if the folder is not empty. @throws InputError
  explicit NewFolder(std::filesystem::path path, const char* rule = "nothing is overwritten");
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  /// Returns the path of a file that is about to be written, and creates its parent folders.
  /// @param name relative, with `/`. @throws SystemError
  std::filesystem::path file(const std::string& name);
  void keep() { kept_ = true; }

  std::string shown() const { return path_.string(); }

 private:
  std::filesystem::path path_;
  std::vector<std::filesystem::path> files_;
  std::vector<std::filesystem::path> folders_;  // parents before children
  bool created_ = false;
  bool kept_ = false;
};

/// A file of a trace and its hash.
class HashedFile {
 public:
  explicit HashedFile(std::filesystem::path path) : file_(std::move(path)) {}

  void write(std::span<const std::byte> bytes) {
    hash_.update(bytes);
    file_.write(bytes);
  }
  void commit() { file_.commit(); }
  std::uint64_t size() const { return file_.size(); }
  std::string sha256() { return hash_.finish(); }

 private:
  OutputFile file_;
  Sha256 hash_;
};

/// Description of a trace, without its steps.
struct TraceDescription {
  std::string model;                 ///< e.g. "lenet5"
  std::string origin;                ///< "training", "synthetic" or "imported"
  std::vector<TraceTensor> tensors;  ///< name and shape; `elements` is computed from the shape
  std::size_t ranks = 0;
  bool squares = false;       ///< every step has second moments as well
  nlohmann::json provenance;  ///< object: how the trace was made; may be empty
  bool updates = false;       ///< in place of gradients, decreases of parameters in local steps
};

/// Writes step files under temporary names and renames them into place. trace.json comes last, so
/// every folder that can be opened as a trace is complete. A writer that is destroyed before
/// finish() removes its files. A killed process leaves step files (and perhaps one
/// .thinpipe-*.partial) without trace.json; opening such a folder is an error that names the cause.
/// Nothing is flushed to the device (fsync), because a trace can be captured again, and verify()
/// detects damage by a power cut.
class TraceWriter {
 public:
  /// Creates the folder and its parents.
  /// @throws InputError if the folder is not empty or the description is inconsistent.
  TraceWriter(std::filesystem::path folder, TraceDescription description);
  ~TraceWriter();
  TraceWriter(TraceWriter&&) noexcept;

  /// Adds one worker's step: one span a tensor, in the description's order. All ranks of a step
  /// come before the next step; within a step the ranks come in order.
  /// @param squares one span a tensor if the description has squares, else empty.
  /// @throws SystemError if writing fails, for example on a full disk; the trace is then lost.
  void add(std::uint64_t training_step, std::size_t rank, const TraceStepTimes& times,
           std::span<const std::span<const float>> gradients,
           std::span<const std::span<const float>> squares = {});

  /// Writes trace.json. `ready_order` comes from the description's tensors if they hold a
  /// permutation. Otherwise it is the order of the first step's ready times on rank 0, and equal
  /// times put the later tensor first, as in a backward pass.
  /// @throws InputError if no step was added or the last one lacks ranks; SystemError as above.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace thinpipe
