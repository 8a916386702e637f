// State needed to restore an interface, kept where it survives whoever throttled it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "netem/file_descriptor.h"
#include "netem/real_nic/saved_qdiscs.h"

namespace thinpipe {

/// One file an interface, in memory: a reboot takes it away together with the qdisc.
inline constexpr const char* kStateFolder = "/run/thinpipe";

/// The qdisc that we set has this handle (1:), by which it is known again.
inline constexpr std::uint32_t kOurHandle = 0x10000;

/// An interface that is throttled, or was when its guard died.
struct ShapedState {
  std::string interface;
  int index = 0;
  std::string network_namespace;  ///< the kernel's number of it
  pid_t guard = 0;
  std::vector<RawQdisc> saved;  ///< what it had before
};

/// The state of one interface, locked: while the object lives (also in a forked child) nobody else
/// gets it. The lock ends with the last process that holds it, however it ends.
class StateFile {
 public:
  /// Nothing when another process holds it. Makes folder and file if need be.
  /// @throws RunError naming the path and what would help.
  static std::optional<StateFile> hold(const std::string& interface);

  /// The file's content; nothing in a new one. @throws InputError for a damaged file.
  std::optional<ShapedState> read() const;
  void write(const ShapedState& state) const;
  /// Removes the file.
  void remove() const;

 private:
  StateFile(std::string path, FileDescriptor file)
      : path_(std::move(path)), file_(std::move(file)) {}
  std::string path_;
  FileDescriptor file_;
};

/// Interfaces that have a state file, whether their guards live or not.
std::vector<std::string> shaped_interfaces();

/// The process that holds the state of an interface by its own account; 0 when it cannot be read.
pid_t guard_of(const std::string& interface);

/// The number of the network namespace of the calling thread.
std::string network_namespace_number();

/// Gives the interface back what the file says it had, and removes the file.
/// @returns one line that says what was done: given back, nothing to do, or left alone because the
/// qdisc there is none of ours (somebody else set it since).
/// @throws RunError when it could not be given back; the file then stays.
std::string finish(const StateFile& file);

}  // namespace thinpipe
