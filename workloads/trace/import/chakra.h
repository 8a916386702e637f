// Chakra host execution traces in the JSON form of PyTorch's ExecutionTraceObserver. They record
// which gradients a backward pass made ready, in which order and when. docs/traces.md describes the
// subset that is read.
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
  bool has_times = false;     ///< every relevant node has `ts` and `inclusive_dur`
  double forward = 0;         ///< s
  double backward = 0;        ///< s
  std::vector<double> ready;  ///< s since the backward pass began, per parameter
};

/// Returns the training steps in a parsed file.
/// @param file the file's name in messages.
/// @throws InputError naming file and node.
std::vector<ChakraStep> parse_chakra(const nlohmann::json& root, const std::string& file);

/// Imports Chakra traces, one a rank. Shapes and times come from the files, values are drawn.
ImportSummary import_chakra(const std::vector<ImportFile>& files,
                            const std::filesystem::path& input, const std::filesystem::path& out,
                            const ImportOptions& options);

}  // namespace thinpipe
