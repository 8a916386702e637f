// Groups of trainings that differ only in the seed, and their table for a terminal.
#include "reports/training/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/plain_table.h"
#include "base/text.h"
#include "reports/statistics/statistics.h"
#include "reports/text/phrases.h"

namespace thinpipe {
namespace {

std::string bucketing_and_device(const Axes& axes) {
  if (axes.device == "cpu") return axes.bucketing;
  return axes.bucketing + (axes.bucketing.empty() ? "" : ";") + "device=" + axes.device;
}

// Returns what trainings of one link, network and number of workers have in common.
auto network_of(const Axes& axes) {
  return std::tie(axes.link, axes.topology, axes.stragglers, axes.ranks, axes.time_scale);
}

// Sets short labels: "topk ratio=0.01", "topk ratio=0.01, local_steps=8".
void label(std::vector<TrainedGroup>& groups) {
  std::vector<std::string> compressors;
  for (const TrainedGroup& group : groups) add_once(compressors, group.axes.compressor);
  const std::vector<std::string> names = short_labels(compressors);
  for (std::size_t i = 0; i < compressors.size(); ++i) {
    std::vector<Way> ways;
    const auto place = [&](const TrainedGroup& group) {
      return std::find_if(ways.begin(), ways.end(), [&](const Way& way) {
        return way.collective == group.axes.collective &&
               way.bucketing == bucketing_and_device(group.axes);
      });
    };
    for (const TrainedGroup& group : groups)
      if (group.axes.compressor == compressors[i] && place(group) == ways.end())
        ways.push_back({group.axes.collective, bucketing_and_device(group.axes)});
    const std::vector<std::string> labels = way_labels(ways);
    for (TrainedGroup& group : groups) {
      if (group.axes.compressor != compressors[i]) continue;
      const std::string& way = labels[static_cast<std::size_t>(place(group) - ways.begin())];
      group.label = names[i] + (way.empty() ? "" : ", " + way);
    }
  }
}

constexpr std::size_t kLink = 22;  // columns of a long link spec; records have all of it

std::string cut(const std::string& text, std::size_t columns) {
  return text.size() <= columns ? text : text.substr(0, columns - 2) + "..";
}

// "96.2 +-0.4": accuracy in percent, perplexity unchanged.
std::string quality_cell(const TrainingSummary& summary, const TrainedGroup& group) {
  const auto found = group.mean(summary.final_metric());
  if (!found) return "-";
  const double factor = summary.figure == "accuracy" ? 100 : 1;
  std::string text = summary.figure == "accuracy" ? fmt::format("{:.2f}", factor * found->value)
                                                  : format_number(found->value);
  if (found->interval)
    text += fmt::format(" +-{:.2g}", factor * (found->interval->high - found->value));
  return text;
}

// Returns the mean over seeds, or how many seeds reached the target where some did not or diverged.
std::string seconds_cell(const TrainedGroup& group, const MetricType& metric) {
  const std::size_t count = group.count(metric);
  if (count == 0) return group.used.empty() ? "-" : "never";
  if (!group.is_complete(metric)) return fmt::format("{} of {}", count, group.seeds());
  return format_time(group.mean(metric)->value);
}

std::string status_mark(const TrainedGroup& group) {
  if (group.trusted()) return "";
  return group.invalid > 0 ? "?" : "!";
}

std::string gain_cell(const TrainingSummary& summary, const TrainedGroup& group, Baseline kind) {
  const auto gain = summary.gain(group, kind);
  return gain ? format_number(*gain) : "-";
}

std::string name_of(const TrainingSummary& summary, const TrainedGroup& group) {
  const bool one_size = std::ranges::all_of(
      summary.groups, [&](const TrainedGroup& one) { return one.axes.ranks == group.axes.ranks; });
  return one_size ? group.label : fmt::format("{} x {}", group.axes.ranks, group.label);
}

std::string link_of(const TrainedGroup& group) {
  const Axes& axes = group.axes;
  return axes.link.find(',') == std::string::npos ? format_rate(axes.rate) : axes.link;
}

// Returns the fastest training comparable with `like`; null where none reached the target with all
// seeds.
const TrainedGroup* fastest(const TrainingSummary& summary, const TrainedGroup& like) {
  const TrainedGroup* best = nullptr;
  for (const TrainedGroup& one : summary.groups) {
    const MetricType& metric = summary.time_metric();
    if (!one.comparable(like) || !one.trusted() || !one.is_complete(metric)) continue;
    if (best == nullptr || one.mean(metric)->value < best->mean(metric)->value) best = &one;
  }
  return best;
}

std::string quality_words(const TrainingSummary& summary, const TrainedGroup& group) {
  return quality_cell(summary, group) + (summary.figure == "accuracy" ? " %" : "");
}

std::string speed_sentence(const TrainingSummary& summary, const TrainedGroup& best) {
  const MetricType& metric = summary.time_metric();
  const std::string time = format_time(best.mean(metric)->value);
  std::string text = name_of(summary, best);
  text +=
      summary.target.empty()
          ? fmt::format(" took the least time on {}, {}", link_of(best), time)
          : fmt::format(" reached {} first on {}, after {}", summary.target, link_of(best), time);
  std::vector<std::string> gains;
  for (const auto& [kind, name] :
       {std::pair(Baseline::kBf16, "bf16"), std::pair(Baseline::kFp32, "fp32")})
    if (const auto gain = summary.gain(best, kind); gain && summary.baseline(best, kind) != &best)
      gains.push_back(format_number(*gain) + "\xc3\x97 over " + name);
  return text + (gains.empty() ? "" : ": a speed-up of " + joined(gains, " and ")) + ".";
}

// Returns the final quality, beside that of a baseline.
std::string quality_sentence(const TrainingSummary& summary, const TrainedGroup& best) {
  const TrainedGroup* baseline = summary.baseline(best, Baseline::kFp32);
  if (baseline == nullptr) baseline = summary.baseline(best);
  if (baseline == nullptr || baseline == &best)
    return fmt::format("Its {} on held-out data is {}.", summary.figure,
                       quality_words(summary, best));
  const auto own = best.mean(summary.final_metric());
  const auto dense = baseline->mean(summary.final_metric());
  std::string text = fmt::format(
      "Its {} on held-out data is {}, that of {} {}", summary.figure, quality_words(summary, best),
      baseline->baseline == Baseline::kFp32 ? "fp32" : "bf16", quality_words(summary, *baseline));
  if (own && dense && own->interval && dense->interval)
    text += own->interval->overlaps(*dense->interval) ? "; the 95 % CIs overlap."
                                                      : "; the 95 % CIs do not overlap.";
  else
    text += "; three seeds or more give 95 % CIs (`--seeds`).";
  return text;
}

// Returns which trainings diverged; "" for none. Means over the other seeds flatter a compressor.
std::string diverged_sentence(const TrainingSummary& summary) {
  std::vector<std::string> names;
  for (const TrainedGroup& group : summary.groups)
    if (group.diverged > 0)
      names.push_back(fmt::format("{} on {} ({} of {})", name_of(summary, group), link_of(group),
                                  group.diverged, counted(group.seeds(), "seed")));
  if (names.empty()) return "";
  return "Diverged, and therefore left out of means: " + listed(names) + ".";
}

std::string trouble_sentence(const TrainingSummary& summary) {
  int invalid = 0, failed = 0, all = 0;
  for (const TrainedGroup& group : summary.groups) {
    invalid += group.invalid;
    failed += group.failed;
    all += group.ok + group.invalid + group.failed;
  }
  if (invalid + failed == 0) return "";
  return fmt::format(
      "Of {} trainings, {} failed and {} are invalid, so no conclusion rests on them; their "
      "records have the reasons.",
      all, failed, invalid);
}

}  // namespace

bool TrainedGroup::holds(const Point& point) const {
  const auto method_of = [](const Axes& of) {
    return std::tie(of.compressor, of.collective, of.bucketing, of.device);
  };
  return method_of(axes) == method_of(point.axes) && network_of(axes) == network_of(point.axes);
}

std::optional<Estimate> TrainedGroup::mean(const MetricType& metric) const {
  std::vector<double> values;
  for (const Point* point : used)
    for (const double value : point->samples(metric)) values.push_back(value);
  if (values.empty()) return std::nullopt;
  return mean_of_samples(values);
}

std::size_t TrainedGroup::count(const MetricType& metric) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(used, [&](const Point* one) { return !one->samples(metric).empty(); }));
}

