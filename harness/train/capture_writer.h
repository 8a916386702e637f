// A trace of what a training run's workers computed, written along the way.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "harness/sweep/options.h"
#include "harness/train/model_description.h"
#include "harness/train/options.h"
#include "workloads/trace/trace_writer.h"

namespace thinpipe {

/// Every rank leaves its gradient in a file (TrainWorker's `dump`); this puts those of a step
/// together. Does nothing for a run that captures nothing.
class CaptureWriter {
 public:
  CaptureWriter(const SweepPoint& point, const TrainOptions& options,
                const ModelDescription& model);
  /// A trace that was not finished goes.
  ~CaptureWriter();
  CaptureWriter(const CaptureWriter&) = delete;
  CaptureWriter& operator=(const CaptureWriter&) = delete;

  bool wants(std::uint64_t step) const;
  /// Where the ranks leave their files: made when it is first asked for.
  const std::filesystem::path& folder();
  /// Reads them all. @param losses  by worker @throws InputError, SystemError as TraceWriter does
  void take(std::uint64_t step, const std::vector<double>& losses);
  void finish();

 private:
  std::vector<float> read(const char* what, int rank) const;

  const SweepPoint& point_;
  const TrainOptions& options_;
  const ModelDescription& model_;
  std::filesystem::path folder_, passing_;
  std::optional<TraceWriter> writer_;
};

}  // namespace thinpipe
