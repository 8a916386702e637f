// Quality of compressors on a trace: tables for people, JSON for programs, records.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/plain_table.h"
#include "harness/quality/offline.h"
#include "reports/record/record.h"

namespace thinpipe {

/// Items with rows of their own beside each compressor.
enum class QualityRows { kTotal, kTensors, kSteps, kTensorSteps };

/// Two tables of the same rows: what was kept at which cost, and how many elements were sent over
/// those asked for.
class QualityTable {
 public:
  QualityTable();
  /// A compressor and what is asked for of it.
  void add(const CompressorQuality& quality, QualityRows rows);
  std::string text() const;

 private:
  void add_row(const std::string& name, const QualitySummary& summary);
  void add_steps(const std::vector<StepQuality>& steps, const char* margin);

  PlainTable kept_, sent_;
};

/// One compressor: all tensors together, then each; each step too (`steps`) where `rows` has them.
nlohmann::ordered_json quality_json(const CompressorQuality& quality, QualityRows rows);

/// As docs/records.md lays it down: a record of all tensors taken together, `tensor` being `*`,
/// then one a tensor.
std::vector<Point> quality_points(const CompressorQuality& quality);

}  // namespace thinpipe
