// The quality of compressors on a trace, from the records of `thinpipe quality`.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "reports/page/page.h"
#include "reports/record/record.h"
#include "reports/statistics/statistics.h"

namespace thinpipe {

/// Means over the ranks of one step; NaN where records have none.
struct QualityStep {
  double step = 0, quality = 0, error = 0, drift = 0;
};

/// One compressor on one tensor, or on all of them.
struct QualityRow {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

  std::string spec;    ///< as the user wrote it
  std::string tensor;  ///< "*": all of them
  std::string family;  ///< the spec with every parameter, without its ratio
  double ratio = kNone;
  std::optional<MeanInterval> quality;  ///< k-hat / k, over the steps, with SIDCo's 90 % interval
  /// k-hat / k of every tensor, step and rank; NaN where the method has no k.
  double p5 = kNone, p50 = kNone, p95 = kNone, most = kNone;
  double bytes = kNone, bits = kNone;      ///< in total; per element
  double error = kNone, cosine = kNone;    ///< means over steps and ranks
  double drift = kNone;                    ///< after the last step, mean over ranks
  double overlap = kNone, passes = kNone;  ///< means over steps and ranks
  std::vector<QualityStep> steps;          ///< in ascending order
};

/// The points in the records' order: rows of all tensors together, and rows of single tensors.
struct QualityPageData {
  std::vector<QualityRow> totals, tensors;
  std::vector<std::string> failures;  ///< compressors that failed, with reasons
};

/// Summarizes the points with status `ok`, and lists the others. @throws InputError without such a
/// point of all tensors
QualityPageData summarize_quality(const Records& records);

/// Returns sentences that name the compressors with the k-hat / k (sent over requested elements)
/// farthest from 1 and nearest to 1, with the lowest error, and those that failed. The sentences
/// are plain text, not escaped.
std::vector<std::string> quality_findings(const QualityPageData& summary);

/// Returns the report. All text from the records is escaped.
/// @throws InputError as summarize_quality(); RunError without gnuplot (HTML)
std::string render_quality(const Records& records, ReportFormat format);

}  // namespace thinpipe
