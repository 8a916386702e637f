// What slice and merge have in common: a trace written from step files of other traces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include <nlohmann/json.hpp>

#include "workloads/trace/trace.h"

namespace thinpipe {

/// What one rank computed in one step of a trace that there is already.
struct WorkerOf {
  const Trace* trace = nullptr;
  std::size_t step = 0;  // indices into that trace
  std::size_t rank = 0;
};

/// A trace to be. All sources have the tensors of the first, by name and shape, and its dtype.
struct Assembly {
  struct Step {
    std::uint64_t training_step = 0;
    std::vector<WorkerOf> workers;  // by rank
  };
  const Trace* like = nullptr;       // model, origin, dtype and second moments are this one's
  std::vector<std::size_t> tensors;  // indices into its tensors
  std::vector<Step> steps;
  bool complete = true;
  std::vector<std::string> missing;
  nlohmann::json provenance;
};

/// @throws InputError, SystemError: then nothing is left in `out`.
void write_assembly(const Assembly& assembly, const std::filesystem::path& out);

}  // namespace thinpipe
