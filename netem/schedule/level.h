// Values of a schedule as users write them: of their own, or a share of what the link is set to.
#pragma once

#include <string>

namespace thinpipe {

/// What a schedule can change of a link.
enum class Quantity { kRate, kDelay, kLoss };
std::string quantity_name(Quantity quantity);  ///< "rate", "delay", "loss"

/// `100mbit`, or `50%` of the link's own rate.
struct Level {
  double value = 0;    ///< bit/s, s, or a share of frames from 0 to 1
  bool share = false;  ///< `value` is a factor of the link's own
  double of(double own) const { return share ? value * own : value; }
};

/// Rates: `100mbit` (0, or 1 kbit/s to 100 Gbit/s) or `50%` of the link's, up to 1000 %; delays:
/// `10ms` (up to 100 s) or likewise; losses: `1%` of all frames.
/// @throws InputError saying what was found and what is expected.
Level parse_level(Quantity quantity, const std::string& text);
std::string level_text(Quantity quantity, const Level& level);

/// `5s`, `50ms`, `0`; seconds from 0 to 10^6. @throws InputError likewise.
double parse_moment(const std::string& text);
std::string moment_text(double seconds);

}  // namespace thinpipe
