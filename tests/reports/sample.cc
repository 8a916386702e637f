#include "tests/reports/sample.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

namespace thinpipe::sample {
namespace {

constexpr double kElements = 431080;
constexpr double kDenseBytes = 4 * kElements;

struct Method {
  const char* spec;
  double bytes;          // payload a step and rank
  double compress_s;     // compress time of a step
  double error;          // relative error
  double quality_noise;  // spread of k-hat/k; 0: no target
};

const Method kMethods[] = {
    {"none", kDenseBytes, 0, 0, 0},
    {"bf16", kDenseBytes / 2, 0.4e-3, 0.0017, 0},
    {"topk:memory=residual,ratio=0.01", 0.02 * kDenseBytes, 24e-3, 0.52, 1e-9},
    {"topk:memory=residual,ratio=0.1", 0.2 * kDenseBytes, 27e-3, 0.21, 1e-9},
    {"dgc:ratio=0.01", 0.0152 * kDenseBytes, 7.5e-3, 0.55, 0.08},
    {"sidco:dist=exp,ratio=0.01", 0.0196 * kDenseBytes, 3.9e-3, 0.53, 0.15},
    {"3lc:s=1.75", kDenseBytes / 61, 6.2e-3, 0.37, 0},
    {"sbc:p=0.01", 0.0026 * kDenseBytes, 16e-3, 0.83, 1e-9},
};

class Noise {
 public:
  double uniform() { return static_cast<double>(generator_() >> 11) * 0x1p-53; }
  // Right-skewed, as measured times are: 1 plus an exponential of mean `spread`.
  double slow_down(double spread) { return 1 - spread * std::log1p(-uniform()); }
  double around_one(double spread) { return std::exp(spread * (2 * uniform() - 1)); }

 private:
  std::mt19937_64 generator_{2026};
};

Point make_point(const Method& method, int ranks, double rate, int repeat, int steps,
                 Noise& noise) {
  Point point = sample::point(method.spec, rate, repeat, {});
  point.axes.ranks = ranks;
  point.id = point.axes.compressor + "|" + point.axes.link + "|" + std::to_string(ranks) + "|r" +
             std::to_string(repeat);
  const bool is_dense = point.axes.baseline().has_value();  // summed, not all-gathered
  const double p = ranks;
  const double hops = is_dense ? 2 * (p - 1) / p : p - 1;
  const double wire_bytes = hops * method.bytes * 1.045;
  std::vector<double> step, compute, compress, exchange, decode, payload, quality, error;
  for (int i = 0; i < steps; ++i) {
    compute.push_back(9e-3 * noise.slow_down(0.02));
    compress.push_back(method.compress_s * noise.slow_down(0.05));
    exchange.push_back((wire_bytes * 8 / rate + hops * 2.5e-4) * noise.slow_down(0.03));
    decode.push_back(is_dense ? 0 : 0.35e-3 * p * noise.slow_down(0.05));
    step.push_back(compute.back() + compress.back() + exchange.back() + decode.back() + 4e-5);
    payload.push_back(method.bytes * noise.around_one(0.01));
    quality.push_back(noise.around_one(method.quality_noise) *
                      (1 + 2 * method.quality_noise / (1 + i)));
    error.push_back(method.error * noise.around_one(0.06));
  }
  const auto timed = [](const std::vector<double>& samples) {
    return Metric{"s", "lower", "timed", samples};
  };
  point.metrics["step_time"] = timed(step);
  point.metrics["compute_time"] = timed(compute);
  point.metrics["compress_time"] = timed(compress);
  point.metrics["exchange_time"] = timed(exchange);
  point.metrics["decode_time"] = timed(decode);
  point.metrics["payload_bytes"] = {"B", "lower", "exact", payload};
  point.metrics["dense_bytes"] = {"B", "lower", "exact",
                                  std::vector<double>(payload.size(), kDenseBytes)};
  point.metrics["wire_bytes"] = {"B", "lower", "timed", {wire_bytes}};
  if (method.quality_noise > 0) point.metrics["quality"] = {"1", "target:1", "quality", quality};
  point.metrics["relative_error"] = {"1", "lower", "quality", error};
  const double wire_ratio = noise.around_one(0.006);
  point.fidelity = Fidelity{
      .wire_bytes_predicted = wire_bytes / wire_ratio,
      .wire_ratio = wire_ratio,
      .idle_cpu = std::min(0.9, 0.25 + 0.6 * exchange[0] / step[0]) * noise.around_one(0.05),
      .burst_bytes = std::max(16000.0, rate / 8 / 250),
      .burst_seconds = std::max(16000.0 * 8 / rate, 1.0 / 250)};
  point.metrics["exposed_time"] = timed(exchange);
  point.metrics["ideal_time"] = timed(std::vector<double>(step.size(), 9e-3));
  point.prediction = document({{"step_time", 9e-3 + method.compress_s + wire_bytes * 8 / rate},
                               {"exchange_time", wire_bytes * 8 / rate},
                               {"compress_time", method.compress_s},
                               {"decode_time", is_dense ? 0 : 0.35e-3 * p},
                               {"break_even", {{"rate", 2e9}}}});
  // The others wait for the last host.
  point.critical_path = document({{"waits",
                                   {{{"host", ranks - 1}, {"phase", "compute"}, {"share", 0.12}},
                                    {{"host", 0}, {"phase", "compress"}, {"share", 0.02}}}}});
  point.validation = document(
      {{"aggregate_max_error", 1e-7}, {"checked_steps", steps}, {"identical_ranks", true}});
  return point;
}

void add_problems(Records& records) {
  for (Point& point : records.points) {
    if (point.axes.method == "sbc" && point.axes.rate >= 1e9) {
      point.status = Status::kInvalid;
      point.reasons = {"bytes on the wire are 4.1 % above the prediction (limit 3 %)"};
    }
    if (point.axes.method == "dgc" && point.axes.rate >= 1e9 && point.axes.repeat == 2) {
      point.status = Status::kFailed;
      point.reasons = {"rank 3 ended with signal 9 in step 7"};
      point.metrics.clear();
    }
  }
}

class Checker {
 public:
  explicit Checker(std::string_view text) : text_(text) {}

