// Tables of functions that make the parts of a device compressor, by the method's name.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/kernels/random.h"
#include "compressors/methods/common.h"
#include "compressors/registry.h"

namespace thinpipe::cuda {

/// A spec, and the tensors for which its parts are made.
struct MakerInput {
  const std::string& name;  ///< of the method
  const Parameters& parameters;
  std::span<const TensorInfo> tensors;
  const CompressorSettings& settings;

  /// Returns by tensor the seed that all workers share.
  std::vector<std::uint64_t> seeds() const {
    std::vector<std::uint64_t> seeds;
    for (const TensorInfo& tensor : tensors)
      seeds.push_back(settings.seed ^ hash_name(tensor.name));
    return seeds;
  }
  /// Returns by tensor the random stream of this worker.
  std::vector<std::uint64_t> streams() const {
    std::vector<std::uint64_t> streams;
    for (const TensorInfo& tensor : tensors)
      streams.push_back(random_stream(settings.seed, settings.rank, tensor.name));
    return streams;
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
