// Options of `thinpipe bench`: its axes, and the settings of each point.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "compressors/spec.h"
#include "harness/machine/machine.h"

namespace thinpipe {

/// Level of the memory hierarchy from which gradients are read.
enum class Residency {
  kMemory,  ///< inputs and outputs rotate through more than the last-level cache holds
  kCache,   ///< one input and one output, reused in every step
};

const char* to_string(Residency residency);

struct BenchOptions {
  std::vector<Spec> compressors;     ///< empty: every method with its defaults
  std::vector<std::string> ratios;   ///< of compressors whose spec has none; see with_ratios()
  std::vector<std::size_t> sizes;    ///< elements; not used with a trace
  std::filesystem::path trace;       ///< empty: synthetic gradients
  std::vector<std::string> tensors;  ///< of the trace; empty: its largest tensor
  std::string distribution = "laplace";
  std::vector<int> threads = {1};
  std::vector<std::string> simd;                    ///< names of set_simd_target()
  std::vector<std::string> devices = {kDeviceCpu};  ///< threads and simd are the CPU's
  Residency residency = Residency::kMemory;
  int warmup = 20;         ///< steps before the timed ones; quality is taken over their second half
  int repetitions = 7;     ///< of each point; medians are reported
  double min_time = 0.05;  ///< least s of one repetition
  bool turns = false;      ///< takes turns with the process at standard input (timed.h)
  std::uint64_t seed = 1;  ///< of inputs and of compressors that sample
};

/// Parses a number of elements: "26m", "260k", "65537", "1.5m", with decimal suffixes.
/// @throws InputError for any other text, for 0 and for more than 10^9.
std::size_t parse_elements(const std::string& text);

/// Returns the requested fraction k / d of elements to send, which is an axis of its own. It is the
/// parameter `ratio` of the spec; for SBC it is `p`, as in SBC's paper. Returns nothing for methods
/// without such a parameter.
/// @throws InputError for bad specs.
std::optional<double> ratio_of(const Spec& spec);

/// Returns every spec with every ratio, in the order of the specs. A spec with a ratio of its own,
/// or of a method without one, is returned once, unchanged. No result occurs twice.
/// @param ratios  values as a spec has them, "0.01"; empty: the specs as they are
/// @throws InputError for a bad ratio, or when no spec takes one.
std::vector<Spec> with_ratios(const std::vector<Spec>& specs,
                              const std::vector<std::string>& ratios);

}  // namespace thinpipe
