// The kinds of schedules that are read from files.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/input_file.h"
#include "base/text.h"
#include "netem/link/link_spec.h"
#include "netem/schedule/part.h"

namespace thinpipe {
namespace {

// A mahimahi trace of an hour at 100 Mbit/s has 30 million lines of 8 bytes.
constexpr std::uint64_t kLargestFile = 256'000'000;

// A column by its name in the header.
struct Column {
  const char* name;
  const char* field;
  const char* suffix;  // the unit to append to the cells; "": cells have their own unit
};
constexpr Column kTableColumns[] = {
    {"time", "time", ""},          {"time_s", "time", "s"},       {"time_ms", "time", "ms"},
    {"rate", "rate", ""},          {"rate_bit", "rate", "bit"},   {"rate_kbit", "rate", "kbit"},
    {"rate_mbit", "rate", "mbit"}, {"rate_gbit", "rate", "gbit"}, {"delay", "delay", ""},
    {"delay_s", "delay", "s"},     {"delay_ms", "delay", "ms"},   {"delay_us", "delay", "us"},
    {"loss", "loss", ""},          {"loss_percent", "loss", "%"},
};

class Table {
 public:
  Table(std::string_view text, std::string name) : name_(std::move(name)) {
    for (const std::string& raw : split(text, '\n')) {
      ++line_;
      const std::string line(trimmed(raw));
      if (line.empty() || line[0] == '#') continue;
      std::vector<std::string> cells = split(line, ',');
      for (std::string& cell : cells) cell = std::string(trimmed(cell));
      if (columns_.empty())
        read_header(cells);
      else
        read_row(cells);
    }
    if (columns_.empty())
      throw InputError(name_ + ": no header; expected a header such as time_s,rate_mbit");
    if (times_.empty()) throw InputError(name_ + ": no row after the header");
  }

  double end() const { return times_.back(); }

  std::vector<SchedulePart> parts(bool linear, double period) const {
    std::vector<SchedulePart> parts;
    for (const Quantity quantity : {Quantity::kRate, Quantity::kDelay, Quantity::kLoss}) {
      const std::vector<Level>& levels = levels_[static_cast<std::size_t>(quantity)];
      if (levels.empty()) continue;
      LevelPoints points;
      for (std::size_t i = 0; i < times_.size(); ++i) points.emplace_back(times_[i], levels[i]);
      parts.push_back(
          {quantity, "", [=](double own) { return level_curve(points, linear, period, own); }});
    }
    return parts;
  }

 private:
  [[noreturn]] void fail(const std::string& field, const std::string& what) const {
    throw InputError(fmt::format("{}:{}: field {}: {}", name_, line_, field, what));
  }

  void read_header(const std::vector<std::string>& cells) {
    std::vector<std::string> known;
    for (const Column& column : kTableColumns) known.emplace_back(column.name);
    std::set<std::string> fields;
    for (const std::string& cell : cells) {
      const auto* column = std::find_if(std::begin(kTableColumns), std::end(kTableColumns),
                                        [&](const Column& one) { return cell == one.name; });
      if (column == std::end(kTableColumns))
        fail(in_quotes(cell), fmt::format("no such column; expected {}{}", fmt::join(known, ", "),
                                          did_you_mean(cell, known)));
      if (!fields.insert(column->field).second) fail(column->field, "occurs twice in the header");
      columns_.push_back(column);
    }
    if (!fields.contains("time")) fail("time", "missing from the header");
    if (fields.size() == 1) fail("rate", "missing from the header; expected rate, delay or loss");
  }

  void read_row(const std::vector<std::string>& cells) {
    if (cells.size() != columns_.size())
      fail(columns_[std::min(cells.size(), columns_.size() - 1)]->field,
           fmt::format("{} cells, but the header has {}", cells.size(), columns_.size()));
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const Column& column = *columns_[i];
      const std::string cell = with_unit(column, cells[i]);
      try {
        read_cell(column.field, cell);
      } catch (const InputError& error) {
        fail(column.field, error.what());
      }
    }
  }

  std::string with_unit(const Column& column, const std::string& cell) const {
    const auto number = parse_number<double>(cell);
    if (*column.suffix != '\0') {
      if (!number)
        fail(column.field, fmt::format("found {}, expected a number, since the column is {}",
                                       in_quotes(cell), column.name));
      return cell + column.suffix;
    }
    if (number && *number != 0)
      fail(column.field, fmt::format("{} has no unit; add a unit to the cell or to the header, "
                                     "as in time_s, rate_mbit, delay_ms, loss_percent",
                                     in_quotes(cell)));
    return cell;
  }

  void read_cell(const std::string& field, const std::string& cell) {
    if (field == "time") {
      const double time = parse_moment(cell);
      if (times_.empty() ? time != 0 : !(time > times_.back()))
        throw InputError(fmt::format(
            "found {}, expected {}", excerpt(cell),
            times_.empty() ? "0 in the first row" : "a later time than in the row before"));
      times_.push_back(time);
      return;
    }
    for (const Quantity quantity : {Quantity::kRate, Quantity::kDelay, Quantity::kLoss})
      if (field == quantity_name(quantity))
        levels_[static_cast<std::size_t>(quantity)].push_back(
            parse_level(quantity, cell == "0" && quantity == Quantity::kLoss ? "0%" : cell));
  }

  std::string name_;
  std::size_t line_ = 0;
  std::vector<const Column*> columns_;
  std::vector<double> times_;
  std::vector<Level> levels_[3];
};

constexpr long kLatestMs = 1'000'000'000;  // eleven days
constexpr double kMaxBins = 1e7;

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
    if (!moment) fail("a whole number of milliseconds only");
    if (*moment < 0 || *moment > kLatestMs) fail(fmt::format("a time from 0 to {} ms", kLatestMs));
    if (!moments.empty() && *moment < moments.back())
      fail(fmt::format("a time not before that of the previous line, {}", moments.back()));
    moments.push_back(*moment);
  }
  if (moments.empty()) throw InputError(name + ": no line; expected one line per packet delivery");
  if (moments.back() == 0)
    throw InputError(name + ": all times are 0, but the last time is the trace's length");
  return moments;
}

}  // namespace

ScheduleFile read_schedule_file(const std::filesystem::path& path) {
  ScheduleFile result{read_input(path, "a schedule", kLargestFile, Pipes::kRefused), ""};
  Digest digest;
  digest.add(std::as_bytes(std::span(result.text)));
  result.digest = digest.text();
  return result;
}

std::vector<SchedulePart> parse_schedule_csv(std::string_view text, const std::string& name,
                                             bool linear, double period) {
  const Table table(text, name);
  if (period < table.end())
    throw InputError(fmt::format("{}: repeat={} is before the last row, {}", name,
                                 moment_text(period), moment_text(table.end())));
  return table.parts(linear, period);
}

CurvePtr parse_mahimahi(std::string_view text, const std::string& name, double bin) {
  const std::vector<long> moments = read_moments(text, name);
  const double period = static_cast<double>(moments.back()) / 1000;
  const double bins = std::ceil(period / bin - 1e-9);
  if (bins > kMaxBins)
    throw InputError(
        fmt::format("{}: {} s in bins of {} s are more than {} bins", name, period, bin, kMaxBins));
  // A delivery exactly at the end of a bin belongs to that bin. Otherwise the last delivery, which
  // is exactly at the end of the trace, would have no bin.
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
