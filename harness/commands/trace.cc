// `thinpipe trace info|verify`: what a trace folder holds, and whether it still does.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/commands/output.h"
#include "harness/commands/verbs.h"
#include "harness/files/open_trace.h"
#include "harness/options/arguments.h"
#include "workloads/trace/trace.h"

namespace thinpipe {
namespace {

using Json = nlohmann::ordered_json;

/// What all steps of all ranks have in common.
struct Summary {
  double median_compute = 0;  ///< s
  double first_loss = 0;      ///< mean over ranks
  double last_loss = 0;
};

double mean_loss(const Trace& trace, std::size_t step) {
  double sum = 0;
  for (std::size_t rank = 0; rank < trace.ranks(); ++rank) sum += trace.times(rank, step).loss;
  return sum / static_cast<double>(trace.ranks());
}

Summary summarise(const Trace& trace) {
  std::vector<double> compute;
  for (std::size_t step = 0; step < trace.steps(); ++step) {
    for (std::size_t rank = 0; rank < trace.ranks(); ++rank) {
      compute.push_back(trace.times(rank, step).compute());
    }
  }
  if (compute.empty()) return {};
  const auto middle = compute.begin() + static_cast<std::ptrdiff_t>(compute.size() / 2);
  std::nth_element(compute.begin(), middle, compute.end());
  return {*middle, mean_loss(trace, 0), mean_loss(trace, trace.steps() - 1)};
}

bool has_squares(const Trace& trace) {
  return trace.steps() > 0 && trace.ranks() > 0 && !trace.tensors().empty() &&
         !trace.squares(0, 0, 0).empty();
}

/// What the sum of the second moments runs over, or null.
Json squares_of(const Trace& trace) {
  if (!has_squares(trace)) return nullptr;
  return trace.squares_of_micro_batches() ? "micro-batches" : "samples";
}

/// How the files hold gradients, e.g. "0.026 MB as BF16, widened to FP32 when read".
std::string stored(const Trace& trace) {
  const GradientType type = trace.gradient_type();
  const auto bytes = static_cast<double>(trace.elements() * gradient_type_bytes(type));
  if (type == GradientType::kF32) return fmt::format("{:.3f} MB as FP32", bytes / 1e6);
  return fmt::format("{:.3f} MB as {}, widened to FP32 when read", bytes / 1e6,
                     gradient_type_name(type));
}

std::string info_json(const Trace& trace) {
  const Summary summary = summarise(trace);
  Json tensors = Json::array();
  for (const TraceTensor& tensor : trace.tensors()) {
    tensors.push_back({{"name", tensor.name},
                       {"shape", tensor.shape},
                       {"elements", tensor.elements},
                       {"ready_order", tensor.ready_order}});
  }
  return Json{{"folder", trace.folder().string()},
              {"model", trace.model()},
              {"identity", trace.identity()},
              {"ranks", trace.ranks()},
              {"steps", trace.steps()},
              {"elements", trace.elements()},
              {"gradient_bytes", trace.elements() * sizeof(float)},
              {"dtype", gradient_type_name(trace.gradient_type())},
              {"second_moments", has_squares(trace)},
              {"second_moments_of", squares_of(trace)},
              {"complete", trace.complete()},
              {"missing", trace.missing()},
              {"median_compute_seconds", summary.median_compute},
              {"first_loss", summary.first_loss},
              {"last_loss", summary.last_loss},
              {"tensors", tensors}}
             .dump(2) +
         "\n";
}

std::string info_text(const Trace& trace) {
  const Summary summary = summarise(trace);
  std::string text;
  const auto line = [&](const char* name, const std::string& value) {
    text += fmt::format("{:<16}{}\n", name, value);
  };
  line("model", trace.model());
  line("identity", trace.identity().substr(0, 23));  // "sha256:" and 16 digits tell traces apart
  line("ranks", fmt::format("{}", trace.ranks()));
  if (trace.steps() > 0) {
    line("steps", fmt::format("{} (training steps {} to {})", trace.steps(), trace.training_step(0),
                              trace.training_step(trace.steps() - 1)));
  }
  if (!trace.complete()) line("incomplete", why_incomplete(trace));
  line("gradient", fmt::format("{} elements, {}", trace.elements(), stored(trace)));
  line("second moments", !has_squares(trace)                ? "no"
                         : trace.squares_of_micro_batches() ? "yes, of micro-batches"
                                                            : "yes");
  line("compute", fmt::format("{:.3f} ms a step (median)", summary.median_compute * 1e3));
  line("loss", std::isnan(summary.first_loss) && std::isnan(summary.last_loss)
                   ? "not recorded"
                   : fmt::format("{:.4g} in the first step, {:.4g} in the last", summary.first_loss,
                                 summary.last_loss));
  text += fmt::format("\n{:>5}  {:<36}{:>12}  {}\n", "ready", "tensor", "elements", "shape");
  for (const TraceTensor& tensor : trace.tensors()) {
    text += fmt::format("{:>5}  {:<36}{:>12}  {}\n", tensor.ready_order, tensor.name,
                        tensor.elements, fmt::join(tensor.shape, "x"));
  }
  return text;
}

int run_info(const Arguments& arguments) {
  const Trace trace(arguments.positional("DIR"));
  write_stdout(arguments.flag("json") ? info_json(trace) : info_text(trace));
  return kExitGood;
}

int run_verify(const Arguments& arguments) {
  const Trace trace(arguments.positional("DIR"));
  trace.verify();
  const std::size_t files = trace.ranks() * trace.steps();
  if (arguments.flag("json")) {
    write_stdout(Json{{"identity", trace.identity()},
                      {"files", files},
                      {"verified", true},
                      {"complete", trace.complete()},
                      {"missing", trace.missing()}}
                     .dump(2) +
                 "\n");
  } else {
    const std::string folder = trace.folder().string();
    write_stdout(fmt::format("{}: {} gradient files, all hashes hold\n", folder, files));
    if (!trace.complete()) {
      write_stdout(fmt::format("{}: incomplete: {}\n", folder, why_incomplete(trace)));
    }
  }
  return trace.complete() ? kExitGood : kExitFailed;
}

const OptionInfo kJson{.name = "json", .help = "print JSON for programs"};
const PositionalInfo kFolder{.name = "DIR",
                             .type = OptionInfo::Type::kFolder,
                             .help = "the trace's folder, which has a trace.json"};

}  // namespace

Verb trace_info_verb() {
  return {.name = "trace info",
          .summary = "Say what a trace holds",
          .description =
              "Prints the model, ranks, recorded steps, sizes, the compute time of a step, the "
              "loss, and the tensors with the order in which their gradients were ready. Offsets "
              "and lengths are checked, hashes are not: see `thinpipe trace verify`.",
          .options = {kJson},
          .positionals = {kFolder},
          .examples = {{"Look at a trace captured before", "thinpipe trace info trace"}},
          .run = run_info};
}

Verb trace_verify_verb() {
  return {
      .name = "trace verify",
      .summary = "Check every hash of a trace",
      .description =
          "Reads every file of the trace and compares its SHA-256 with the one that was "
          "recorded. Exits with 2 and names the first file that differs; with 4 where all hold but "
          "the capture lost a rank or was broken off, and says why: such a trace opens, and "
          "its steps are whole.",
      .options = {kJson},
      .positionals = {kFolder},
      .examples = {{"Check a trace that came from elsewhere", "thinpipe trace verify trace"}},
      .run = run_verify};
}

}  // namespace thinpipe
