// State needed to restore an interface, in a file that outlives the guard that throttled it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "netem/file_descriptor.h"
#include "netem/real_nic/saved_qdiscs.h"

namespace thinpipe {

/// Folder with one state file per throttled interface. The folder is in memory, so a reboot removes
/// the files together with the qdiscs.
inline constexpr const char* kStateFolder = "/run/thinpipe";

/// The handle (1:) of thinpipe's root qdisc, which identifies it.
inline constexpr std::uint32_t kOurHandle = 0x10000;

/// An interface that is throttled, or was when its guard died.
struct ShapedState {
  std::string interface;
  int index = 0;
  std::string network_namespace;  ///< the namespace's inode number
  pid_t guard = 0;
  std::vector<RawQdisc> saved;  ///< the qdiscs before throttling
};

/// The state file of one interface, which this object locks. The lock lasts as long as the object.
/// Forked children share the lock. It ends with the last process that has it, however that process
/// ends.
class StateFile {
 public:
  /// Locks the interface's file, creating folder and file if necessary. Returns nothing if another
  /// process has the lock. @throws RunError naming the path and a remedy.
  static std::optional<StateFile> hold(const std::string& interface);

  /// Returns the file's content; nothing if the file is new. @throws InputError for a damaged file.
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

/// Returns the interfaces that have a state file, whether their guards are alive or not.
std::vector<std::string> shaped_interfaces();

/// Returns the guard's process that an interface's state file names; 0 if the file cannot be read.
pid_t guard_of(const std::string& interface);

/// Returns the inode number of the calling thread's network namespace.
std::string network_namespace_number();

/// Restores the qdiscs that the file has saved for its interface, and removes the file.
/// @returns the outcome in one line: restored, nothing to do, or left alone because somebody else
/// has replaced thinpipe's qdisc.
/// @throws RunError when the qdiscs could not be restored; the file then stays.
std::string finish(const StateFile& file);

}  // namespace thinpipe
