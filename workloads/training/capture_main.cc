// thinpipe-capture: one argument, the JSON object that workloads/capture/options.h describes.
#include <csignal>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>

#include <fmt/format.h>

#include "base/error.h"
#include "base/visible.h"
#include "workloads/capture/options.h"
#include "workloads/capture/progress.h"
#include "workloads/trace/json_fields.h"
#include "workloads/training/blas_kernels.h"
#include "workloads/training/capture_run.h"

namespace thinpipe {
namespace {

using nlohmann::json;

json to_json(const CaptureOptions& options, const CaptureSummary& summary) {
  return {{"out", options.out},
          {"model", options.model},
          {"workers", options.workers},
          {"steps", options.steps},
          {"recorded", options.recorded_steps()},
          {"parameters", summary.parameters},
          {"tensors", summary.tensors},
          {"bytes", summary.trace_bytes},
          {"first_loss", summary.first_loss},
          {"last_loss", summary.last_loss},
          {"forward", summary.forward},
          {"backward", summary.backward},
          {"seconds", summary.seconds}};
}

void print(const CaptureOptions& options, const CaptureSummary& summary) {
  const auto recorded = options.recorded_steps();
  fmt::print("{}: {} workers, {} steps in {:.1f} s, loss {:.3f} -> {:.3f}\n", options.model,
             options.workers, options.steps, summary.seconds, summary.first_loss,
             summary.last_loss);
  fmt::print("a worker's step takes {:.1f} ms forward, {:.1f} ms backward\n", 1e3 * summary.forward,
             1e3 * summary.backward);
  fmt::print("recorded {} steps ({} to {}) of {} parameters in {} tensors: {:.1f} MB in {}\n",
             recorded.size(), recorded.front(), recorded.back(), summary.parameters,
             summary.tensors, static_cast<double>(summary.trace_bytes) / 1e6, options.out);
}

void capture(const std::string& argument) {
  const CaptureOptions options =
      parse_capture_options(parse_json_strictly(argument, "capture: argument"));
  note_interrupts();
  // A limit on file size then makes write() fail, like a full disk, and the clean-up runs.
  std::signal(SIGXFSZ, SIG_IGN);
  CaptureSummary summary;
  {
    StepProgress progress("capture " + options.model, options.steps, stderr,
                          StepProgress::is_terminal(stderr));
    summary = run_capture(options, [&](std::uint64_t step, double loss) {
      progress.update(step + 1, fmt::format("loss {:.3f}", loss));
    });
  }
  if (options.json) {
    fmt::print("{}\n", to_json(options, summary).dump());
  } else {
    print(options, summary);
  }
  if (std::fflush(stdout) != 0) throw SystemError("write the summary");
}

int fail(const std::exception& error, int code) {
  print_message(fmt::format("thinpipe: {}", error.what()));
  return code;
}

int run(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr,
               "thinpipe-capture takes one argument, a JSON object; `thinpipe capture` starts it "
               "for you\n");
    return kExitUsage;
  }
  try {
    capture(argv[1]);
    return kExitGood;
  } catch (const Interrupted& interrupted) {
    fmt::print(stderr, "thinpipe: interrupted; the unfinished trace was removed\n");
    end_by_signal(interrupted.signal());
  } catch (const InputError& error) {
    return fail(error, kExitUsage);
  } catch (const std::exception& error) {
    return fail(error, kExitFailed);
  }
}

}  // namespace
}  // namespace thinpipe

int main(int argc, char** argv) {
  thinpipe::start_with_fitting_blas(argv);
  return thinpipe::run(argc, argv);
}
