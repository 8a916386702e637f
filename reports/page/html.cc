// The building blocks of HTML pages, their style sheet and script.
#include "reports/page/page.h"

#include <fmt/format.h>

#include "base/escape.h"
#include "base/text.h"
#include "reports/figures/figure.h"
#include "reports/figures/style.h"
#include "reports/text/phrases.h"
#include "reports/text/provenance.h"

namespace thinpipe::html {
namespace {

std::string table_cell(const TableCell& cell, bool is_row_header, bool is_figure) {
  // Cells with a value need no class `figure`: the style sheet recognises them by the attribute
  // data-value. A class in thousands of cells would enlarge the page.
  std::string classes = is_figure && !cell.value ? "figure" : "";
  if (cell.is_best) classes += " best";
  if (cell.is_untrusted) classes += " untrusted";
  constexpr std::size_t kLongText = 48;  // characters that need a wider column
  if (cell.text.size() + cell.detail.size() > kLongText) classes += " long";
  const char* tag = is_row_header ? "th scope=\"row\"" : "td";
  std::string text = fmt::format("<{}", tag);
  if (!classes.empty()) text += " class=\"" + classes + "\"";
  if (cell.value) text += fmt::format(" data-value=\"{:.6g}\"", *cell.value);
  text += ">";
  if (cell.style) text += marker_svg(*cell.style);
  text += escape_html(cell.text);
  if (!cell.detail.empty())
    text += "<span class=\"detail\">" + escape_html(cell.detail) + "</span>";
  if (!cell.command.empty())
    text += "<details class=\"command\"><summary>command</summary><pre><code>" +
            escape_html(cell.command) + "</code></pre></details>";
  return text + (is_row_header ? "</th>" : "</td>");
}

std::string legend(const std::vector<LegendEntry>& entries) {
  std::string text = "<ul class=\"legend\">";
  for (const LegendEntry& entry : entries)
    text += "<li>" + entry.symbol + escape_html(entry.label) + "</li>";
  return text + "</ul>\n";
}

std::string named_values(const std::string& title, const NamedValues& values) {
  if (values.empty()) return "";
  std::string text = "<h3>" + escape_html(title) + "</h3>\n<dl>";
  for (const auto& [name, value] : values)
    text += "<div><dt>" + escape_html(name) + "</dt><dd>" + escape_html(value) + "</dd></div>\n";
  return text + "</dl>\n";
}

// The page's script sorts and filters tables, and copies and saves commands and data. The script
// adds its own buttons, so a page without scripts shows plain tables. Cells without a value sort
// last in both directions.
const char* const kSorting = R"js('use strict';
for (const table of document.querySelectorAll('table.sortable')) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = head.textContent;
    head.textContent = '';
    head.appendChild(button);
    const isNumeric = [...body.rows].some((row) => row.cells[column].hasAttribute('data-value'));
    const key = (row) => {
      const cell = row.cells[column];
      if (!isNumeric) return cell.textContent;
      return cell.hasAttribute('data-value') ? Number(cell.getAttribute('data-value')) : null;
    };
    button.addEventListener('click', () => {
      const sign = head.getAttribute('aria-sort') === 'ascending' ? -1 : 1;
      heads.forEach((other) => other.removeAttribute('aria-sort'));
      head.setAttribute('aria-sort', sign === 1 ? 'ascending' : 'descending');
      const rows = [...body.rows].map((row) => [key(row), row]);
      rows.sort(([a], [b]) => {
        if (a === null || b === null) return (a === null) - (b === null);
        return sign * (isNumeric ? a - b : a.localeCompare(b));
      });
      body.append(...rows.map(([, row]) => row));
    });
  });
}
)js";

// The script shows a row if the row contains every word of the search and the chosen value in every
// filter column (facet). The smaller detail text in a cell does not count for the filters.
const char* const kFiltering = R"js(const facetOf = (cell) =>
  [...cell.childNodes].find((node) => node.nodeType === 3)?.data ?? cell.textContent;
