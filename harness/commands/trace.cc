// `thinpipe trace info` prints the contents of a trace; `thinpipe trace verify` checks its hashes.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/plain_table.h"
#include "base/statistics.h"
#include "base/units.h"
#include "base/visible.h"
#include "harness/commands/verbs.h"
#include "harness/files/open_trace.h"
#include "harness/machine/machine.h"
#include "harness/options/arguments.h"
#include "harness/options/terminal.h"
#include "reports/text/phrases.h"
#include "workloads/synthetic/synthetic.h"
#include "workloads/trace/trace.h"
#include "workloads/trace/trace_format.h"

namespace thinpipe {
namespace {

using Json = nlohmann::ordered_json;

/// Summary over all steps of all ranks.
struct TraceSummary {
  double median_compute = 0;  ///< s
  double first_loss = 0;      ///< mean over ranks
  double last_loss = 0;
};

double mean_loss(const Trace& trace, std::size_t step) {
  double sum = 0;
  for (std::size_t rank = 0; rank < trace.ranks(); ++rank) sum += trace.times(rank, step).loss;
  return sum / static_cast<double>(trace.ranks());
}

TraceSummary summarise(const Trace& trace) {
  // Generated times are periodic, and there may be 10^10 of them.
  constexpr std::size_t kMaxGenerated = 256;
  const std::size_t most = trace.generated() ? kMaxGenerated : SIZE_MAX;
  std::vector<double> compute;
  for (std::size_t step = 0; step < std::min(trace.steps(), most); ++step)
    for (std::size_t rank = 0; rank < std::min(trace.ranks(), most); ++rank)
      compute.push_back(trace.times(rank, step).compute());
  if (compute.empty()) return {};
  return {median(compute), mean_loss(trace, 0), mean_loss(trace, trace.steps() - 1)};
}

bool has_squares(const Trace& trace) {
  return trace.steps() > 0 && trace.ranks() > 0 && !trace.tensors().empty() &&
         !trace.squares(0, 0, 0).empty();
}

/// Returns the summands of the second moments, or null.
Json squares_of(const Trace& trace) {
  if (!has_squares(trace)) return nullptr;
  return trace.squares_of_micro_batches() ? "micro-batches" : "samples";
}

/// Returns the storage of gradients, such as "0.026 MB as BF16, widened to FP32 when read".
std::string stored(const Trace& trace) {
  const GradientType type = trace.gradient_type();
  const auto bytes = static_cast<double>(trace.elements() * gradient_type_bytes(type));
  if (type == GradientType::kF32) return fmt::format("{:.3f} MB as FP32", bytes / 1e6);
  return fmt::format("{:.3f} MB as {}, widened to FP32 when read", bytes / 1e6,
                     gradient_type_name(type));
}

/// Returns the memory for generated gradients: "1.08 MB per generated rank, 4.32 MB for all".
std::string generation_memory(const Trace& trace) {
  const auto one = static_cast<double>(trace.generated_bytes_per_rank());
  const double all = one * static_cast<double>(trace.ranks());
  const auto available = static_cast<double>(read_machine(".").memory_available);
  std::string text =
      fmt::format("{} per generated rank, {} for all", format_bytes(one), format_bytes(all));
  if (all > available) text += fmt::format("; this machine has {}", format_bytes(available));
  return text;
}

std::string info_json(const Trace& trace) {
  const TraceSummary summary = summarise(trace);
  Json tensors = Json::array();
  for (const TraceTensor& tensor : trace.tensors())
    tensors.push_back({{"name", tensor.name},
                       {"shape", tensor.shape},
                       {"elements", tensor.elements},
                       {"ready_order", tensor.ready_order}});
  Json json{{"folder", trace.folder().string()},
            {"model", trace.model()},
            {"identity", trace.identity()},
            {"ranks", trace.ranks()},
            {"steps", trace.steps()},
            {"elements", trace.elements()},
            {"gradient_bytes", trace.elements() * sizeof(float)},
            {"values", trace.metadata().value("values", kValuesGradients)},
            {"dtype", gradient_type_name(trace.gradient_type())},
            {"second_moments", has_squares(trace)},
            {"second_moments_of", squares_of(trace)},
            {"complete", trace.complete()},
            {"missing", trace.missing()},
            {"median_compute_seconds", summary.median_compute},
            {"first_loss", summary.first_loss},
            {"last_loss", summary.last_loss},
            {"tensors", tensors}};
  if (trace.generated()) json["drawn_bytes_per_rank"] = trace.generated_bytes_per_rank();
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string info_text(const Trace& trace) {
  const TraceSummary summary = summarise(trace);
  std::string text;
  const auto line = [&](const char* name, const std::string& value) {
    constexpr std::size_t kMargin = 16;
    text += folded(fmt::format("{:<{}}{}", name, kMargin, visible_line(value)), kMargin);
  };
  line("model", trace.model());
  // "sha256:" and 16 digits identify a trace. The identity of a generated one is its spec.
  line("identity", trace.generated() ? trace.identity() : trace.identity().substr(0, 23));
  line("ranks", fmt::format("{}", trace.ranks()));
  if (trace.generated()) {
    line("steps", fmt::format("{}, repeated cyclically", trace.steps()));
  } else if (trace.steps() > 0) {
    line("steps", fmt::format("{} (training steps {} to {})", trace.steps(), trace.training_step(0),
                              trace.training_step(trace.steps() - 1)));
  }
  if (!trace.complete()) line("incomplete", why_incomplete(trace));
  line("gradient", fmt::format("{} elements, {}{}", trace.elements(), stored(trace),
                               trace.generated() ? ", generated on demand" : ""));
  if (trace.metadata().value("values", kValuesGradients) == kValuesUpdates)
    line("values", "updates of parameters in local steps, not gradients");
  if (trace.generated()) line("memory", generation_memory(trace));
  line("second moments", !has_squares(trace)                ? "no"
                         : trace.squares_of_micro_batches() ? "yes, of micro-batches"
                                                            : "yes");
  line("compute", fmt::format("{:.3f} ms per step (median)", summary.median_compute * 1e3));
  line("loss", std::isnan(summary.first_loss) && std::isnan(summary.last_loss)
                   ? "not recorded"
                   : fmt::format("{:.4g} in the first step, {:.4g} in the last", summary.first_loss,
                                 summary.last_loss));
  text += fmt::format("\n{:>5}  {:<36}{:>12}  {}\n", "ready", "tensor", "elements", "shape");
  for (const TraceTensor& tensor : trace.tensors())
    text += fmt::format("{:>5}  {:<36}{:>12}  {}\n", tensor.ready_order, visible_line(tensor.name),
                        tensor.elements, fmt::join(tensor.shape, "x"));
  return text;
}

Action prepare_info(const Arguments& arguments) {
  const Trace trace = open_gradients(arguments.positional("DIR"));
  return [&arguments, text = arguments.flag("json") ? info_json(trace) : info_text(trace)] {
    arguments.flag("json") ? write_stdout(text) : write_text(text);
    return kExitGood;
  };
}

int verify_trace(const Trace& trace, bool as_json) {
  trace.verify();
  const std::size_t files = trace.generated() ? 0 : trace.ranks() * trace.steps();
  const std::string folder = trace.folder().string();
  if (as_json)
    write_json({{"identity", trace.identity()},
                {"files", files},
                {"verified", true},
                {"complete", trace.complete()},
                {"missing", trace.missing()}});
  else if (trace.generated())
    write_text(fmt::format("{}: generated on demand; no files to verify\n", folder));
  else
    write_text(
        fmt::format("{}: {}, all hashes match\n", folder, counted(files, "gradient file")));
  if (!as_json && !trace.complete())
    write_text(fmt::format("{}: incomplete: {}\n", folder, why_incomplete(trace)));
  return trace.complete() ? kExitGood : kExitFailed;
}

Action prepare_verify(const Arguments& arguments) {
  const std::string& source = arguments.positional("DIR");
  const SyntheticSpec spec = is_synthetic(source) ? parse_synthetic_spec(source) : SyntheticSpec();
  const bool generated = is_synthetic(source) && !spec.is_fit();  // has no files
  // A fit imitates a trace on disk, whose files are verified.
  const auto trace = std::make_shared<const Trace>(generated       ? make_synthetic(spec)
                                                   : spec.is_fit() ? Trace(spec.trace)
                                                                   : Trace(source));
  return [=, &arguments] { return verify_trace(*trace, arguments.flag("json")); };
}

const OptionInfo kJson{.name = "json", .help = "print JSON for programs"};
const PositionalInfo kFolder{
    .name = "DIR",
    .type = OptionInfo::Type::kFolder,
    .help = "folder of the trace, with trace.json, or a spec such as synthetic:model=vgg19"};

}  // namespace

Verb trace_info_verb() {
  return {.name = "trace info",
          .summary = "Show the contents of a trace",
          .description =
              "Prints the model, ranks, recorded steps, sizes, compute time per step, loss, and "
              "the tensors, each with its position in the order in which gradients became ready. "
              "Checks offsets and lengths, but no hashes; see `thinpipe trace verify`. For a "
              "synthetic trace, prints its properties and the memory that it needs.",
          .options = {kJson},
          .positionals = {kFolder},
          .examples = {{"Show a captured trace", "thinpipe trace info trace"},
                       {"Show a synthetic trace", "thinpipe trace info synthetic:model=resnet20"}},
          .prepare = prepare_info};
}

Verb trace_verify_verb() {
  return {.name = "trace verify",
          .summary = "Check all hashes of a trace",
          .description =
              "Reads every file of the trace and compares its SHA-256 with the recorded one. For a "
              "mismatch, exits with 2 and names the first file that differs. For an incomplete "
              "capture (a lost rank, or an interruption) with correct hashes, exits with 4 and "
              "prints the reason; such a trace can be opened, and its steps are complete. "
              "A synthetic trace has no files; with dist=fit, the files of the captured trace that "
              "it imitates are checked.",
          .options = {kJson},
          .positionals = {kFolder},
          .examples = {{"Check a copied trace", "thinpipe trace verify trace"}},
          .prepare = prepare_verify};
}

}  // namespace thinpipe
