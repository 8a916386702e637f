// rights_test.py preloads this library into thinpipe. The thread that writes the first point to the
// records, which is the main thread, then loses CAP_NET_ADMIN.
#include <linux/capability.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

void lose_right() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (syscall(SYS_capget, &header, data) != 0) _exit(99);
  auto& word = data[CAP_TO_INDEX(CAP_NET_ADMIN)];
  word.effective &= ~CAP_TO_MASK(CAP_NET_ADMIN);
  word.permitted &= ~CAP_TO_MASK(CAP_NET_ADMIN);
  word.inheritable &= ~CAP_TO_MASK(CAP_NET_ADMIN);
  if (syscall(SYS_capset, &header, data) != 0) _exit(99);
}

}  // namespace

// Replaces the C library's function, by which records are written.
extern "C" ssize_t pwrite(int file, const void* bytes, size_t count, off_t at) {
  const long written = syscall(SYS_pwrite64, file, bytes, count, at);
  static constexpr char kPoint[] = "\"record\":\"point\"";
  if (memmem(bytes, count, kPoint, sizeof(kPoint) - 1) != nullptr) lose_right();
  return written;
}