for (const table of document.querySelectorAll('table[data-facets]')) {
  const rows = [...table.tBodies[0].rows];
  const bar = document.createElement('div');
  bar.className = 'filters';
  bar.setAttribute('role', 'search');
  const labelled = (text, control) => {
    const label = document.createElement('label');
    label.append(text, control);
    bar.append(label);
    return control;
  };
  const search = labelled('Search', document.createElement('input'));
  search.type = 'search';
  const facets = table.dataset.facets.split(' ').map(Number).map((column) => {
    const head = table.tHead.rows[0].cells[column].textContent;
    const values = [...new Set(rows.map((row) => facetOf(row.cells[column])))];
    if (values.length < 2) return null;
    const select = labelled(head, document.createElement('select'));
    select.append(new Option('all', ''), ...values.map((value) => new Option(value, value)));
    return [column, select];
  }).filter(Boolean);
  const count = document.createElement('output');
  bar.append(count);
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const show = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, i) => {
      row.hidden = !words.every((word) => texts[i].includes(word)) ||
        !facets.every(([column, select]) => !select.value ||
          facetOf(row.cells[column]) === select.value);
      shown += !row.hidden;
    });
    count.textContent = `${shown} of ${rows.length} rows`;
  };
  bar.addEventListener('input', show);
  show();
  table.parentElement.before(bar);
}
)js";

// Buttons are added when a part is opened: hundreds of them would delay the page.
const char* const kCopying = R"js(const copy = async (code, button) => {
  const text = code.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = 'Copied';
  } catch {
    getSelection().selectAllChildren(code);
    button.textContent = document.execCommand('copy') ? 'Copied' : 'Selected: press Ctrl+C';
  }
  setTimeout(() => { button.textContent = 'Copy'; }, 2000);
};
const save = (name, text) => {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], {type: 'text/csv'}));
  link.download = name + '.csv';
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};
document.addEventListener('toggle', ({target}) => {
  if (!target.matches('details.data,details.command') || target.querySelector('.tool')) return;
  const code = target.querySelector('code');
  const tool = (text, act) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'tool';
    button.textContent = text;
    button.addEventListener('click', () => act(button));
    code.parentElement.before(button);
  };
  tool('Copy', (button) => copy(code, button));
  if (target.matches('.data')) tool('Save', () => save(target.dataset.name, code.textContent));
}, true);
)js";

}  // namespace

std::string document(const std::string& title, const std::string& body,
                     const std::string& more_script) {
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
         "'unsafe-inline'; script-src 'unsafe-inline'\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta name=\"color-scheme\" content=\"light dark\">\n<title>" +
         escape_html(title) + "</title>\n<style>\n" + style() +
         "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#content\">Skip to the content</a>\n"
         "<main id=\"content\" tabindex=\"-1\">\n" +
         body + "</main>\n<script>\n" + script() + more_script + "</script>\n</body>\n</html>\n";
}

std::string contents(const std::vector<std::pair<std::string, std::string>>& sections) {
  std::string text = "<nav aria-label=\"Contents\"><ul>";
  for (const auto& [id, name] : sections)
    text += "<li><a href=\"#" + escape_html(id) + "\">" + escape_html(name) + "</a></li>";
  return text + "</ul></nav>\n";
}

std::string csv(const std::string& name, const std::string& summary, const std::string& text) {
  return fmt::format(
      "<details class=\"data\" data-name=\"{}\"><summary>{}</summary><pre "
      "tabindex=\"0\"><code>{}</code></pre></details>\n",
      escape_html(name), escape_html(summary), escape_html(text));
}

std::string table(const Table& table, const std::string& label, bool is_sortable) {
  std::vector<std::string> facets;
  for (const std::size_t column : table.facets) facets.push_back(std::to_string(column));
  std::string text = fmt::format(
      "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{}\">\n"
      "<table class=\"{}{}\"{}>\n<thead><tr>",
      escape_html(label), is_sortable ? "sortable" : "plain",
      table.text_columns == table.columns.size() ? " words" : "",
      facets.empty() ? "" : " data-facets=\"" + joined(facets, " ") + "\"");
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    text += fmt::format("<th scope=\"col\"{}>{}</th>",
                        i < table.text_columns ? "" : " class=\"figure\"",
                        escape_html(table.columns[i]));
  text += "</tr></thead>\n<tbody>\n";
  for (const std::vector<TableCell>& row : table.rows) {
    text += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i)
      text += table_cell(row[i], i == 0, i >= table.text_columns);
    text += "</tr>\n";
  }
  return text + "</tbody>\n</table>\n</div>\n";
}

