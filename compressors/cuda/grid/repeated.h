// Repeated work: captured once as a graph, then launched as a whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace thinpipe::cuda {

/// A compressor's device work in one step. Every step launches the same kernels with the same
/// arguments, because all values that change are in the jobs, which kernels read from memory. A
/// CUDA graph starts these kernels sooner than single launches would. For small tensors, launches
/// take most of the time.
template <class Device>
class Repeated {
 public:
  /// Runs the work that `enqueue` enqueues: directly the first time, captured and launched the
  /// second time, and from then on by launching the captured graph.
  /// @param kind  calls of equal kind enqueue equal work
  template <class Enqueue>
  void run(Device& device, std::uint64_t kind, const Enqueue& enqueue) {
    if (!device.can_record()) return enqueue();
    Kind* const known = find(kind);
    if (known == nullptr) {
      if (kinds_.size() < kMaxKinds) kinds_.push_back({kind, false, std::nullopt});
      return enqueue();
    }
    if (!known->tried) {
      known->tried = true;
      known->recording = device.record(enqueue);
    }
    if (!known->recording) return enqueue();
    device.repeat(*known->recording, enqueue);
  }

 private:
  struct Kind {
    std::uint64_t number;
    bool tried;
    std::optional<typename Device::Recording> recording;  ///< empty if the capture failed
  };
  /// A limit, because a schedule of ratios or stages may produce many graphs, which take memory.
  static constexpr std::size_t kMaxKinds = 16;

  Kind* find(std::uint64_t number) {
    for (Kind& kind : kinds_)
      if (kind.number == number) return &kind;
    return nullptr;
  }

  std::vector<Kind> kinds_;
};

}  // namespace thinpipe::cuda
