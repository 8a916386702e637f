// The queueing disciplines an interface had before we came, and how it gets them back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thinpipe {

/// One qdisc as the kernel describes it.
struct RawQdisc {
  std::uint32_t parent = 0;  ///< TC_H_ROOT for the root, else a class of another qdisc
  std::uint32_t handle = 0;  ///< 0: the kernel chose this qdisc, nobody set it
  std::string kind = {};
  std::vector<std::byte> options = {};  ///< the bytes of TCA_OPTIONS
  bool extras =
      false;  ///< a size table or a shared filter block, which the dump shows in part only
  bool operator==(const RawQdisc&) const = default;

  /// `pfifo 8001:` for people.
  std::string to_string() const;
};

/// All egress qdiscs of the interface, the root first; ingress ones are not touched and not here.
/// @throws RunError
std::vector<RawQdisc> read_qdiscs(int interface);

/// Why these qdiscs could not be given back exactly; "" when they can. Restorable are
///  * what the kernel chose by itself (noqueue, pfifo_fast, fq_codel, mq with such children): it
///    chooses again when ours is deleted, unless net.core.default_qdisc has changed meanwhile;
///  * single qdiscs whose dump holds all their settings: pfifo, bfifo, pfifo_head_drop, pfifo_fast,
///    tbf, codel, fq_codel, fq, sfq, pie, fq_pie, cake. They are rehearsed on the loopback of a
///    throwaway network namespace and must read back the same, byte for byte.
/// Not: anything with classes, children or filters (htb, hfsc, prio, an mq that somebody set, ...),
/// netem (its distribution table cannot be read), red and others with tables of their own.
std::string why_not_restorable(int interface, const std::vector<RawQdisc>& saved);

/// Makes the interface's egress qdiscs `saved` again, whatever is there now, and reads them back.
/// @throws RunError when the kernel has something else afterwards.
void restore_qdiscs(int interface, const std::vector<RawQdisc>& saved);

/// One line for a file, and back. @throws InputError for a line that is none of ours.
std::string to_line(const RawQdisc& qdisc);
RawQdisc parse_qdisc_line(std::string_view line);

}  // namespace thinpipe
