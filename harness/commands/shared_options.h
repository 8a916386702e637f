// Options that several verbs share: of compressors, of links and topologies, and of the machines of
// the ranks in `predict` and `advise`. The format of numbers that may be missing, and words for the
// sources of times.
#pragma once

#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compressors/registry.h"
#include "compressors/spec.h"
#include "harness/files/open_trace.h"
#include "harness/options/arguments.h"
#include "harness/options/verb.h"
#include "harness/predict/predictor.h"
#include "netem/topology/spec.h"
#include "reports/record/record.h"
#include "reports/record/writer.h"
#include "workloads/replay/bucketing.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

/// Returns the completions of a spec's keys: for each parameter its values, empty for numbers.
SpecWords::mapped_type parameter_words(const std::vector<ParameterInfo>& parameters);

/// Returns `-c, --compressor SPEC`.
OptionInfo compressor_option(bool repeatable);
/// Returns the value of `--compressor`. Alternatives (`|`) are refused. @throws InputError
Spec one_compressor(const Arguments& arguments);
/// Returns `first` and then all values of `--compressor` with their alternatives, each compressor
/// once. @throws InputError
std::vector<Spec> all_compressors(const Arguments& arguments, std::vector<Spec> first = {});

/// Finds specs that make the same compressor, as topk and topk:ratio=0.01 do.
class DistinctCompressors {
 public:
  /// Returns false if the compressor was added before. If its spec was another text then, prints a
  /// message, because records and reports name the first. @throws InputError for a wrong spec
  bool add(const CompressorRules& rules);

 private:
  std::map<std::string, std::string> first_;  ///< rules as written, by their normal form
};

/// Returns `--threads N`. @param who  user of the threads: "one encode", "each rank's encode"
OptionInfo threads_option(const std::string& who);
/// Returns the value of `--threads`, 1 to kMaxThreads.
int threads_of(const Arguments& arguments);

/// Returns `--simd TARGET`.
OptionInfo simd_option();
/// Selects the instruction set of this process's kernels by `--simd`.
/// @returns the name of the instruction set; "best" is resolved (simd.h)
/// @throws InputError if this CPU lacks the instruction set, with the available ones
std::string use_simd(const Arguments& arguments);

/// Returns `--plugin FILE`.
OptionInfo plugin_option();

/// Loads the plug-ins of `--plugin`. Call this function before the first look-up of a compressor.
/// Returns the plug-ins' absolute paths, which the verb passes to processes that it starts.
/// @throws InputError with the plug-in and the error in it
std::vector<std::filesystem::path> load_plugins(const Arguments& arguments);

/// Returns `--out DIR` of verbs whose records are optional.
OptionInfo records_option();

/// Returns a writer that appends a launch to DIR/records.jsonl; null without `--out`.
/// @throws InputError if DIR has records of another kind; SystemError
std::unique_ptr<RecordWriter> open_records(const Arguments& arguments, const std::string& kind);

/// Returns `--non-finite error|zero`.
OptionInfo non_finite_option();
BadValues bad_values_of(const Arguments& arguments);

/// Returns three significant digits, without exponent below a million: "0.0123", "12.3", "1234".
/// Returns "-" for a missing value.
std::string digits(std::optional<double> value);

inline double ratio_of(double numerator, double denominator) {
  return denominator == 0 ? std::nan("") : numerator / denominator;
}

// Links and topologies.

/// Returns `--topology`, by default a star.
OptionInfo topology_option();

/// Returns `--ranks`, the number of hosts. A topology file defines its own number.
OptionInfo hosts_option(const std::string& default_value = "4", int fewest = 1);
int hosts_of(const Arguments& arguments, const TopologySpec& spec);

/// Returns `--link SPEC`, by default 100 Mbit/s.
OptionInfo link_option(const std::string& help);

/// Returns the completions of a link: the presets.
std::vector<std::string> link_suggestions();

/// Returns `--tolerance PERCENT`, by default 3.
OptionInfo tolerance_option(const std::string& help);

// The machines of the ranks, for predictions.

inline constexpr int kMaxPredictedRanks = 1024;

/// Returns `--message-time` and `--cores`.
std::vector<OptionInfo> machine_model_options();

/// Returns the value of --message-time in s; nothing where it is to be measured. @throws InputError
std::optional<double> given_message_time(const Arguments& arguments);

/// The machines of the ranks by these options.
class MachineModel {
 public:
  /// Measures the time of a message where --message-time does not set it. @throws InputError
  explicit MachineModel(const Arguments& arguments);
  PredictedMachines of(int ranks) const;

 private:
  double cores_, message_time_;
};

/// Returns the origin of the compute times, as recorded in the trace.
std::string compute_origin(const Trace& trace, double compute_scale);

/// Returns "measured now on the trace's gradients, one core of AMD EPYC".
std::string measured_origin(int threads);

}  // namespace thinpipe