  Markup run() {
    while (markup_.error.empty() && place_ < text_.size()) {
      if (text_[place_] == '<') {
        tag();
      } else {
        content();
      }
    }
    if (markup_.error.empty() && !open_.empty()) fail("unclosed <" + open_.back() + ">");
    return markup_;
  }

 private:
  void fail(const std::string& what) {
    if (markup_.error.empty())
      markup_.error =
          what + " near '" + std::string(text_.substr(place_ < 30 ? 0 : place_ - 30, 60)) + "'";
  }

  bool entity_ok(std::size_t at) const {
    const std::size_t end = text_.find(';', at);
    if (end == std::string_view::npos || end - at < 2 || end - at > 8) return false;
    for (std::size_t i = at + 1; i < end; ++i) {
      if (std::isalnum(static_cast<unsigned char>(text_[i])) == 0 && text_[i] != '#') return false;
    }
    return true;
  }

  void content() {
    const std::size_t end = std::min(text_.find('<', place_), text_.size());
    for (std::size_t i = place_; i < end; ++i) {
      if (text_[i] == '&' && !entity_ok(i)) fail("bare &");
    }
    if (!open_.empty() && open_.back() == "title")
      markup_.titles.emplace_back(text_.substr(place_, end - place_));
    place_ = end;
  }

  std::string name() {
    const std::size_t start = place_;
    while (place_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[place_])) != 0 ||
            std::string_view("-_:").find(text_[place_]) != std::string_view::npos)) {
      ++place_;
    }
    if (place_ == start) fail("expected a name");
    return std::string(text_.substr(start, place_ - start));
  }

  void spaces() {
    while (place_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[place_])) != 0)
      ++place_;
  }

  bool take(char byte) {
    if (place_ >= text_.size() || text_[place_] != byte) return false;
    ++place_;
    return true;
  }

  void attribute(std::set<std::string>& seen) {
    const std::string key = name();
    if (!seen.insert(key).second) fail("attribute " + key + " twice");
    spaces();
    if (!take('=')) return fail("attribute without value");
    spaces();
    const char quote = place_ < text_.size() ? text_[place_] : '\0';
    if (quote != '"' && quote != '\'') return fail("unquoted value");
    const std::size_t end = text_.find(quote, ++place_);
    if (end == std::string_view::npos) return fail("unclosed value");
    const std::string value(text_.substr(place_, end - place_));
    if (value.find('<') != std::string::npos) fail("< in a value");
    for (std::size_t i = place_; i < end; ++i) {
      if (text_[i] == '&' && !entity_ok(i)) fail("bare & in a value");
    }
    if (key == "id") markup_.ids.push_back(value);
    if (key.find("href") != std::string::npos && value.rfind('#', 0) == 0)
      markup_.references.insert(value.substr(1));
    place_ = end + 1;
  }

  void tag() {
    ++place_;
    if (take('/')) {
      const std::string closed = name();
      if (open_.empty() || open_.back() != closed) return fail("</" + closed + "> closes nothing");
      open_.pop_back();
      spaces();
      if (!take('>')) fail("expected >");
      return;
    }
    const std::string opened = name();
    std::set<std::string> seen;
    for (;;) {
      spaces();
      if (!markup_.error.empty() || place_ >= text_.size()) return fail("unfinished tag");
      if (take('>')) return open_.push_back(opened);
      if (take('/')) {
        if (!take('>')) fail("expected />");
        return;
      }
      attribute(seen);
    }
  }

  std::string_view text_;
  std::size_t place_ = 0;
  std::vector<std::string> open_;
  Markup markup_;
};

}  // namespace

Records synthetic_run(const SyntheticRun& run) {
  Records records;
  records.file = "synthetic/records.jsonl";
  Header header = sample::header();
  change(header.trace, [&](nlohmann::json& trace) {
    trace["elements"] = 431080;
    trace["tensors"] = 8;
    trace["steps"] = run.steps;
  });
  header.command = {"thinpipe",      "run",
                    "--trace",       "synthetic trace",
                    "--compressors", "none topk:ratio=0.01|0.1 dgc sidco 3lc sbc",
                    "--links",       "rate=10mbit|100mbit|1gbit"};
  header.fingerprint = document({{"cpu", "Synthetic 2-core at 2.1 GHz"},
                                 {"cores", 2},
                                 {"kernel", "0.0.0-synthetic"},
                                 {"hz", 250},
                                 {"mpi", "none: made by formula"},
                                 {"sysctls", {{"net.ipv4.tcp_congestion_control", "cubic"}}}});
  header.calibration = document({{"memory_read_gbs", 20.1}});
  records.headers.push_back(header);
  Noise noise;
  for (const int ranks : run.ranks) {
    for (const double rate : run.rates) {
      for (const Method& method : kMethods) {
        for (int repeat = 0; repeat < run.repeats; ++repeat)
          records.points.push_back(make_point(method, ranks, rate, repeat, run.steps, noise));
      }
    }
  }
  if (run.has_problems) add_problems(records);
  return records;
}

std::string records_text(const Records& records) {
  std::string text;
  for (const Header& header : records.headers) text += header_json(header).dump() + "\n";
  for (const Point& point : records.points) text += point_json(point).dump() + "\n";
  return text;
}

Markup check_markup(std::string_view text) { return Checker(text).run(); }

}  // namespace thinpipe::sample
