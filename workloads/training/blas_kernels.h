// Choice of OpenBLAS kernels for CPUs that OpenBLAS does not know.
#pragma once

namespace thinpipe {

/// Restarts the program with OPENBLAS_CORETYPE set if OpenBLAS chose kernels without AVX. OpenBLAS
/// (Debian's 0.3.21) does so for CPUs newer than itself, and then multiplies matrices two to four
/// times slower than possible. A restart is needed because OpenBLAS reads the variable only when it
/// is loaded. Call this function in the first line of main(). The function does nothing without
/// OpenBLAS, on other CPUs, if the variable is already set, or if the restart fails.
void start_with_fitting_blas(char** argv);

/// Returns the kernels to request instead of those that OpenBLAS chose; nullptr if its choice is
/// good.
const char* better_blas_kernels(const char* chosen, bool avx2, bool avx512);

}  // namespace thinpipe
