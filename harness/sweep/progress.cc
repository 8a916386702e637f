#include "harness/sweep/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <fmt/format.h>

namespace thinpipe {

namespace {

constexpr double kRedrawSeconds = 0.1;
constexpr int kBarColumns = 24;

int terminal_columns() {
  winsize size = {};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string minutes(double seconds) {
  const long whole = std::lround(seconds);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

Progress::Progress(double total)
    : total_(std::max(total, 1e-9)),
      terminal_(isatty(STDERR_FILENO) != 0),
      begin_(std::chrono::steady_clock::now()) {}

Progress::~Progress() { erase(); }

void Progress::describe(std::string what) {
  what_ = std::move(what);
  draw();
}

void Progress::advance(double work) {
  done_ = std::min(total_, done_ + work);
  const auto now = std::chrono::steady_clock::now();
  if (std::chrono::duration<double>(now - last_draw_).count() >= kRedrawSeconds) draw();
}

void Progress::note(const std::string& line) {
  erase();
  fmt::print(stderr, "{}\n", line);
  draw();
}

void Progress::draw() {
  if (!terminal_) return;
  last_draw_ = std::chrono::steady_clock::now();
  const double share = done_ / total_;
  const double elapsed = std::chrono::duration<double>(last_draw_ - begin_).count();
  const int filled = static_cast<int>(share * kBarColumns);
  // The first few points tell little about the rest.
  const std::string left =
      share > 0.02 ? minutes(elapsed * (1 - share) / share) + " left" : "estimating";
  std::string line = fmt::format(
      "[{}{}] {:3.0f} % {:>10}  {}", std::string(static_cast<std::size_t>(filled), '#'),
      std::string(static_cast<std::size_t>(kBarColumns - filled), '.'), 100 * share, left, what_);
  const auto columns = static_cast<std::size_t>(terminal_columns() - 1);
  if (line.size() > columns) line.resize(columns);
  fmt::print(stderr, "\r\033[K{}", line);
  std::fflush(stderr);
  drawn_ = true;
}

void Progress::erase() {
  if (drawn_) fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace thinpipe
