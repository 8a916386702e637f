// mahimahi's packet-delivery traces as rates.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "netem/link_spec.h"
#include "netem/schedule/files.h"

namespace thinpipe {

namespace {

constexpr long kLatestMs = 1'000'000'000;  // eleven days
constexpr double kMostBins = 1e7;

std::vector<long> read_moments(std::string_view text, const std::string& name) {
  std::vector<long> moments;
  std::size_t line_number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line_number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    const auto moment = parse_number<long>(line);
    const auto fail = [&](const std::string& expected) {
      throw InputError(fmt::format("{}:{}: field time: found {}, expected {}", name, line_number,
                                   in_quotes(line), expected));
    };
    if (!moment) fail("a whole number of milliseconds and nothing else");
    if (*moment < 0 || *moment > kLatestMs) fail(fmt::format("a time from 0 to {} ms", kLatestMs));
    if (!moments.empty() && *moment < moments.back())
      fail(fmt::format("a time not before that of the line before, {}", moments.back()));
    moments.push_back(*moment);
  }
  if (moments.empty()) throw InputError(name + ": no line; expected one a packet delivery");
  if (moments.back() == 0)
    throw InputError(name + ": all times are 0; the last one is the trace's length");
  return moments;
}

}  // namespace

CurvePtr parse_mahimahi(std::string_view text, const std::string& name, double bin) {
  const std::vector<long> moments = read_moments(text, name);
  const double period = static_cast<double>(moments.back()) / 1000;
  const double bins = std::ceil(period / bin - 1e-9);
  if (bins > kMostBins)
    throw InputError(
        fmt::format("{}: {} s in bins of {} s are more than {}", name, period, bin, kMostBins));
  // A delivery at the end of a bin belongs to it, since the last one of all is at the very end.
  std::vector<double> frames(static_cast<std::size_t>(bins), 0.0);
  for (const long moment : moments) {
    const double number = std::ceil(static_cast<double>(moment) / 1000 / bin - 1e-9) - 1;
    ++frames[static_cast<std::size_t>(std::clamp(number, 0.0, bins - 1))];
  }
  std::vector<CurvePoint> points;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const double begin = static_cast<double>(i) * bin;
    const double width = std::min(bin, period - begin);
    const double rate = frames[i] * 8 * kFrameBytes / width;
    if (points.empty() || points.back().value != rate) points.push_back({begin, rate});
  }
  return table_curve(std::move(points), false, period);
}

}  // namespace thinpipe
