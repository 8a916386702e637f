// What a bench says, in sentences that can be repeated.
#include <algorithm>

#include "base/units.h"
#include "reports/bench/bench.h"
#include "reports/text/units.h"

namespace thinpipe {
namespace {

constexpr double kDenseBits = 32;  // of an element as it came

// The largest input on one thread, or the first of the largest.
const BenchSetting& spoken_of(const BenchSummary& summary) {
  const BenchSetting* chosen = &summary.settings.back();
  for (const BenchSetting& setting : summary.settings)
    if (setting.subject.elements == summary.settings.back().subject.elements &&
        setting.subject.threads < chosen->subject.threads)
      chosen = &setting;
  return *chosen;
}

std::string with_interval(const Estimate& estimate) {
  std::string text = format_number(estimate.value);
  if (estimate.interval) text += " (" + format_interval(estimate, format_number) + ")";
  return text;
}

// The price of speed: ", at 0.64 bits an element, its decoded input off by 90 %".
std::string price_of(const BenchLine& line) {
  std::string text;
  if (line.bits) text += ", at " + format_number(*line.bits) + " bits an element";
  if (line.error) text += ", its decoded input off by " + format_percent(*line.error);
  return text;
}

std::string fastest_sentence(const BenchSetting& setting) {
  const BenchLine* fastest = nullptr;
  for (const BenchLine& line : setting.lines)
    if (line.encode && line.bits && *line.bits < kDenseBits &&
        (fastest == nullptr || line.encode->value < fastest->encode->value))
      fastest = &line;
  if (fastest == nullptr) return "";
  std::string text = "Of those that compress, " + fastest->label + " encodes fastest (" +
                     setting.title + "): " + format_time(fastest->encode->value);
  if (fastest->encode_over)
    text += ", " + with_interval(*fastest->encode_over) + " times the reading of the input";
  return text + price_of(*fastest) + ".";
}

std::string top_k_sentence(const BenchSetting& setting) {
  const BenchLine* best = nullptr;
  for (const BenchLine& line : setting.lines)
    if (line.speedup && line.point->axes.method != "topk" &&
        (best == nullptr || line.speedup->value > best->speedup->value))
      best = &line;
  if (best == nullptr) return "";
  const bool is_told = best->speedup->interval && best->speedup->interval->holds(1);
  return "Against Top-k at the same ratio " + best->label +
         " does best: " + with_interval(*best->speedup) + " times as fast" +
         (is_told ? ", which is not told apart from 1" : "") + price_of(*best) + ".";
}

std::string doubt_sentence(const BenchSummary& summary) {
  int all = 0, bad = 0, on_gpu = 0;
  for (const BenchSetting& setting : summary.settings) {
    for (const BenchLine& line : setting.lines) {
      ++all;
      on_gpu += setting.subject.device == "cuda" ? 1 : 0;
      bad += line.is_trusted ? 0 : 1;
    }
  }
  if (bad == 0) {
    const auto lines = [](int count, const std::string& one, const std::string& many) {
      return count == 1 ? "it " + one : "all " + std::to_string(count) + " lines " + many;
    };
    if (on_gpu == all)
      return "Nothing to doubt: " + lines(all, "sends", "send") +
             " what the processor's compressor does, byte for byte.";
    return "Nothing to doubt: " + lines(all, "decodes", "decode") + " to the same bits by the " +
           (on_gpu > 0 ? "processor" : "plainest instruction set") + ".";
  }
  return std::to_string(bad) + " of " + std::to_string(all) +
         " lines did not validate and have no times; they are grey in the table, with the reason.";
}

}  // namespace

std::vector<std::string> bench_findings(const BenchSummary& summary) {
  std::vector<std::string> sentences;
  const BenchSetting& setting = spoken_of(summary);
  for (const std::string& sentence :
       {fastest_sentence(setting), top_k_sentence(setting), doubt_sentence(summary)})
    if (!sentence.empty()) sentences.push_back(sentence);
  return sentences;
}

}  // namespace thinpipe
