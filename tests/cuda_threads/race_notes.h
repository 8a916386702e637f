// Annotations of simulated threads for ThreadSanitizer; without it, they do nothing.
#pragma once

#ifdef THINPIPE_SIMULATED_RACES
#include <sanitizer/tsan_interface.h>

extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}
#endif

namespace thinpipe::cuda::simulated {

#ifdef THINPIPE_SIMULATED_RACES
/// While an object exists, ThreadSanitizer ignores memory accesses, because kernels do not make
/// them.
class OutsideKernels {
 public:
  OutsideKernels() {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
  ~OutsideKernels() {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  }
  OutsideKernels(const OutsideKernels&) = delete;
  OutsideKernels& operator=(const OutsideKernels&) = delete;
};
/// Writes before show() are visible after a later see() of the same address.
inline void show(void* at) { __tsan_release(at); }
inline void see(void* at) { __tsan_acquire(at); }

inline void* this_stack() { return __tsan_get_current_fiber(); }
inline void* new_stack() { return __tsan_create_fiber(0); }
inline void end_stack(void* stack) { __tsan_destroy_fiber(stack); }
/// Call before the stack changes. Does not order memory accesses.
inline void change_stack(void* to) { __tsan_switch_to_fiber(to, __tsan_switch_to_fiber_no_sync); }
#else
struct OutsideKernels {
  OutsideKernels() {}  // NOLINT(modernize-use-equals-default): avoids an unused-variable warning
};
inline void show(void* /*at*/) {}
inline void see(void* /*at*/) {}
inline void* this_stack() { return nullptr; }
inline void* new_stack() { return nullptr; }
inline void end_stack(void* /*stack*/) {}
inline void change_stack(void* /*to*/) {}
#endif

}  // namespace thinpipe::cuda::simulated
