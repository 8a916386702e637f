// What a bench found, for people.
#pragma once

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "compressors/spec.h"
#include "harness/bench/subject.h"

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
  double encode = 0;                                              ///< ns/element
  double decode = 0;                                              ///< ns/element
  std::vector<double> encode_samples = {}, decode_samples = {};   ///< ns/element, one a repetition
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
  RooflineFigures roofline = {};  ///< of the group's first run; see BenchRow::t_r
  std::vector<BenchRow> rows = {};
};

/// The lines of `text`, those over kBenchColumns broken at blanks and, if need be, within words.
std::string fitted_lines(const std::string& text);

/// The spec without what is default anyway.
std::string short_spec(const Spec& spec);

/// One group: heading, roofline, rows by encode time, the fastest that compresses marked. No line
/// is over kBenchColumns wide.
std::string bench_table(BenchGroup group);

}  // namespace thinpipe
