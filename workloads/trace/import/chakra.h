// Chakra execution traces, in the JSON form of PyTorch's ExecutionTraceObserver or in protobuf.
// They record which gradients a backward pass made ready, in which order and when. docs/traces.md
// describes the subset that is read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "workloads/trace/chakra/execution_trace.h"
#include "workloads/trace/import/import.h"
#include "workloads/trace/import/input_files.h"

namespace thinpipe {

/// One training step of one rank. Parameters are in the order in which they became ready.
struct ChakraStep {
  std::vector<std::vector<std::int64_t>> shapes;
  bool has_times = false;     ///< every relevant node has its times
  double forward = 0;         ///< s
  double backward = 0;        ///< s
  std::vector<double> ready;  ///< s since the backward pass began, per parameter
};

/// Returns the training steps in a parsed file, of JSON or protobuf.
/// @param file the file's name in messages.
/// @throws InputError naming file and node.
std::vector<ChakraStep> parse_chakra(const nlohmann::json& root, const std::string& file);
std::vector<ChakraStep> parse_chakra(const ExecutionTrace& trace, const std::string& file);

/// Imports Chakra traces, one a rank. A file's bytes, not its name, tell whether it is in JSON or
/// in protobuf. Shapes and times come from the files, values are drawn.
ImportSummary import_chakra(const std::vector<ImportFile>& files,
                            const std::filesystem::path& input, const std::filesystem::path& out,
                            const ImportOptions& options);

}  // namespace thinpipe
