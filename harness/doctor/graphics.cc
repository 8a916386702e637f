#include "harness/doctor/graphics.h"

namespace thinpipe {

Finding gpu_finding(const GpuStatus& gpu, bool built, const std::string& driver) {
  Finding finding{.group = "programs", .name = "GPU", .found = gpu.detail};
  if (gpu.available) {
    if (!driver.empty()) finding.found += "; driver " + driver;
    return finding;
  }
  finding.state = Finding::State::kAbsent;
  finding.cost = "`bench`, `run` and `train` with --device cuda do not work; nothing else";
  finding.remedy = built ? "an NVIDIA GPU of compute capability 8.0 or higher and its driver"
                         : "build where the CUDA Toolkit is (12 or newer)";
  return finding;
}

Finding gpu_mpi_finding(const std::optional<std::string>& info, bool has_gpu) {
  // A property of the build: a parameter of the library that can only be read.
  const bool knows = info && info->find("built_with_cuda_support:value:true") != std::string::npos;
  Finding finding{.group = "programs",
                  .name = "MPI with CUDA",
                  .found = knows  ? "yes: Open MPI was built with CUDA; the pattern openmpi hands "
                                    "it payloads on a GPU where they lie"
                           : info ? "no: Open MPI was built without CUDA"
                                  : "no ompi_info in PATH that starts"};
  if (knows) return finding;
  finding.state = Finding::State::kAbsent;
  finding.cost =
      "`run --device cuda` with the pattern openmpi copies payloads through the "
      "processor's memory, as the other patterns do; nothing else";
  if (has_gpu) finding.remedy = "Open MPI configured with --with-cuda, or over UCX with CUDA";
  return finding;
}

}  // namespace thinpipe