bool TrainedGroup::comparable(const TrainedGroup& other) const {
  return network_of(axes) == network_of(other.axes);
}

const TrainedGroup* TrainingSummary::baseline(const TrainedGroup& group,
                                              std::optional<Baseline> kind) const {
  const TrainedGroup* found = nullptr;
  for (const TrainedGroup& one : groups) {
    if (!one.baseline || (kind && one.baseline != kind)) continue;
    if (!one.trusted() || !one.comparable(group)) continue;
    const auto time = one.mean(time_metric());
    if (time && (found == nullptr || time->value < found->mean(time_metric())->value)) found = &one;
  }
  return found;
}

bool TrainingSummary::has_baseline(Baseline kind) const {
  return std::ranges::count(groups, std::optional(kind), &TrainedGroup::baseline) > 0;
}

std::optional<double> TrainingSummary::gain(const TrainedGroup& group, Baseline kind) const {
  const TrainedGroup* dense = baseline(group, kind);
  const auto time = group.mean(time_metric());
  // The time to a target counts only where every seed reached it.
  if (dense == nullptr || !time || !group.trusted() || !group.is_complete(time_metric()) ||
      !dense->is_complete(time_metric()) || time->value <= 0)
    return std::nullopt;
  return dense->mean(time_metric())->value / time->value;
}

