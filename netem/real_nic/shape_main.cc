// thinpipe-shape INTERFACE LEASE-SECONDS [--anyway] [ADDRESS...]: the guard that `thinpipe run
// --shape` starts on each host. netem/real_nic/nic.h describes its protocol. The addresses belong
// to the machine that runs the sweep.
#include <unistd.h>

#include <string>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "base/visible.h"
#include "netem/real_nic/nic.h"

namespace {

double lease_of(const std::string& text) {
  if (const auto seconds = thinpipe::parse_number<double>(text, 0.1, 3600)) return *seconds;
  throw thinpipe::InputError(
      fmt::format("LEASE-SECONDS is {}; expected 0.1 to 3600", thinpipe::in_quotes(text)));
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
