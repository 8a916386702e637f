// The instruction set of the kernels, chosen at run time: the CPU's best unless set otherwise.
#pragma once

#include <string>
#include <vector>

namespace thinpipe {

/// Returns the instruction sets that were compiled in and that this CPU has, by Highway's names in
/// lower case ("avx3", "avx2", "sse4", "ssse3", "neon", "emu128"), best first. Never empty.
std::vector<std::string> simd_targets();

/// Returns the instruction set that the kernels use now; one of simd_targets().
std::string simd_target();

/// Sets the instruction set of all kernels of the process; "best" undoes it. Do not call it while
/// another thread runs a kernel.
/// @throws InputError for a name that is not among simd_targets().
void set_simd_target(const std::string& name);

}  // namespace thinpipe
