// Work that is asked for again and again: recorded once, then asked for as a whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace thinpipe::cuda {

/// A compressor's device work in a step: always the same kernels with the same arguments at the
/// same addresses, since all that changes from step to step lies in the jobs, in memory. On a GPU
/// it is a graph, whose kernels follow each other sooner than they could be started one by one:
/// small tensors take as long as their launches.
template <class Device>
class Repeated {
 public:
  /// Does what `ask` asks for. The first time of a kind it is done as it is asked for, the second
  /// time it is recorded, and from then on repeated.
  /// @param kind  the same number, the same work
  template <class Ask>
  void run(Device& device, std::uint64_t kind, const Ask& ask) {
    if (!device.can_record()) return ask();
    Kind* const known = find(kind);
    if (known == nullptr) {
      if (kinds_.size() < kMostKinds) kinds_.push_back({kind, false, std::nullopt});
      return ask();
    }
    if (!known->tried) {
      known->tried = true;
      known->recording = device.record(ask);
    }
    if (!known->recording) return ask();
    device.repeat(*known->recording, ask);
  }

 private:
  struct Kind {
    std::uint64_t number;
    bool tried;
    std::optional<typename Device::Recording> recording;  ///< nothing where that failed
  };
  /// A schedule of ratios or stages may make many, each of which takes memory.
  static constexpr std::size_t kMostKinds = 16;

  Kind* find(std::uint64_t number) {
    for (Kind& kind : kinds_)
      if (kind.number == number) return &kind;
    return nullptr;
  }

  std::vector<Kind> kinds_;
};

}  // namespace thinpipe::cuda
