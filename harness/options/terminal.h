// Terminal output: wrapped text, standard output, progress bar.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json_fwd.hpp>

#include "base/error.h"

namespace thinpipe {

/// Width of help texts and tables in columns: the standard width of a terminal.
inline constexpr std::size_t kColumns = 80;

/// Breaks `text` at blanks into lines of at most `columns`. A longer word gets a line of its own.
/// Blank lines separate paragraphs. All lines are indented by `indent` blanks; the first one only
/// with `first_indent`. Adds no final newline.
std::string wrap(std::string_view text, std::size_t indent, std::size_t columns = kColumns,
                 bool first_indent = true);

/// Returns two columns: `left` from column 2 and `right`, wrapped, from column `start`. `right`
/// begins on the next line if `left` is too long. Ends with a newline.
std::string two_columns(std::string_view left, std::string_view right, std::size_t start,
                        std::size_t columns = kColumns);

/// Returns a message with control characters made visible (visible_text()). On a terminal, each
/// line is wrapped at the terminal's width. Continuation lines are indented by two blanks, and
/// words longer than a line are broken after commas.
std::string for_stream(int descriptor, std::string_view text);

/// Reports that the reader closed standard output, as in `thinpipe list | head -1`. The command
/// then ends silently.
class OutputClosed : public std::exception {
 public:
  const char* what() const noexcept override { return "standard output was closed"; }
};

/// Returns a function that calls `body`, and returns kExitGood if the reader closes standard output
/// meanwhile. For code that would report OutputClosed as an error.
template <class Body>
auto until_output_closes(Body body) {
  return [body = std::move(body)](const auto&... arguments) -> int {
    try {
      return body(arguments...);
    } catch (const OutputClosed&) {
      return kExitGood;
    }
  };
}

/// Writes `text` through visible_text(), because names in it are untrusted input and could contain
/// terminal escapes. The meaning of JSON does not change.
/// @throws OutputClosed; SystemError, for instance for a full disk.
void write_stdout(std::string_view text);

/// Returns true if the name of an output file stands for standard output: `-`, /dev/stdout and the
/// like.
bool is_stdout(const std::string& file);

/// Writes text for a person: like write_stdout(), with lines wrapped by for_stream().
void write_text(std::string_view text);

/// Prints a message on standard error, with lines wrapped by for_stream().
void tell_user(std::string_view message);

/// Returns null for a missing or non-finite value.
nlohmann::ordered_json number_or_null(std::optional<double> value);

/// Prints JSON, indented by two blanks.
void write_json(const nlohmann::ordered_json& json);

/// Writes `text` unchanged, for pages and for file formats other than JSON. @throws as
/// write_stdout().
void write_data(std::string_view text);

/// Writes `text` unchanged to a file, or to standard output if the file's name is "-".
void write_data_to(const std::string& file, std::string_view text);

/// Flushes the buffers of stdio. @throws as write_stdout().
void flush_stdout();

/// Makes a write to a closed pipe fail with EPIPE instead of killing the process. Installs an empty
/// handler instead of SIG_IGN, because child processes then start with the default action.
void keep_alive_on_closed_pipe();

/// Opens /dev/null in place of each closed standard stream, so that no file opened later gets its
/// number, and messages with it. Reading from closed input and writing to closed output still fail.
void occupy_closed_streams();

/// Progress bar on stderr. On a terminal it redraws one line, at most ten times a second and never
/// wider than the terminal. Elsewhere only note() prints.
class Progress {
 public:
  /// @param total  all work, in the unit of advance()
  explicit Progress(double total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Names the current work.
  void describe(std::string what);
  void advance(double work);
  /// Sets the completed work. A smaller value than before is ignored.
  void reach(double done) { advance(std::max(done - done_, 0.0)); }
  /// Prints a permanent line above the bar.
  void note(const std::string& line);
  /// Erases the bar until the next update, so that other output can be printed.
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
