// Buckets larger than a tile: for the kernels of a step, each is a separate tensor.
#pragma once

#include <cstdint>

#include "compressors/cuda/kernels/job.h"

namespace thinpipe::cuda {

/// One bucket of a tensor.
struct BucketPart {
  std::uint32_t job = 0;    ///< of the tensor
  std::uint32_t first = 0;  ///< first element in the tensor
  std::uint32_t n = 0;
  std::uint32_t at = 0;  ///< Job::at
  double* block_sums = nullptr;
  Findings* findings = nullptr;
};

/// Makes the jobs of buckets from those of their tensors. Grid: kThreads buckets per block.
struct SplitJobs {
  static constexpr int kThreads = 128;
  struct Shared {};

  const Job* jobs;
  const BucketPart* parts;
  std::uint32_t count;
  Job* split;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/) const {
    block.each([&](int t) {
      const std::uint32_t i =
          block.index() * static_cast<std::uint32_t>(kThreads) + static_cast<std::uint32_t>(t);
      if (i >= count) return;
      const BucketPart part = parts[i];
      Job job = jobs[part.job];
      job.n = part.n;
      job.first = part.first;
      job.at = part.at;
      job.g += part.first;
      if (job.r != nullptr) job.r += part.first;
      if (job.u != nullptr) job.u += part.first;
      if (job.h != nullptr) job.h += part.first;
      job.block_sums = part.block_sums;
      job.findings = part.findings;
      split[i] = job;
    });
  }
};

/// The buckets of a tensor, and the size of its payload.
struct PartRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::uint32_t encoded = 0;  ///< bytes
};

/// Joins the buckets' findings into those of their tensors. Grid: one block per tensor.
struct JoinParts {
  static constexpr int kThreads = 256;
  struct Shared {};

  const Job* jobs;
  const Job* split;
  const PartRange* ranges;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/) const {
    const PartRange range = ranges[block.index()];
    typename Block::template Local<std::uint32_t> nonzero;
    block.each([&](int t) {
      nonzero[t] = 0;
      for (auto i = range.begin + static_cast<std::uint32_t>(t); i < range.end; i += kThreads)
        nonzero[t] += split[i].findings->counts[1];
    });
    const std::uint32_t all = block.sum(nonzero);
    block.each([&](int t) {
      if (t != 0) return;
      Findings& findings = *jobs[block.index()].findings;
      findings.counts[1] = all;
      findings.encoded = range.encoded;
    });
  }
};

}  // namespace thinpipe::cuda
