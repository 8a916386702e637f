// Results of bench: rows by group, as tables for people and as records.
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

/// Greatest width of the table.
inline constexpr std::size_t kBenchColumns = 80;

/// Memory and arithmetic of this machine in the same run: medians in ns/element. A device has
/// neither reread, update, store nor multiply_add.
struct RooflineFigures {
  std::map<int, double> read = {};  ///< by number of streams
  double copy = 0, triad = 0;
  double reread = 0;        ///< read of one array that does not rotate
  double update = 0;        ///< r += g, where r does not rotate
  double store = 0;         ///< write of one array that does not rotate; at most copy - t_r
  double multiply_add = 0;  ///< ns/operation, in registers
  /// The best read with at most the group's number of threads.
  double t_r = std::numeric_limits<double>::infinity();
};

struct BenchRow {
  std::string name = {};   ///< unique name of its point: "topk/laplace:26m/.../simd:avx2"
  Spec spec = {};          ///< as requested
  std::string compressor;  ///< short_spec()
  std::string simd;
  double encode = 0;       ///< ns/element
  double decode = 0;       ///< ns/element
  double encode_wall = 0;  ///< of a device, by the host's clock; ns/element
  std::vector<double> encode_samples = {}, decode_samples = {};  ///< ns/element, by repetition
  std::vector<double> encode_wall_samples = {}, decode_wall_samples = {};  ///< of a device
  std::vector<std::size_t> encode_order = {}, decode_order = {};  ///< of samples; see Timing::order
  double t_r = 0;                                                 ///< of the same run, ns/element
  /// encode_floor() of the same run, ns/element; NaN on a device.
  double floor = std::numeric_limits<double>::quiet_NaN();
  double allocations = -1;  ///< of one encode; -1: not counted
  Quality quality;
};

/// Rows that can be compared with each other: one tensor, one number of threads, one run.
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
  std::string name;  ///< as BenchRow::name
  Spec spec;
  std::string simd;
  std::size_t group = 0;  ///< of BenchResult::groups
  std::string reason;
};

struct BenchResult {
  std::vector<BenchGroup> groups;
  std::vector<BenchFailure> failures;
  std::string json;  ///< Google Benchmark's format, without failures; empty with turns
  std::optional<BenchDevice> device;  ///< the GPU, if any
};

/// Breaks the lines of `text` longer than kBenchColumns at blanks and, if necessary, within words.
std::string fitted_lines(const std::string& text);

/// Returns the spec without parameters that have their default.
std::string short_spec(const Spec& spec);

/// Returns bits for each element as in tables: some methods send small fractions of a bit.
std::string bits_text(double value);
/// Returns the values times a factor.
std::vector<double> scaled(std::vector<double> values, double factor);

/// Returns the table of one group: a heading, the roofline, and the rows in order of encode time. A
/// mark shows the fastest row that compresses. Each row has its floor in percent of its encode
/// time. No line is wider than kBenchColumns.
std::string bench_table(BenchGroup group);

/// Returns a line with the GPU and its clock rates.
std::string device_heading(const BenchDevice& device);

/// Returns the table of one group of results on a device. Times are given for a call and not for an
/// element, because a small tensor takes only as long as its kernel launches.
std::string device_table(BenchGroup group);

/// Returns the points of docs/records.md: a record for each row, with every repetition's time, and
/// a record of status `failed` for each point that was not measured or did not validate.
std::vector<Point> bench_points(const BenchOptions& options, const BenchResult& result);

}  // namespace thinpipe
