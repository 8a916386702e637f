// Chakra host execution traces, as PyTorch's ExecutionTraceObserver writes them in JSON: which
// gradients a backward pass made ready, in which order and when. docs/traces.md has the subset.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "workloads/trace/import/import.h"
#include "workloads/trace/import/input_files.h"

namespace thinpipe {

/// One training step of one rank. Parameters are in the order in which they became ready.
struct ChakraStep {
  std::vector<std::vector<std::int64_t>> shapes;
  bool has_times = false;     ///< every node that matters carries `ts` and `inclusive_dur`
  double forward = 0;         ///< s
  double backward = 0;        ///< s
  std::vector<double> ready;  ///< s since the backward pass began, a parameter
};

/// @param root the parsed file. @param file its name in messages.
/// @throws InputError naming file and node.
std::vector<ChakraStep> parse_chakra(const nlohmann::json& root, const std::string& file);

/// Imports Chakra traces, one a rank: shapes and times are theirs, values are drawn.
ImportSummary import_chakra(const std::vector<ImportFile>& files,
                            const std::filesystem::path& input, const std::filesystem::path& out,
                            const ImportOptions& options);

}  // namespace thinpipe
