// Quality of compressors on a trace, from the records of `thinpipe quality`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "reports/record/record.h"
#include "reports/statistics/statistics.h"

namespace thinpipe {

/// Means over the ranks of one step; NaN where there is none.
struct KeptStep {
  double step = 0, quality = 0, error = 0, drift = 0;
};

/// One compressor on one tensor, or on all of them.
struct KeptRow {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

  std::string spec;    ///< as asked for
  std::string tensor;  ///< "*": all of them
  std::string family;  ///< the spec with every parameter, without its ratio
  double ratio = kNone;
  std::optional<MeanInterval> quality;  ///< k-hat / k, over the steps, with SIDCo's 90 % interval
  /// k-hat / k of every tensor, step and rank; NaN where the method has no k.
  double p5 = kNone, p50 = kNone, p95 = kNone, most = kNone;
  double bytes = kNone, bits = kNone;      ///< in all; an element
  double error = kNone, cosine = kNone;    ///< means over steps and ranks
  double drift = kNone;                    ///< after the last step, mean over ranks
  double overlap = kNone, passes = kNone;  ///< means over steps and ranks
  std::vector<KeptStep> steps;             ///< in ascending order
};

/// Points of the records in their order: all tensors taken together, and each.
struct KeptSummary {
  std::vector<KeptRow> totals, tensors;
};

/// @throws InputError without a point that has metrics.
KeptSummary summarize_kept(const Records& records);

/// The farthest and the nearest estimates, and the least error; plain text, not escaped.
std::vector<std::string> kept_findings(const KeptSummary& summary);

/// The page, or Markdown; everything from the records is escaped. @throws InputError as above;
/// RunError without gnuplot (HTML).
std::string render_kept_html(const Records& records);
std::string render_kept_markdown(const Records& records);

}  // namespace thinpipe
