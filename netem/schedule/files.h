// Schedules from files: packet-delivery traces of mahimahi, and CSV tables.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "netem/schedule/part.h"

namespace thinpipe {

/// The content of a schedule file.
struct ScheduleFile {
  std::string text;
  std::string digest;  ///< FNV-1a of the text, 16 hex digits; not cryptographic
};
/// @throws InputError naming the file when it cannot be read, is empty or larger than 256 MB.
ScheduleFile read_schedule_file(const std::filesystem::path& path);

/// Parses a mahimahi trace (Netravali et al., USENIX ATC 2015). Every line is the millisecond of a
/// delivery opportunity for one packet of up to 1500 bytes. A millisecond may occur more than once.
/// The trace repeats after the last line. One packet counts as a full Ethernet frame: 1514 bytes
/// with the header.
/// @param bin  s over which the rate is averaged; the rate is 0 in a bin without deliveries
/// @throws InputError naming `name` and the line.
CurvePtr parse_mahimahi(std::string_view text, const std::string& name, double bin);

/// Parses a table with the columns `time` and any of `rate`, `delay`, `loss`. The header may have a
/// column's unit (`time_s`, `time_ms`, `rate_bit`, `rate_kbit`, `rate_mbit`, `rate_gbit`,
/// `delay_s`, `delay_ms`, `delay_us`, `loss_percent`). Then cells are plain numbers. Otherwise each
/// cell has a unit (`5s`, `10mbit`, `50%`).
/// @param linear  straight lines between the rows rather than steps
/// @param period  s after which the table repeats; kNever: the last row stays
/// @returns one part per column, without text. @throws InputError naming `name`, line and field.
std::vector<SchedulePart> parse_schedule_csv(std::string_view text, const std::string& name,
                                             bool linear, double period);

}  // namespace thinpipe
