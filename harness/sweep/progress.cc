#include "harness/sweep/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/terminal.h"
#include "base/visible.h"
#include "harness/options/layout.h"

namespace thinpipe {

namespace {

constexpr double kRedrawSeconds = 0.1;
constexpr int kBarColumns = 24;

// "ok", "invalid", "failed" at the beginning of what is told of a point.
std::string coloured(const std::string& line) {
  constexpr std::pair<std::string_view, int> kColours[] = {
      {"ok ", 32}, {"invalid ", 33}, {"failed ", 31}};
  if (has_colours(STDERR_FILENO))
    for (const auto& [word, colour] : kColours)
      if (line.starts_with(word))
        return fmt::format("\033[{}m{}\033[0m{}", colour, word.substr(0, word.size() - 1),
                           line.substr(word.size() - 1));
  return line;
}

std::string minutes(double seconds) {
  const long whole = std::lround(seconds);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

Progress::Progress(double total)
    : total_(std::max(total, 1e-9)),
      terminal_(can_redraw(STDERR_FILENO)),
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
  fmt::print(stderr, "{}\n", coloured(for_stream(STDERR_FILENO, line)));
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
      std::string(static_cast<std::size_t>(kBarColumns - filled), '.'), 100 * share, left,
      visible_line(what_));
  const auto columns = columns_of_terminal(STDERR_FILENO) - 1;
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
