// The speed of compressors, from the records of `thinpipe bench`, compared with Top-k and with the
// machine's memory bandwidth.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/figures/figure.h"
#include "reports/page/page.h"
#include "reports/record/record.h"
#include "reports/statistics/statistics.h"

namespace thinpipe {

/// One compressor on one input. Times are medians over the repetitions, with 95 % intervals.
struct BenchLine {
  const Point* point = nullptr;
  std::string label;      ///< with the ratio where compressors of its name differ in it
  std::size_t style = 0;  ///< of the compressor; the same for all ratios
  std::optional<double> ratio;
  bool is_trusted = false;                           ///< passed validation; else has no times
  std::optional<Estimate> encode, decode;            ///< s
  std::optional<Estimate> encode_over, decode_over;  ///< over the time to read the input
  std::optional<double> floor_share;                 ///< least time of an encode over `encode`
  /// The encode time of Top-k at the same ratio over its own; nothing without such a Top-k.
  std::optional<Estimate> speedup;
  std::optional<double> bits, error, quality, passes;  ///< bits per element; relative; k-hat/k
};

/// Lines measured together: one input, one number of threads, one instruction set.
struct BenchSetting {
  BenchSubject subject;
  std::string title;        ///< "laplace, 26000000 elements, 1 thread"
  double read_seconds = 0;  ///< t_R, the minimum over the lines; 0 where no line has it
  std::vector<BenchLine> lines;
};

struct BenchSummary {
  std::vector<BenchSetting> settings;  ///< by elements, then threads, then as recorded
  /// Compressors without ratio; a line's style is its index + 1.
  std::vector<std::string> families;
};

/// Returns a summary that points into `records`. @throws InputError without any point
BenchSummary summarize_bench(const Records& records);

/// Returns the fastest compressor, its speed compared with Top-k and memory, and the validations.
/// Plain text.
std::vector<std::string> bench_findings(const BenchSummary& summary);

/// Returns the figures for which the summary has data: speed-up over Top-k (SIDCo, figs. 1 and 14
/// to 17); encode and decode time over the time to read the input; time against input size and
/// against ratio; bits per element against error.
/// @throws RunError without gnuplot
std::vector<Figure> bench_figures(const BenchSummary& summary);

/// Returns the report. All text from the records is escaped.
/// @throws InputError as summarize_bench(); RunError without gnuplot (HTML)
std::string render_bench(const Records& records, ReportFormat format);

}  // namespace thinpipe
