// Saves an interface's qdiscs in a file that outlives the guard that throttles the interface, and
// restores them.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "netem/file_descriptor.h"

namespace thinpipe {

/// A qdisc as the kernel dumps it.
struct RawQdisc {
  std::uint32_t parent = 0;  ///< TC_H_ROOT for the root, else a class of another qdisc
  std::uint32_t handle = 0;  ///< 0: the kernel's default, set by nobody
  std::string kind = {};
  std::vector<std::byte> options = {};  ///< the bytes of TCA_OPTIONS
  bool extras = false;  ///< has a size table or a shared filter block, which dumps show in part
  bool operator==(const RawQdisc&) const = default;

  /// Returns text for people, such as `pfifo 8001:`.
  std::string to_string() const;
};

/// Returns all egress qdiscs of the interface, the root first. Ingress qdiscs are not touched and
/// not included. @throws RunError
std::vector<RawQdisc> read_qdiscs(int interface);

/// Returns the reason why these qdiscs cannot be restored exactly; "" if they can. Restorable are
///  * the kernel's defaults (noqueue, pfifo_fast, fq_codel, mq with such children): the kernel
///    chooses them again when thinpipe's qdisc is deleted, unless net.core.default_qdisc changed;
///  * single qdiscs whose dump has all settings: pfifo, bfifo, pfifo_head_drop, pfifo_fast, tbf,
///    codel, fq_codel, fq, sfq, pie, fq_pie, cake. The restoration is first tried on the loopback
///    of a temporary network namespace, where the dump must be equal byte for byte.
/// Not restorable are qdiscs with classes, children or filters (htb, hfsc, prio, an mq that
/// somebody set, ...), netem (dumps lack its distribution table), and red and others with tables.
std::string why_not_restorable(int interface, const std::vector<RawQdisc>& saved);

/// Replaces the interface's egress qdiscs by `saved` and reads them back.
/// @throws RunError when the kernel then has other qdiscs.
void restore_qdiscs(int interface, const std::vector<RawQdisc>& saved);

/// Returns a qdisc as one line for a file. parse_qdisc_line() reads the line back.
/// @throws InputError for a malformed line.
std::string to_line(const RawQdisc& qdisc);
RawQdisc parse_qdisc_line(std::string_view line);

/// Folder with one state file per throttled interface. The folder is in memory, so a reboot removes
/// the files together with the qdiscs.
inline constexpr const char* kStateFolder = "/run/thinpipe";

/// The handle (7e19:) of thinpipe's root qdisc, which identifies it. 1: is the handle that most
/// people and programs choose.
inline constexpr std::uint32_t kOurHandle = 0x7e190000;

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
