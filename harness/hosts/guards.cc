#include "harness/hosts/guards.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/visible.h"

namespace thinpipe {

namespace {

using Clock = std::chrono::steady_clock;
constexpr double kHelloSeconds = 60;   // ssh may ask name servers, wait for a slow login
constexpr double kAnswerSeconds = 15;  // s, of a guard that lives
constexpr double kEndSeconds = 10;

std::string last_line(const std::string& path) {
  std::ifstream file(path);
  std::string last;
  for (std::string line; std::getline(file, line);)
    if (!line.empty()) last = line;
  return last;
}

}  // namespace

GuardLine::GuardLine(const GuardCommand& command, const std::string& log)
    : host_(command.host), log_(log) {
  int ends[2];
  // A socket, so that writing to a guard that is gone is an error and no signal.
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw SystemError("socketpair");
  socket_ = FileDescriptor(ends[0]);
  FileDescriptor theirs(ends[1]);
  std::vector<std::string> words = command.words;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  child_ = fork();
  if (child_ < 0) throw SystemError("fork");
  if (child_ == 0) {
    const int errors = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    dup2(theirs.get(), STDIN_FILENO);
    dup2(theirs.get(), STDOUT_FILENO);
    dup2(errors, STDERR_FILENO);
    setpgid(0, 0);  // the terminal's Ctrl-C is the sweep's to handle
    for (const int one : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) signal(one, SIG_DFL);
    execvp(arguments[0], arguments.data());
    dprintf(STDERR_FILENO, "%s: %s\n", arguments[0], strerror(errno));
    _exit(127);
  }
  theirs.reset();  // else the child's end would never be seen
  const std::string hello = read_line(kHelloSeconds);
  if (hello.starts_with("refused ")) fail(hello.substr(8));
  std::istringstream words_of(hello);
  std::string guarding;
  if (!(words_of >> guarding >> card_.mtu) || guarding != "guarding")
    fail(fmt::format("the guard said '{}'", hello));
  std::getline(words_of >> std::ws, card_.had);
}

GuardLine::~GuardLine() {
  socket_.reset();  // the guard sees the end and gives back; the child ends when it has
  if (child_ <= 0) return;
  const auto begin = Clock::now();
  while (waitpid(child_, nullptr, WNOHANG) == 0) {
    if (seconds_since(begin) > kEndSeconds) {
      kill(child_, SIGKILL);  // a connection that hangs; the lease is running out
      waitpid(child_, nullptr, 0);
      return;
    }
    poll(nullptr, 0, 5);
  }
}

std::string GuardLine::read_line(double seconds) {
  const auto begin = Clock::now();
  for (;;) {
    const std::size_t end = received_.find('\n');
    if (end != std::string::npos) {
      std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return line;
    }
    const double left = seconds - seconds_since(begin);
    if (left <= 0) fail(fmt::format("no answer of the guard within {:g} s", seconds));
    pollfd waiting = {socket_.get(), POLLIN, 0};
    if (poll(&waiting, 1, static_cast<int>(std::min(left, 1.0) * 1000) + 1) <= 0) continue;
    char buffer[512];
    const ssize_t got = recv(socket_.get(), buffer, sizeof(buffer), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail("the guard is gone");
    received_.append(buffer, static_cast<std::size_t>(got));
  }
}

std::string GuardLine::ask(const std::string& line, const std::string& expected, double seconds) {
  const std::string text = line + "\n";
  if (send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(text.size()))
    fail("the guard is gone");
  for (;;) {
    std::string answer = read_line(seconds);
    if (answer.starts_with(expected + " ")) return answer.substr(expected.size() + 1);
    if (answer != "renewed") fail(fmt::format("the guard said '{}'", answer));
  }
}

void GuardLine::renew() {
  // What does not go at once may go next time; a guard that is gone shows when it is asked.
  [[maybe_unused]] const ssize_t sent =
      send(socket_.get(), "renew\n", 6, MSG_NOSIGNAL | MSG_DONTWAIT);
  char buffer[512];  // answers to earlier ones
  ssize_t got;
  while ((got = recv(socket_.get(), buffer, sizeof(buffer), MSG_DONTWAIT)) > 0)
    received_.append(buffer, static_cast<std::size_t>(got));
  while (received_.starts_with("renewed\n")) received_.erase(0, 8);
}

void GuardLine::fail(const std::string& what) {
  const std::string said = last_line(log_);
  throw RunError(fmt::format("host {}: {}{}", host_, what, said.empty() ? "" : " (" + said + ")"));
}

Guards::Guards(const std::vector<GuardCommand>& commands, const std::string& scratch,
               double lease) {
  // One refusal ends those before it: their lines close.
  for (std::size_t i = 0; i < commands.size(); ++i) {
    lines_.push_back(
        std::make_unique<GuardLine>(commands[i], fmt::format("{}/guard-{}.log", scratch, i)));
    for (const auto& line : lines_) line->renew();
  }
  renewals_ = std::thread([this, pause = std::chrono::duration<double>(lease / 4)] {
    std::unique_lock lock(mutex_);
    while (!end_.wait_for(lock, pause, [this] { return ending_; }))
      for (const auto& line : lines_) line->renew();
  });
}

Guards::~Guards() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  end_.notify_all();
  renewals_.join();
  for (const auto& line : lines_) try {
      line->ask("restore", "restored", kEndSeconds);
    } catch (const RunError& error) {
      print_message(
          fmt::format("{}: it is not sure that its interface was given back; if in doubt, run "
                      "`thinpipe net restore` there",
                      error.what()));
    }
}

void Guards::set_links(const std::string& link) {
  const std::lock_guard lock(mutex_);
  for (const auto& line : lines_) line->ask("link " + link, "set", kAnswerSeconds);
}

QdiscCounters Guards::count(int hosts) {
  const std::lock_guard lock(mutex_);
  QdiscCounters sum;
  for (int i = 0; i < hosts; ++i) {
    std::istringstream numbers(
        lines_.at(static_cast<std::size_t>(i))->ask("count", "counted", kAnswerSeconds));
    QdiscCounters one;
    numbers >> one.bytes >> one.packets >> one.drops >> one.backlog;
    sum.bytes += one.bytes;
    sum.packets += one.packets;
    sum.drops += one.drops;
    sum.backlog += one.backlog;
  }
  return sum;
}

std::vector<std::string> Guards::alterations() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> found;
  for (const auto& line : lines_) {
    const std::string difference = line->ask("check", "checked", kAnswerSeconds);
    if (difference != "same") found.push_back(fmt::format("host {}: {}", line->host(), difference));
  }
  return found;
}

std::vector<GuardedCard> Guards::cards() const {
  std::vector<GuardedCard> cards;
  for (const auto& line : lines_) cards.push_back(line->card());
  return cards;
}

}  // namespace thinpipe
