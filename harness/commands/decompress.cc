// `thinpipe decompress`: a file of frames into a file of tensors.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/units.h"
#include "harness/commands/file_tables.h"
#include "harness/commands/kernel_options.h"
#include "harness/commands/output.h"
#include "harness/commands/plugins.h"
#include "harness/commands/verbs.h"
#include "harness/files/decompress_file.h"
#include "workloads/trace/json_fields.h"

namespace thinpipe {
namespace {

using Json = nlohmann::ordered_json;
using Type = OptionInfo::Type;

constexpr std::size_t kDecodedName = 30;

/// All tensors as if they were one.
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

Verb decompress_verb() {
  return {.name = "decompress",
          .summary = "Decode what `thinpipe compress` wrote",
          .description =
              "Reads a file of frames, decodes every payload as its frame says, and writes the "
              "tensors to a safetensors file. Every length, both checksums and every payload are "
              "checked; a bad file exits with 2 and names frame and field. The output appears "
              "whole or not at all. Tensors of a step that was held back decode to zeros; what an "
              "EF21 compressor sends is the change since the step before.",
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
                       .help = "safetensors file to write",
                       .required = true},
                      {.name = "max-elements",
                       .value_name = "N",
                       .type = Type::kInteger,
                       .default_value = "1000000000",
                       .help = "a file that claims more elements is refused before memory is taken",
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
