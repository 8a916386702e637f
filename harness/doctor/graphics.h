// Compressors on GPUs: whether there is one, and whether MPI knows what its memory is.
#pragma once

#include <optional>
#include <string>

#include "compressors/cuda/gpu.h"
#include "harness/doctor/finding.h"

namespace thinpipe {

/// @param built  with the CUDA Toolkit @param driver  version of NVIDIA's driver, or ""
Finding gpu_finding(const GpuStatus& gpu, bool built, const std::string& driver);

/// @param info  what `ompi_info --parsable --all` printed; nothing where it does not start
Finding gpu_mpi_finding(const std::optional<std::string>& info, bool has_gpu);

}  // namespace thinpipe
