// A slider over the link's rate: the fastest series and all step times at measured rates and
// between them.
//
// The C++ functions draw the slider at its middle rate, so that pages without scripts have a
// drawing. The script redraws the same elements at other rates, from curves and sentences in the
// markup. The script repeats the formulas, the wording and the rounding of step_time_at(),
// contenders(), fastest_text(), interpolated_sentence(), time_text(), slider_rows() and
// middle_rate(), so a change of one side must be made on the other side, too.
#include "reports/run/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

#include "base/escape.h"
#include "reports/figures/style.h"
#include "reports/text/phrases.h"
#include "reports/verdict/verdict.h"

namespace thinpipe {
namespace {

// The highest position of the slider; the lowest is 0. Whole positions reach both ends of the scale
// exactly, which steps of a logarithm would miss by rounding. The number is even, so the middle is
// a position. Over two decades, one position is 2.3 % of the rate.
constexpr int kLastPosition = 200;
constexpr int kMiddlePosition = kLastPosition / 2;

// Distance in steps of the slider within which a position means a measured or predicted rate. Every
// rate is at most half a step from a position; the rest allows for rounding.
constexpr double kSnap = 0.501;

using CurveMember = std::vector<RatePoint> RateCurves::*;

std::set<double> rates_of(const std::vector<RateCurves>& all, CurveMember curve) {
  std::set<double> rates;
  for (const RateCurves& one : all)
    for (const RatePoint& point : one.*curve) rates.insert(point.rate);
  return rates;
}

// Returns the rate of the slider's middle position.
double middle_rate(const std::set<double>& rates) {
  const double low = std::log10(*rates.begin());
  const double step = (std::log10(*rates.rbegin()) - low) / kLastPosition;
  const double middle = low + step * kMiddlePosition;
  for (const double rate : rates)
    if (std::abs(std::log10(rate) - middle) <= kSnap * step) return rate;
  return std::pow(10, middle);
}

// A sentence compares the fastest compressor with the fastest baseline of each kind.
constexpr std::array<const char*, 3> kContenderNames = {"compressor", "bf16", "fp32"};

std::size_t contender_index(const Series& series) {
  if (!series.baseline) return 0;
  return *series.baseline == Baseline::kBf16 ? 1 : 2;
}

struct Contender {
  const Series* series = nullptr;
  TimeAtRate at = {};
};

// Returns the contenders that have a step time at the rate, in the order of kContenderNames.
std::vector<Contender> contenders(const std::vector<RateCurves>& all, CurveMember curve,
                                  double rate) {
  std::array<Contender, kContenderNames.size()> fastest;
  for (const RateCurves& one : all) {
    const std::optional<TimeAtRate> at = step_time_at(one.*curve, rate);
    if (!at) continue;
    Contender& best = fastest[contender_index(*one.series)];
    if (best.series == nullptr || at->time < best.at.time) best = {one.series, *at};
  }
  std::vector<Contender> found;
  for (const Contender& one : fastest)
    if (one.series != nullptr) found.push_back(one);
  return found;
}

const Contender& winner_of(const std::vector<Contender>& all) {
  return *std::ranges::min_element(all, {}, [](const Contender& one) { return one.at.time; });
}

// "topk is fastest, 41 ms a step; 2.1× over bf16, 3.4× over fp32". `all` is not empty.
std::string fastest_text(const std::vector<Contender>& all) {
  const Contender& winner = winner_of(all);
  std::vector<std::string> over;
  for (const Contender& one : all)
    if (one.series != winner.series)
      over.push_back(format_number(one.at.time / winner.at.time) + "\xc3\x97 over " +
                     (one.series->is_baseline() ? kContenderNames[contender_index(*one.series)]
                                                : one.series->label));
  return baseline_words(winner.series->label) + " is fastest, " + format_time(winner.at.time) +
         " a step" + (over.empty() ? "" : "; " + joined(over, ", "));
}

// Returns the sentence on a rate at which no series has an `ok` cell.
std::string interpolated_sentence(const std::vector<RateCurves>& all, double rate) {
  const std::string at = "At " + format_rate(rate) + ": ";
  const std::vector<Contender> measured = contenders(all, &RateCurves::measured, rate);
  if (measured.empty()) return at + "no step time was measured on both sides of this rate.";
  const Contender& winner = winner_of(measured);
  return at + fastest_text(measured) + " (interpolated between " + format_rate(winner.at.left) +
         " and " + format_rate(winner.at.right) + ").";
}

// "41 ms, measured (40.2 ms to 42 ms); predicted 39 ms".
std::string time_text(const std::optional<TimeAtRate>& measured,
                      const std::optional<TimeAtRate>& predicted) {
  std::string text = "no trusted time";
  if (measured) {
    text = format_time(measured->time) +
           (measured->left < measured->right ? ", interpolated" : ", measured");
    if (measured->low < measured->high)
      text += " (" + format_time(measured->low) + " to " + format_time(measured->high) + ")";
  }
  return text + (predicted ? "; predicted " + format_time(predicted->time) : std::string());
}

// Returns points as numbers in one line, each as rate, time, low and high.
std::string curve_numbers(const std::vector<RatePoint>& curve) {
  std::vector<std::string> numbers;
  for (const RatePoint& point : curve)
    numbers.push_back(fmt::format("{} {} {} {}", point.rate, point.time, point.low, point.high));
  return joined(numbers, " ");
}

// Returns a row: name, bar and text. A bar of `longest` seconds has the full width; the row with
// the step time `least`, in s, is highlighted.
std::string slider_row(const RateCurves& curves, double rate, double longest, double least) {
  const std::optional<TimeAtRate> measured = step_time_at(curves.measured, rate);
  const std::optional<TimeAtRate> predicted = step_time_at(curves.predicted, rate);
  const TimeAtRate drawn = measured.value_or(TimeAtRate{});
  const Series& series = *curves.series;
  std::vector<std::string> classes;
  if (measured && measured->time == least) classes.emplace_back("best");
  if (drawn.left < drawn.right) classes.emplace_back("between");
  std::string text =
      fmt::format("<li class=\"{}\" data-kind=\"{}\" data-measured=\"{}\" data-predicted=\"{}\">",
                  joined(classes, " "), kContenderNames[contender_index(series)],
                  curve_numbers(curves.measured), curve_numbers(curves.predicted));
  text +=
      "<span>" + marker_svg(series.style) + escape_html(baseline_words(series.label)) + "</span>";
  text += fmt::format(
      "<svg width=\"100%\" height=\"18\" aria-hidden=\"true\">"
      "<rect y=\"1\" width=\"{0:.2f}%\" height=\"10\" fill=\"var({1})\" stroke=\"var({1})\"/>"
      "<rect x=\"{2:.2f}%\" y=\"13\" width=\"{3:.2f}%\" height=\"3\" fill=\"currentColor\"/>"
      "<rect x=\"{4:.2f}%\" width=\"{5}\" height=\"18\" fill=\"currentColor\" "
      "transform=\"translate(-2)\"/></svg>",
      100 * drawn.time / longest, css_variable(series_ink(series.style)), 100 * drawn.low / longest,
      100 * (drawn.high - drawn.low) / longest,
      100 * predicted.value_or(TimeAtRate{}).time / longest, predicted ? 2 : 0);
  return text + "<span>" + escape_html(time_text(measured, predicted)) + "</span></li>\n";
}

std::string slider_rows(const std::vector<RateCurves>& all, double rate) {
  double longest = 0, least = std::numeric_limits<double>::infinity();
  for (const RateCurves& one : all) {
    if (const std::optional<TimeAtRate> measured = step_time_at(one.measured, rate)) {
      longest = std::max(longest, measured->high);
      least = std::min(least, measured->time);
    }
    if (const std::optional<TimeAtRate> predicted = step_time_at(one.predicted, rate))
      longest = std::max(longest, predicted->time);
  }
  if (longest == 0) longest = 1;  // nothing to draw
  std::string text = "<ul class=\"bars\">\n";
  for (const RateCurves& one : all) text += slider_row(one, rate, longest, least);
  return text + "</ul>\n";
}

const char* const kRateScript = R"js(for (const box of document.querySelectorAll('.rates')) {
  const numbers = (text) => text.split(' ').filter(Boolean).map(Number);
  const pointsOf = (text) => {
    const all = numbers(text), points = [];
    for (let i = 0; i < all.length; i += 4) {
      points.push({rate: all[i], time: all[i + 1], low: all[i + 2], high: all[i + 3]});
    }
    return points;
  };
  const rates = numbers(box.dataset.rates);
  const input = box.querySelector('input');
  const line = box.querySelector('[aria-live]');
  const sentences = new Map([...box.querySelectorAll('[data-rate]')].map(
    (item) => [Number(item.dataset.rate), item.textContent]));
  const rows = [...box.querySelectorAll('[data-kind]')].map((item) => ({
    item, kind: item.dataset.kind, name: item.firstChild.textContent,
    measured: pointsOf(item.dataset.measured), predicted: pointsOf(item.dataset.predicted)}));
  const stepTimeAt = (points, rate) => {
    const next = points.findIndex((point) => point.rate >= rate);
    if (next < 0 || (next === 0 && points[0].rate > rate)) return null;
    const [a, b] = [points[next - 1], points[next]];
    if (b.rate === rate) return {...b, left: rate, right: rate};
    const part = Math.log(rate / a.rate) / Math.log(b.rate / a.rate);
    const time = a.time * (b.time / a.time) ** part;
    return {time, low: time, high: time, left: a.rate, right: b.rate};
  };
  // A tie goes to the even digit, as in C++: 31.25 becomes 31.2.
  const threeDigits = (value) => {
    const digits = value.toExponential(20);
    return /^\d\.\d[02468]50*e/.test(digits) ?
      Number(digits.replace(/50*e/, 'e')) : Number(value.toPrecision(3));
  };
  const number = (value) => value < 999.5 ? threeDigits(value) : Math.round(value);
  const withUnit = (value, units) => {
    const [factor, unit] = units.find(([least]) => value >= 0.9995 * least) ?? units.at(-1);
    return `${number(value / factor)} ${unit}`;
  };
  const rateText = (rate) => withUnit(rate, [
    [1e12, 'Tbit/s'], [1e9, 'Gbit/s'], [1e6, 'Mbit/s'], [1e3, 'kbit/s'], [1, 'bit/s']]);
  const secondsText = (time) =>
    withUnit(time, [[1, 's'], [1e-3, 'ms'], [1e-6, 'us'], [1e-9, 'ns']]);
  const contenders = (curve, rate) => ['compressor', 'bf16', 'fp32'].map((kind) =>
    rows.filter((row) => row.kind === kind)
      .map((row) => ({...row, at: stepTimeAt(row[curve], rate)})).filter((row) => row.at)
      .reduce((best, row) => best && best.at.time <= row.at.time ? best : row, null))
    .filter(Boolean);
  const winnerOf = (all) => all.reduce((best, one) => one.at.time < best.at.time ? one : best);
  const fastestText = (all) => {
    const winner = winnerOf(all);
    const over = all.filter((one) => one.item !== winner.item).map((one) =>
      `${number(one.at.time / winner.at.time)}\xd7 over ` +
      (one.kind === 'compressor' ? one.name : one.kind));
    return `${winner.name} is fastest, ${secondsText(winner.at.time)} a step` +
      (over.length ? '; ' + over.join(', ') : '');
  };
  const interpolatedSentence = (rate) => {
    const measured = contenders('measured', rate), at = `At ${rateText(rate)}: `;
    if (!measured.length) return at + 'no step time was measured on both sides of this rate.';
    const {left, right} = winnerOf(measured).at;
    return at + fastestText(measured) +
      ` (interpolated between ${rateText(left)} and ${rateText(right)}).`;
  };
  const timeText = (measured, predicted) => {
    let text = 'no trusted time';
    if (measured) {
      text = secondsText(measured.time) +
        (measured.left < measured.right ? ', interpolated' : ', measured');
      if (measured.low < measured.high) {
        text += ` (${secondsText(measured.low)} to ${secondsText(measured.high)})`;
      }
    }
    return text + (predicted ? `; predicted ${secondsText(predicted.time)}` : '');
  };
  const rateAt = (position) => {
    const low = Math.log10(rates[0]);
    const step = (Math.log10(rates.at(-1)) - low) / Number(input.max);
    const log = low + step * position;
    return rates.find((rate) => Math.abs(Math.log10(rate) - log) <= 0.501 * step) ?? 10 ** log;
  };
  input.addEventListener('input', () => {
    const rate = rateAt(Number(input.value));
    const predicted = contenders('predicted', rate);
    input.setAttribute('aria-valuetext', rateText(rate));
    line.textContent = (sentences.get(rate) ?? interpolatedSentence(rate)) +
      (predicted.length ? ` Predicted: ${fastestText(predicted)}.` : '');
    const shown = rows.map((row) =>
      [row.item, stepTimeAt(row.measured, rate), stepTimeAt(row.predicted, rate)]);
    const longest = Math.max(...shown.flatMap(([, measured, predicted]) =>
      [measured?.high ?? 0, predicted?.time ?? 0])) || 1;
    const least = Math.min(...shown.map(([, measured]) => measured?.time ?? Infinity));
    const percent = (time) => `${(100 * time / longest).toFixed(2)}%`;
    for (const [item, measured, predicted] of shown) {
      const [bar, interval, tick] = item.querySelectorAll('svg:not(.marker) rect');
      const drawn = measured ?? {time: 0, low: 0, high: 0};
      bar.setAttribute('width', percent(drawn.time));
      interval.setAttribute('x', percent(drawn.low));
      interval.setAttribute('width', percent(drawn.high - drawn.low));
      tick.setAttribute('x', percent(predicted?.time ?? 0));
      tick.setAttribute('width', predicted ? 2 : 0);
      item.classList.toggle('best', drawn.time === least);
      item.classList.toggle('between', drawn.left < drawn.right);
      item.lastChild.textContent = timeText(measured, predicted);
    }
  });
  box.querySelector('label').hidden = false;
}
)js";

}  // namespace

