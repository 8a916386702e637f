// Results of a bench: rows by group, as tables for people and as records.
#pragma once

#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compressors/spec.h"
#include "harness/bench/options.h"
#include "harness/bench/subject.h"
#include "harness/machine/gpu.h"
#include "reports/record/record.h"

namespace thinpipe {

/// The width that the table keeps to.
inline constexpr std::size_t kBenchColumns = 80;

/// Memory and arithmetic of this machine in the same run; ns/element, medians.
struct RooflineFigures {
  std::map<int, double> read = {};  ///< by number of streams
  double copy = 0, triad = 0;
  /// The best read with at most the group's number of threads.
  double t_r = std::numeric_limits<double>::infinity();
};

struct BenchRow {
  std::string name = {};   ///< of its point, unique in a bench: "topk/laplace:26m/.../simd:avx2"
  Spec spec = {};          ///< as asked for
  std::string compressor;  ///< short_spec()
  std::string simd;
  double encode = 0;       ///< ns/element
  double decode = 0;       ///< ns/element
  double encode_wall = 0;  ///< of a device, until the host knows; ns/element
  std::vector<double> encode_samples = {}, decode_samples = {};  ///< ns/element, one a repetition
  std::vector<double> encode_wall_samples = {}, decode_wall_samples = {};  ///< of a device
  std::vector<std::size_t> encode_order = {}, decode_order = {};  ///< of samples; see Timing::order
  double t_r = 0;                                                 ///< of the same run, ns/element
  double allocations = -1;  ///< of one encode; -1: not counted
  Quality quality;
};

/// The rows that can be compared: one tensor, one number of threads, one run.
struct BenchGroup {
  std::string tensor;  ///< name, or the distribution
  std::size_t elements = 0;
  int threads = 1;
  std::string device = kDeviceCpu;
  std::string device_name = "";   ///< of a GPU
  RooflineFigures roofline = {};  ///< of the group's first run; see BenchRow::t_r
  std::vector<BenchRow> rows = {};
};

/// A point that was not measured, or did not validate.
struct BenchFailure {
  std::string name;  ///< as BenchRow's
  Spec spec;
  std::string simd;
  std::size_t group = 0;  ///< of BenchResult::groups
  std::string reason;
};

struct BenchResult {
  std::vector<BenchGroup> groups;
  std::vector<BenchFailure> failures;
  std::string json;  ///< Google Benchmark's format, what failed left out; empty with turns
  std::optional<BenchDevice> device;  ///< where there was one
};

/// The lines of `text`, those over kBenchColumns broken at blanks and, if need be, within words.
std::string fitted_lines(const std::string& text);

/// The spec without what is default anyway.
std::string short_spec(const Spec& spec);

/// Bits an element, as tables have them: small shares of a bit are the point of some methods.
std::string bits_text(double value);
/// Fewer bits than a float has: what does not go below them compresses nothing.
bool compresses(const BenchRow& row);

/// One group: heading, roofline, rows by encode time, the fastest that compresses marked. No line
/// is over kBenchColumns wide.
std::string bench_table(BenchGroup group);

/// A line: what the GPU is, and what it ran at.
std::string device_heading(const BenchDevice& device);

/// One group on a device, likewise. Times of
/// a call, not of an element: small tensors take as long as their launches.
std::string device_table(BenchGroup group);

/// A bench's points as docs/records.md lays them down: a record for each row, with every
/// repetition's time, and one of status `failed` for each point that was not measured or did not
/// validate.
std::vector<Point> bench_points(const BenchOptions& options, const BenchResult& result);

}  // namespace thinpipe
