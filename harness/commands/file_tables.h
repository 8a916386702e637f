// What `compress`, `decompress` and `quality` have in common: numbers in tables, and JSON of values
// that may be missing.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "compressors/compressor.h"
#include "harness/files/finite.h"
#include "harness/options/arguments.h"
#include "harness/options/option.h"

namespace thinpipe {

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
