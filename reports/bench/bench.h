// How fast compressors are, from the records of `thinpipe bench`: against Top-k and against the
// machine's memory.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/figures/figure.h"
#include "reports/record/record.h"
#include "reports/statistics/statistics.h"

namespace thinpipe {

/// One compressor on one input. Times are medians over the repetitions, with 95 % intervals.
struct BenchLine {
  const Point* point = nullptr;
  std::string label;      ///< with its ratio where others of its name have another
  std::size_t style = 0;  ///< of the compressor, whatever its ratio
  std::optional<double> ratio;
  bool is_trusted = false;                           ///< it validated; else there are no times
  std::optional<Estimate> encode, decode;            ///< s
  std::optional<Estimate> encode_over, decode_over;  ///< over the time in which the input is read
  /// The time of Top-k at the same ratio over its own; nothing where there is no such Top-k.
  std::optional<Estimate> speedup;
  std::optional<double> bits, error, quality, passes;  ///< bits an element; relative; k-hat/k
};

/// Lines measured together: one input, one number of threads, one instruction set.
struct BenchSetting {
  BenchSubject subject;
  std::string title;        ///< "laplace, 26000000 elements, 1 thread"
  double read_seconds = 0;  ///< t_R, the least over the lines; 0 where no line has it
  std::vector<BenchLine> lines;
};

struct BenchSummary {
  std::vector<BenchSetting> settings;  ///< by elements, then threads, then as recorded
  std::vector<std::string>
      families;  ///< compressors without ratio; a line's style is its place + 1
};

/// Points into `records`, which must outlive it. @throws InputError without any point
BenchSummary summarize_bench(const Records& records);

/// The fastest, how it compares to Top-k and to the memory, what did not validate; plain text.
std::vector<std::string> bench_findings(const BenchSummary& summary);

/// The figures: speed-up over Top-k (SIDCo, figs. 1 and 14 to 17), encode and decode over the
/// memory's limit, time against size and against ratio, bits against error. Those for which there
/// are points. @throws RunError without gnuplot
std::vector<Figure> bench_figures(const BenchSummary& summary);

/// The page, or Markdown; everything from the records is escaped. @throws InputError as
/// summarize_bench(); RunError without gnuplot (HTML).
std::string render_bench_html(const Records& records);
std::string render_bench_markdown(const Records& records);

}  // namespace thinpipe
