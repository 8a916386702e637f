// The programs that thinpipe starts, and the optional parts it was built with.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "compressors/cuda/gpu.h"
#include "harness/doctor/findings.h"

namespace thinpipe {

std::vector<Finding> software_findings();

/// All that `program` prints (standard output and error) when it is given `arguments`; nothing when
/// it cannot be started or fails.
std::optional<std::string> output_of(const std::filesystem::path& program,
                                     const std::vector<std::string>& arguments);

/// The first line that `program` prints (standard output and error) when it is given `argument`;
/// nothing when it cannot be started or prints nothing.
std::optional<std::string> first_line(const std::filesystem::path& program,
                                      const std::string& argument);

/// Judges what `mpirun --version` printed: Open MPI 4.1 is what is tested.
Finding mpi_finding(const std::optional<std::string>& version_line);

/// Whether compressors can run on a GPU. @param built  with the CUDA Toolkit
/// @param driver  version of NVIDIA's driver, or ""
Finding gpu_finding(const GpuStatus& gpu, bool built, const std::string& driver);

/// Whether MPI knows a GPU's memory. @param info  what `ompi_info --parsable --all` printed;
/// nothing where it does not start
Finding gpu_mpi_finding(const std::optional<std::string>& info, bool has_gpu);

}  // namespace thinpipe