std::vector<RateCurves> rate_curves(const Group& group) {
  std::vector<RateCurves> all;
  for (const Series& series : group.series) {
    RateCurves curves{.series = &series};
    for (const Cell& cell : series.cells) {
      if (cell.status == Status::kOk && cell.step_time) {
        const double time = cell.step_time->value;
        const Interval ends = cell.step_time->interval.value_or(Interval{time, time});
        curves.measured.push_back({cell.rate, time, ends.low, ends.high});
      }
      // Invalid cells have predictions, too: the models do not use the step time that was measured.
      const double predicted = cell.prediction("step_time"_metric).value_or(0);
      if (predicted > 0) curves.predicted.push_back({cell.rate, predicted, predicted, predicted});
    }
    if (!curves.measured.empty() || !curves.predicted.empty()) all.push_back(std::move(curves));
  }
  return all;
}

std::optional<TimeAtRate> step_time_at(const std::vector<RatePoint>& curve, double rate) {
  const auto right = std::ranges::lower_bound(curve, rate, {}, &RatePoint::rate);
  if (right == curve.end()) return std::nullopt;
  if (right->rate == rate) return TimeAtRate{right->time, right->low, right->high, rate, rate};
  if (right == curve.begin()) return std::nullopt;
  const auto left = std::prev(right);
  const double part = std::log(rate / left->rate) / std::log(right->rate / left->rate);
  const double time = left->time * std::pow(right->time / left->time, part);
  return TimeAtRate{time, time, time, left->rate, right->rate};
}

