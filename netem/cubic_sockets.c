// Gives every TCP socket of a program CUBIC as its congestion control. The dynamic linker loads
// this library into programs on emulated hosts (LD_PRELOAD), if the kernel refuses CUBIC as the
// default of a host's network namespace. Such a kernel still accepts it for a single socket.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

__attribute__((visibility("default"))) int socket(int domain, int type, int protocol) {
  static const char kCongestionControl[] = "cubic";
  int (*make_socket)(int, int, int);
  *(void**)&make_socket = dlsym(RTLD_NEXT, "socket");
  const int made = make_socket(domain, type, protocol);
  if (made >= 0 && (domain == AF_INET || domain == AF_INET6)) {
    const int before = errno;
    // Fails for sockets of other protocols, and changes nothing then. Accepted connections have the
    // congestion control of the socket that listens.
    setsockopt(made, IPPROTO_TCP, TCP_CONGESTION, kCongestionControl,
               sizeof(kCongestionControl) - 1);
    errno = before;
  }
  return made;
}
