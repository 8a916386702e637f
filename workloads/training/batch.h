// Mini-batches: each worker draws from its own share of the data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <ATen/core/Tensor.h>

namespace thinpipe {

struct Batch {
  at::Tensor inputs;   ///< images: float [batch, channels, rows, columns]; text: long [batch, time]
  at::Tensor targets;  ///< long; images: [batch]; text: [batch, time], the symbol that follows
};

/// Which examples a mini-batch holds depends on nothing but the source's options, the worker and
/// the step: whoever resumes at a step reads on as if nothing had been.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  /// In any order of steps; in ascending order no step costs more than its examples.
  virtual Batch at(std::size_t worker, std::uint64_t step) = 0;
  /// In which a worker goes through its share once.
  virtual std::uint64_t steps_an_epoch() const = 0;
  virtual std::string description() const = 0;
};

/// Data held out: a fixed sequence of mini-batches.
class HeldOutBatches {
 public:
  virtual ~HeldOutBatches() = default;
  virtual std::size_t size() const = 0;
  virtual Batch at(std::size_t index) const = 0;
};

}  // namespace thinpipe
