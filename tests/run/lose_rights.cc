// rights_test.py preloads this library into thinpipe. At SIGUSR1 the thread that receives the
// signal, which is the main thread, loses CAP_NET_ADMIN.
#include <linux/capability.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

void lose_right(int) {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (syscall(SYS_capget, &header, data) != 0) _exit(99);
  auto& word = data[CAP_TO_INDEX(CAP_NET_ADMIN)];
  word.effective &= ~CAP_TO_MASK(CAP_NET_ADMIN);
  word.permitted &= ~CAP_TO_MASK(CAP_NET_ADMIN);
  word.inheritable &= ~CAP_TO_MASK(CAP_NET_ADMIN);
  if (syscall(SYS_capset, &header, data) != 0) _exit(99);
}

__attribute__((constructor)) void listen() { signal(SIGUSR1, lose_right); }

}  // namespace
