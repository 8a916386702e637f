// From the records of a bench to comparable lines and to findings.
#include "reports/bench/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/error.h"
#include "base/text.h"
#include "reports/text/phrases.h"

namespace thinpipe {
namespace {

std::optional<Estimate> median_in(const Point& point, const MetricType& metric) {
  const std::vector<double> samples = point.samples(metric);
  if (samples.empty()) return std::nullopt;
  const Repeats repeats = {samples};
  return median_of(repeats, bootstrap_median(repeats, 0));
}

std::optional<double> single(const Point& point, const MetricType& metric) {
  const std::vector<double> samples = point.samples(metric);
  return samples.empty() ? std::nullopt : std::optional(samples.front());
}

BenchSubject subject_of(const Point& point) { return point.bench.value_or(BenchSubject()); }

std::string memory_of(const Point& point) {
  for (const std::string& pair : spec_parameters(point.axes.compressor))
    if (pair.starts_with("memory=")) return pair;
  return "";
}

std::string title_of(const BenchSubject& subject) {
  const std::string where = subject.device == "cuda"
                                ? "on a GPU"
                                : counted(static_cast<std::size_t>(subject.threads), "thread");
  return fmt::format("{}, {:.0f} elements, {}{}{}", subject.tensor, subject.elements, where,
                     subject.simd.empty() ? "" : ", " + subject.simd,
                     subject.residency == "cache" ? ", inputs in the cache" : "");
}

BenchLine line_of(const Point& point) {
  BenchLine line;
  line.point = &point;
  line.ratio = subject_of(point).ratio;
  line.is_trusted = point.status == Status::kOk;
  if (!line.is_trusted) return line;
  line.encode = median_in(point, "encode_time"_metric);
  line.decode = median_in(point, "decode_time"_metric);
  line.encode_over = median_in(point, "encode_over_read"_metric);
  line.decode_over = median_in(point, "decode_over_read"_metric);
  if (const auto floor = single(point, "encode_floor"_metric); floor && line.encode)
    line.floor_share = *floor / line.encode->value;
  line.bits = single(point, "bits_per_element"_metric);
  line.error = single(point, "relative_error"_metric);
  line.quality = single(point, "quality"_metric);
  line.passes = single(point, "passes"_metric);
  return line;
}

// Returns the Top-k at the ratio, preferably with the same memory: a memory may cost a pass.
const Point* top_k_for(const BenchSetting& setting, const BenchLine& line) {
  const Point* found = nullptr;
  for (const BenchLine& other : setting.lines) {
    if (other.point->axes.method != "topk" || !other.is_trusted || other.ratio != line.ratio)
      continue;
    if (found == nullptr || memory_of(*other.point) == memory_of(*line.point)) found = other.point;
  }
  return found;
}

void set_speedups(BenchSetting& setting) {
  for (BenchLine& line : setting.lines) {
    if (!line.is_trusted || !line.ratio) continue;
    const Point* reference = top_k_for(setting, line);
    if (reference == nullptr) continue;
    const std::vector<double> own = line.point->samples("encode_time"_metric);
    const std::vector<double> others = reference->samples("encode_time"_metric);
    if (own.empty() || others.empty()) continue;
    // Repetitions of all compressors run in random order, so both samples are independent.
    line.speedup = ratio_of_medians(bootstrap_median({others}, 1), bootstrap_median({own}, 2));
    if (reference == line.point) line.speedup = Estimate{1, std::nullopt};
  }
}

auto setting_of(const BenchSubject& of) {
  return std::tie(of.tensor, of.elements, of.threads, of.simd, of.residency, of.device);
}

void name_lines(BenchSummary& summary) {
  std::vector<std::string> specs;
  for (const BenchSetting& setting : summary.settings)
    for (const BenchLine& line : setting.lines) add_once(specs, line.point->axes.compressor);
  const std::vector<std::string> labels = short_labels(specs);
  for (BenchSetting& setting : summary.settings)
    for (BenchLine& line : setting.lines) {
      const std::string& spec = line.point->axes.compressor;
      line.label = labels[add_once(specs, spec)];
      line.style = add_once(summary.families, split_amount(spec).family) + 1;
    }
}

constexpr double kDenseBits = 32;  // of an uncompressed element

// Returns the setting that the findings are about: the last input with the fewest threads, and of
// several instruction sets the one that was measured first (`--simd all` begins with the best).
const BenchSetting& main_setting(const BenchSummary& summary) {
  const auto input_of = [](const BenchSubject& of) {
    return std::tie(of.tensor, of.elements, of.residency, of.device);
  };
  const auto last = input_of(summary.settings.back().subject);
  const BenchSetting* chosen = nullptr;
  for (const BenchSetting& setting : summary.settings)
    if (input_of(setting.subject) == last &&
        (chosen == nullptr || setting.subject.threads < chosen->subject.threads))
      chosen = &setting;
  return *chosen;
}

// "4× (95 % CI 3.9 to 4.1)", with `what` after the sign.
std::string times_with_interval(const Estimate& estimate, const std::string& what = "") {
  std::string text = format_number(estimate.value) + "\xc3\x97" + what;
  if (estimate.interval) text += " (95 % CI " + format_interval(estimate, format_number) + ")";
  return text;
}

// Returns a sentence with the size and the error that a compressor has in return for its speed: "
// It sends 0.64 bits per element with a relative error of 90 %."
std::string price_of(const BenchLine& line) {
  const std::string error = line.error ? format_percent(*line.error) : "";
  if (!line.bits) return error.empty() ? "" : " Its relative error is " + error + ".";
  return " It sends " + format_number(*line.bits) + " bits per element" +
         (error.empty() ? "" : " with a relative error of " + error) + ".";
}

std::string fastest_sentence(const BenchSetting& setting) {
  const BenchLine* fastest = nullptr;
  for (const BenchLine& line : setting.lines)
    if (line.encode && line.bits && *line.bits < kDenseBits &&
        (fastest == nullptr || line.encode->value < fastest->encode->value))
      fastest = &line;
  if (fastest == nullptr) return "";
  std::string text = fastest->label + " encodes fastest among the compressors (" + setting.title +
                     "): " + format_time(fastest->encode->value);
  if (fastest->encode_over)
    text += ", " + times_with_interval(*fastest->encode_over, " the time to read the input");
  return text + "." + price_of(*fastest);
}

std::string top_k_sentence(const BenchSetting& setting) {
  const BenchLine* best = nullptr;
  for (const BenchLine& line : setting.lines)
    if (line.speedup && line.point->axes.method != "topk" &&
        (best == nullptr || line.speedup->value > best->speedup->value))
      best = &line;
  if (best == nullptr) return "";
  const bool holds_one = best->speedup->interval && best->speedup->interval->holds(1);
  return best->label + " has the highest speed-up over Top-k at the same ratio: " +
         times_with_interval(*best->speedup) +
         (holds_one ? ", statistically indistinguishable from 1" : "") + "." + price_of(*best);
}

std::string warning_sentence(const BenchSummary& summary) {
  int all = 0, bad = 0, on_gpu = 0;
  for (const BenchSetting& setting : summary.settings)
    for (const BenchLine& line : setting.lines) {
      ++all;
      on_gpu += setting.subject.device == "cuda" ? 1 : 0;
      bad += line.is_trusted ? 0 : 1;
    }
  if (bad == 0) {
    const std::string passed =
        all == 1 ? "The line passed" : "All " + std::to_string(all) + " lines passed";
    if (on_gpu == all)
      return passed + " validation: payloads are those of the CPU implementation, byte for byte.";
    return passed + " validation: decoded values are the same bits as with the " +
           (on_gpu > 0 ? "CPU implementation" : "plainest instruction set") + ".";
  }
  return std::to_string(bad) + " of " + std::to_string(all) + " lines failed validation and " +
         (bad == 1 ? "has" : "have") + " no times. The table states the reason.";
}

}  // namespace

BenchSummary summarize_bench(const Records& records) {
  if (records.points.empty())
    throw InputError(records.file.string() +
                     ": no finished point yet, so there is nothing to report");
  BenchSummary summary;
  for (const Point& point : records.points) {
    const BenchSubject subject = subject_of(point);
    auto setting = std::find_if(summary.settings.begin(), summary.settings.end(), [&](auto& one) {
      return setting_of(one.subject) == setting_of(subject);
    });
    if (setting == summary.settings.end())
      setting = summary.settings.insert(setting, {subject, title_of(subject), 0, {}});
    setting->lines.push_back(line_of(point));
    const auto read = single(point, "read_time"_metric);
    if (read && (setting->read_seconds == 0 || *read < setting->read_seconds))
      setting->read_seconds = *read;
  }
  std::ranges::stable_sort(summary.settings, {}, [](const BenchSetting& one) {
    return std::tuple(one.subject.elements, one.subject.threads);
  });
  for (BenchSetting& setting : summary.settings) set_speedups(setting);
  name_lines(summary);
  return summary;
}

std::vector<std::string> bench_findings(const BenchSummary& summary) {
  const BenchSetting& setting = main_setting(summary);
  std::vector<std::string> sentences = {fastest_sentence(setting), top_k_sentence(setting),
                                        warning_sentence(summary)};
  std::erase(sentences, "");
  return sentences;
}

}  // namespace thinpipe
