// `thinpipe compress`, which encodes every tensor of a file into a file of frames, and `thinpipe
// decompress`, which decodes the frames into a file of tensors.
#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "base/output_file.h"
#include "base/text.h"
#include "base/units.h"
#include "base/visible.h"
#include "harness/commands/shared_options.h"
#include "harness/commands/verbs.h"
#include "harness/files/compress_file.h"
#include "harness/options/arguments.h"
#include "harness/options/terminal.h"
#include "workloads/trace/json_fields.h"

namespace thinpipe {
namespace {

using Json = nlohmann::ordered_json;

// Width of a tensor's name in columns.
constexpr std::size_t kEncodedName = 20;
constexpr std::size_t kDecodedName = 30;

struct Sums {
  std::size_t elements = 0, encoded = 0, target = 0, selected = 0;
  Distortion distortion;
  double seconds = 0;

  double estimation() const {
    return ratio_of(static_cast<double>(selected), static_cast<double>(target));
  }
};

/// Returns a fraction as a percentage: "12.3 %".
std::string percent(std::optional<double> fraction) {
  if (!fraction || !std::isfinite(*fraction)) return "-";
  return digits(100 * *fraction) + " %";
}

/// Returns `name`, shortened in the middle to at most `width` bytes, never within a character.
std::string shortened(const std::string& name, std::size_t width) {
  if (name.size() <= width) return name;
  std::size_t front = (width - 2) / 2, back = name.size() - (width - 2 - front);
  while (front > 0 && continues_character(name[front])) --front;
  while (back < name.size() && continues_character(name[back])) ++back;
  return name.substr(0, front) + ".." + name.substr(back);
}

/// Returns dense bytes, encoded bytes, compression ratio and bits per element.
Json sizes_json(std::size_t elements, std::size_t encoded_bytes) {
  const auto dense = static_cast<double>(elements * sizeof(float));
  const auto encoded = static_cast<double>(encoded_bytes);
  return {
      {"elements", elements},
      {"dense_bytes", elements * sizeof(float)},
      {"encoded_bytes", encoded_bytes},
      {"compression_ratio", number_or_null(ratio_of(dense, encoded))},
      {"bits_per_element", number_or_null(ratio_of(8 * encoded, static_cast<double>(elements)))}};
}

/// Returns the totals over one or more tensors.
Sums sums_of(std::span<const CompressedTensor> tensors) {
  Sums sums;
  for (const CompressedTensor& tensor : tensors) {
    sums.elements += tensor.info.elements;
    sums.encoded += tensor.report.encoded_bytes;
    sums.target += tensor.report.target_elements;
    sums.selected += tensor.report.selected_elements;
    sums.distortion += tensor.distortion;
    sums.seconds += tensor.seconds;
  }
  return sums;
}

Json to_json(const Sums& sums, bool held) {
  Json json = sizes_json(sums.elements, sums.encoded);
  json["k"] = sums.target == 0 ? Json(nullptr) : Json(sums.target);
  json["k_hat"] = sums.selected;
  json["k_hat_over_k"] = number_or_null(sums.estimation());
  json["relative_error"] = held ? Json(nullptr) : number_or_null(sums.distortion.relative());
  json["seconds"] = sums.seconds;
  return json;
}

Json to_json(const CompressOutcome& outcome, const Arguments& arguments) {
  Json tensors = Json::array();
  for (const CompressedTensor& tensor : outcome.tensors) {
    Json json{{"name", tensor.info.name}, {"shape", tensor.info.shape}};
    json.update(to_json(sums_of({&tensor, 1}), outcome.held));
    json["threshold"] = outcome.held ? Json(nullptr) : number_or_null(tensor.report.threshold);
    json["passes"] = tensor.report.passes;
    tensors.push_back(json);
  }
  Json total{{"tensors", outcome.tensors.size()}};
  total.update(to_json(sums_of(outcome.tensors), outcome.held));
  return {{"compressor", outcome.compressor},
          {"in", arguments.text("in")},
          {"out", arguments.text("out")},
          {"state", arguments.given("state") ? Json(arguments.text("state")) : Json(nullptr)},
          {"resumed", outcome.resumed},
          {"seed", outcome.seed},
          {"step", outcome.step},
          {"exchanged", !outcome.held},
          {"file_bytes", outcome.file_bytes},
          {"total", total},
          {"tensors", tensors}};
}

std::string encoded_row(const std::string& name, const Sums& sums) {
  const auto elements = static_cast<double>(sums.elements);
  const auto encoded = static_cast<double>(sums.encoded);
  return fmt::format("{:<20}{:>11}{:>9}{:>8}{:>9}{:>7}{:>8}{:>8}\n", shortened(name, kEncodedName),
                     sums.elements, format_bytes(encoded), digits(ratio_of(4 * elements, encoded)),
                     digits(ratio_of(8 * encoded, elements)), digits(sums.estimation()),
                     percent(sums.distortion.relative()), format_time(sums.seconds));
}

std::string to_text(const CompressOutcome& outcome, const Arguments& arguments) {
  if (outcome.held)
    return fmt::format("step {}: accumulated in {}; no payload until the period ends\n",
                       outcome.step, arguments.text("state"));
  // The hat takes no column, so blanks make its heading seven columns wide.
  std::string text = fmt::format("{:<20}{:>11}{:>9}{:>8}{:>9}{}{:>8}{:>8}\n", "tensor", "elements",
                                 "encoded", "ratio", "bits/el", "    k\xcc\x82/k", "error", "time");
  for (const CompressedTensor& tensor : outcome.tensors)
    text += encoded_row(printable(tensor.info.name), sums_of({&tensor, 1}));
  text += encoded_row(fmt::format("all {}", outcome.tensors.size()), sums_of(outcome.tensors));
  return text + fmt::format("step {}: {} in {}, with frame headers\n", outcome.step,
                            format_bytes(static_cast<double>(outcome.file_bytes)),
                            arguments.text("out"));
}

/// Returns whether both names are of one file: "a", "./a" and a link to a.
bool same_file(const std::filesystem::path& one, const std::filesystem::path& other) {
  std::error_code none;
  return std::filesystem::absolute(one, none).lexically_normal() ==
             std::filesystem::absolute(other, none).lexically_normal() ||
         std::filesystem::equivalent(one, other, none);
}

/// Refuses two outputs on standard output.
void check_outputs(const Arguments& arguments) {
  if (arguments.flag("json") && names_stdout(arguments.text("out")))
    throw InputError("--json and --out " + arguments.text("out") +
                     " are both standard output; expected a file for --out");
}

/// Prints a table, on standard error if standard output has the data.
void print_table(const std::string& text, const Arguments& arguments) {
  if (!names_stdout(arguments.text("out"))) return write_text(text);
  print_message(std::string_view(text).substr(0, text.size() - 1));
}

Action prepare_compress(const Arguments& arguments) {
  load_plugins(arguments);
  CompressOptions options;
  options.compressor = one_compressor(arguments);
  options.in = arguments.text("in");
  options.out = arguments.text("out");
  options.state = arguments.text("state");
  if (same_file(options.out, options.in) || same_file(options.out, options.state) ||
      same_file(options.in, options.state))
    throw InputError("--in, --out and --state must be different files");
  check_outputs(arguments);
  if (arguments.given("seed")) options.seed = static_cast<std::uint64_t>(arguments.integer("seed"));
  if (arguments.given("step")) options.step = static_cast<std::uint64_t>(arguments.integer("step"));
  options.epoch = arguments.real("epoch");
  options.threads = threads_of(arguments);
  options.bad_values = bad_values_of(arguments);
  use_simd(arguments);
  return [&arguments, options] {
    const CompressOutcome outcome = compress_file(options);
    arguments.flag("json") ? write_json(to_json(outcome, arguments))
                           : print_table(to_text(outcome, arguments), arguments);
    return kExitGood;
  };
}

/// Returns the totals over all tensors.
DecompressedTensor total_of(const DecompressOutcome& outcome) {
  DecompressedTensor total;
  for (const DecompressedTensor& tensor : outcome.tensors) {
    total.info.elements += tensor.info.elements;
    total.encoded_bytes += tensor.encoded_bytes;
    total.nonzero += tensor.nonzero;
    total.seconds += tensor.seconds;
  }
  return total;
}

Json numbers(const DecompressedTensor& tensor) {
  Json json = sizes_json(tensor.info.elements, tensor.encoded_bytes);
  json["nonzero"] = tensor.nonzero;
  json["seconds"] = tensor.seconds;
  return json;
}

Json to_json(const DecompressOutcome& outcome, const Arguments& arguments) {
  Json tensors = Json::array();
  for (const DecompressedTensor& tensor : outcome.tensors) {
    Json json{{"name", tensor.info.name},        {"shape", tensor.info.shape},
              {"compressor", tensor.compressor}, {"step", tensor.step},
              {"exchanged", !tensor.held},       {"incremental", tensor.incremental}};
    json.update(numbers(tensor));
    tensors.push_back(json);
  }
  Json total{{"tensors", outcome.tensors.size()}};
  total.update(numbers(total_of(outcome)));
  return {{"in", arguments.text("in")},
          {"out", arguments.text("out")},
          {"file_bytes", outcome.file_bytes},
          {"total", total},
          {"tensors", tensors}};
}

std::string decoded_row(const std::string& name, const DecompressedTensor& tensor) {
  const auto elements = static_cast<double>(tensor.info.elements);
  const auto encoded = static_cast<double>(tensor.encoded_bytes);
  return fmt::format("{:<30}{:>11}{:>10}{:>9}{:>11}{:>9}\n", shortened(name, kDecodedName),
                     tensor.info.elements, format_bytes(encoded),
                     digits(ratio_of(4 * elements, encoded)), tensor.nonzero,
                     format_time(tensor.seconds));
}

std::string to_text(const DecompressOutcome& outcome) {
  std::string text = fmt::format("{:<30}{:>11}{:>10}{:>9}{:>11}{:>9}\n", "tensor", "elements",
                                 "encoded", "ratio", "not zero", "time");
  for (const DecompressedTensor& tensor : outcome.tensors)
    text += decoded_row(printable(tensor.info.name), tensor);
  return text + decoded_row(fmt::format("all {}", outcome.tensors.size()), total_of(outcome));
}

Action prepare_decompress(const Arguments& arguments) {
  load_plugins(arguments);
  DecompressOptions options;
  options.in = arguments.text("in");
  options.out = arguments.text("out");
  if (same_file(options.in, options.out))
    throw InputError("--in and --out must be different files");
  check_outputs(arguments);
  options.max_elements = static_cast<std::uint64_t>(arguments.integer("max-elements"));
  options.threads = threads_of(arguments);
  use_simd(arguments);
  return [&arguments, options] {
    const DecompressOutcome outcome = decompress_file(options);
    arguments.flag("json") ? write_json(to_json(outcome, arguments))
                           : print_table(to_text(outcome), arguments);
    return kExitGood;
  };
}

}  // namespace

Verb compress_verb() {
  return {
      .name = "compress",
      .summary = "Compress the tensors of a safetensors file",
      .description =
          "Encodes every FP32 tensor of the file with a compressor instance of its own. Writes the "
          "payloads, each in a self-describing frame (docs/wire-format.md); `thinpipe decompress` "
          "reads the frames. As in a trace, an entry `q:NAME` has the second moments of NAME.\n\n"
          "With --state, the compressors' state is read from the file if it exists, and written "
          "back. Successive calls are then successive training steps. Output files are written "
          "atomically.\n\n"
          "Columns: ratio is dense bytes over encoded bytes; k-hat/k is the elements sent over the "
          "elements requested; error is the L2 distance between decoded values and input over the "
          "L2 norm of the input, which is gradient plus error-feedback memory. Times are those "
          "of a first call and include page faults.",
      .options = {required(compressor_option(false)),
                  required(file_option("in,i", "FILE", "", "safetensors file with FP32 tensors")),
                  required(file_option("out,o", "FILE", "", "output file for the frames")),
                  file_option("state", "FILE", "",
                              "file of the compressors' state (residual, momentum); created if "
                              "missing"),
                  integer_option("seed", "N", "", {0, 9e15},
                                 "random seed of compressors that sample or round; by default that "
                                 "of --state, else 1"),
                  integer_option("step", "N", "", {0, 9e15},
                                 "number of this step; by default the successor of the last step "
                                 "in --state, else 0"),
                  real_option("epoch", "X", "0", {0, 1e9},
                              "training epoch of this step, for compressors with a warm-up"),
                  threads_option("one encode"),
                  simd_option(),
                  non_finite_option(),
                  plugin_option(),
                  {.name = "json", .help = "print JSON for programs"}},
      .examples = {{"Compress one step of a trace",
                    "thinpipe compress -c topk:ratio=0.01 -o step.tpp -i "
                    "trace/rank-000/step-00000000.safetensors"},
                   {"Keep the residual for the next step",
                    "thinpipe compress -c sbc -i gradient.safetensors -o payload.tpp --state "
                    "worker0.state"}},
      .prepare = prepare_compress};
}

Verb decompress_verb() {
  return {.name = "decompress",
          .summary = "Decode a file of `thinpipe compress`",
          .description =
              "Reads a file of frames, decodes every payload as its frame specifies, and writes "
              "the tensors to a safetensors file. Checks every length, the checksums of header and "
              "payload, and every payload. For a bad file, exits with 2 and names the frame and "
              "the field. The output is written atomically.\n\n"
              "Tensors of a step that was only accumulated decode to zeros. The payload of an EF21 "
              "compressor decodes to the change since the previous step.",
          .options = {required(file_option("in,i", "FILE", "", "file of frames")),
                      required(file_option("out,o", "FILE", "", "output file (safetensors)")),
                      integer_option("max-elements", "N", "1000000000", {1, 9e15},
                                     "refuse a file that declares more elements, before memory is "
                                     "allocated"),
                      threads_option("one decode"),
                      simd_option(),
                      plugin_option(),
                      {.name = "json", .help = "print JSON for programs"}},
          .examples = {{"Decode a file of frames",
                        "thinpipe decompress -i step.tpp -o decoded.safetensors"}},
          .prepare = prepare_decompress};
}

}  // namespace thinpipe