std::string figure(const Figure& figure, const std::vector<std::string>& commands) {
  std::string text =
      fmt::format("<figure id=\"{}\" class=\"panels-{}\">\n<h3>{}</h3>\n", figure.id,
                  figure.panels.size() > 1 ? "many" : "one", escape_html(figure.title));
  text += legend(figure.legend) + "<div class=\"panels\">\n";
  for (const Panel& panel : figure.panels) {
    text += "<div class=\"panel\">";
    if (!panel.title.empty()) text += "<h4>" + escape_html(panel.title) + "</h4>";
    text += panel.svg + "</div>\n";
  }
  text += "</div>\n<figcaption>" + escape_html(figure.caption) +
          (figure.data.empty() ? ""
                               : csv(figure.id, "Data (CSV: " + joined(figure.axes, "; ") + ")",
                                     kFigureDataColumns + ("\n" + figure.data))) +
          "<details class=\"command\"><summary>How to reproduce</summary><pre><code>";
  for (const std::string& command : commands) text += escape_html(command) + "\n";
  return text + "</code></pre></details></figcaption>\n</figure>\n";
}

std::string figures(const std::vector<Figure>& figures, const std::vector<std::string>& commands) {
  std::string text = "<div class=\"figures\">\n";
  for (const Figure& one : figures) text += figure(one, commands);
  return text + "</div>\n";
}

std::string masthead(const std::string& headline, const std::string& facts) {
  return "<header>\n<p class=\"kicker\">thinpipe report</p>\n<h1>" + escape_html(headline) +
         "</h1>\n<p class=\"facts\">" + facts + "</p>\n</header>\n";
}

std::string findings(const std::vector<std::string>& sentences) {
  return "<section class=\"verdict\" aria-labelledby=\"found\">\n<h2 id=\"found\">Findings</h2>\n" +
         list(sentences) + "</section>\n";
}

std::string section(const std::string& id, const std::string& title, const std::string& inside) {
  return "<section aria-labelledby=\"" + id + "\">\n<h2 id=\"" + id + "\">" + escape_html(title) +
         "</h2>\n" + inside + "</section>\n";
}

std::string list(const std::vector<std::string>& lines) {
  std::string text = "<ul class=\"sentences\">\n";
  for (const std::string& line : lines) text += "<li>" + escape_html(line) + "</li>\n";
  return text + "</ul>\n";
}

std::string provenance(const Records& records) {
  std::string text;
  for (std::size_t i = 0; i < records.headers.size(); ++i) {
    const Header& header = records.headers[i];
    const bool is_last = i + 1 == records.headers.size();
    text += fmt::format("<details class=\"launch\"{}><summary>Launch {} of {}: {}</summary>\n",
                        is_last ? " open" : "", i + 1, records.headers.size(),
                        escape_html(header.created));
    text += "<pre><code>" + escape_html(shell_quoted(header.command)) + "</code></pre>\n";
    text += "<div class=\"columns\">\n<div>" +
            named_values("Machine and build", flattened(header.fingerprint)) + "</div>\n<div>";
    NamedValues trace = flattened(header.trace);
    trace.emplace_back("seed", std::to_string(header.seed));
    trace.emplace_back("threads", std::to_string(header.threads));
    if (!header.simd.empty()) trace.emplace_back("simd", header.simd);
    text += named_values("Trace", trace) + named_values("Calibration", calibration_values(header));
    text += "</div>\n</div>\n</details>\n";
  }
  return text;
}

