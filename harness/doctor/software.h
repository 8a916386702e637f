// Findings of `thinpipe doctor` about other programs and optional components.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "compressors/cuda/gpu.h"
#include "harness/doctor/findings.h"

namespace thinpipe {

std::vector<Finding> software_findings();

/// Returns the output of `program` with `arguments` (standard output and error); nothing if it does
/// not start or fails.
std::optional<std::string> output_of(const std::filesystem::path& program,
                                     const std::vector<std::string>& arguments);

/// Returns the first line that `program` prints with `argument` (standard output and error);
/// nothing if it does not start or prints nothing.
std::optional<std::string> first_line(const std::filesystem::path& program,
                                      const std::string& argument);

/// Returns the finding for the output of `mpirun --version`. thinpipe is tested with Open MPI 4.1.
Finding mpi_finding(const std::optional<std::string>& version_line);

/// Returns whether compressors can run on a GPU.
/// @param built   whether this build has the CUDA Toolkit
/// @param driver  version of the NVIDIA driver, or ""
Finding gpu_finding(const GpuStatus& gpu, bool built, const std::string& driver);

/// Returns whether MPI is CUDA-aware.
/// @param info  output of `ompi_info --parsable --all`; nothing if it does not start
Finding gpu_mpi_finding(const std::optional<std::string>& info, bool has_gpu);

}  // namespace thinpipe
