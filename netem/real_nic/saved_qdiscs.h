// Saves an interface's qdiscs before throttling, and restores them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace thinpipe
