// Tables of functions that make the parts of a device compressor, by the method's name.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "compressors/compressor.h"
#include "compressors/kernels/random.h"
#include "compressors/registry.h"

namespace thinpipe::cuda {

[[noreturn]] inline void refuse(const Parameters& parameters, const std::string& what) {
  throw InputError("compressor '" + parameters.text() + "' with device=cuda: " + what);
}

/// A spec, and the tensors for which its parts are made.
struct MakerInput {
  const std::string& name;  ///< of the method
  const Parameters& parameters;
  std::span<const TensorInfo> tensors;
  const CompressorSettings& settings;

  /// Returns of(tensor) for every tensor.
  template <class Of>
  auto by_tensor(const Of& of) const {
    std::vector<std::invoke_result_t<Of, const TensorInfo&>> all;
    for (const TensorInfo& tensor : tensors) all.push_back(of(tensor));
    return all;
  }
  /// Returns by tensor the seed that all workers share.
  std::vector<std::uint64_t> seeds() const {
    return by_tensor([&](const TensorInfo& one) { return settings.seed ^ hash_name(one.name); });
  }
  /// Returns by tensor the random stream of this worker.
  std::vector<std::uint64_t> streams() const {
    return by_tensor([&](const TensorInfo& one) {
      return random_stream(settings.seed, settings.rank, one.name);
    });
  }
};

/// By a method's name, the function that makes its part. A method of the GPU is an entry here.
template <class Part>
using Makers = std::map<std::string, std::function<std::unique_ptr<Part>(const MakerInput&)>>;

/// Makes the part of a method. Returns null for a method that is not in the table.
template <class Part>
std::unique_ptr<Part> make_part(const Makers<Part>& makers, const MakerInput& input) {
  const auto found = makers.find(input.name);
  return found == makers.end() ? nullptr : found->second(input);
}

}  // namespace thinpipe::cuda
