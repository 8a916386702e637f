// Options of the verbs that take compressors, and the format of numbers that may be missing.
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
#include "reports/record/record.h"
#include "reports/record/writer.h"

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
  bool add(const Spec& spec);

 private:
  std::map<std::string, std::string> first_;  ///< spec as written, by the spec with all parameters
};

/// Maximum of `--threads`: above the core count of target machines, so that a typing error does not
/// start thousands of threads.
constexpr int kMaxThreads = 256;

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

}  // namespace thinpipe
