// Logins on the user's machines: their command, and a check of all of them before a run.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "harness/hosts/hosts.h"

namespace thinpipe {

/// Longest time of a login, in seconds: ssh may query name servers and wait for a slow login.
constexpr double kHelloSeconds = 60;

/// Returns the words of a text, which spaces separate.
std::vector<std::string> words_at_spaces(const std::string& text);

/// Returns the last line of a file that is not empty, "" if there is none.
std::string last_line(const std::string& path);

/// Returns the command that runs a command on a host: `--agent`, or ssh with options by which it
/// asks nothing and does not wait for ever.
std::string agent_of(const HostsOptions& options);

/// Starts a command whose errors go to the file `log`. The command has no terminal (setsid): ssh
/// cannot ask for a password there, and the terminal's Ctrl-C reaches only the sweep.
/// @returns its process id
pid_t start_without_terminal(std::vector<std::string> words, int input, int output,
                             const std::string& log);

/// Checks that commands run on all hosts, at the same time on each, and that ranks can run there.
/// @param scratch  folder for the output of the commands
/// @throws RunError naming the first host on which ranks cannot run, the cause and the remedy
void check_logins(const HostsOptions& options, const std::string& scratch);

}  // namespace thinpipe
