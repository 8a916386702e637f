// Extracts a figure from a page and lays out its drawings and its legend.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <regex>

#include "base/error.h"
#include "base/escape.h"
#include "base/text.h"
#include "reports/page/page.h"
#include "reports/text/phrases.h"

namespace thinpipe::html {
namespace {

constexpr double kGap = 16, kTitleHeight = 22, kLegendHeight = 22;
constexpr double kLetterWidth = 8;  // px; a little above the average of 13 px sans-serif
constexpr const char* kFigureStart = "<figure id=\"";

std::string_view between(std::string_view text, std::string_view open, std::string_view close,
                         std::size_t from = 0) {
  const std::size_t start = text.find(open, from);
  if (start == std::string_view::npos) return {};
  const std::size_t end = text.find(close, start + open.size());
  if (end == std::string_view::npos) return {};
  return text.substr(start + open.size(), end - start - open.size());
}

std::string_view figure_part(std::string_view page, const std::string& name) {
  return between(page, kFigureStart + name + "\" ", "</figure>");
}

struct Drawing {
  std::string title, inner;  // escaped, markup
  double width = 0, height = 0;
};

std::vector<Drawing> drawings_of(std::string_view figure) {
  constexpr std::string_view kPanel = "<div class=\"panel\">";
  std::vector<Drawing> drawings;
  for (std::size_t at = figure.find(kPanel); at != std::string_view::npos;
       at = figure.find(kPanel, at + 1)) {
    const std::string_view panel = figure.substr(at, figure.find("</svg></div>", at) - at);
    Drawing drawing;
    drawing.title = between(panel, "<h4>", "</h4>");
    const std::string box(between(panel, "viewBox=\"0 0 ", "\""));
    drawing.width = std::strtod(box.c_str(), nullptr);
    drawing.height = std::strtod(box.substr(std::min(box.find(' '), box.size())).c_str(), nullptr);
    const std::size_t svg = panel.find("<svg class=\"chart\"");
    drawing.inner = panel.substr(panel.find('>', svg) + 1);
    drawings.push_back(std::move(drawing));
  }
  return drawings;
}

struct Key {
  std::string symbol, label;  // markup, escaped
  double symbol_width = 14;
};

// Parses a legend entry of the HTML page. A marker is already an SVG element and stays as it is. A
// swatch, an HTML <span>, becomes an SVG square with the swatch's letter.
Key key_of(std::string_view entry) {
  constexpr std::string_view kSvgEnd = "</svg>", kSpanEnd = "</span>";
  if (const std::size_t end = entry.rfind(kSvgEnd); end != std::string_view::npos) {
    Key key{std::string(entry.substr(0, end + kSvgEnd.size())),
            std::string(entry.substr(end + kSvgEnd.size()))};
    key.symbol_width = std::strtod(std::string(between(entry, " width='", "'")).c_str(), nullptr);
    return key;
  }
  const std::size_t end = entry.rfind(kSpanEnd);
  if (end == std::string_view::npos) return {"", std::string(entry), 0};
  const std::string colour(between(entry, "background:", "'"));
  return {fmt::format(
              "<rect width=\"14\" height=\"14\" rx=\"2\" style=\"fill:{}\"/><text class=\"letter\" "
              "x=\"7\" y=\"11\" font-size=\"11\" text-anchor=\"middle\">{}</text>",
              colour, between(entry, "'>", "</span>")),
          std::string(entry.substr(end + kSpanEnd.size()))};
}

std::vector<Key> figure_legend(std::string_view figure) {
  const std::string_view list = between(figure, "<ul class=\"legend\">", "</ul>");
  std::vector<Key> keys;
  for (std::size_t at = list.find("<li>"); at != std::string_view::npos;
       at = list.find("<li>", at + 1))
    keys.push_back(key_of(between(list, "<li>", "</li>", at)));
  return keys;
}

// Returns the estimated width of an escaped text in px, by its number of visible characters. An
// entity such as &amp; counts as one character, and so does a UTF-8 character of several bytes.
double text_width(const std::string& escaped) {
  static const std::regex kEntity("&[#a-z0-9]+;");
  const std::string plain = std::regex_replace(escaped, kEntity, "x");
  return kLetterWidth * static_cast<double>(std::count_if(plain.begin(), plain.end(), [](char c) {
           return !continues_character(c);
         }));
}

// Draws the legend in rows; `y` becomes the top of what follows.
std::string drawn_legend(const std::vector<Key>& keys, double width, double& y) {
  std::string text;
  double x = 0;
  for (const Key& key : keys) {
    const double needed = key.symbol_width + 6 + text_width(key.label) + kGap;
    if (x > 0 && x + needed > width) {
      x = 0;
      y += kLegendHeight;
    }
    text += fmt::format(
        "<g transform=\"translate({:.1f},{:.1f})\">{}<text x=\"{:.1f}\" y=\"11.5\" "
        "font-size=\"13\">{}</text></g>\n",
        x, y, key.symbol, key.symbol_width + 6, key.label);
    x += needed;
  }
  if (!keys.empty()) y += kLegendHeight + 4;
  return text;
}

std::string drawn_panels(const std::vector<Drawing>& drawings, std::size_t columns, double width,
                         double& y) {
  std::string text;
  for (std::size_t first = 0; first < drawings.size(); first += columns) {
    const std::size_t end = std::min(first + columns, drawings.size());
    double height = 0;
    bool has_title = false;
    for (std::size_t i = first; i < end; ++i) {
      height = std::max(height, drawings[i].height);
      has_title |= !drawings[i].title.empty();
    }
    const double top = y + (has_title ? kTitleHeight : 0);
    for (std::size_t i = first; i < end; ++i) {
      const Drawing& drawing = drawings[i];
      const double x = static_cast<double>(i - first) * (width + kGap);
      if (!drawing.title.empty())
        text += fmt::format(
            "<text class=\"panel\" x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"14\">{}</text>\n", x,
            y + 15, drawing.title);
      text += fmt::format("<svg x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\">{}</svg>\n", x,
                          top, drawing.width, drawing.height, drawing.inner);
    }
    y = top + height + kGap;
  }
  return text;
}

// Replaces `var(--s1)`, which has no value outside a browser, by the light palette's colour.
std::string with_colours(std::string text) {
  const std::string sheet = style();
  const std::string light(between(sheet, ":root{", "}"));
  static const std::regex kVariable("(--[a-z0-9]+):(#[0-9a-f]+)");
  for (auto match = std::sregex_iterator(light.begin(), light.end(), kVariable);
       match != std::sregex_iterator(); ++match)
    replace_all(text, "var(" + (*match)[1].str() + ")", (*match)[2].str());
  return text;
}

}  // namespace

std::vector<std::string> figure_names(std::string_view page) {
  std::vector<std::string> names;
  for (std::size_t at = page.find(kFigureStart); at != std::string_view::npos;
       at = page.find(kFigureStart, at + 1))
    names.emplace_back(between(page, kFigureStart, "\"", at));
  return names;
}

std::string figure_called(std::string_view page, const std::string& name) {
  const std::vector<std::string> names = figure_names(page);
  if (std::ranges::find(names, name) != names.end()) return name;
  std::vector<std::string> meant;
  for (const std::string& one : names)
    if (one.ends_with("-" + name)) meant.push_back(one);
  if (meant.size() == 1) return meant[0];
  if (!meant.empty())
    throw InputError("figure '" + name + "' is ambiguous in this report: " + joined(meant, ", "));
  throw InputError("no figure '" + name + "' in this report" +
                   (names.empty() ? "; it has none" : "; it has " + joined(names, ", ")));
}

std::string standalone_svg(std::string_view page, const std::string& name) {
  const std::string_view figure = figure_part(page, figure_called(page, name));
  const std::vector<Drawing> drawings = drawings_of(figure);
  double panel_width = 0;
  for (const Drawing& drawing : drawings) panel_width = std::max(panel_width, drawing.width);
  const std::size_t columns = std::min<std::size_t>(drawings.size(), drawings.size() == 4 ? 2 : 3);
  const double width = static_cast<double>(columns) * (panel_width + kGap) - kGap;
  double y = 0;
  std::string body = drawn_legend(figure_legend(figure), width, y);
  body += drawn_panels(drawings, columns, panel_width, y);
  const double height = y - kGap;
  return standalone_document(width, height, "", body);
}

std::string standalone_document(double width, double height, const std::string& title,
                                const std::string& body) {
  return with_colours(fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"-8 -8 {0} "
      "{1}\" color=\"var(--soft)\">\n{3}<style>text{{font-family:Helvetica,Arial,"
      "sans-serif;fill:var(--soft)}} .overlay text,text.panel{{fill:var(--ink)}} "
      "text.letter,.overlay text.letter{{fill:var(--letter)}} .overlay circle,.overlay "
      "rect{{fill:none}}</style>\n<rect x=\"-8\" y=\"-8\" width=\"{0}\" "
      "height=\"{1}\" fill=\"#fff\"/>\n{2}</svg>\n",
      width + 16, height + 16, body,
      title.empty() ? "" : "<title>" + escape_html(title) + "</title>\n"));
}

}  // namespace thinpipe::html
