// Classes of a model's tensors, and a sample of each class: the tensors on which compressors are
// measured in place of all tensors, so that advice on a large model takes seconds.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "harness/files/open_trace.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

/// Tensors that behave alike under compression.
enum class TensorClass {
  kMatrix,     ///< at least two dimensions longer than 1: matrices and filters
  kEmbedding,  ///< likewise, but at least half of the recorded gradient is exactly 0
  kVector,     ///< biases, scales and shifts of normalisation
};
inline constexpr std::array kTensorClasses = {TensorClass::kMatrix, TensorClass::kEmbedding,
                                              TensorClass::kVector};
/// Returns "matrices", "embeddings" or "vectors".
const char* to_string(TensorClass tensor_class);

/// A sample of a trace's tensors, copied into memory.
class TensorSample {
 public:
  /// At most six sizes of each class are sampled, among them the smallest and the largest.
  static constexpr std::size_t kSizes = 6;
  /// Only the first rows of a larger tensor are sampled, with this many elements or less.
  static constexpr std::size_t kMaxElements = std::size_t{1} << 19;
  /// Steps of the trace's first rank that are copied, at most.
  static constexpr std::size_t kMaxSteps = 3;

  /// @throws InputError for a gradient with a NaN or an infinity that `policy` refuses
  explicit TensorSample(const Trace& trace, BadValues policy = BadValues::kRefuse);

  /// Returns the sampled tensors as a trace of one rank, without compute times.
  const Trace& trace() const { return sample_; }
  /// Returns the tensors of the whole trace in that class.
  std::vector<std::size_t> tensors_of(TensorClass tensor_class) const;

  /// The sampled tensor that represents a tensor of the whole trace: that of the same class with
  /// the most similar size.
  struct Likeness {
    std::size_t sampled = 0;  ///< in trace()
    double scale = 1;         ///< elements of the tensor over elements of the sampled one
  };
  const Likeness& like(std::size_t tensor) const { return likenesses_.at(tensor); }

 private:
  std::vector<TensorClass> classes_;
  std::vector<std::size_t> sampled_;  ///< in the whole trace, ascending
  Trace sample_;
  std::vector<Likeness> likenesses_;
};

}  // namespace thinpipe
