// How far a long run is, for the person who waits: a bar on a terminal, lines elsewhere.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>

namespace thinpipe {

/// Writes to stderr. On a terminal one line is redrawn, at most ten times a second and never wider
/// than the terminal; elsewhere only note() prints.
class Progress {
 public:
  /// @param total  the work in all, in whatever unit advance() uses
  explicit Progress(double total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// What is being done now.
  void describe(std::string what);
  void advance(double work);
  /// So much of the total is done, if that is more than before.
  void reach(double done) { advance(std::max(done - done_, 0.0)); }
  /// A line that stays, above the bar.
  void note(const std::string& line);
  /// Until something is told or done again: something else is about to be printed.
  void hide() { erase(); }

 private:
  void draw();
  void erase();

  double total_, done_ = 0;
  std::string what_;
  bool terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point begin_, last_draw_;
};

}  // namespace thinpipe
