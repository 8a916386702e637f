// Ctrl-C and its kin: noticed between two workers, so that an unfinished trace can be removed.
#pragma once

#include <stdexcept>

namespace thinpipe {

/// A signal asked the program to end.
class Interrupted : public std::runtime_error {
 public:
  explicit Interrupted(int signal) : std::runtime_error("interrupted"), signal_(signal) {}
  int signal() const { return signal_; }

 private:
  int signal_;
};

/// From now on SIGINT, SIGTERM and SIGHUP are only noted; a second one of a kind ends the program
/// at once.
void note_interrupts();

/// @throws Interrupted when one was noted
void check_interrupt();

/// Ends this process by the signal itself, so that the caller sees what happened.
[[noreturn]] void end_by_signal(int signal);

}  // namespace thinpipe
