#include "harness/hosts/logins.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "harness/launch/control_socket.h"
#include "harness/launch/launch.h"
#include "harness/machine/programs.h"
#include "netem/file_descriptor.h"
#include "netem/sandbox.h"

namespace thinpipe {
namespace {

// The command that runs a command on a host, without --agent. In BatchMode ssh fails at once where
// it would ask for a password. With ConnectTimeout (s) it fails soon where a host does not answer.
// By ServerAlive* it asks after 10 s of silence, and ends after three questions without an answer:
// when its host has vanished, ssh is not left behind on this machine for more than 40 s.
constexpr const char* kSsh =
    "ssh -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=10 -o ServerAliveCountMax=3";

// Bytes that must be free for temporary files on a host. PMIx, by which Open MPI's daemon serves
// the ranks, maps two files of 4 MiB there (NS_META_SEG_SIZE and NS_DATA_SEG_SIZE of its dstore).
constexpr int kTemporaryBytes = 8 << 20;

constexpr std::string_view kLoginMark = "thinpipe: ";

// Returns a command that prints, on a line of its own, kLoginMark and then `ready`, or the reason
// why ranks cannot run on this host. Some agents do not pass on exit codes.
std::string login_command() {
  const std::string bytes = std::to_string(kTemporaryBytes);
  const std::string script =
      "LC_ALL=C; export LC_ALL; "
      "say() { echo; echo \"thinpipe: $*\"; exit; }; "
      "test -x \"$1\" || say \"no program $1. Install the same thinpipe at the same path there\"; "
      "all=${TMPDIR:-/tmp}; "
      "own=$(mktemp -d \"$all/thinpipe-XXXXXX\" 2>&1) || "
      "say \"cannot make a folder in $all ($own). Open MPI needs $2 bytes there: free them, or set "
      "TMPDIR on that host\"; "
      "error=$(head -c \"$2\" /dev/zero 2>&1 >\"$own/space\"); code=$?; rm -rf \"$own\"; "
      "test $code -eq 0 || "
      "say \"cannot write to $all ($error). Open MPI needs $2 bytes there: free them, or set "
      "TMPDIR on that host\"; "
      "say ready";
  // The worker has the same path on every machine. An `sh` of its own, as the login shell may be
  // any other.
  return "exec " +
         shell_quoted({"sh", "-c", script, "sh", find_program("thinpipe-worker").string(), bytes});
}

// Returns the words after kLoginMark in the output of login_command(); "" if it did not run.
std::string login_answer(const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {  // a login shell may print a greeting first
    if (line.ends_with('\r')) line.pop_back();         // from an agent that makes a terminal there
    if (line.starts_with(kLoginMark)) return line.substr(kLoginMark.size());
  }
  return "";
}

// Returns the cause and the remedy of a login that failed. `log` has the errors of ssh.
std::string login_failure(const HostsOptions& options, const std::string& host,
                          const std::string& log) {
  std::ifstream file(log);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const auto says = [&](const char* part) { return text.find(part) != std::string::npos; };
  std::string remedy;
  if (says("HOST IDENTIFICATION HAS CHANGED"))
    remedy = fmt::format(
        "If the machine was installed anew, remove its old key by `ssh-keygen -R {}`. Then log in "
        "once by hand (`ssh {}`), and compare the fingerprint of the new key",
        host.substr(host.find('@') + 1), host);
  else if (says("Host key verification failed"))
    remedy = fmt::format(
        "Log in once by hand (`ssh {}`), and accept the host's key after comparing its fingerprint",
        host);
  else if (says("Permission denied ("))
    remedy = fmt::format(
        "A login must need no password. `ssh-copy-id {}` copies your key to the host; if the key "
        "has a passphrase, load it by `ssh-add`",
        host);
  if (remedy.empty())
    remedy = fmt::format("`{} {} true` must succeed without a question", agent_of(options), host);
  else if (!options.agent.empty())
    remedy += fmt::format(". Give these commands the options of `{}`", options.agent);
  const std::string said = last_line(log);
  return fmt::format("cannot log in{}. {}", said.empty() ? "" : fmt::format(" ({})", said), remedy);
}

}  // namespace

std::vector<std::string> words_at_spaces(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::string last_line(const std::string& path) {
  std::ifstream file(path);
  std::string last;
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with('\r')) line.pop_back();  // ssh ends its lines so
    if (!line.empty()) last = line;
  }
  return last;
}

std::string agent_of(const HostsOptions& options) {
  return options.agent.empty() ? kSsh : options.agent;
}

pid_t start_without_terminal(std::vector<std::string> words, int input, int output,
                             const std::string& log) {
  const std::vector<char*> arguments = exec_words(words);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) throw SystemError("fork");
  if (child > 0) return child;
  const int errors = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(errors, STDERR_FILENO);
  setsid();
  // The agent does not outlive this process, however that ends.
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(127);
  for (const int one : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) signal(one, SIG_DFL);
  execvp(arguments[0], arguments.data());
  dprintf(STDERR_FILENO, "%s: %s\n", arguments[0], strerror(errno));
  _exit(127);
}

void check_logins(const HostsOptions& options, const std::string& scratch) {
  struct Login {
    std::string host, output, log;
    pid_t child = -1;
    bool late = false;
  };
  const FileDescriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!nothing.valid()) throw SystemError("open /dev/null");
  const std::string command = login_command();
  std::vector<Login> logins;
  for (const std::string& host : options.names) {
    if (is_this_machine(host)) continue;  // mpirun starts the rank here without a login
    Login login;
    login.host = host;
    login.output = fmt::format("{}/login-{}.out", scratch, logins.size());
    login.log = fmt::format("{}/login-{}.log", scratch, logins.size());
    const FileDescriptor output(
        open(login.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!output.valid()) throw SystemError("open " + login.output);
    std::vector<std::string> words = words_at_spaces(agent_of(options));
    words.push_back(host);
    words.push_back(command);
    login.child = start_without_terminal(words, nothing.get(), output.get(), login.log);
    logins.push_back(std::move(login));
  }
  const auto begin = std::chrono::steady_clock::now();
  for (Login& login : logins)
    while (waitpid(login.child, nullptr, WNOHANG) == 0) {
      login.late = seconds_since(begin) > kHelloSeconds;
      if (login.late || stop_requested()) {
        kill(-login.child, SIGKILL);  // with the processes that the agent started
        kill(login.child, SIGKILL);   // which has not called setsid() yet, in its first moment
        waitpid(login.child, nullptr, 0);
        break;
      }
      poll(nullptr, 0, 5);
    }
  if (stop_requested()) throw RunError("interrupted");
  for (const Login& login : logins) {
    const std::string answer = login_answer(login.output);
    if (answer == "ready") continue;
    std::string reason = answer;
    if (answer.empty()) reason = login_failure(options, login.host, login.log);
    if (login.late) reason = fmt::format("no answer within {:g} s; {}", kHelloSeconds, reason);
    throw RunError(fmt::format("host {}: {}", login.host, reason));
  }
}

}  // namespace thinpipe
