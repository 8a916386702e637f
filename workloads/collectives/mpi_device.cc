#include "workloads/collectives/mpi_device.h"

#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include <cstdlib>
#include <string_view>

namespace thinpipe {

bool mpi_takes_device_addresses() {
  const char* const wanted = std::getenv("THINPIPE_CUDA_MPI");
  if (wanted != nullptr && std::string_view(wanted) == "0") return false;
#ifdef MPIX_CUDA_AWARE_SUPPORT  // defined by any build's header; the library's answer decides
  return MPIX_Query_cuda_support() == 1;
#else
  return false;
#endif
}

}  // namespace thinpipe
