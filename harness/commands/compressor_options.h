// Options of the verbs that take compressors, and how these verbs show numbers that may be missing.
#pragma once

#include <cmath>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "compressors/spec.h"
#include "harness/files/open_trace.h"
#include "harness/options/arguments.h"
#include "harness/options/verb.h"
#include "reports/record/record.h"
#include "reports/record/writer.h"

namespace thinpipe {

/// `-c, --compressor SPEC`, required.
OptionInfo compressor_option(bool repeatable);
/// Its value; alternatives (`|`) are refused. @throws InputError
Spec one_compressor(const Arguments& arguments);
/// `first` and then all values with their alternatives, each once. @throws InputError
std::vector<Spec> all_compressors(const Arguments& arguments, std::vector<Spec> first = {});

/// More than any machine has that this is for; keeps a slip of the finger from starting thousands.
constexpr int kMostThreads = 256;

/// `--threads N`. @param who  has so many: "one encode", "each rank's encode"
OptionInfo threads_option(const std::string& who);
/// The option's value, 1 to kMostThreads.
int threads_of(const Arguments& arguments);

/// `--simd TARGET`.
OptionInfo simd_option();
/// From now on this process's kernels use what `--simd` says.
/// @returns its name, which "best" is not (simd.h)
/// @throws InputError for what this CPU does not have, with what it has.
std::string use_simd(const Arguments& arguments);

/// `--plugin FILE`.
OptionInfo plugin_option();

/// Loads what `--plugin` names; call it before the first compressor is looked for. Returns absolute
/// paths, for processes that the verb starts.
/// @throws InputError naming the plug-in and what is wrong with it.
std::vector<std::filesystem::path> load_plugins(const Arguments& arguments);

/// `--out DIR` of verbs whose records may be kept.
OptionInfo records_option();

/// Ready to append a launch to DIR/records.jsonl; null when it was not asked for.
/// @throws InputError when there are records of another kind, SystemError.
std::unique_ptr<RecordWriter> open_records(const Arguments& arguments);

/// `--non-finite error|zero`.
OptionInfo non_finite_option();
BadValues bad_values_of(const Arguments& arguments);

/// Three significant digits, no exponent below a million: "0.0123", "12.3", "1234"; "-" for none.
std::string digits(std::optional<double> value);
/// "12.3 %".
std::string percent(std::optional<double> share);
/// `name` cut in the middle to at most `width` bytes, never within a character.
std::string shortened(const std::string& name, std::size_t width);
/// `text` with blanks before it to `width` columns; a combining character takes none.
std::string right(const std::string& text, std::size_t width);

/// null where there is none, or it is not finite.
nlohmann::ordered_json number_or_null(std::optional<double> value);

inline double ratio_of(double numerator, double denominator) {
  return denominator == 0 ? std::nan("") : numerator / denominator;
}

/// Dense bytes, encoded bytes, ratio and bits an element: what every listing of sizes says.
nlohmann::ordered_json sizes_json(std::size_t elements, std::size_t encoded_bytes);

}  // namespace thinpipe
