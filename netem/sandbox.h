// A process that holds everything an emulation makes, so that all of it ends when that process
// does.
//
// Example:
//
//   int echo_in_a_sandbox() {
//     return thinpipe::run_in_sandbox([](const thinpipe::Sandbox& sandbox) {
//       std::printf("%s is gone afterwards\n", sandbox.scratch.c_str());
//       return 0;  // what run_in_sandbox() returns
//     });
//   }
#pragma once

#include <functional>
#include <string>

namespace thinpipe {

/// The environment of a sandbox's body.
struct Sandbox {
  std::string scratch;  ///< folder in memory, private to the sandbox, gone with it
};

/// Runs `body` as the first process of new PID, network, UTS, mount (and, for an ordinary user,
/// user) namespaces and returns its result; an exception's text goes to stderr and becomes the
/// exit code of base/error.h.
///
/// Everything started inside dies with that process, and that process dies with the caller,
/// however either ends: the kernel does it, so there is nothing to clean up after SIGKILL.
/// SIGINT, SIGTERM and SIGHUP are passed on to the body once (see stop_requested); a second one
/// kills the sandbox.
/// With `keyboard_to_commands`, SIGINT is left to the programs that the body starts, which a
/// terminal sends it to as well: for shells and the like.
/// @throws RunError when namespaces are not to be had, with what to enable.
int run_in_sandbox(const std::function<int(const Sandbox&)>& body,
                   bool keyboard_to_commands = false);

/// The same without namespaces, in this process: a folder of our own that is removed afterwards,
/// and stop signals that stop_requested() tells of. A second one ends the process.
/// @returns what `body` does; its exceptions pass.
int run_outside_sandbox(const std::function<int(const Sandbox&)>& body);

/// True after the first SIGINT, SIGTERM or SIGHUP inside a sandbox. The body ends soon after.
bool stop_requested();

/// The signal that asked to stop, or 0.
int stop_signal();

}  // namespace thinpipe
