// The command's entry; all it can do is in harness/commands.
#include "harness/commands/verbs.h"
#include "harness/options/terminal.h"

int main(int count, char** words) {
  thinpipe::occupy_closed_streams();
  thinpipe::keep_alive_on_closed_pipe();
  return thinpipe::run_command({words + 1, words + count});
}
