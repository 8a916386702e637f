#include "harness/commands/file_tables.h"

#include <fmt/format.h>

#include <algorithm>

namespace thinpipe {
namespace {

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

}  // namespace

OptionInfo non_finite_option() {
  return {.name = "non-finite",
          .value_name = "POLICY",
          .type = OptionInfo::Type::kChoice,
          .default_value = "error",
          .help = "a NaN or infinity in a gradient is an error, or is replaced by 0",
          .choices = {"error", "zero"}};
}

BadValues bad_values_of(const Arguments& arguments) {
  return arguments.text("non-finite") == "zero" ? BadValues::kZero : BadValues::kRefuse;
}

std::string digits(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return "-";
  const double magnitude = std::fabs(*value);
  return magnitude >= 999.5 && magnitude < 999999.5 ? fmt::format("{:.0f}", *value)
                                                    : fmt::format("{:.3g}", *value);
}

std::string percent(std::optional<double> share) {
  if (!share || !std::isfinite(*share)) return "-";
  return digits(100 * *share) + " %";
}

std::string shortened(const std::string& name, std::size_t width) {
  if (name.size() <= width) return name;
  std::size_t front = (width - 2) / 2, back = name.size() - (width - 2 - front);
  while (front > 0 && continues_character(name[front])) --front;
  while (back < name.size() && continues_character(name[back])) ++back;
  return name.substr(0, front) + ".." + name.substr(back);
}

std::string right(const std::string& text, std::size_t width) {
  // Only U+0302, the hat of k, combines here: its two bytes take no column.
  const auto characters = static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !continues_character(c); }));
  const std::size_t columns = characters - (text.find("\xcc\x82") != std::string::npos ? 1 : 0);
  return (columns < width ? std::string(width - columns, ' ') : "") + text;
}

nlohmann::ordered_json number_or_null(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  return *value;
}

nlohmann::ordered_json sizes_json(std::size_t elements, std::size_t encoded_bytes) {
  const auto dense = static_cast<double>(elements * sizeof(float));
  const auto encoded = static_cast<double>(encoded_bytes);
  return {
      {"elements", elements},
      {"dense_bytes", elements * sizeof(float)},
      {"encoded_bytes", encoded_bytes},
      {"compression_ratio", number_or_null(ratio_of(dense, encoded))},
      {"bits_per_element", number_or_null(ratio_of(8 * encoded, static_cast<double>(elements)))}};
}

}  // namespace thinpipe
