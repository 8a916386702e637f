#include "netem/host.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <exception>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "base/error.h"

namespace thinpipe {

namespace {

FileDescriptor open_namespace(const char* kind) {
  const std::string path = fmt::format("/proc/self/ns/{}", kind);
  FileDescriptor descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!descriptor.valid()) throw SystemError("open " + path);
  return descriptor;
}

void enter(const FileDescriptor& descriptor, int kind) {
  if (setns(descriptor.get(), kind) != 0) throw SystemError("enter a namespace");
}

std::string descriptor_path(const FileDescriptor& descriptor) {
  return fmt::format("/proc/{}/fd/{}", getpid(), descriptor.get());
}

}  // namespace

Host::Host(std::string name) : name_(std::move(name)) {
  const FileDescriptor network_before = open_namespace("net"), uts_before = open_namespace("uts");
  if (unshare(CLONE_NEWNET | CLONE_NEWUTS) != 0) {
    const int error = errno;
    throw SystemError(fmt::format("make the namespaces of host {}{}", name_,
                                  error == ENOSPC ? " (see sysctl user.max_net_namespaces)" : ""),
                      error);
  }
  std::exception_ptr error;
  try {
    network_ = open_namespace("net");
    uts_ = open_namespace("uts");
    if (sethostname(name_.c_str(), name_.size()) != 0)
      throw SystemError(fmt::format("name host {}", name_));
  } catch (...) {
    error = std::current_exception();
  }
  enter(network_before, CLONE_NEWNET);
  enter(uts_before, CLONE_NEWUTS);
  if (error) std::rethrow_exception(error);
}

std::string Host::network_path() const { return descriptor_path(network_); }
std::string Host::uts_path() const { return descriptor_path(uts_); }

void Host::inside(const std::function<void()>& action) const {
  const FileDescriptor network_before = open_namespace("net"), uts_before = open_namespace("uts");
  enter(network_, CLONE_NEWNET);
  std::exception_ptr error;
  try {
    enter(uts_, CLONE_NEWUTS);
    action();
  } catch (...) {
    error = std::current_exception();
  }
  enter(network_before, CLONE_NEWNET);
  enter(uts_before, CLONE_NEWUTS);
  if (error) std::rethrow_exception(error);
}

std::map<std::string, std::int64_t> Host::protocol_counters(const std::string& protocol) const {
  std::map<std::string, std::int64_t> counters;
  inside([&] {
    // Two lines a protocol: names, then values.
    std::ifstream file("/proc/thread-self/net/snmp");
    std::string names, values;
    while (std::getline(file, names) && std::getline(file, values)) {
      if (!names.starts_with(protocol + ":")) continue;
      std::istringstream name_words(names.substr(protocol.size() + 1));
      std::istringstream value_words(values.substr(protocol.size() + 1));
      std::string name;
      for (std::int64_t value; name_words >> name && value_words >> value;) counters[name] = value;
    }
  });
  return counters;
}

}  // namespace thinpipe
