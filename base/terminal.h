// Display abilities of an output stream.
#pragma once

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <string_view>

namespace thinpipe {

/// Returns the columns of the terminal that a descriptor writes to; 0 where it is not a terminal.
inline std::size_t columns_of_terminal(int descriptor) {
  if (isatty(descriptor) == 0) return 0;
  winsize size = {};
  constexpr std::size_t kUsual = 80;
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

/// Returns true for a terminal on which a line can be erased and written anew: TERM is not `dumb`.
inline bool can_redraw(int descriptor) {
  const char* term = std::getenv("TERM");
  return isatty(descriptor) != 0 && term != nullptr && std::string_view(term) != "dumb";
}

/// Returns true for such a terminal unless the user refused colours (NO_COLOR,
/// https://no-color.org).
inline bool has_colours(int descriptor) {
  const char* refused = std::getenv("NO_COLOR");
  return can_redraw(descriptor) && (refused == nullptr || *refused == '\0');
}

}  // namespace thinpipe