std::string rate_slider(const Group& group) {
  const std::vector<RateCurves> all = rate_curves(group);
  const std::set<double> measured = rates_of(all, &RateCurves::measured);
  if (measured.size() < 2) return "";
  std::set<double> rates = rates_of(all, &RateCurves::predicted);
  rates.insert(measured.begin(), measured.end());
  const double rate = middle_rate(rates);
  std::string sentence =
      measured.contains(rate) ? outcome_sentence(group, rate) : interpolated_sentence(all, rate);
  if (const auto predicted = contenders(all, &RateCurves::predicted, rate); !predicted.empty())
    sentence += " Predicted: " + fastest_text(predicted) + ".";
  std::vector<std::string> numbers;
  for (const double one : rates) numbers.push_back(fmt::format("{}", one));
  std::string text = fmt::format(
      "<div class=\"rates\" data-rates=\"{}\">\n<label hidden=\"\">Link rate, {} to {} on a "
      "logarithmic scale<input type=\"range\" min=\"0\" max=\"{}\" value=\"{}\" "
      "autocomplete=\"off\" aria-valuetext=\"{}\"/></label>\n<p aria-live=\"polite\">{}</p>\n",
      joined(numbers, " "), format_rate(*rates.begin()), format_rate(*rates.rbegin()),
      kLastPosition, kMiddlePosition, format_rate(rate), escape_html(sentence));
  text += slider_rows(all, rate) + "<ul hidden=\"\">\n";
  for (const double one : measured)
    text += fmt::format("<li data-rate=\"{}\">{}</li>\n", one,
                        escape_html(outcome_sentence(group, one)));
  return text + "</ul>\n</div>\n";
}

std::string rate_slider_script() { return kRateScript; }

}  // namespace thinpipe