TrainingSummary summarize_training(const Records& records) {
  if (records.kind() != kTrainKind)
    throw InputError(records.file.string() +
                     ": expected the records of a training, found records of '" + records.kind() +
                     "'");
  TrainingSummary summary;
  for (const Header& header : records.headers) {
    const std::string figure = header.training.text("figure");
    summary.figure = figure.empty() ? "accuracy" : figure;
    summary.target = header.training.text("target");
  }
  for (const Point& point : records.points) {
    auto group = std::find_if(summary.groups.begin(), summary.groups.end(),
                              [&](const TrainedGroup& one) { return one.holds(point); });
    if (group == summary.groups.end())
      group = summary.groups.insert(
          group, TrainedGroup{.axes = point.axes, .baseline = point.axes.baseline()});
    ++(point.status == Status::kOk        ? group->ok
       : point.status == Status::kInvalid ? group->invalid
                                          : group->failed);
    group->diverged += point.diverged ? 1 : 0;
  }
  for (TrainedGroup& group : summary.groups)
    for (const Point& point : records.points)
      if (group.holds(point) && point.status == (group.trusted() ? Status::kOk : Status::kInvalid))
        group.used.push_back(&point);
  label(summary.groups);
  std::ranges::stable_sort(summary.groups, {}, [](const TrainedGroup& one) {
    return std::tuple(one.axes.ranks, one.axes.rate, one.axes.link, !one.baseline, one.baseline,
                      one.axes.compressor);
  });
  return summary;
}

std::string training_table(const TrainingSummary& summary) {
  std::vector<std::string> heads = {"compressor", "link",
                                    summary.figure == "accuracy" ? "accuracy %" : "ppl", "time"};
  if (!summary.target.empty()) heads.push_back(summary.target);
  heads.emplace_back("bytes");
  const bool has_bf16 = summary.has_baseline(Baseline::kBf16);
  if (has_bf16) heads.emplace_back("vs bf16");
  heads.emplace_back("vs fp32");
  PlainTable table(heads, 2);
  for (const TrainedGroup& group : summary.groups) {
    const auto bytes = group.mean("train_bytes"_metric);
    std::vector<std::string> cells = {status_mark(group) + name_of(summary, group),
                                      cut(link_of(group), kLink), quality_cell(summary, group),
                                      seconds_cell(group, "train_seconds"_metric)};
    if (!summary.target.empty()) cells.push_back(seconds_cell(group, "target_seconds"_metric));
    cells.push_back(bytes ? format_bytes(bytes->value) : "-");
    if (has_bf16) cells.push_back(gain_cell(summary, group, Baseline::kBf16));
    cells.push_back(gain_cell(summary, group, Baseline::kFp32));
    table.add(std::move(cells));
  }
  return table.text();
}

std::vector<std::string> training_findings(const TrainingSummary& summary) {
  std::vector<std::string> sentences;
  // Describes the slowest link, where compression matters most.
  const TrainedGroup* best =
      summary.groups.empty() ? nullptr : fastest(summary, summary.groups.front());
  if (best != nullptr) {
    sentences.push_back(speed_sentence(summary, *best) + " " + quality_sentence(summary, *best));
  } else if (!summary.groups.empty() && !summary.target.empty()) {
    const bool some = std::ranges::any_of(summary.groups, [&](const TrainedGroup& group) {
      return group.trusted() && group.count(summary.time_metric()) > 0;
    });
    sentences.push_back(some ? "No compressor reached " + summary.target + " with all seeds on " +
                                   link_of(summary.groups.front()) + "."
                             : "No trusted training reached " + summary.target + ".");
  }
  for (std::string sentence : {diverged_sentence(summary), trouble_sentence(summary)})
    if (!sentence.empty()) sentences.push_back(std::move(sentence));
  return sentences;
}

std::string training_text(const Records& records) {
  const TrainingSummary summary = summarize_training(records);
  std::string text = training_table(summary);
  for (const std::string& sentence : training_findings(summary)) text += folded(sentence, 0, " ");
  return text;
}

}  // namespace thinpipe
