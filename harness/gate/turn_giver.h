// Lets two processes that measure the same go one at a time, slice by slice.
#pragma once

#include <random>

namespace thinpipe {

/// Serves two processes that were started with --turns (harness/bench/turns.h) until both have
/// closed their ends or stop_requested(). Each pair of slices begins when both sides are ready for
/// it; the toss of a coin says which goes first. When one side has ended, the other goes on alone.
/// @param first,second  this process's ends of their sockets
void give_turns(int first, int second, std::mt19937_64& coin);

}  // namespace thinpipe
