// The page's style sheet.
#include "reports/html/parts.h"

namespace thinpipe::html {

// Series colours follow Okabe and Ito's palette (distinct for the common kinds of colour
// blindness), darkened for light pages where the original has too little contrast, lightened for
// dark ones. Parts of a step come from Paul Tol's muted set, so that they are not taken for
// compressors.
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
.doubtful,.doubtful .detail{color:var(--faint);font-style:italic}
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
.columns{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:0 32px}
.launch{margin:.6em 0}
dl{margin:.3em 0;font-size:.88rem}
dl div{display:grid;grid-template-columns:minmax(9em,2fr) 3fr;gap:12px;padding:3px 0;border-bottom:1px solid var(--grid)}
dt{color:var(--soft);overflow-wrap:anywhere}
dd{margin:0;overflow-wrap:anywhere}
@media (max-width:820px){main{padding:20px 14px 40px}.figures,.columns{grid-template-columns:minmax(0,1fr)}
figure{padding:12px 10px}h1{font-size:1.5rem}th,td{padding:6px 8px}
tbody th{min-width:7.5em;max-width:44vw;white-space:normal;overflow-wrap:anywhere}}
@media print{:root{color-scheme:light;--panel:#fff;--ink:#000;--soft:#333;--line:#bbb;--grid:#ddd}
.skip,nav,.filters,.tool,details.data,details.command{display:none}
body{font-size:11pt}main{max-width:none;padding:0}figure,tr{break-inside:avoid}
h2,h3{break-after:avoid}.scroll{overflow:visible;border:0}.sortable{font-size:6.5pt}
.sortable th,.sortable td{padding:2px 3px;white-space:normal}th button::after{content:""}}
)css";
}

}  // namespace thinpipe::html
