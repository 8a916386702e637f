// Options of `thinpipe bench`: its axes and how each point is taken.
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

/// Where the gradients lie when they are read.
enum class Residency {
  kMemory,  ///< inputs and outputs rotate through more than the last-level cache holds
  kCache,   ///< one input and one output, over and over
};

const char* to_string(Residency residency);

struct BenchOptions {
  std::vector<Spec> compressors;     ///< empty: every method with its defaults
  std::vector<std::string> ratios;   ///< of those that take one and do not say; see with_ratios()
  std::vector<std::size_t> sizes;    ///< elements; not used with a trace
  std::filesystem::path trace;       ///< empty: synthetic gradients
  std::vector<std::string> tensors;  ///< of the trace; empty: its largest
  std::string distribution = "laplace";
  std::vector<int> threads = {1};
  std::vector<std::string> simd;                    ///< names of set_simd_target()
  std::vector<std::string> devices = {kDeviceCpu};  ///< threads and simd are the CPU's
  Residency residency = Residency::kMemory;
  int warmup = 20;         ///< steps before the timed ones; quality is taken over their second half
  int repetitions = 7;     ///< the medians of which are reported
  double min_time = 0.05;  ///< seconds of one repetition, at least
  bool turns = false;      ///< with a process that standard input leads to (timed.h)
  std::uint64_t seed = 1;  ///< of inputs and of compressors that sample
};

/// "26m", "260k", "65537", "1.5m": elements, decimal.
/// @throws InputError for anything else, for 0 and for over 10^9.
std::size_t parse_elements(const std::string& text);

/// The share of the elements that a method is asked to send, an axis of its own: k / d that the
/// spec asks for: `ratio`, or `p` as SBC's paper calls it; nothing for methods that are not asked
/// for one. @throws InputError for bad specs.
std::optional<double> ratio_of(const Spec& spec);

/// Every spec with every ratio, in the order of the specs. Those that have a ratio of their own, or
/// whose method takes none, are there once, as they are; nothing is there twice.
/// @param ratios  values as a spec has them, "0.01"; empty: the specs as they are
/// @throws InputError for a bad ratio, or when no spec takes one.
std::vector<Spec> with_ratios(const std::vector<Spec>& specs,
                              const std::vector<std::string>& ratios);

}  // namespace thinpipe
