// Standard output for data that another program may read.
#pragma once

#include <exception>
#include <string_view>

namespace thinpipe {

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

}  // namespace thinpipe
