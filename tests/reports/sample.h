// A small, plainly synthetic records file for the tests of reports/.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "reports/record/record.h"

namespace thinpipe::sample {

inline Header header() {
  Header header;
  header.created = "2026-01-31T12:00:00Z";
  header.command = {"thinpipe", "run", "--trace", "synthetic trace", "--ranks", "4"};
  header.seed = 1;
  header.threads = 2;
  header.simd = "avx2";
  header.trace = {{"path", "synthetic trace"},
                  {"model", "synthetic"},
                  {"identity", "sha256:00"},
                  {"elements", 1000},
                  {"tensors", 2},
                  {"ranks", 4},
                  {"steps", 3}};
  header.fingerprint = {{"cpu", "synthetic"}, {"cores", 2}};
  return header;
}

inline Point point(const std::string& compressor, double rate, int repeat,
                   std::vector<double> step_times) {
  Point point;
  point.axes.compressor = compressor;
  point.axes.method = compressor.substr(0, compressor.find(':'));
  point.axes.link = "rate=" + std::to_string(static_cast<long long>(rate));
  point.axes.pattern = point.axes.method == "none" ? "allreduce-ring" : "allgather-ring";
  point.axes.rate = rate;
  point.axes.ranks = 4;
  point.axes.repeat = repeat;
  point.id = compressor + "|" + point.axes.link + "|4|r" + std::to_string(repeat);
  point.started = "2026-01-31T12:00:01Z";
  point.metrics["step_time"] = {"s", "lower", "timed", std::move(step_times)};
  return point;
}

}  // namespace thinpipe::sample
