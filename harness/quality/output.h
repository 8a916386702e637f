// Quality of compressors on a trace: tables for people, JSON for programs, records.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/plain_table.h"
#include "harness/quality/offline.h"
#include "reports/record/record.h"

namespace thinpipe {

/// Items that have rows of their own below each compressor.
enum class QualityRows { kTotal, kTensors, kSteps, kTensorSteps };

/// Two tables with the same rows. One has the quality and its cost in bytes, the other the number
/// of sent elements divided by the requested number.
class QualityTable {
 public:
  QualityTable();
  /// Adds the rows of a compressor.
  void add(const CompressorQuality& quality, QualityRows rows);
  std::string text() const;

 private:
  void add_row(const std::string& name, const QualitySummary& summary);
  void add_steps(const std::vector<StepQuality>& steps, const char* margin);

  PlainTable quality_, sent_;
};

/// Returns one compressor's quality: all tensors together, then each tensor, and each step
/// (`steps`) where `rows` has steps.
nlohmann::ordered_json quality_json(const CompressorQuality& quality, QualityRows rows);

/// Returns the points of docs/records.md: a record of all tensors together, with `*` as `tensor`,
/// then a record for each tensor.
std::vector<Point> quality_points(const CompressorQuality& quality);

/// Returns the one point, of all tensors together, of a compressor that failed.
/// @param elements  of all tensors
Point failed_quality_point(const Spec& spec, std::size_t elements, const std::string& reason);

}  // namespace thinpipe
