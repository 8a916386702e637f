// Values of a link's keys as text: rates, times, percentages, chances. Each printer's text parses
// back to the same value.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "netem/link_spec.h"

namespace thinpipe::link_values {

// All readers throw InputError with what was found and what is expected.
double read_rate(const std::string& text);  ///< bit/s, 1 kbit/s to 100 Gbit/s
std::uint32_t read_bytes(const std::string& text, double least, double most);
std::chrono::nanoseconds read_time(const std::string& text, double most_seconds);
double read_percent(const std::string& text);  ///< 0 to 100, with its % sign
std::uint64_t read_whole(const std::string& text, std::uint64_t least, std::uint64_t most);
/// `2bdp`: a number above 0 and its unit.
double read_multiple(const std::string& text, std::string_view unit, double most);
Chance read_chance(const std::string& text);  ///< `1%` or `1%/25%`
std::size_t read_choice(const std::string& text, const std::vector<std::string>& choices);

std::string print_rate(double rate);
std::string print_time(std::chrono::nanoseconds time);
std::string print_percent(double percent);
std::string print_chance(const Chance& chance);  ///< "" when it never happens

}  // namespace thinpipe::link_values
