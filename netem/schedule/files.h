// Links recorded elsewhere: packet-delivery traces of mahimahi, and tables as CSV.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "netem/schedule/part.h"

namespace thinpipe {

/// A schedule that came from a file.
struct ScheduleFile {
  std::string text;    ///< the file's content
  std::string digest;  ///< FNV-1a of the content, 16 hex digits: tells apart, proves nothing
};
/// @throws InputError naming the file when it cannot be read, is empty or larger than 256 MB.
ScheduleFile read_schedule_file(const std::filesystem::path& path);

/// A mahimahi trace (Netravali et al., USENIX ATC 2015): every line is the millisecond at which one
/// packet of up to 1500 bytes may be delivered; a millisecond may stand more than once; after the
/// last line all begins again. 1500 bytes are a full Ethernet frame here, so 1514 with its header.
/// @param bin  s; the rate is that of so much time at once, and 0 where nothing may be delivered
/// @throws InputError naming `name` and the line.
CurvePtr parse_mahimahi(std::string_view text, const std::string& name, double bin);

/// A table with the columns `time` and any of `rate`, `delay`, `loss`. The header may say a
/// column's unit (`time_s`, `time_ms`, `rate_bit`, `rate_kbit`, `rate_mbit`, `rate_gbit`,
/// `delay_s`, `delay_ms`, `delay_us`, `loss_percent`); cells are plain numbers then, else each has
/// its own (`5s`, `10mbit`, `50%`).
/// @param linear  straight lines between the rows rather than steps
/// @param period  s; kNever: the last row holds
/// @return a part a column, without text. @throws InputError naming `name`, the line and the field.
std::vector<SchedulePart> parse_schedule_csv(std::string_view text, const std::string& name,
                                             bool linear, double period);

}  // namespace thinpipe
