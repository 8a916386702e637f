#include "workloads/training/interrupt.h"

#include <csignal>
#include <cstdlib>

namespace thinpipe {

namespace {

volatile std::sig_atomic_t noted = 0;

extern "C" void note(int signal) { noted = signal; }

}  // namespace

void note_interrupts() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    action.sa_handler = note;
    // After the first one the default is back.
    action.sa_flags = SA_RESETHAND | SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
  }
}

void check_interrupt() {
  if (noted != 0) throw Interrupted(noted);
}

void end_by_signal(int signal) {
  std::signal(signal, SIG_DFL);
  std::raise(signal);
  std::_Exit(128 + signal);  // where the signal is blocked
}

}  // namespace thinpipe
