#include "reports/gate/history.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>

#include "base/error.h"
#include "base/input_file.h"
#include "base/statistics.h"
#include "reports/text/phrases.h"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

// Returns whether `next` is the rest of `launch`, as after `--resume` or `merge`: it has the same
// settings and machine, and no point in common that `launch` finished. A file with jobs has one
// launch for each job.
bool continues(const TypedLaunch& launch, const TypedLaunch& next) {
  return launch.header.kind == next.header.kind && launch.header.kind != kJobKind &&
         subject_differences(launch.header, next.header).empty() &&
         machine_differences(launch.header, next.header).empty() &&
         std::ranges::none_of(next.points, [&](const auto& entry) {
           const auto earlier = launch.points.find(entry.first);
           return earlier != launch.points.end() && earlier->second.status == Status::kOk;
         });
}

void add_points(TypedLaunch&& next, TypedLaunch& launch) {
  launch.header = std::move(next.header);
  for (auto& [id, point] : next.points) launch.points[id] = std::move(point);
}

std::vector<TypedLaunch> read_entries(const std::vector<fs::path>& folders,
                                      std::vector<std::string>& notes) {
  std::vector<TypedLaunch> entries;
  for (const fs::path& folder : folders)
    for (fs::path& file : history_files(folder)) {
      try {
        std::vector<TypedLaunch> launches = typed_launches(file);
        for (std::size_t i = 0; i < launches.size(); ++i) {
          if (i > 0 && continues(entries.back(), launches[i]))
            add_points(std::move(launches[i]), entries.back());
          else
            entries.push_back(std::move(launches[i]));
        }
      } catch (const InputError& error) {
        notes.push_back(std::string(error.what()) + " (file skipped)");
      }
    }
  std::ranges::stable_sort(
      entries, {}, [](const TypedLaunch& launch) -> auto& { return launch.header.created; });
  return entries;
}

std::vector<HistoryLaunch> launch_origins(const std::vector<TypedLaunch>& launches) {
  std::vector<HistoryLaunch> origins(launches.size());
  std::vector<std::size_t> subjects;  // launches with different subjects, newest first
  for (std::size_t i = launches.size(); i-- > 0;) {
    const Header& header = launches[i].header;
    const auto same = std::ranges::find_if(subjects, [&](std::size_t other) {
      return subject_differences(launches[other].header, header).empty();
    });
    const std::size_t subject = same == subjects.end() ? i : *same;
    if (subject == i) subjects.push_back(i);
    origins[i] = {header.created, header.fingerprint.text("git"), header.fingerprint.text("cpu"),
                  launches[i].file, subject};
  }
  return origins;
}

// Returns a sentence on launches with other subjects than the newest; "" without any.
std::string subjects_note(const std::vector<TypedLaunch>& launches,
                          const std::vector<HistoryLaunch>& origins) {
  const std::size_t newest = launches.size() - 1;
  const auto differs = [&](const HistoryLaunch& one) { return one.subject != newest; };
  const auto last = std::ranges::find_if(origins.rbegin(), origins.rend(), differs);
  if (last == origins.rend()) return "";
  return counted(static_cast<std::size_t>(std::ranges::count_if(origins, differs)), "launch",
                 "launches") +
         " not compared with the newest: " +
         subject_differences(launches[last->subject].header, launches[newest].header).front();
}

// Returns the median absolute deviation, scaled to the standard deviation of a normal distribution.
double robust_deviation(const std::vector<double>& values, double middle) {
  constexpr double kOfNormal = 1.4826;
  std::vector<double> distances;
  for (const double value : values) distances.push_back(std::abs(value - middle));
  return kOfNormal * median(distances);
}

Standing stand(const std::vector<double>& before, double newest) {
  Standing result;
  result.typical = median(before);
  const double difference = newest - result.typical;
  result.change = result.typical != 0 ? difference / std::abs(result.typical) : difference;
  const auto n = static_cast<double>(before.size());
  const double scatter = robust_deviation(before, result.typical) * std::sqrt(1 + 1 / n);
  result.scatter = scatter;
  result.z = difference == 0 ? 0
             : scatter > 0   ? std::abs(difference) / scatter
                             : std::numeric_limits<double>::infinity();
  return result;
}

