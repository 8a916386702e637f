// Ranges and ticks of axes, and the mapping from values to pixels. Runs gnuplot as a child process
// and converts its SVG for a page. The child's three streams are files in memory: neither side can
// block on a full pipe, and no SIGPIPE can reach this process.
#include "reports/figures/drawing.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <regex>
#include <utility>

#include "base/error.h"
#include "base/escape.h"
#include "base/memory_file.h"
#include "base/text.h"
#include "reports/figures/style.h"
#include "reports/text/phrases.h"

extern char** environ;

namespace thinpipe {
namespace {

constexpr double kPadding = 0.06;  // fraction of the range, on both sides

// Returns the position as a fraction of the range.
double position(double value, const Range& range, bool is_log) {
  if (is_log) return std::log(value / range.low) / std::log(range.high / range.low);
  return (value - range.low) / (range.high - range.low);
}

class SpawnActions {
 public:
  SpawnActions() { posix_spawn_file_actions_init(&actions_); }
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  void redirect(const MemoryFile& file, int stream) {
    posix_spawn_file_actions_adddup2(&actions_, file.descriptor(), stream);
  }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

// Returns the first error message in `text`, which gnuplot wrote to its standard error. gnuplot
// first repeats the failing line of the script. The message itself is the line with the word
// "line".
std::string first_complaint(const std::string& text) {
  for (const std::string& line : split(text, '\n'))
    if (line.find("line ") != std::string::npos) return line;
  return text.substr(0, 200);
}

// Drops a group's attributes that are SVG's defaults, or those of the outer group (finish_svg).
void drop_inherited(std::string& text) {
  // gnuplot's background, which would inherit a frame.
  static const std::regex kGround("<rect x=\"0\" y=\"0\"[^>]* fill=\"none\"/>\n?");
  text = std::regex_replace(text, kGround, "");
  replace_all(text, " stroke-linecap=\"butt\" stroke-linejoin=\"miter\"", "");
  replace_all(text, "<g fill=\"none\" color=\"currentColor\" stroke=\"currentColor\" ", "<g ");
  replace_all(text, " font-size=\"13.00\"", "");
  for (const char* space : {"\n\t", "\t\n", "\n\n"}) replace_all(text, space, "\n");
}

// Rounds coordinates to a tenth of a pixel, which is finer than any line. Numbers in labels keep
// their digits: no comma, bracket or path command follows them.
void shorten_coordinates(std::string& text) {
  static const std::regex kHundredths(
      "([0-9]\\.[0-9])[0-9](?=,[0-9-]|\\) scale|\\)\"| L[0-9]|\nL[0-9]| M[0-9]|  ')");
  text = std::regex_replace(text, kHundredths, "$1");
}

// Moves the colour attribute from every marker of a plot to the <g> element around the plot. Drops
// the id of this element, because nothing refers to it. The background shapes that separate markers
// from lines keep their own colour.
void hoist_colours(std::string& text) {
  static const std::regex kPlot("<g id=\"[^\"]*gnuplot_plot_[0-9]+\" >");
  static const std::regex kColour(" color='var\\(--(?!panel)[a-z0-9]+\\)'/>");
  std::string hoisted;
  auto from = text.cbegin();
  for (std::sregex_iterator match(text.cbegin(), text.cend(), kPlot), none; match != none;) {
    hoisted.append(from, (*match)[0].first);
    const auto begin = (*match)[0].second;
    ++match;
    from = match == none ? text.cend() : (*match)[0].first;
    std::string plot(begin, from);
    std::string group = "<g>";
    std::smatch colour;
    if (std::regex_search(plot, colour, kColour)) {
      const std::string attribute = colour.str();
      group = "<g" + attribute.substr(0, attribute.size() - 2) + ">";
      replace_all(plot, attribute, "/>");
    }
    hoisted += group + plot;
  }
  hoisted.append(from, text.cend());
  text = std::move(hoisted);
}

// Drops the definitions of unused markers in three passes. gnuplot defines all of its markers, and
// some definitions refer to other markers. A marker may therefore become unused only when another
// one has been dropped. std::regex recurses for each character of a repetition, so the pattern must
// not run along the path of a curve, which may have a hundred thousand.
void drop_unused_markers(std::string& text) {
  static const std::regex kMarker(
      "\\s*<(?:path|rect|circle|use)(?: href='[^']+')? id='([^']+gpPt[0-9]+)'[^>]*/>");
  for (int pass = 0; pass < 3; ++pass) {
    std::string used;
    auto from = text.cbegin();
    for (auto match = std::sregex_iterator(text.cbegin(), text.cend(), kMarker);
         match != std::sregex_iterator(); ++match) {
      used.append(from, (*match)[0].first);
      if (text.find("href='#" + (*match)[1].str() + "'") != std::string::npos)
        used.append((*match)[0].first, (*match)[0].second);
      from = (*match)[0].second;
    }
    used.append(from, text.cend());
    text = std::move(used);
  }
}

// Returns the text between the opening and closing tag of the outer element.
std::string inner_part(std::string_view svg) {
  const std::size_t start = svg.find("<svg");
  const std::size_t open_end = start == std::string_view::npos ? start : svg.find('>', start);
  const std::size_t close = svg.rfind("</svg>");
  if (open_end == std::string_view::npos || close == std::string_view::npos || close < open_end ||
      svg.find("<script") != std::string_view::npos) {
    throw RunError("gnuplot's output is not the requested SVG");
  }
  return std::string(svg.substr(open_end + 1, close - open_end - 1));
}

void drop_element(std::string& text, const std::string& name) {
  const std::string open = "<" + name;
  const std::string close = "</" + name + ">";
  for (std::size_t start = text.find(open); start != std::string::npos;
       start = text.find(open, start)) {
    const std::size_t end = text.find(close, start);
    if (end == std::string::npos) throw RunError("gnuplot wrote an unclosed <" + name + ">");
    text.erase(start, end + close.size() - start);
  }
}

void name_colours(std::string& text) {
  for (int ink = 0; ink < part_ink(kParts); ++ink)
    replace_all(text, fmt::format("rgb({:3d}, {:3d}, {:3d})", 1, 2, ink),
                "var(" + css_variable(ink) + ")");
  for (const char* quote : {"'", "\""}) {
    replace_all(text, fmt::format("{0}black{0}", quote), fmt::format("{0}currentColor{0}", quote));
    // The halo that separates a point from its line has the page's colour.
    replace_all(text, fmt::format("{0}white{0}", quote), fmt::format("{0}var(--panel){0}", quote));
  }
}

}  // namespace

Range padded_range(const std::vector<double>& values, bool is_log) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  if (is_log) {
    const double span = std::max(std::log(*most / *least), std::log(1.5));
    const double middle = 0.5 * (std::log(*most) + std::log(*least));
    const double half = span * (0.5 + kPadding);
    return {std::exp(middle - half), std::exp(middle + half)};
  }
  // Values of 0, apart from rounding errors, have no scale of their own.
  constexpr double kZero = 1e-12;
  const double magnitude = std::max(std::abs(*least), std::abs(*most));
  const double scale = magnitude < kZero ? 1 : magnitude;
  const double span = std::max(*most - *least, 0.02 * scale);
  const double middle = 0.5 * (*least + *most);
  return {middle - span * (0.5 + kPadding), middle + span * (0.5 + kPadding)};
}

std::vector<double> linear_ticks(const Range& range, int count) {
  const double raw = (range.high - range.low) / count;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  const double step = power * (raw / power <= 1   ? 1
                               : raw / power <= 2 ? 2
                               : raw / power <= 5 ? 5
                                                  : 10);
  std::vector<double> ticks;
  const double tolerance = 1e-9 * step;
  for (double i = std::ceil((range.low - tolerance) / step); i * step <= range.high + tolerance;
       ++i)
    ticks.push_back(i * step + 0.0);  // + 0.0 turns -0 into 0
  return ticks;
}

std::vector<double> readable_ticks(const Range& range, int count, std::string (*format)(double)) {
  for (;; --count) {
    std::vector<double> ticks = linear_ticks(range, count);
    const auto repeated = std::adjacent_find(
        ticks.begin(), ticks.end(), [&](double a, double b) { return format(a) == format(b); });
    if (repeated == ticks.end() || count == 1) return ticks;
  }
}

std::vector<double> thinned(const std::vector<double>& values, const Range& range, bool is_log,
                            double closest) {
  std::vector<double> chosen;
  for (const double value : values) {
    if (value < range.low || value > range.high) continue;
    const bool is_far =
        chosen.empty() ||
        position(value, range, is_log) - position(chosen.back(), range, is_log) >= closest;
    if (is_far) chosen.push_back(value);
  }
  return chosen;
}

std::vector<double> log_ticks(const Range& range, double closest) {
  const double decades = std::log10(range.high / range.low);
  if (decades < 0.5) return linear_ticks(range, 4);
  std::vector<double> ticks;
  const int last = static_cast<int>(std::floor(std::log10(range.high)));
  for (int e = static_cast<int>(std::floor(std::log10(range.low))); e <= last; ++e)
    for (const double factor : {1.0, 2.0, 5.0})
      if (factor == 1 || decades < 3) ticks.push_back(factor * std::pow(10.0, e));
  return thinned(ticks, range, true, closest);
}

Canvas::Canvas(int width, int height, Margins margins, Scale x, Scale y)
    : width_(width), height_(height), margins_(margins), x_(x), y_(y) {}

double Canvas::x(double value) const {
  return margins_.left +
         position(value, x_.range, x_.is_log) * (width_ - margins_.left - margins_.right);
}

double Canvas::y(double value) const {
  return height_ - margins_.bottom -
         position(value, y_.range, y_.is_log) * (height_ - margins_.top - margins_.bottom);
}

std::string Canvas::script() const {
  const double width = width_, height = height_;
  return fmt::format(
      "set encoding utf8\n"
      "set terminal svg size {},{} dynamic noenhanced font 'sans,13'\n"
      "set lmargin at screen {:.6f}\nset rmargin at screen {:.6f}\n"
      "set tmargin at screen {:.6f}\nset bmargin at screen {:.6f}\n"
      "unset key\nset border 3 lw 1\nset tics nomirror out scale 0.5\nset errorbars small\n"
      "set grid lt 1 lw 0.7 lc {}\n",
      width_, height_, margins_.left / width, 1 - margins_.right / width, 1 - margins_.top / height,
      margins_.bottom / height, stand_in(static_cast<int>(Ink::kGrid)));
}

std::string Canvas::title_text(std::string_view label) const {
  return fmt::format("<text x=\"4\" y=\"15\" font-size=\"13\">{}</text>\n", escape_html(label));
}

std::string tick_list(const std::vector<double>& ticks, std::string (*format)(double)) {
  std::string list;
  for (const double tick : ticks) {
    std::string label = format(tick);
    replace_all(label, "%", "%%");  // gnuplot interprets a tick's label as a number format
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", gnuplot_quoted(label), tick);
  }
  return "(" + list + ")";
}

bool is_drawable(double value, const Axis& axis) {
  return std::isfinite(value) && (!axis.is_log || value > 0);
}

void drop_undrawable(std::optional<Interval>& interval, const Axis& axis) {
  if (interval && !(std::isfinite(interval->low) && is_drawable(interval->high, axis)))
    interval.reset();
}

void add_ends(const std::optional<Interval>& interval, const Axis& axis,
              std::vector<double>& values) {
  if (!interval) return;
  for (const double end : {interval->low, interval->high})
    if (is_drawable(end, axis)) values.push_back(end);
}

void clip_low(std::optional<Interval>& interval, const Axis& axis, const Range& range) {
  if (interval && !is_drawable(interval->low, axis)) interval->low = range.low;
}

std::string axis_script(const Axis& axis, const Range& range, char name) {
  const double closest = name == 'x' ? kClosestLevelTicks : kClosestTicks;
  const std::vector<double> ticks = !axis.ticks.empty()
                                        ? thinned(axis.ticks, range, axis.is_log, closest)
                                    : axis.is_log ? log_ticks(range, closest)
                                                  : readable_ticks(range, 5, axis.format);
  return fmt::format("set {0}range [{1}:{2}]\nset {0}tics {3}\n{4}", name, range.low, range.high,
                     tick_list(ticks, axis.format),
                     axis.is_log ? fmt::format("set logscale {}\n", name) : "");
}

std::string upright_line(double x) {
  return fmt::format(
      "set arrow from first {0},graph 0 to first {0},graph 1 nohead lw 1.2 dt 2 lc {1}\n", x,
      stand_in(static_cast<int>(Ink::kMuted)));
}

std::string run_gnuplot(const std::string& script) {
  const MemoryFile input("gnuplot-input"), output("gnuplot-output"), errors("gnuplot-errors");
  input.write_and_rewind(script);
  SpawnActions actions;
  actions.redirect(input, STDIN_FILENO);
  actions.redirect(output, STDOUT_FILENO);
  actions.redirect(errors, STDERR_FILENO);
  std::string program = "gnuplot", no_startup_files = "-d", from_stdin = "-";
  const std::array<char*, 4> arguments = {program.data(), no_startup_files.data(),
                                          from_stdin.data(), nullptr};
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, "gnuplot", actions.get(), nullptr, arguments.data(), environ);
  if (error == ENOENT || error == EACCES || error == ENOTDIR)
    throw RunError(
        "gnuplot, which draws the figures of HTML reports, is not on PATH. Install it (Debian: "
        "apt-get install gnuplot-nox), or write the report without figures: --format md");
  if (error != 0) throw SystemError("start gnuplot", error);
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw SystemError("wait for gnuplot");
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw RunError("gnuplot failed: " + first_complaint(errors.contents()));
  return output.contents();
}

