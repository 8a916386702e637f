// Namespaces as test hosts, for hosts_test.py.
//
//   test_hosts N COMMAND...        makes N hosts of a star, each with a /tmp, /dev/shm and /run of
//                                  its own (source and build tree stay visible below them) and a
//                                  server that runs commands, as sshd does; runs COMMAND beside
//                                  them and ends all with it
//   test_hosts on HOST COMMAND...  runs a command on a host by its control address, over its
//                                  control interface, as ssh does
//   test_hosts qdisc IFACE         prints kind and handle of the root qdisc here
//   test_hosts route IFACE | unroute IFACE    a default route
//   test_hosts up IFACE | down IFACE
#include <arpa/inet.h>
#include <fcntl.h>
#include <net/route.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "netem/link/netlink.h"
#include "netem/network.h"
#include "netem/real_nic/saved_qdiscs.h"
#include "netem/sandbox.h"

namespace thinpipe {
namespace {

constexpr int kPort = 2222;

sockaddr_in address_of(const std::string& text) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(kPort);
  if (inet_pton(AF_INET, text.c_str(), &address.sin_addr) != 1)
    throw InputError("'" + text + "' is no IPv4 address");
  return address;
}

void check(bool good, const std::string& attempt) {
  if (!good) throw SystemError(attempt);
}

// Mounts an empty folder in memory at `path`, in this mount namespace. The programs under test may
// lie below it, in a checkout in /tmp for instance, so the source and build trees are put back.
void mount_own(const char* path) {
  struct Tree {
    std::string path;
    FileDescriptor descriptor;  // reaches the tree that the mount will hide
  };
  std::vector<Tree> hidden;
  for (const char* tree : {THINPIPE_SOURCE_DIR, THINPIPE_BINARY_DIR})
    if (std::string(tree).starts_with(std::string(path) + "/")) {
      FileDescriptor descriptor(open(tree, O_PATH | O_DIRECTORY | O_CLOEXEC));
      check(descriptor.valid(), std::string("open ") + tree);
      hidden.push_back({tree, std::move(descriptor)});
    }
  check(mount("own", path, "tmpfs", 0, nullptr) == 0, std::string("mount on ") + path);
  for (const Tree& tree : hidden) {
    std::filesystem::create_directories(tree.path);
    const std::string source = "/proc/self/fd/" + std::to_string(tree.descriptor.get());
    check(mount(source.c_str(), tree.path.c_str(), nullptr, MS_BIND | MS_REC, nullptr) == 0,
          "bind " + tree.path);
  }
}

// --- the server

// One command: the first line that comes, for a shell whose input and output are the connection.
[[noreturn]] void serve_one(int connection, const std::string& host) {
  std::string command;
  for (char c; read(connection, &c, 1) == 1 && c != '\n';) command += c;
  sockaddr_in client = {};
  socklen_t size = sizeof(client);
  getpeername(connection, reinterpret_cast<sockaddr*>(&client), &size);
  setenv("SSH_CONNECTION",
         (std::string(inet_ntoa(client.sin_addr)) + " " + std::to_string(ntohs(client.sin_port)) +
          " " + host + " " + std::to_string(kPort))
             .c_str(),
         1);
  setsid();
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(connection, stream);
  execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
  _exit(127);
}

[[noreturn]] void serve(const Host& place, const std::string& host, int ready) {
  const auto enter = [](const std::string& path, int kind) {
    const FileDescriptor descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    check(descriptor.valid() && setns(descriptor.get(), kind) == 0, "enter " + path);
  };
  enter(place.network_path(), CLONE_NEWNET);
  enter(place.uts_path(), CLONE_NEWUTS);
  check(unshare(CLONE_NEWNS) == 0, "unshare");
  for (const char* own : {"/tmp", "/dev/shm", "/run"}) mount_own(own);
  check(chdir("/") == 0, "chdir");
  const FileDescriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = address_of(host);
  check(bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
            listen(listener.get(), 50) == 0,
        "listen");
  check(write(ready, "r", 1) == 1, "tell");
  signal(SIGCHLD, SIG_IGN);
  for (;;) {
    const int connection = accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    if (fork() == 0) {
      signal(SIGCHLD, SIG_DFL);
      serve_one(connection, host);
    }
    close(connection);
  }
}

int run_beside(int hosts, char** command) {
  return run_in_sandbox([&](const Sandbox&) {
    // mpirun itself would make its folder at this path.
    const std::filesystem::path stood = std::filesystem::current_path();
    mount_own("/tmp");
    check(unsetenv("TMPDIR") == 0,
          "unset TMPDIR");                 // a folder that is hidden now, here and on the hosts
    std::filesystem::current_path(stood);  // else a working folder below /tmp stays the hidden one
    Network star(hosts);
    star.set_links(LinkSpec{});
    int ready[2];
    check(pipe2(ready, O_CLOEXEC) == 0, "pipe");
    for (int i = 0; i < hosts; ++i)
      if (fork() == 0) serve(star.host(i), star.control_address(i), ready[1]);
    for (int i = 0; i < hosts; ++i) {
      char byte;
      check(read(ready[0], &byte, 1) == 1, "wait for the hosts");
    }
    const pid_t child = fork();
    if (child == 0) {
      execvp(command[0], command);
      _exit(127);
    }
    for (;;) {  // any other process that ended is an orphan of some host
      int status = 0;
      if (wait(&status) == child) return WIFEXITED(status) ? WEXITSTATUS(status) : kExitFailed;
    }
  });
}

// --- the client

int run_on(const std::string& host, const std::string& command) {
  const FileDescriptor connection(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = address_of(host);
  check(
      connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0,
      "connect to " + host);
  const std::string line = command + "\n";
  check(write(connection.get(), line.data(), line.size()) > 0, "write");
  pollfd ends[] = {{STDIN_FILENO, POLLIN, 0}, {connection.get(), POLLIN, 0}};
  for (;;) {
    check(poll(ends, 2, -1) > 0, "poll");
    for (int i = 0; i < 2; ++i) {
      if (ends[i].revents == 0) continue;
      char buffer[4096];
      const ssize_t got = read(ends[i].fd, buffer, sizeof(buffer));
      if (i == 1 && got <= 0) return 0;
      if (i == 0 && got <= 0) {
        shutdown(connection.get(), SHUT_WR);
        ends[0].fd = -1;
        continue;
      }
      check(write(i == 0 ? connection.get() : STDOUT_FILENO, buffer,
                  static_cast<std::size_t>(got)) == got,
            "write");
    }
  }
}

// --- commands on a host

void change_default_route(unsigned long how, const std::string& interface) {
  sockaddr any_address = {};
  any_address.sa_family = AF_INET;
  const FileDescriptor any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  std::string device = interface;
  rtentry route = {};
  route.rt_dst = route.rt_genmask = any_address;
  route.rt_flags = RTF_UP;
  route.rt_dev = device.data();
  check(ioctl(any.get(), how, &route) == 0, "change the default route");
}

int run(int argc, char** argv) {
  const std::string what = argc > 2 ? argv[1] : "", interface = argc > 2 ? argv[2] : "";
  if (what == "on" && argc > 3) {
    std::string command;
    for (int i = 3; i < argc; ++i) command += (i > 3 ? " " : "") + std::string(argv[i]);
    return run_on(interface, command);
  }
  if (what == "qdisc")
    std::puts(read_qdiscs(interface_index(interface)).at(0).to_string().c_str());
  else if (what == "route" || what == "unroute")
    change_default_route(what == "route" ? SIOCADDRT : SIOCDELRT, interface);
  else if (what == "up")
    Netlink().set_up(interface);
  else if (what == "down")
    Netlink().set_down(interface);
  else if (argc > 2 && std::atoi(argv[1]) > 0)
    return run_beside(std::atoi(argv[1]), argv + 2);
  else
    return kExitUsage;
  return 0;
}

}  // namespace
}  // namespace thinpipe

int main(int argc, char** argv) {
  try {
    return thinpipe::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "test_hosts: %s\n", error.what());
    return thinpipe::kExitFailed;
  }
}
