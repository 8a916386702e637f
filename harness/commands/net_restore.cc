// `thinpipe net restore`: gives back real interfaces whose guards died.
#include <fmt/format.h>

#include "base/error.h"
#include "harness/commands/output.h"
#include "harness/commands/verbs.h"
#include "harness/options/arguments.h"
#include "netem/real_nic/state_file.h"

namespace thinpipe {
namespace {

// Whether the interface is as it should be: given back, or with a guard that will see to it.
bool restore(const std::string& interface, std::string& text) {
  try {
    const auto file = StateFile::hold(interface);
    if (!file) {
      text += fmt::format("{}: its guard lives (process {}) and will give it back\n", interface,
                          guard_of(interface));
      return true;
    }
    text += fmt::format("{}: {}\n", interface, finish(*file));
    return true;
  } catch (const std::exception& error) {
    text += fmt::format("{}: {}\n", interface, error.what());
    return false;
  }
}

int restore_all() {
  std::string text;
  bool good = true;
  for (const std::string& interface : shaped_interfaces()) good = restore(interface, text) && good;
  write_text(text.empty() ? "no interface of this host is throttled by thinpipe\n" : text);
  return good ? kExitGood : kExitFailed;
}

}  // namespace

Verb net_restore_verb() {
  return {
      .name = "net restore",
      .summary = "Give back real interfaces that a dead guard left throttled",
      .description =
          "On every host that `thinpipe run --hosts ... --shape IFACE` throttles, a guard gives "
          "the interface back what it had, whatever becomes of the run. Only when the guard and "
          "its parent are both killed outright does it stay throttled; /run/thinpipe then still "
          "says what it had. This command, run on that host, gives it back. Interfaces whose "
          "guards live, and those that somebody else has set since, are left alone.\n\n"
          "Exits with 4 when an interface could not be given back.",
      .options = {},
      .examples = {{.purpose = "As root, on the host", .command = "thinpipe net restore"}},
      .prepare = [](const Arguments&) -> Action { return restore_all; },
  };
}

}  // namespace thinpipe
