// A progress bar on a terminal, and occasional plain lines elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

namespace thinpipe {

/// Returns a duration in s as "0:07", "12:34" or "1:02:03".
std::string format_left(double seconds);

/// Shows the progress of a run of known length. On a terminal, one line of at most 79 columns is
/// redrawn at most ten times a second. Elsewhere, a line without control characters is written
/// every ten seconds and at the end.
class StepProgress {
 public:
  using Clock = std::chrono::steady_clock;

  /// @param stream  destination
  /// @param terminal  whether `stream` is a terminal (see is_terminal)
  StepProgress(std::string title, std::uint64_t total, std::FILE* stream, bool terminal);
  ~StepProgress();  ///< ends the line, so that later output starts on a new one
  StepProgress(const StepProgress&) = delete;
  StepProgress& operator=(const StepProgress&) = delete;

  /// @param note a few words after the bar, e.g. "loss 1.234"
  void update(std::uint64_t done, const std::string& note);

  /// Returns the line for a state, without control characters; at most 79 columns.
  static std::string line(const std::string& title, std::uint64_t done, std::uint64_t total,
                          const std::string& note, double seconds_so_far);

  static bool is_terminal(std::FILE* stream);

 private:
  std::string title_;
  std::uint64_t total_;
  std::FILE* stream_;
  bool terminal_;
  bool line_open_ = false;
  Clock::time_point start_;
  Clock::time_point last_;
};

}  // namespace thinpipe
