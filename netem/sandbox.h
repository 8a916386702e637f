// A process that owns everything an emulation creates, so that all of it ends with that process.
//
// Example:
//
//   int name_the_scratch_folder() {
//     return thinpipe::run_in_sandbox([](const thinpipe::Sandbox& sandbox) {
//       std::printf("%s exists until this function returns\n", sandbox.scratch.c_str());
//       return 0;  // the result of run_in_sandbox()
//     });
//   }
#pragma once

#include <functional>
#include <string>

namespace thinpipe {

/// The environment of a sandbox's body.
struct Sandbox {
  std::string scratch;  ///< in-memory folder, private to the sandbox and removed with it
};

/// Runs `body` as the first process of new PID, network, UTS and mount namespaces (an ordinary user
/// also gets a user namespace). Returns the body's result. If the body throws, prints the
/// exception's text on stderr and returns kExitUsage for an InputError, and kExitFailed for others.
///
/// The kernel kills every process started inside when the body's process ends, and kills the body
/// when the caller ends. Nothing needs cleaning up, even after SIGKILL. The first SIGINT, SIGTERM
/// or SIGHUP is forwarded to the body (see stop_requested). The second one kills the sandbox. After
/// a stop, the result is 128 plus the signal's number if the body throws anything but an InputError
/// or the sandbox is killed.
/// @param keyboard_to_commands  ignores SIGINT in the caller and in the body, because a terminal
/// also sends it to the programs that the body starts, such as a shell
/// @throws RunError with advice when namespaces cannot be created, and RunError when a signal ends
/// the body's process although no stop was requested.
int run_in_sandbox(const std::function<int(const Sandbox&)>& body,
                   bool keyboard_to_commands = false);

/// Runs `body` in this process without namespaces, with a temporary folder that is removed
/// afterwards. stop_requested() reports the first stop signal. A second one ends the process.
/// @returns the body's result.
/// @throws InputError when the system has no folder for temporary files; the body's exceptions.
int run_outside_sandbox(const std::function<int(const Sandbox&)>& body);

/// Returns true after the first SIGINT, SIGTERM or SIGHUP. The body should then return soon.
bool stop_requested();

/// Returns the signal that requested the stop, or 0.
int stop_signal();

/// Returns the path of a /proc that also lists the processes outside of the sandbox, whose load
/// disturbs measurements. In a sandbox, /proc lists only the sandbox's processes.
std::string machine_proc();

/// Blocks all signals in the calling thread, so that the main thread gets them and its waits end.
void block_signals();

}  // namespace thinpipe
