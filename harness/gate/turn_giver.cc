#include "harness/gate/turn_giver.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <optional>

#include "netem/sandbox.h"

namespace thinpipe {
namespace {

struct Side {
  int socket = -1;
  bool ended = false;
  std::optional<std::uint64_t> wish = {};  // what it waits for

  void listen() {
    if (ended || wish) return;
    std::uint64_t number = 0;
    ssize_t got = 0;
    do {
      got = ::recv(socket, &number, sizeof number, MSG_WAITALL);
    } while (got < 0 && errno == EINTR && !stop_requested());
    if (got == sizeof number) {
      wish = number;
    } else {
      ended = true;
    }
  }

  void answer(std::uint64_t number) {
    if (!wish) return;
    wish.reset();
    if (::send(socket, &number, sizeof number, MSG_NOSIGNAL) != sizeof number) ended = true;
  }
};

}  // namespace

void give_turns(int first, int second, std::mt19937_64& coin) {
  std::array<Side, 2> sides{Side{first}, Side{second}};
  while (!stop_requested()) {
    for (Side& side : sides) side.listen();
    if (sides[0].ended && sides[1].ended) return;
    const std::uint64_t rounds = std::max(sides[0].wish.value_or(0), sides[1].wish.value_or(0));
    if (rounds > 0) {  // the sides prepare, and do not measure yet
      for (Side& side : sides)
        if (side.wish && *side.wish > 0) side.answer(rounds);
      continue;
    }
    if ((coin() & 1) != 0) std::swap(sides[0], sides[1]);
    for (Side& side : sides) {
      side.answer(0);
      side.listen();  // until its slice is over
    }
  }
}

}  // namespace thinpipe
