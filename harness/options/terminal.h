// Output for people and programs: wrapped text, standard output, the progress of a long run.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <string>
#include <string_view>

namespace thinpipe {

/// Help and human tables fit this many columns, as terminals and mails have had since punch cards.
inline constexpr std::size_t kColumns = 80;

/// Breaks `text` at blanks so that no line exceeds `columns` (a longer word stands alone). Blank
/// lines separate paragraphs. Every line but the first is indented by `indent` blanks; the first
/// one is, too, when `first_indent` says so. No newline at the end.
std::string wrap(std::string_view text, std::size_t indent, std::size_t columns = kColumns,
                 bool first_indent = true);

/// Two columns: `left` from column 2, `right` wrapped from column `start`; on the next line where
/// `left` is too long. Ends with a newline.
std::string two_columns(std::string_view left, std::string_view right, std::size_t start,
                        std::size_t columns = kColumns);

/// A line of a message as a stream should show it, in visible_text(): on a terminal folded at its
/// width, later lines indented by two, words that are longer broken behind commas.
std::string for_stream(int descriptor, std::string_view text);

/// The reader of standard output has gone (`thinpipe list | head -1`): end quietly.
class OutputClosed : public std::exception {
 public:
  const char* what() const noexcept override { return "standard output was closed"; }
};

/// Writes all of `text` as visible_text() has it: names in it come from outside, and a terminal
/// must not obey them. JSON means the same afterwards.
/// @throws OutputClosed; SystemError for a full disk and the like.
void write_stdout(std::string_view text);

/// The same for people: on a terminal, lines that are wider are folded as for_stream() does.
void write_text(std::string_view text);

/// The same byte for byte, for pages and tables in the formats of programs other than JSON.
void write_data(std::string_view text);

/// Flushes what stdio still holds, with the same errors.
void flush_stdout();

/// A write to a closed pipe then fails with EPIPE instead of killing the process. A handler that
/// does nothing, not SIG_IGN: programs that are started from here get the default back.
void keep_alive_on_closed_pipe();

/// How far a long run is, for the person who waits. Writes to stderr. On a terminal one line is
/// redrawn, at most ten times a second and never wider than the terminal; elsewhere only note()
/// prints.
class Progress {
 public:
  /// @param total  the work in all, in whatever unit advance() uses
  explicit Progress(double total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Names the current work.
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
