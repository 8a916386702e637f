// Records made by hand, and a plausible run made by formula, plainly synthetic.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "reports/record/record.h"
#include "tests/base/document.h"

namespace thinpipe::sample {

inline Header header() {
  Header header;
  header.created = "2026-01-31T12:00:00Z";
  header.command = {"thinpipe", "run", "--trace", "synthetic trace", "--ranks", "4"};
  header.seed = 1;
  header.threads = 2;
  header.simd = "avx2";
  header.trace = document({{"path", "synthetic trace"},
                           {"model", "synthetic"},
                           {"identity", "sha256:00"},
                           {"elements", 1000},
                           {"tensors", 2},
                           {"ranks", 4},
                           {"steps", 3}});
  header.fingerprint = document({{"cpu", "synthetic"}, {"cores", 2}});
  return header;
}

/// A header's `calibration`: two links that pass, and one of each other kind.
inline nlohmann::json calibration() {
  const auto way = [](const char* where, double ratio) {
    return nlohmann::json{{"where", where},     {"set", "rate=100mbit"},
                          {"ceiling", 95.64e6}, {"goodput", 95.64e6 * ratio},
                          {"ratio", ratio},     {"round_trip", 4.5e-6}};
  };
  const auto link = [](const char* text, const char* verdict, const char* reason,
                       nlohmann::json ways) {
    return nlohmann::json{
        {"link", text}, {"verdict", verdict}, {"reason", reason}, {"ways", std::move(ways)}};
  };
  return {
      {"tolerance", 0.03},
      {"links",
       {link("rate=100mbit", "holds", "", {way("host0 up", 0.998), way("host0 down", 1.001)}),
        link("rate=1gbit", "holds", "", {way("host0 up", 0.985)}),
        link("rate=10gbit", "off", "", {way("host0 up", 0.31), way("host0 down", 0.3)}),
        link("loss=1%,rate=1gbit", "unmeasured", "frames are lost on it", nlohmann::json::array()),
        link("rate=2gbit", "broken", "rank 0 ended unexpectedly", nlohmann::json::array())}}};
}

inline Point point(const std::string& compressor, double rate, int repeat,
                   std::vector<double> step_times) {
  Point point;
  point.axes.compressor = compressor;
  point.axes.method = compressor.substr(0, compressor.find(':'));
  point.axes.link = "rate=" + std::to_string(static_cast<long long>(rate));
  const bool is_summed = point.axes.method == "none" || point.axes.method == "bf16";
  point.axes.collective = is_summed ? "allreduce-ring" : "allgather-ring";
  point.axes.rate = rate;
  point.axes.ranks = 4;
  point.axes.repeat = repeat;
  point.id = compressor + "|" + point.axes.link + "|4|r" + std::to_string(repeat);
  point.started = "2026-01-31T12:00:01Z";
  point.metrics["step_time"] = {"s", "lower", "timed", std::move(step_times)};
  return point;
}

inline Records records(std::vector<Point> points) {
  Records records;
  records.headers = {header()};
  records.points = std::move(points);
  return records;
}

struct SyntheticRun {
  std::vector<int> ranks = {4};
  std::vector<double> rates = {10e6, 100e6, 1000e6};
  int repeats = 3;
  int steps = 20;
  bool has_problems = true;  ///< two invalid points and a failed one
};

/// A ring all-reduce for `none` and `bf16`, a ring all-gather for the compressors, over 431 080
/// elements, with seeded noise. The model of every compressor is "synthetic".
Records synthetic_run(const SyntheticRun& run = {});

/// The same as the text of a records file.
std::string records_text(const Records& records);

/// The findings of a small strict checker of well-formed XML elements, for SVG in a page.
struct Markup {
  std::string error;                 ///< "" when well-formed
  std::vector<std::string> ids;      ///< of all elements, in order
  std::set<std::string> references;  ///< the targets of href="#…"
  std::vector<std::string> titles;   ///< the text of <title> elements, still escaped
};

/// Checks tags, nesting, quoted and distinct attributes, and that text and values have neither a
/// bare '<' nor a bare '&'.
Markup check_markup(std::string_view text);

}  // namespace thinpipe::sample
