#include "workloads/trace/trace_format.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "compressors/wire/checks.h"

namespace thinpipe {

namespace {

bool has_control_character(const std::string& text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

std::string json_lines(const nlohmann::json& array) {
  std::string text = "[";
  for (std::size_t i = 0; i < array.size(); ++i) {
    text += (i == 0 ? "\n  " : ",\n  ") + array[i].dump();
  }
  return text + "]";
}

/// Returns the field's string, which must be one of `known`.
std::string parse_known(const JsonField& field, const std::vector<std::string>& known) {
  const std::string text = field.string();
  if (std::find(known.begin(), known.end(), text) != known.end()) return text;
  std::string expected;
  for (const std::string& one : known) {
    expected += &one == &known.front() ? "" : &one == &known.back() ? " or " : ", ";
    expected += '"' + one + '"';
  }
  field.fail("expected " + expected + ", found " + describe_json(field.value()));
}

}  // namespace

bool is_known_origin(const std::string& origin) {
  return origin == kOriginTraining || origin == kOriginSynthetic || origin == kOriginImported;
}

void check_trace_preamble(const JsonField& root) {
  parse_known(root.at("format"), {kTraceFormat});
  const std::uint64_t version = root.at("version").unsigned_integer(1);
  if (version != kTraceVersion) {
    root.at("version").fail(fmt::format("found {}, expected {}; a newer thinpipe wrote this trace",
                                        version, kTraceVersion));
  }
  parse_known(root.at("origin"), {kOriginTraining, kOriginSynthetic, kOriginImported});
}

GradientType parse_gradient_dtype(const JsonField& root) {
  GradientType type = GradientType::kF32;
  if (root.has("dtype")) {
    parse_gradient_type(parse_known(root.at("dtype"), {"F32", "BF16", "F16"}), type);
  }
  return type;
}

std::string parse_squares_of(const JsonField& root) {
  if (!root.has("squares_of")) return kSquaresOfSamples;
  return parse_known(root.at("squares_of"), {kSquaresOfSamples, kSquaresOfMicroBatches});
}

std::string parse_values(const JsonField& root) {
  if (!root.has("values")) return kValuesGradients;
  return parse_known(root.at("values"), {kValuesGradients, kValuesUpdates});
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
      name == "__metadata__" || name.starts_with(kSquaresPrefix) || !is_utf8(name)) {
    field.fail(fmt::format(
        "expected a tensor's name (1 to {} printable bytes of UTF-8, not beginning with \"{}\"), "
        "found {}",
        kLongest, kSquaresPrefix, describe_json(field.value())));
  }
}

std::string trace_json(const std::vector<std::pair<const char*, nlohmann::json>>& members,
                       const nlohmann::json& tensors, const nlohmann::json& steps) {
  std::string text =
      fmt::format("{{\n\"format\": \"{}\",\n\"version\": {},\n", kTraceFormat, kTraceVersion);
  for (const auto& [name, value] : members) {
    text += fmt::format("\"{}\": {},\n", name, value.dump());
  }
  return text + fmt::format("\"tensors\": {},\n\"steps\": {}\n}}\n", json_lines(tensors),
                            json_lines(steps));
}

}  // namespace thinpipe