// Returns +1 above, -1 below, 0 within the scatter or the margin.
int side(const Standing& standing, double margin) {
  return !is_outlying(standing, margin) ? 0 : standing.change > 0 ? 1 : -1;
}

bool is_worse(const std::string& better, double before, double after) {
  if (better == "higher") return after < before;
  if (better == "lower") return after > before;
  const double target = std::strtod(better.c_str() + better.find(':') + 1, nullptr);
  return std::abs(after - target) > std::abs(before - target);
}

// Sets the verdict and `change`, which is positive if the newest value is worse.
// @param change  a fraction of the value before, of either sign
void set_verdict(double change, bool is_same, MetricComparison& comparison) {
  const bool worse = is_worse(comparison.better, comparison.before, comparison.after);
  const double size = std::abs(change);
  comparison.change = worse || size == 0 ? size : -size;
  comparison.verdict = is_same ? Verdict::kSame : worse ? Verdict::kWorse : Verdict::kBetter;
}

MetricComparison judge_one(const SeriesName& name, const HistorySeries& series,
                           const GatePolicy& policy) {
  const GateMargins margins = policy.of(name.first, name.second, policy.stored(series.kind));
  const double margin = margins.margin;
  std::vector<double> values;
  for (const HistoryEntry& entry : series.entries) values.push_back(entry.value);
  MetricComparison comparison{.name = name,
                              .unit = series.unit,
                              .better = series.better,
                              .kind = series.kind,
                              .after = values.back(),
                              .samples = values.size() - 1};
  if (series.kind == "exact") {
    comparison.before = values[values.size() - 2];
    const double difference = comparison.after - comparison.before;
    set_verdict(comparison.before != 0 ? difference / std::abs(comparison.before) : difference,
                difference == 0, comparison);
    return comparison;
  }
  comparison.margin = margin;
  const std::optional<Standing> found = standing(values, margin);
  if (!found) {
    comparison.before = comparison.after;
    comparison.note =
        "fewer than " + std::to_string(kMinBefore) + " launches before it since the last step";
    if (series.kind == "quality") judge_bounds(margins, comparison);
    return comparison;
  }
  comparison.before = found->typical;
  comparison.samples = values.size() - 1 - found->since;
  set_verdict(found->change, !is_outlying(*found, margin), comparison);
  if (series.kind == "quality") judge_bounds(margins, comparison);
  return comparison;
}

}  // namespace

std::vector<fs::path> history_files(const fs::path& folder_or_file) {
  constexpr std::size_t kMaxBelow = 100'000;
  std::error_code failure;
  if (fs::is_regular_file(folder_or_file, failure)) return {folder_or_file};
  std::vector<fs::path> files =
      input_files_below(folder_or_file, "a folder of record files", kMaxBelow);
  std::erase_if(files, [](const fs::path& file) { return file.extension() != ".jsonl"; });
  std::sort(files.begin(), files.end());
  return files;
}

History read_history(const fs::path& folder) { return read_history(std::vector<fs::path>{folder}); }

History read_history(const std::vector<fs::path>& folders) {
  History history;
  std::vector<TypedLaunch> entries = read_entries(folders, history.notes);
  if (entries.empty())
    throw InputError(folders.front().string() + ": no launch in its *.jsonl files" +
                     (history.notes.empty() ? "" : "; " + history.notes.front()));
  history.kind = entries.back().header.kind;
  const std::size_t of_other_kinds = std::erase_if(
      entries, [&](const TypedLaunch& one) { return one.header.kind != history.kind; });
  history.launches = entries.size();
  history.origins = launch_origins(entries);
  const Header& newest = entries.back().header;
  std::size_t of_other_machines = 0;
  PointNames names;
  // Newest first: a series has the subject, and a point the id, of its newest launch.
  for (std::size_t launch = history.launches; launch-- > 0;) {
    const TypedLaunch& entry = entries[launch];
    const bool same_machine = machine_differences(newest, entry.header).empty();
    if (!same_machine) ++of_other_machines;
    for (const auto& [unused, point] : entry.points) {
      const std::string& id = names.of(point.id, point.normal_id);
      if (point.status != Status::kOk) {
        if (&entry == &entries.back()) history.not_good[id] = status_name(point.status);
        continue;
      }
      for (const auto& [name, metric] : point.metrics) {
        const std::vector<double> samples = metric.finite_samples();
        if (samples.empty()) continue;
        if (metric.kind == "timed" && metric.unit != "1" && !same_machine) continue;
        HistorySeries& series = history.series[{id, name}];
        if (!series.entries.empty() && history.origins[series.entries.front().launch].subject !=
                                           history.origins[launch].subject)
          continue;
        if (series.entries.empty()) {
          series.unit = metric.unit;
          series.better = metric.better;
          series.kind = metric.kind;
        }
        series.entries.push_back({launch, entry.header.created, entry.file,
                                  metric.kind == "timed" ? median(samples) : mean(samples)});
      }
    }
  }
  for (auto& [name, series] : history.series) std::ranges::reverse(series.entries);
  if (of_other_kinds > 0)
    history.notes.push_back(counted(of_other_kinds, "launch", "launches") + " skipped: not of '" +
                            newest.kind + "' as the newest launch");
  if (of_other_machines > 0)
    history.notes.push_back(counted(of_other_machines, "launch", "launches") +
                            " of another machine than the newest: times in seconds skipped");
  if (std::string note = subjects_note(entries, history.origins); !note.empty())
    history.notes.push_back(std::move(note));
  return history;
}

