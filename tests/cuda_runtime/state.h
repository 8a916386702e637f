// State of the simulated CUDA runtime, and functions that run its streams. Callers hold its mutex.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/splitmix64.h"
#include "tests/cuda_runtime/simulated.h"

using Work = std::function<void()>;

struct CUstream_st {
  int device = 0;
  bool destroyed = false;
  std::deque<Work> queued;
  std::size_t begun = 0;
  std::unique_ptr<CUgraph_st> capture;

  std::size_t enqueued() const { return begun + queued.size(); }
};
struct CUgraph_st {
  std::vector<Work> work;
  bool broken = false;
};
struct CUgraphExec_st {
  std::vector<Work> work;
};
struct CUevent_st {
  int device = 0;
  bool timed = true;
  CUstream_st* stream = nullptr;  ///< null: never recorded
  std::size_t at = 0;             ///< index in the stream's work
  std::chrono::steady_clock::time_point when;
};

namespace thinpipe::cuda::simulated {

constexpr int kDevices = 2, kVersion = 13000;
constexpr unsigned char kUnwritten = 0xa5;
constexpr std::size_t kMemoryBytes = std::size_t{1} << 34;

struct Runtime {
  std::recursive_mutex mutex;
  SplitMix64 random{1};
  std::deque<CUstream_st> streams;  ///< all ever created, because events may refer to them
  std::map<const std::byte*, std::size_t, std::less<>> memory, host_memory;
  std::size_t events = 0, graphs = 0, graph_launches = 0;
  bool refuses_graphs = false;
};

inline Runtime& runtime() {
  static Runtime one;
  return one;
}

inline thread_local int current_device = 0;
inline thread_local CUstream_st* capturing = nullptr;
inline thread_local cudaError_t last_error = cudaSuccess;

inline cudaError_t failed(cudaError_t error) { return last_error = error; }

/// Fails a call that waits or allocates, in a thread that captures a graph.
inline cudaError_t forbidden_in_capture() {
  capturing->capture->broken = true;
  return failed(cudaErrorStreamCaptureUnsupported);
}

inline void run_until(CUstream_st& stream, std::size_t number) {
  while (stream.begun < number && !stream.queued.empty()) {
    const Work work = std::move(stream.queued.front());
    stream.queued.pop_front();
    ++stream.begun;
    work();
  }
}
inline void run(CUstream_st& stream) { run_until(stream, stream.enqueued()); }
inline void run_all() {
  for (CUstream_st& stream : runtime().streams) run(stream);
}

inline cudaError_t enqueue(CUstream_st* stream, Work work) {
  if (stream == nullptr || stream->destroyed) return failed(cudaErrorInvalidResourceHandle);
  if (stream->capture) {
    stream->capture->work.push_back(std::move(work));
    return cudaSuccess;
  }
  stream->queued.push_back(std::move(work));
  // A GPU may have finished any enqueued work by now.
  Runtime& all = runtime();
  constexpr std::uint64_t kOneOf = 8;
  if (all.random.below(kOneOf) == 0) run(all.streams[all.random.below(all.streams.size())]);
  return cudaSuccess;
}

inline bool is_done(const CUevent_st& event) {
  return event.stream == nullptr || event.stream->begun > event.at;
}

}  // namespace thinpipe::cuda::simulated
