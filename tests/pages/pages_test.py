"""Reports of every kind in a real browser: nothing overflows or overlaps, at 1280 and at 390 px, in light
and in dark; images have descriptions, text has contrast, tables sort and filter by keyboard, and
pages send no request to any network. Without Chromium the tests are skipped."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import browser
import made_up

THINPIPE = os.environ["THINPIPE"]
LOOK = (pathlib.Path(__file__).resolve().parent / "look.js").read_text(encoding="utf-8")
SKIPPED = 77
MOST_BYTES = 3_000_000
TRACE = "synthetic:elements=20k,steps=4,workers=2"


def thinpipe(*words):
    done = subprocess.run([THINPIPE, *map(str, words)], stdin=subprocess.DEVNULL, text=True,
                          capture_output=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"thinpipe {words} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def make_sources(folder):
    """Records of every kind by the name of their page."""
    made_up.write(folder / "run", made_up.run_records())
    made_up.write(folder / "train", made_up.train_records())
    compressors = ["-c", "none|topk|sidco|dgc|3lc", "--ratio", "0.01|0.001"]
    thinpipe("bench", *compressors, "--size", "20000|200000", "--min-time", "0.0005",
             "--residency", "cache", "--out", folder / "bench")
    for _ in range(3):
        thinpipe("bench", "-c", "topk", "--size", "20000", "--min-time", "0.0005", "--residency",
                 "cache", "--out", folder / "history")
    thinpipe("quality", "--trace", TRACE, "-c", "topk:ratio=0.01|0.1", "-c", "sidco", "--out",
             folder / "quality")
    thinpipe("trace", "stats", TRACE, "--out", folder / "stats")


# Whether the second column of the first table is in order; cells without a number come last.
IN_ORDER = """(() => {
  const cells = [...document.querySelectorAll('table.sortable')[0].tBodies[0].rows].map((row) => row.cells[1]);
  const isNumeric = cells.some((cell) => cell.hasAttribute('data-value'));
  const keys = cells.map((cell) => !isNumeric ? cell.textContent :
      cell.hasAttribute('data-value') ? Number(cell.getAttribute('data-value')) : null);
  const known = keys.filter((key) => key !== null);
  const difference = (a, b) => isNumeric ? a - b : a.localeCompare(b);
  return keys.slice(known.length).every((key) => key === null) &&
      known.every((key, i) => i === 0 || %d * difference(key, known[i - 1]) >= 0);
})()"""

class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.temporary.name)
        make_sources(folder)
        cls.pages = {}
        for source in sorted(path for path in folder.iterdir() if path.is_dir()):
            cls.pages[source.name] = folder / f"{source.name}.html"
            thinpipe("report", source, "-o", cls.pages[source.name])
        cls.browser = browser.Browser(browser.find_chromium())

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.temporary.cleanup()

    def on_every_page(self, look):
        for name, page in self.pages.items():
            with self.subTest(page=name):
                look(page)

    def test_every_kind_is_here(self):
        self.assertEqual(["bench", "history", "quality", "run", "stats", "train"],
                         sorted(self.pages))

    def test_nothing_overflows_overlaps_or_fades(self):
        for name, page in self.pages.items():
            for width in (1280, 390):
                for scheme in ("light", "dark"):
                    with self.subTest(page=name, width=width, scheme=scheme):
                        self.browser.open(page, width, scheme)
                        if "THINPIPE_SCREENSHOTS" in os.environ:
                            self.browser.screenshot(f"{os.environ['THINPIPE_SCREENSHOTS']}/"
                                                    f"{name}-{width}-{scheme}.png")
                        wrong = self.browser.evaluate(LOOK)
                        self.assertEqual([], wrong, "\n" + "\n".join(wrong))

    def test_the_look_finds_what_is_wrong(self):
        """The checks above can fail: a page with one error of each kind."""
        page = pathlib.Path(self.temporary.name) / "faulty.html"
        page.write_text(
            "<body style='background:#fff'><h1>t</h1><h3>level</h3>"
            "<p style='width:3000px'>wide</p><p style='color:#aaa'>faint</p><h2 "
            "style='margin-bottom:-40px'>on what follows</h2><p>covered</p>"
            "<svg class='chart' viewBox='0 0 100 50' width=100><text x=10 y=20>one</text>"
            "<text x=12 y=20>two</text></svg>", encoding="utf-8")
        self.browser.open(page, 1280, "light")
        wrong = "\n".join(self.browser.evaluate(LOOK))
        for part in ("px wide", "overflows the window", "contrast of 2.3", "leaves out a level",
                     'h2 "on what follows" lies on', 'text "one" lies on', "no alternative text"):
            self.assertIn(part, wrong)

    def test_dark_is_dark(self):
        ground = "getComputedStyle(document.body).backgroundColor"

        def look(page):
            self.browser.open(page, 1280, "light")
            light = self.browser.evaluate(ground)
            self.browser.open(page, 1280, "dark")
            self.assertNotEqual(light, self.browser.evaluate(ground))

        self.on_every_page(look)

    def test_nothing_is_asked_of_a_network(self):
        def look(page):
            self.browser.open(page, 1280, "light")
            self.assertEqual([page.resolve().as_uri()], self.browser.requests())

        self.on_every_page(look)

    def test_pages_are_small(self):
        def look(page):
            self.assertLess(page.stat().st_size, MOST_BYTES)

        self.on_every_page(look)

    def test_tables_sort_by_keyboard(self):
        heads = "[...document.querySelectorAll('table.sortable')[0].tHead.rows[0].cells]"
        rows = ("[...document.querySelectorAll('table.sortable')[0].tBodies[0].rows]"
                ".map((row) => row.rowIndex && row.textContent)")

        def look(page):
            self.browser.open(page, 1280, "light")
            # The button before the first head: from there on by Tab and Enter alone.
            self.browser.evaluate(f"{heads}[0].querySelector('button').focus()")
            self.browser.press("Tab")
            reached = f"{heads}.indexOf(document.activeElement.closest('th'))"
            self.assertEqual(1, self.browser.evaluate(reached))
            before = sorted(self.browser.evaluate(rows))
            for order, sign in (("ascending", 1), ("descending", -1)):
                self.browser.press("Enter")
                self.assertEqual(order,
                                 self.browser.evaluate(f"{heads}[1].getAttribute('aria-sort')"))
                self.assertTrue(self.browser.evaluate(IN_ORDER % sign), order)
            self.assertEqual(before, sorted(self.browser.evaluate(rows)))
            self.assertTrue(self.browser.evaluate(
                "getComputedStyle(document.activeElement).outlineStyle !== 'none'"))

        self.on_every_page(look)

    def test_tables_filter_by_keyboard(self):
        shown = ("[...document.querySelector('table[data-facets]').tBodies[0].rows]"
                 ".filter((row) => row.getBoundingClientRect().height > 0).length")
        for name in ("run", "train", "bench"):
            with self.subTest(page=name):
                self.browser.open(self.pages[name], 1280, "light")
                everything = self.browser.evaluate(shown)
                self.browser.evaluate("document.querySelector('.filters input').focus()")
                for letter in "sidco":
                    self.browser.press(letter, letter)
                some = self.browser.evaluate(shown)
                self.assertGreater(some, 0)
                self.assertLess(some, everything)

    def test_tables_filter_by_a_choice(self):
        """Of 38 points, 2 have a link with a delay."""
        self.browser.open(self.pages["run"], 1280, "light")
        self.assertEqual("2 of 38 rows", self.browser.evaluate("""(() => {
          const select = [...document.querySelectorAll('.filters label')]
              .find((label) => label.firstChild.data === 'network').querySelector('select');
          select.value = 'delay=0.01s';
          select.dispatchEvent(new Event('input', {bubbles: true}));
          return document.querySelector('.filters output').textContent;
        })()"""))

    def test_slider_says_who_wins(self):
        """Moved by a script and by keyboard. By the closed forms of made_up.py, steps on 2 ranks take
        24.655 ms (sidco), 710.33 ms (bf16) and 1399.5 ms (none) at 10 Mbit/s, and 23.166, 89.573 and
        157.95 ms at 100 Mbit/s. At the geometric mean of the rates, 31.6 Mbit/s, the interpolated times
        are the geometric means of these times."""
        box = "document.querySelector('.rates')"
        line = f"{box}.querySelector('[aria-live]').textContent"
        drawn = (f"[{box}.querySelector('.bars').textContent, ...{box}.querySelectorAll("
                 "'svg:not(.marker) rect')].map((part) => part.getAttribute ? "
                 "part.getAttribute('x') + part.getAttribute('width') : part)")
        self.browser.open(self.pages["run"], 1280, "light")
        self.assertTrue(self.browser.evaluate(f"{box}.querySelector('label').offsetHeight > 0"))
        first, bars = self.browser.evaluate(line), self.browser.evaluate(drawn)
        self.assertIn("sidco is fastest at 100 Mbit/s: ", first)

        def move(position):
            self.browser.evaluate(f"{box}.querySelector('input').value = {position}; "
                                  f"{box}.querySelector('input').dispatchEvent(new Event('input'))")

        move(50)  # of 200 positions over two decades from 10 Mbit/s
        self.assertRegex(self.browser.evaluate(line),
                         r"^At 31\.6 Mbit/s: sidco is fastest, \S+ ms a step; 10\.6\u00d7 over bf16, "
                         r"19\.7\u00d7 over fp32 \(interpolated between 10 Mbit/s and 100 Mbit/s\)\.$")
        self.assertNotEqual(bars, self.browser.evaluate(drawn))
        self.browser.evaluate(f"{box}.querySelector('input').focus()")
        self.browser.press("ArrowLeft")
        self.assertIn("At 30.9 Mbit/s: sidco", self.browser.evaluate(line))  # 10^7.49
        self.assertEqual("30.9 Mbit/s", self.browser.evaluate(
            f"{box}.querySelector('input').getAttribute('aria-valuetext')"))
        move(100)  # as the page was drawn without the script
        self.assertEqual(first, self.browser.evaluate(line))
        self.assertEqual(bars, self.browser.evaluate(drawn))

    def test_slider_rounds_as_the_page_does(self):
        """31.25 Mbit/s is 31.2 Mbit/s in the whole page: the script, too, rounds a tie to even."""
        folder = pathlib.Path(self.temporary.name)
        made_up.write(folder / "tie", made_up.run_records(rates=(3.125e7, 1e9)))
        page = folder / "tie.html"
        thinpipe("report", folder / "tie", "-o", page)
        self.assertIn("Link rate, 31.2 Mbit/s to 1 Gbit/s", page.read_text(encoding="utf-8"))
        self.browser.open(page, 1280, "light")
        told = self.browser.evaluate("""(() => {
          const box = document.querySelector('.rates');
          const input = box.querySelector('input');
          return [0, 1].map((position) => {
            input.value = position;
            input.dispatchEvent(new Event('input'));
            return input.getAttribute('aria-valuetext') + '; ' +
                box.querySelector('[aria-live]').textContent;
          });
        })()""")
        self.assertRegex(told[0], r"^31\.2 Mbit/s; .* at 31\.2 Mbit/s: ")
        self.assertIn("(interpolated between 31.2 Mbit/s and 1 Gbit/s)", told[1])

    def test_scripts_have_no_errors(self):
        def look(page):
            self.browser.open(page, 390, "light")
            self.browser.evaluate("1")
            self.assertEqual([], [event for event in self.browser.events
                                  if event.get("method") == "Runtime.exceptionThrown"])

        self.on_every_page(look)


if __name__ == "__main__":
    if browser.find_chromium() is None:
        print("skipped: no Chromium in PATH")
        sys.exit(SKIPPED)
    unittest.main()