void GnuplotBlocks::add(const std::string& rows, const std::string& how) {
  if (rows.empty()) return;
  blocks += fmt::format("$d{} << EOD\n{}EOD\n", count, rows);
  commands += fmt::format("{}$d{} {}", count == 0 ? "" : ", \\\n  ", count, how);
  ++count;
}

std::string gnuplot_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char byte : text) {
    // Inside single quotes, gnuplot treats only the quote itself as special. The quote could end
    // the string, and a backquote could start a command elsewhere, so both are replaced rather than
    // escaped.
    if (byte == '\'' || byte == '`') {
      quoted += "\xe2\x80\x99";  // U+2019, an apostrophe to the eye
    } else {
      quoted += byte == '\n' || byte == '\r' ? ' ' : byte;
    }
  }
  return quoted + "'";
}

std::string finish_svg(std::string_view gnuplot_svg, const SvgFrame& frame,
                       std::string_view overlay) {
  std::string text = inner_part(gnuplot_svg);
  for (const char* name : {"title", "desc", "filter"}) drop_element(text, name);
  replace_all(text, "xlink:href", "href");
  static const std::regex kId("\\bid=(['\"])([A-Za-z0-9_]+)['\"]");
  static const std::regex kReference("href=(['\"])#([A-Za-z0-9_]+)['\"]");
  static const std::regex kFont(" font-family=\"[^\"]*\"");
  // gnuplot opens a <g> element for every change of a pen; the empty ones are half of its output.
  static const std::regex kEmptyGroup("<g [^>]*>\\s*</g>\\s*");
  text = std::regex_replace(text, kId, "id=$1" + frame.id + "-$2$1");
  text = std::regex_replace(text, kReference, "href=$1#" + frame.id + "-$2$1");
  text = std::regex_replace(text, kFont, "");
  text = std::regex_replace(text, kEmptyGroup, "");
  name_colours(text);
  drop_inherited(text);
  drop_unused_markers(text);
  hoist_colours(text);
  shorten_coordinates(text);
  return fmt::format(
      "<svg class=\"chart\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\"><g fill=\"none\" "
      "stroke=\"currentColor\" font-size=\"13\">{}</g><g class=\"overlay\">{}</g></svg>",
      frame.width, frame.height, escape_html(frame.alt), text, overlay);
}

std::string tooltip_circle(double x, double y, std::string_view text) {
  constexpr double kReach = 9;  // px; about the precision of a finger or a pointer
  return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"><title>{}</title></circle>\n", x,
                     y, kReach, escape_html(text));
}

std::string tooltip_box(double x, double y, double width, double height, std::string_view text) {
  return fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
      "height=\"{:.1f}\"><title>{}</title></rect>\n",
      x, y, width, height, escape_html(text));
}

}  // namespace thinpipe
