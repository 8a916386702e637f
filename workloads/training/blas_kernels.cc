#include "workloads/training/blas_kernels.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace thinpipe {

const char* better_blas_kernels(const char* chosen, bool avx2, bool avx512) {
  // OpenBLAS falls back to "Prescott": SSE3.
  if (std::string_view(chosen) != "Prescott") return nullptr;
  if (avx512) return "SKYLAKEX";
  return avx2 ? "HASWELL" : nullptr;
}

void start_with_fitting_blas([[maybe_unused]] char** argv) {
#ifdef __x86_64__
  constexpr const char* kCoreType = "OPENBLAS_CORETYPE";
  using CoreName = char* (*)();
  void* symbol = dlsym(RTLD_DEFAULT, "openblas_get_corename");
  if (symbol == nullptr || std::getenv(kCoreType) != nullptr) return;
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512vl");
  const char* kernels = better_blas_kernels(reinterpret_cast<CoreName>(symbol)(), avx2, avx512);
  if (kernels == nullptr || setenv(kCoreType, kernels, 1) != 0) return;
  // execv on the program's own path, so that the process keeps its name.
  std::error_code failure;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failure);
  if (!failure) execv(self.c_str(), argv);
#endif
}

}  // namespace thinpipe