// The page's style sheet. Series colours follow Okabe and Ito's palette (distinct for the common
// kinds of colour blindness), darkened for light pages where the original has too little contrast,
// lightened for dark ones. The parts of a step have colours of Paul Tol's muted set, which differ
// from those of compressors.
std::string style() {
  return R"css(:root{color-scheme:light dark;
--page:#fff;--panel:#f7f8fa;--ink:#1b1f24;--soft:#57606a;--line:#d5dae0;--grid:#e4e7eb;--muted:#7f8791;--faint:#646c75;
--best:#e2f3ea;--link:#0b5cad;
--s0:#22272e;--s1:#0072b2;--s2:#d55e00;--s3:#00875f;--s4:#b0578f;--s5:#2b8cc4;--s6:#a87300;--s7:#7a2048;
--p0:#858d96;--p1:#c65365;--p2:#5c8fc4;--p3:#b5831a;--p4:#938779;--letter:#000}
@media screen and (prefers-color-scheme:dark){:root{
--page:#14171b;--panel:#1c2025;--ink:#e6e9ed;--soft:#a2abb5;--line:#363c44;--grid:#2c3239;--muted:#79818b;--faint:#98a1ab;
--best:#173a2a;--link:#7db8f0;
--s0:#f0f2f4;--s1:#4aa8e8;--s2:#ff8a3d;--s3:#2fc596;--s4:#e08bc0;--s5:#9bd4f5;--s6:#f0b840;--s7:#e0708f;
--p0:#8b939d;--p1:#e0808f;--p2:#6fa3d8;--p3:#e0b84a;--p4:#a89d94;--letter:#000}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
main{max-width:1200px;margin:0 auto;padding:32px 24px 64px}
h1{font-size:1.9rem;line-height:1.2;margin:.1em 0 .3em}
h2{font-size:1.35rem;margin:2.2em 0 .6em;padding-top:.5em;border-top:1px solid var(--line)}
h3{font-size:1.05rem;margin:1.4em 0 .4em}
h4{font-size:.9rem;margin:.8em 0 .2em;color:var(--soft);font-weight:600}
h1,h2,h3,h4{overflow-wrap:anywhere}
p{margin:.4em 0}
.kicker{color:var(--soft);font-size:.85rem;letter-spacing:.04em;margin:0}
.facts,.note,figcaption{color:var(--soft)}
.note,figcaption{font-size:.88rem}
.verdict h2{border:0;margin-top:1em;padding:0}
.sentences{margin:.4em 0 1em;padding-left:1.2em;max-width:80ch;overflow-wrap:anywhere}
.sentences li{margin:.45em 0}
.verdict .sentences{font-size:1.06rem}
.figures{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:20px}
figure{margin:0;padding:14px 16px 12px;background:var(--panel);border:1px solid var(--line);border-radius:8px;
display:flex;flex-direction:column;min-width:0}
figure.panels-many{grid-column:1/-1}
figure h3{margin:0 0 .3em}
.panels{flex:1}
.panels-many .panels{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(330px,100%),1fr));gap:8px 20px}
.panel{min-width:0}
.panel h4{margin:.3em 0}
.legend{display:flex;flex-wrap:wrap;gap:2px 16px;list-style:none;margin:0 0 8px;padding:0;font-size:.88rem;
overflow-wrap:anywhere}
.legend li{display:flex;align-items:center;gap:6px}
.marker{flex:none;vertical-align:-1px;margin-right:6px}
.legend .marker{margin:0}
.swatch{width:16px;height:16px;border-radius:2px;flex:none;color:var(--letter);font-size:11px;line-height:15px;
text-align:center}
svg.chart{display:block;width:100%;height:auto;color:var(--soft)}
svg.chart text{fill:currentColor;font-family:inherit}
svg.chart .overlay text{fill:var(--ink)}
svg.chart .overlay text.letter{fill:var(--letter);pointer-events:none}
svg.chart .overlay circle,svg.chart .overlay rect{fill:transparent;pointer-events:all}
svg.chart .overlay circle:hover,svg.chart .overlay rect:hover{fill:var(--ink);fill-opacity:.12}
figcaption{margin-top:8px}
details{margin-top:6px}
summary{cursor:pointer;color:var(--link)}
pre{background:var(--page);border:1px solid var(--line);border-radius:6px;padding:8px 10px;margin:6px 0;
white-space:pre-wrap;overflow-wrap:anywhere;font-size:.82rem}
.scroll{overflow-x:auto;border:1px solid var(--line);border-radius:8px;margin:.6em 0}
table{border-collapse:collapse;width:100%;font-size:.88rem;font-variant-numeric:tabular-nums}
th,td{padding:7px 12px;text-align:left;vertical-align:top;border-bottom:1px solid var(--line);white-space:nowrap}
tbody tr:last-child>*{border-bottom:0}
thead th{background:var(--panel);font-weight:600;color:var(--soft);vertical-align:bottom}
tbody th{font-weight:600}
.sortable tbody th,.verdict tbody th{position:sticky;left:0;background:var(--page)}
.figure,td[data-value]{text-align:right}
td:not(.figure):not([data-value]){white-space:normal;overflow-wrap:anywhere;min-width:9em}
.words th,.words td{white-space:normal;overflow-wrap:anywhere;min-width:7em}
.words td:last-child{min-width:16em}
.detail{display:block;color:var(--soft);font-size:.82em}
td.long:not(.figure):not([data-value]){min-width:22em}
td.long[data-value],.figure.long{min-width:16em;white-space:normal}
.best{background:var(--best);font-weight:700}
.best .detail{font-weight:400}
.untrusted,.untrusted .detail{color:var(--faint);font-style:italic}
th button{all:unset;cursor:pointer;white-space:nowrap}
th button::after{content:" \2195"}
th[aria-sort=ascending] button::after{content:" \2191"}
th[aria-sort=descending] button::after{content:" \2193"}
:focus-visible{outline:2px solid var(--link);outline-offset:2px}
main:focus{outline:none}
.skip{position:absolute;left:8px;top:-60px;background:var(--page);color:var(--link);padding:8px 12px;border-radius:6px}
.skip:focus{top:8px;z-index:2}
nav ul{display:flex;flex-wrap:wrap;gap:2px 18px;list-style:none;margin:.8em 0;padding:0}
a{color:var(--link)}
.filters{display:flex;flex-wrap:wrap;gap:8px 16px;align-items:end;margin:.8em 0}
.filters label{display:flex;flex-direction:column;font-size:.82rem;color:var(--soft);max-width:100%}
input,select,.tool{font:inherit;font-size:.88rem;color:var(--ink);background:var(--page);border:1px solid var(--faint);
border-radius:6px;padding:4px 8px;max-width:100%}
.tool{cursor:pointer;margin:4px 8px 0 0}
.filters output{font-size:.88rem;color:var(--soft);padding-bottom:5px}
.command pre{min-width:18em;max-width:40em;max-height:14em;overflow:auto}
.data pre{max-height:16em;overflow:auto;white-space:pre;overflow-wrap:normal}
td .command summary{white-space:nowrap}
.rates p{font-size:1.06rem;min-height:3em;margin:.8em 0 .4em}
.rates input{display:block;width:100%;margin:8px 0 0;padding:0;border:0}
.bars{list-style:none;margin:.4em 0 1em;padding:0;font-size:.88rem}
.bars li{display:grid;grid-template-columns:minmax(0,3fr) minmax(0,5fr) minmax(0,4fr);gap:2px 12px;align-items:center;
padding:4px 8px;border-bottom:1px solid var(--line);overflow-wrap:anywhere;break-inside:avoid}
.between>svg rect:first-child{fill:none}
.columns{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:0 32px}
.launch{margin:.6em 0}
dl{margin:.3em 0;font-size:.88rem}
dl div{display:grid;grid-template-columns:minmax(9em,2fr) 3fr;gap:12px;padding:3px 0;border-bottom:1px solid var(--grid)}
dt{color:var(--soft);overflow-wrap:anywhere}
dd{margin:0;overflow-wrap:anywhere}
@media (max-width:820px){main{padding:20px 14px 40px}.figures,.columns,.bars li{grid-template-columns:minmax(0,1fr)}
figure{padding:12px 10px}h1{font-size:1.5rem}th,td{padding:6px 8px}
tbody th{min-width:7.5em;max-width:44vw;white-space:normal;overflow-wrap:anywhere}}
@media print{:root{color-scheme:light;--panel:#fff;--ink:#000;--soft:#333;--line:#bbb;--grid:#ddd}
.skip,nav,.filters,.tool,.rates label,details.data,details.command{display:none}
body{font-size:11pt}main{max-width:none;padding:0}figure,tr{break-inside:avoid}
h2,h3{break-after:avoid}.scroll{overflow:visible;border:0}.sortable{font-size:6.5pt}
.sortable th,.sortable td{padding:2px 3px;white-space:normal}th button::after{content:""}}
)css";
}

std::string script() { return std::string(kSorting) + kFiltering + kCopying; }

}  // namespace thinpipe::html
