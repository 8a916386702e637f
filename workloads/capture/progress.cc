#include "workloads/capture/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"

namespace thinpipe {
namespace {

constexpr std::size_t kColumns = 79;  // the 80th would wrap on some terminals
constexpr std::chrono::milliseconds kRedraw(100);
constexpr std::chrono::seconds kPlainLine(10);

}  // namespace

std::string format_left(double left) {
  const auto total = static_cast<std::uint64_t>(std::llround(std::max(0.0, left)));
  const std::uint64_t hours = total / 3600;
  const std::uint64_t minutes = total / 60 % 60;
  if (hours > 0) return fmt::format("{}:{:02d}:{:02d}", hours, minutes, total % 60);
  return fmt::format("{}:{:02d}", minutes, total % 60);
}

StepProgress::StepProgress(std::string title, std::uint64_t total, std::FILE* stream, bool terminal)
    : title_(std::move(title)),
      total_(total),
      stream_(stream),
      terminal_(terminal),
      start_(Clock::now()),
      last_(start_) {}

StepProgress::~StepProgress() {
  if (line_open_) std::fputc('\n', stream_);
}

bool StepProgress::is_terminal(std::FILE* stream) { return isatty(fileno(stream)) == 1; }

std::string StepProgress::line(const std::string& title, std::uint64_t done, std::uint64_t total,
                               const std::string& note, double seconds_so_far) {
  const double part = total == 0 ? 1 : static_cast<double>(done) / static_cast<double>(total);
  std::string tail = fmt::format(" {:3.0f}% {}/{}", 100 * part, done, total);
  if (!note.empty()) tail += "  " + note;
  if (done > 0) tail += fmt::format("  {} left", format_left(seconds_so_far * (1 / part - 1)));
  const std::size_t taken = title.size() + 3 + tail.size();  // "title [" and "]"
  if (taken + 4 > kColumns) return (title + tail).substr(0, kColumns);
  const std::size_t width = std::min<std::size_t>(kColumns - taken, 40);
  const auto filled = static_cast<std::size_t>(part * static_cast<double>(width));
  return fmt::format("{} [{}{}]{}", title, std::string(filled, '#'),
                     std::string(width - filled, '.'), tail);
}

void StepProgress::update(std::uint64_t done, const std::string& note) {
  const Clock::time_point now = Clock::now();
  const bool last = done == total_;
  if (!last && now - last_ < (terminal_ ? Clock::duration(kRedraw) : Clock::duration(kPlainLine)))
    return;
  last_ = now;
  const std::string text = line(title_, done, total_, note, in_seconds(now - start_));
  if (terminal_) {
    // Returns to the line's start and clears the rest of a longer previous line.
    fmt::print(stream_, "\r{}\x1b[K", text);
    line_open_ = true;
  } else {
    fmt::print(stream_, "{}\n", text);
  }
  std::fflush(stream_);
}

}  // namespace thinpipe
