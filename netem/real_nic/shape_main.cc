// thinpipe-shape INTERFACE LEASE-SECONDS [--anyway] [ADDRESS...]: the guard that `thinpipe run
// --shape` starts on each host; netem/real_nic/guard.h says what it is told and what it answers.
// The addresses are those of the machine that the sweep runs on.
#include <unistd.h>

#include <string>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "base/visible.h"
#include "netem/real_nic/guard.h"

namespace {

double lease_of(const std::string& text) {
  if (const auto seconds = thinpipe::parse_number<double>(text, 0.1, 3600)) return *seconds;
  throw thinpipe::InputError(
      fmt::format("the lease is 0.1 to 3600 seconds, not {}", thinpipe::in_quotes(text)));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 3)
      throw thinpipe::InputError(
          "usage: thinpipe-shape INTERFACE LEASE-SECONDS [--anyway] [ADDRESS...] (started by "
          "thinpipe run --shape)");
    thinpipe::GuardOptions options;
    options.interface = argv[1];
    options.lease = lease_of(argv[2]);
    for (int i = 3; i < argc; ++i) {
      if (std::string(argv[i]) == "--anyway")
        options.anyway = true;
      else
        options.controllers.emplace_back(argv[i]);
    }
    return thinpipe::run_guard(options, STDIN_FILENO, STDOUT_FILENO);
  } catch (const thinpipe::InputError& error) {
    thinpipe::print_message(std::string("thinpipe-shape: ") + error.what());
    return thinpipe::kExitUsage;
  } catch (const std::exception& error) {
    thinpipe::print_message(std::string("thinpipe-shape: ") + error.what());
    return thinpipe::kExitFailed;
  }
}
