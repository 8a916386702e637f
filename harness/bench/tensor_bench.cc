#include "harness/bench/tensor_bench.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "compressors/registry.h"
#include "harness/bench/turns.h"
#include "harness/doctor/machine.h"

namespace thinpipe {
namespace {

using Run = benchmark::BenchmarkReporter::Run;

// Compressors that are timed in one run are all in memory; this share of what is free is theirs.
constexpr double kMemoryShare = 0.4;

double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

// Methods that send coefficients of a transform, each of which touches many decoded elements.
bool spreads(const std::string& method) {
  static const std::set<std::string> kSpread{"demo", "powersgd", "thc"};
  return kSpread.count(method) > 0;
}

}  // namespace

TensorBench::TensorBench(const BenchOptions& options, const Inputs& inputs, Progress& progress,
                         BenchResult& result, std::vector<Run>& rows)
    : options_(options),
      inputs_(inputs),
      progress_(progress),
      result_(result),
      rows_(rows),
      first_group_(result.groups.size()),
      roofline_(inputs, options) {
  for (const int threads : options.threads) {
    result.groups.push_back(
        {.tensor = inputs.tensor().name, .elements = inputs.elements(), .threads = threads});
  }
}

void TensorBench::run(std::vector<BenchPoint> points) {
  std::vector<BenchPoint> batch;
  const double budget = kMemoryShare * static_cast<double>(read_machine(".").memory_available);
  const double before = resident_bytes();
  for (BenchPoint& point : points) {
    if (interrupted()) throw RunError("interrupted");
    if (prepare(point)) batch.push_back(std::move(point));
    if (resident_bytes() - before > budget) time_batch(batch);
  }
  if (!batch.empty() || !roofline_told_) time_batch(batch);
}

// Warms up and validates; false when that failed.
bool TensorBench::prepare(BenchPoint& point) {
  point.name = fmt::format("{}/{}/simd:{}", short_spec(point.spec),
                           place_name(inputs_, point.threads), point.simd);
  progress_.describe("warming up " + short_spec(point.spec));
  return guarded(point, [&] {
    const Spec spec = point.spec;
    point.subject = std::make_unique<Subject>(
        SubjectOptions{.make =
                           [spec](const TensorInfo& tensor, const CompressorSettings& settings) {
                             return make_compressor(spec, tensor, settings);
                           },
                       .settings = {.seed = options_.seed, .rank = 0, .threads = point.threads},
                       .simd = point.simd,
                       .spreads = spreads(spec.name)},
        inputs_);
    point.subject->validate_start();
    point.quality = point.subject->warm_up(options_.warmup);
    point.subject->validate_last();
  });
}

// What a compressor does wrong fails its point alone.
template <class Work>
bool TensorBench::guarded(const BenchPoint& point, Work work) {
  try {
    work();
    return true;
  } catch (const std::bad_alloc&) {
    fail(point, "out of memory");
  } catch (const std::exception& error) {
    fail(point, error.what());
  }
  return false;
}

void TensorBench::fail(const BenchPoint& point, const std::string& reason) {
  const auto place = std::find(options_.threads.begin(), options_.threads.end(), point.threads);
  const auto offset = static_cast<std::size_t>(place - options_.threads.begin());
  result_.failures.push_back({.name = point.name,
                              .spec = point.spec,
                              .simd = point.simd,
                              .group = first_group_ + offset,
                              .reason = reason});
}

Timed TensorBench::timed_point(BenchPoint& point, bool encode) const {
  Subject& subject = *point.subject;
  const auto d = static_cast<double>(inputs_.elements());
  return {.name = (encode ? "encode/" : "decode/") + point.name,
          .elements = d,
          .bytes = d * sizeof(float),
          .prepare = [&subject] { subject.begin(); },
          .call = encode ? std::function<void()>([&subject] { subject.encode(); })
                         : std::function<void()>([&subject] { subject.decode(); }),
          .counters = quality_counters(point.quality)};
}

void TensorBench::time_batch(std::vector<BenchPoint>& batch) {
  std::vector<Timed> what = roofline_.timed();
  for (BenchPoint& point : batch) {
    what.push_back(timed_point(point, true));
    what.push_back(timed_point(point, false));
  }
  const auto progress = [&](const std::string& name) {
    progress_.describe(name);
    progress_.advance(1);
  };
  Measurement measured;
  if (options_.turns) {
    Turns turns(STDIN_FILENO);
    measured.timings = measure_in_turns(what, options_, turns, progress);
  } else {
    measured = measure(what, options_, progress);
  }
  if (interrupted()) throw RunError("interrupted");
  std::map<std::string, double> t_r;  // by name, for the rows that hold
  for (std::size_t i = 0; i < options_.threads.size(); ++i) {
    BenchGroup& group = result_.groups[first_group_ + i];
    const RooflineFigures figures = roofline_.figures(measured, group.threads);
    if (group.roofline.read.empty()) group.roofline = figures;
    for (const BenchPoint& point : batch) {
      if (point.threads == group.threads) add_row(point, figures.t_r, measured, group, t_r);
    }
  }
  add_json(measured, t_r);
  batch.clear();
}

void TensorBench::add_row(const BenchPoint& point, double t_r, const Measurement& measured,
                          BenchGroup& group, std::map<std::string, double>& accepted) {
  const Timing& encode = measured.timings.at("encode/" + point.name);
  const Timing& decode = measured.timings.at("decode/" + point.name);
  const bool good = guarded(point, [&] {
    for (const Timing* timing : {&encode, &decode}) {
      if (!timing->error.empty()) throw RunError(timing->error);
    }
    point.subject->validate_last();  // the state in which the timing ended
  });
  if (!good) return;
  const double scale = 1e9 / static_cast<double>(inputs_.elements());
  const auto scaled = [scale](std::vector<double> seconds) {
    for (double& second : seconds) second *= scale;
    return seconds;
  };
  group.rows.push_back({.name = point.name,
                        .spec = point.spec,
                        .compressor = short_spec(point.spec),
                        .simd = point.simd,
                        .encode = encode.median() * scale,
                        .decode = decode.median() * scale,
                        .encode_samples = scaled(encode.seconds),
                        .decode_samples = scaled(decode.seconds),
                        .encode_order = encode.order,
                        .decode_order = decode.order,
                        .t_r = t_r,
                        .allocations = encode.allocations,
                        .quality = point.quality});
  accepted["encode/" + point.name] = accepted["decode/" + point.name] = t_r;
}

// Rows of points that hold, and of the roofline of the first run.
void TensorBench::add_json(const Measurement& measured, const std::map<std::string, double>& t_r) {
  for (Run row : measured.rows) {
    const std::string& name = row.run_name.function_name;
    const bool is_point = name.starts_with("encode/") || name.starts_with("decode/");
    const auto found = t_r.find(name);
    if (is_point ? found == t_r.end() : roofline_told_) continue;
    const auto time = row.counters.find("ns_per_element");
    if (is_point && time != row.counters.end()) {
      row.counters["times_t_r"] = time->second.value / found->second;
    }
    rows_.push_back(std::move(row));
  }
  roofline_told_ = true;
}

}  // namespace thinpipe
