#include "harness/options/terminal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "base/output_file.h"
#include "base/plain_table.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/visible.h"

namespace thinpipe {
namespace {

[[noreturn]] void fail() {
  const int error = errno;
  if (error == EPIPE) throw OutputClosed();
  throw SystemError("writing to standard output", error);
}

constexpr double kRedrawSeconds = 0.1;
constexpr int kBarColumns = 24;

// Colours the status at the beginning of a point's line: "ok", "invalid", "failed".
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

// Writes to standard error, if that is possible. Progress that nobody sees any more, as on a
// terminal that is gone, is no reason to end a measurement, and fmt::print() would throw.
void write_progress(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

std::string minutes(double seconds) {
  const long whole = std::lround(seconds);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

std::string wrap(std::string_view text, std::size_t indent, std::size_t columns,
                 bool first_indent) {
  const std::string margin(indent, ' ');
  std::string out = first_indent ? margin : "";
  std::istringstream lines{std::string(text)};
  std::string line;
  std::size_t column = indent;
  bool fresh = true;
  while (std::getline(lines, line)) {
    if (line.empty()) {
      out += "\n\n" + margin;
      column = indent;
      fresh = true;
      continue;
    }
    for (const std::string& word : words_in(line)) {
      if (!fresh && column + 1 + word.size() > columns) {
        out += "\n" + margin;
        column = indent;
        fresh = true;
      }
      if (!fresh) out += ' ', ++column;
      out += word;
      column += word.size();
      fresh = false;
    }
  }
  return out;
}

namespace {

// Returns one line, broken where it is wider than a terminal of that many columns.
std::string fitted(const std::string& line, std::size_t columns) {
  constexpr std::size_t kIndent = 2;
  if (columns <= 2 * kIndent || text_columns(line) <= columns) return line;
  std::string words;
  for (const std::string& word : split(line, ' ')) {
    std::size_t used = 0;
    for (const char c : word) {
      words += c;
      // A word longer than a line may be broken after any comma, and at the end of a line.
      if (++used + kIndent >= columns || (c == ',' && word.size() + kIndent > columns)) {
        words += ' ';
        used = 0;
      }
    }
    words += ' ';
  }
  return wrap(words, kIndent, columns, false);
}

}  // namespace

std::string for_stream(int descriptor, std::string_view text) {
  const std::size_t columns = columns_of_terminal(descriptor);
  std::string all;
  const char* separator = "";
  for (const std::string& line : split(visible_text(text), '\n')) {
    all += separator + fitted(line, columns);
    separator = "\n";
  }
  return all;
}

std::string two_columns(std::string_view left, std::string_view right, std::size_t start,
                        std::size_t columns) {
  std::string out = "  " + std::string(left);
  if (right.empty()) return out + "\n";
  if (out.size() + 2 > start) {
    out += "\n" + std::string(start, ' ');
  } else {
    out.append(start - out.size(), ' ');
  }
  return out + wrap(right, start, columns, false) + "\n";
}

void write_stdout(std::string_view text) { write_data(visible_text(text)); }

bool is_stdout(const std::string& file) { return file == "-" || names_stdout(file); }

nlohmann::ordered_json number_or_null(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  return *value;
}

void write_json(const nlohmann::ordered_json& json) {
  // Names of files may be bytes that are not UTF-8.
  constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
  write_stdout(json.dump(2, ' ', false, kReplace) + "\n");
}

void write_text(std::string_view text) { write_data(for_stream(STDOUT_FILENO, text)); }

void tell_user(std::string_view message) { print_message(for_stream(STDERR_FILENO, message)); }

void write_data(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) fail();
}

void write_data_to(const std::string& file, std::string_view text) {
  if (file == "-") return write_data(text);
  write_output(file, text);
}

void flush_stdout() {
  if (std::fflush(stdout) != 0) fail();
}

void keep_alive_on_closed_pipe() {
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGPIPE, &action, nullptr);
}

void occupy_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) < 0)
      ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

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
  write_progress(coloured(for_stream(STDERR_FILENO, line)) + "\n");
  draw();
}

void Progress::draw() {
  if (!terminal_) return;
  last_draw_ = std::chrono::steady_clock::now();
  const double fraction = done_ / total_;
  const double elapsed = std::chrono::duration<double>(last_draw_ - begin_).count();
  const int filled = static_cast<int>(fraction * kBarColumns);
  // The first few points are too few for an estimate.
  const std::string left =
      fraction > 0.02 ? minutes(elapsed * (1 - fraction) / fraction) + " left" : "estimating";
  std::string line =
      fmt::format("[{}{}] {:3.0f} % {:>10}  {}", std::string(static_cast<std::size_t>(filled), '#'),
                  std::string(static_cast<std::size_t>(kBarColumns - filled), '.'), 100 * fraction,
                  left, visible_line(what_));
  const auto columns = columns_of_terminal(STDERR_FILENO) - 1;
  if (line.size() > columns) line.resize(columns);
  write_progress("\r\033[K" + line);
  drawn_ = true;
}

void Progress::erase() {
  if (drawn_) write_progress("\r\033[K");
  drawn_ = false;
}

}  // namespace thinpipe
