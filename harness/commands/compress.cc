// `thinpipe compress`, which encodes every tensor of a file into a file of frames, and `thinpipe
// decompress`, which decodes the frames into a file of tensors.
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "base/units.h"
#include "harness/commands/compressor_options.h"
#include "harness/commands/verbs.h"
#include "harness/files/compress_file.h"
#include "harness/options/arguments.h"
#include "harness/options/terminal.h"
#include "workloads/trace/json_fields.h"

namespace thinpipe {
namespace {

using Json = nlohmann::ordered_json;
using Type = OptionInfo::Type;

// Width of a tensor's name in columns.
constexpr std::size_t kEncodedName = 20;
constexpr std::size_t kDecodedName = 30;

/// Totals over one or more tensors.
struct Sums {
  std::size_t elements = 0, encoded = 0, target = 0, selected = 0;
  Distortion distortion;
  double seconds = 0;

  void add(const CompressedTensor& tensor) {
    elements += tensor.info.elements;
    encoded += tensor.report.encoded_bytes;
    target += tensor.report.target_elements;
    selected += tensor.report.selected_elements;
    distortion += tensor.distortion;
    seconds += tensor.seconds;
  }
  double estimation() const {
    return ratio_of(static_cast<double>(selected), static_cast<double>(target));
  }
};

Sums sums_of(const CompressedTensor& tensor) {
  Sums sums;
  sums.add(tensor);
  return sums;
}

Sums sums_of(const CompressOutcome& outcome) {
  Sums sums;
  for (const CompressedTensor& tensor : outcome.tensors) sums.add(tensor);
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

std::string to_json(const CompressOutcome& outcome, const Arguments& arguments) {
  Json tensors = Json::array();
  for (const CompressedTensor& tensor : outcome.tensors) {
    Json json{{"name", tensor.info.name}, {"shape", tensor.info.shape}};
    json.update(to_json(sums_of(tensor), outcome.held));
    json["threshold"] = outcome.held ? Json(nullptr) : number_or_null(tensor.report.threshold);
    json["passes"] = tensor.report.passes;
    tensors.push_back(json);
  }
  Json total{{"tensors", outcome.tensors.size()}};
  total.update(to_json(sums_of(outcome), outcome.held));
  return Json{{"compressor", outcome.compressor},
              {"in", arguments.text("in")},
              {"out", arguments.text("out")},
              {"state", arguments.given("state") ? Json(arguments.text("state")) : Json(nullptr)},
              {"resumed", outcome.resumed},
              {"seed", outcome.seed},
              {"step", outcome.step},
              {"exchanged", !outcome.held},
              {"file_bytes", outcome.file_bytes},
              {"total", total},
              {"tensors", tensors}}
             .dump(2) +
         "\n";
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
  if (outcome.held) {
    return fmt::format("step {}: accumulated in {}; no payload until the period ends\n",
                       outcome.step, arguments.text("state"));
  }
  std::string text =
      fmt::format("{:<20}{:>11}{:>9}{:>8}{:>9}{}{:>8}{:>8}\n", "tensor", "elements", "encoded",
                  "ratio", "bits/el", right("k\xcc\x82/k", 7), "error", "time");
  for (const CompressedTensor& tensor : outcome.tensors) {
    text += encoded_row(printable(tensor.info.name), sums_of(tensor));
  }
  text += encoded_row(fmt::format("all {}", outcome.tensors.size()), sums_of(outcome));
  return text + fmt::format("step {}: {} in {} with all frames\n", outcome.step,
                            format_bytes(static_cast<double>(outcome.file_bytes)),
                            arguments.text("out"));
}

Action prepare_compress(const Arguments& arguments) {
  load_plugins(arguments);
  CompressOptions options;
  options.compressor = one_compressor(arguments);
  options.in = arguments.text("in");
  options.out = arguments.text("out");
  options.state = arguments.text("state");
  if (options.out == options.in || options.out == options.state || options.in == options.state) {
    throw InputError("--in, --out and --state must be different files");
  }
  if (arguments.given("seed")) options.seed = static_cast<std::uint64_t>(arguments.integer("seed"));
  if (arguments.given("step")) options.step = static_cast<std::uint64_t>(arguments.integer("step"));
  options.epoch = arguments.real("epoch");
  options.threads = threads_of(arguments);
  options.bad_values = bad_values_of(arguments);
  use_simd(arguments);
  return [&arguments, options] {
    const CompressOutcome outcome = compress_file(options);
    arguments.flag("json") ? write_stdout(to_json(outcome, arguments))
                           : write_text(to_text(outcome, arguments));
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

std::string to_json(const DecompressOutcome& outcome, const Arguments& arguments) {
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
  return Json{{"in", arguments.text("in")},
              {"out", arguments.text("out")},
              {"file_bytes", outcome.file_bytes},
              {"total", total},
              {"tensors", tensors}}
             .dump(2) +
         "\n";
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
  for (const DecompressedTensor& tensor : outcome.tensors) {
    text += decoded_row(printable(tensor.info.name), tensor);
  }
  return text + decoded_row(fmt::format("all {}", outcome.tensors.size()), total_of(outcome));
}

Action prepare_decompress(const Arguments& arguments) {
  load_plugins(arguments);
  DecompressOptions options;
  options.in = arguments.text("in");
  options.out = arguments.text("out");
  if (options.in == options.out) throw InputError("--in and --out must be different files");
  options.max_elements = static_cast<std::uint64_t>(arguments.integer("max-elements"));
  options.threads = threads_of(arguments);
  use_simd(arguments);
  return [&arguments, options] {
    const DecompressOutcome outcome = decompress_file(options);
    arguments.flag("json") ? write_stdout(to_json(outcome, arguments))
                           : write_text(to_text(outcome));
    return kExitGood;
  };
}

}  // namespace

Verb compress_verb() {
  return {
      .name = "compress",
      .summary = "Compress the tensors of a safetensors file",
      .description =
          "Encodes every FP32 tensor of the file with a compressor of its own. Writes the "
          "payloads, each in a self-describing frame (docs/wire-format.md); `thinpipe decompress` "
          "reads the frames. As in a trace, an entry `q:NAME` has the second moments of NAME.\n\n"
          "With --state, the compressors' state is read from the file if it exists, and written "
          "back. Successive calls are then successive training steps. Output files are written "
          "atomically.\n\n"
          "Columns: ratio is dense bytes over encoded bytes; k-hat/k is the elements sent over the "
          "elements requested; error is the L2 distance between decoded values and input over the "
          "L2 norm of the input, which is gradient plus error-feedback memory. Times are of a "
          "first call, page faults included.",
      .options = {compressor_option(false),
                  {.name = "in",
                   .letter = 'i',
                   .value_name = "FILE",
                   .type = Type::kFile,
                   .help = "safetensors file with FP32 tensors",
                   .required = true},
                  {.name = "out",
                   .letter = 'o',
                   .value_name = "FILE",
                   .type = Type::kFile,
                   .help = "output file for the frames",
                   .required = true},
                  {.name = "state",
                   .value_name = "FILE",
                   .type = Type::kFile,
                   .help =
                       "file of the compressors' state (residual, momentum); created if missing"},
                  {.name = "seed",
                   .value_name = "N",
                   .type = Type::kInteger,
                   .help = "random seed of compressors that sample or round; by default that of "
                           "--state, else 1",
                   .minimum = 0,
                   .maximum = 9e15},
                  {.name = "step",
                   .value_name = "N",
                   .type = Type::kInteger,
                   .help = "number of this step; by default the successor of the last step in "
                           "--state, else 0",
                   .minimum = 0,
                   .maximum = 9e15},
                  {.name = "epoch",
                   .value_name = "X",
                   .type = Type::kReal,
                   .default_value = "0",
                   .help = "training epoch of this step, for compressors with a warm-up",
                   .minimum = 0,
                   .maximum = 1e9},
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
  return {
      .name = "decompress",
      .summary = "Decode a file of `thinpipe compress`",
      .description =
          "Reads a file of frames, decodes every payload as its frame specifies, and writes "
          "the tensors to a safetensors file. Checks every length, both checksums and every "
          "payload. For a bad file, exits with 2 and names frame and field. The output is "
          "written atomically.\n\n"
          "Tensors of a step that was only accumulated decode to zeros. The payload of an EF21 "
          "compressor decodes to the change since the previous step.",
      .options = {{.name = "in",
                   .letter = 'i',
                   .value_name = "FILE",
                   .type = Type::kFile,
                   .help = "file of frames",
                   .required = true},
                  {.name = "out",
                   .letter = 'o',
                   .value_name = "FILE",
                   .type = Type::kFile,
                   .help = "output file (safetensors)",
                   .required = true},
                  {.name = "max-elements",
                   .value_name = "N",
                   .type = Type::kInteger,
                   .default_value = "1000000000",
                   .help = "refuse a file that declares more elements, before memory is allocated",
                   .minimum = 1,
                   .maximum = 9e15},
                  threads_option("one decode"),
                  simd_option(),
                  plugin_option(),
                  {.name = "json", .help = "print JSON for programs"}},
      .examples = {{"Decode a file of frames",
                    "thinpipe decompress -i step.tpp -o decoded.safetensors"}},
      .prepare = prepare_decompress};
}

}  // namespace thinpipe
