// A thread that must be in time: ahead of others, and left alone by signals.
#pragma once

#include <csignal>

namespace thinpipe {

/// Puts the calling thread ahead of all that only computes, as far as it may: a change that comes
/// late is a wrong rate. Nothing is thrown where it may not.
void take_precedence();

/// While it lives no signal interrupts the calling thread, nor those that it starts meanwhile:
/// signals are the main thread's, which waits in calls that they interrupt.
class SignalsBlocked {
 public:
  SignalsBlocked();
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace thinpipe
