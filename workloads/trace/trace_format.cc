#include "workloads/trace/trace_format.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

namespace thinpipe {

namespace {

bool has_control_character(const std::string& text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

}  // namespace

bool is_known_origin(const std::string& origin) {
  return origin == kOriginTraining || origin == kOriginSynthetic || origin == kOriginImported;
}

void check_trace_preamble(const JsonField& root) {
  if (root.at("format").string() != kTraceFormat) {
    root.at("format").fail(fmt::format("expected \"{}\", found {}", kTraceFormat,
                                       describe_json(root.at("format").value())));
  }
  const std::uint64_t version = root.at("version").unsigned_integer(1);
  if (version != kTraceVersion) {
    root.at("version").fail(fmt::format("found {}, expected {}; a newer thinpipe wrote this trace",
                                        version, kTraceVersion));
  }
  if (!is_known_origin(root.at("origin").string())) {
    root.at("origin").fail(fmt::format("expected \"{}\", \"{}\" or \"{}\", found {}",
                                       kOriginTraining, kOriginSynthetic, kOriginImported,
                                       describe_json(root.at("origin").value())));
  }
}

GradientType parse_gradient_dtype(const JsonField& root) {
  GradientType type = GradientType::kF32;
  if (root.has("dtype") && !parse_gradient_type(root.at("dtype").string(), type)) {
    root.at("dtype").fail("expected \"F32\", \"BF16\" or \"F16\", found " +
                          describe_json(root.at("dtype").value()));
  }
  return type;
}

std::string parse_squares_of(const JsonField& root) {
  if (!root.has("squares_of")) return kSquaresOfSamples;
  const std::string of = root.at("squares_of").string();
  if (of != kSquaresOfSamples && of != kSquaresOfMicroBatches) {
    root.at("squares_of")
        .fail(fmt::format("expected \"{}\" or \"{}\", found {}", kSquaresOfSamples,
                          kSquaresOfMicroBatches, describe_json(root.at("squares_of").value())));
  }
  return of;
}

std::vector<std::string> parse_missing(const JsonField& root) {
  std::vector<std::string> missing;
  if (!root.has("missing")) return missing;
  const JsonField reasons = root.at("missing");
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    missing.push_back(reasons.at(i).string());
    if (!has_control_character(missing.back())) continue;
    reasons.at(i).fail("expected a sentence without control characters, found " +
                       describe_json(reasons.at(i).value()));
  }
  return missing;
}

void check_tensor_name(const std::string& name, const JsonField& field) {
  constexpr std::size_t kLongest = 512;
  if (name.empty() || name.size() > kLongest || has_control_character(name) ||
      name == "__metadata__" || name.starts_with(kSquaresPrefix)) {
    field.fail(fmt::format(
        "expected a tensor's name (1 to {} printable bytes, not beginning with \"{}\"), found {}",
        kLongest, kSquaresPrefix, describe_json(field.value())));
  }
}

std::string json_lines(const nlohmann::json& array) {
  std::string text = "[";
  for (std::size_t i = 0; i < array.size(); ++i) {
    text += (i == 0 ? "\n  " : ",\n  ") + array[i].dump();
  }
  return text + "]";
}

}  // namespace thinpipe