double quiet_reach(const Standing& standing, double margin) {
  const double unit = standing.typical != 0 ? std::abs(standing.typical) : 1;
  return std::max(margin * unit, kOutlyingZ * standing.scatter);
}

bool is_outlying(const Standing& standing, double margin) {
  return standing.z > kOutlyingZ && std::abs(standing.change) >= margin;
}

Trend trend(const std::vector<double>& values, double margin) {
  Trend result;
  std::size_t since = 0;
  std::size_t run = 0;  // outlying values in a row that end here
  int run_side = 0;
  std::vector<double> before;  // since the last step, without outlying ones
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::optional<Standing>& now = result.standings.emplace_back();
    int where = 0;
    if (before.size() >= kMinBefore) {
      now = stand(before, values[i]);
      now->since = since;
      where = side(*now, margin);
    }
    if (where == 0) {
      before.push_back(values[i]);
      run = 0;
      continue;
    }
    run = where == run_side ? run + 1 : 1;
    run_side = where;
    if (run < kStepLength) continue;
    since = i + 1 - kStepLength;
    result.steps.push_back(since);
    before.assign(values.begin() + static_cast<std::ptrdiff_t>(since),
                  values.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    run = 0;
  }
  return result;
}

std::optional<Standing> standing(const std::vector<double>& values, double margin) {
  return values.empty() ? std::nullopt : trend(values, margin).standings.back();
}

GateOutcome judge_history(const History& history, const GatePolicy& policy) {
  GateOutcome outcome;
  outcome.launches = history.launches;
  std::size_t before = history.launches - 1;  // becomes the newest's predecessor; else stays
  for (std::size_t i = 0; i + 1 < history.launches; ++i)
    if (history.origins[i].subject == history.origins.back().subject) before = i;
  for (const auto& [id, status] : history.not_good) outcome.failed.push_back(id + ": " + status);
  for (const auto& [name, series] : history.series) {
    if (policy.of(name.first, name.second, policy.margin).ignore) continue;
    const HistoryEntry& last = series.entries.back();
    if (last.launch + 1 != history.launches) {
      if (last.launch == before && !history.not_good.contains(name.first))
        outcome.missing.push_back("not in the newest launch: " + series_title(name));
      continue;
    }
    if (series.entries.size() < 2) continue;  // new: nothing to compare it with
    outcome.comparisons.push_back(judge_one(name, series, policy));
  }
  sort_worst_first(outcome.comparisons);
  return outcome;
}

std::string sparkline(const std::vector<double>& values, std::size_t width) {
  static constexpr const char* kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::size_t kLevels = std::size(kBars);
  const std::size_t first = values.size() > width ? values.size() - width : 0;
  std::vector<double> shown(values.begin() + static_cast<std::ptrdiff_t>(first), values.end());
  if (shown.empty()) return "";
  const auto [low, high] = std::minmax_element(shown.begin(), shown.end());
  std::string text;
  for (const double value : shown) {
    const double place = *high > *low ? (value - *low) / (*high - *low) : 0;
    text += kBars[std::min(kLevels - 1, static_cast<std::size_t>(place * kLevels))];
  }
  return text;
}

}  // namespace thinpipe
