// A process that loads this library sends itself the signal $SIGNAL_NUMBER when it has given a file
// or a folder a name that ends with $SIGNAL_AT.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

// Replaces the C library's function, by which checkpoints and their files get their names.
extern "C" int rename(const char* from, const char* to) noexcept {
  const long result = syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
  const char* const end = getenv("SIGNAL_AT");
  const char* const number = getenv("SIGNAL_NUMBER");
  if (result == 0 && end != nullptr && number != nullptr && strlen(to) >= strlen(end) &&
      strcmp(to + strlen(to) - strlen(end), end) == 0)
    raise(atoi(number));
  return static_cast<int>(result);
}
