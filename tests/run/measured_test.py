"""Points that are valid, spoilt or wrong are judged, measured again or skipped: with programs that
write such records instead of measuring."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

from measured import BY_LOAD, REASONS_OF_LOAD, Part, timed

HERE = os.path.dirname(os.path.abspath(__file__))
SWEEP = pathlib.Path(HERE).parents[1] / "harness" / "sweep"
IDLE = ("CPU idle time was 0.4 % (limit 2 %), so the host rather than the link may have set the "
        "pace. Use fewer ranks, or `--time-scale auto`")

# A fake thinpipe that writes the records of points a and b. The next line of a script gives their
# statuses, reasons and figures. With --resume it writes only the points that the records lack.
FAKE = """
import json, os, sys
out, script = sys.argv[1:3]
records, counter = os.path.join(out, "records.jsonl"), os.path.join(out, "runs")
there = set()
if "--resume" in sys.argv:
    there = {json.loads(line)["id"] for line in open(records)}
runs = int(open(counter).read()) if os.path.exists(counter) else 0
open(counter, "w").write(str(runs + 1))
with open(records, "a") as file:
    for name, (status, reasons, figure) in json.loads(script)[runs].items():
        if name not in there:
            file.write(json.dumps({"record": "point", "id": name, "status": status,
                                   "reasons": reasons, "figure": figure}) + "\\n")
"""

# A test that runs the fake program: `figure` must be 1 in a valid point, and must not be negative
# in any point.
TEST = """
import subprocess, sys
sys.path.insert(0, HERE)
from measured import Measured, main
class T(Measured):
    out = OUT
    def run_thinpipe(self, *arguments):
        return subprocess.run([sys.executable, FAKE, OUT, SCRIPT, *arguments], check=True,
                              capture_output=True, text=True).stdout
    def test_it(self):
        points = self.measure(computed=lambda p: self.assertGreaterEqual(p["figure"], 0),
                              timed=lambda p: self.assertEqual(p["figure"], 1))
        self.assertEqual(len(points), 2)
    def test_what_needs_a_tool(self):
        if TOOL:
            self.skipTest("tc is not installed")
main()
"""
GOOD = ("ok", [], 1)


def spoilt(figure=2, reason=IDLE):
    return ("invalid", [reason], figure)


class MeasuredTest(unittest.TestCase):
    def play(self, *runs, tool=False):
        """Runs the test with runs that end with these points, the first, second, ... one."""
        with tempfile.TemporaryDirectory() as folder:
            fake = os.path.join(folder, "fake.py")
            with open(fake, "w") as file:
                file.write(FAKE)
            test = os.path.join(folder, "t.py")
            with open(test, "w") as file:
                file.write(f"HERE, OUT, FAKE, TOOL = {HERE!r}, {folder!r}, {fake!r}, {tool!r}\n"
                           f"SCRIPT = {json.dumps(json.dumps(runs))}\n{TEST}")
            result = subprocess.run([sys.executable, test], capture_output=True, text=True)
            with open(os.path.join(folder, "runs")) as file:
                return result.returncode, result.stdout + result.stderr, int(file.read())

    def test_valid_and_right_passes_at_once(self):
        code, _, runs = self.play({"a": GOOD, "b": GOOD})
        self.assertEqual((code, runs), (0, 1))

    def test_valid_and_wrong_fails_at_once(self):
        code, said, runs = self.play({"a": ("ok", [], 2), "b": spoilt()})
        self.assertEqual((code, runs), (1, 1))
        self.assertIn("2 != 1", said)

    def test_spoilt_once_is_measured_again_alone_and_told(self):
        # The point that was valid is not measured a second time: it would be wrong then.
        code, said, runs = self.play({"a": GOOD, "b": spoilt()}, {"a": ("ok", [], 2), "b": GOOD})
        self.assertEqual((code, runs), (0, 2))
        self.assertIn(f"measured again: T.test_it: b: {IDLE}", said)

    def test_spoilt_three_times_is_skipped_by_name_never_passed(self):
        code, said, runs = self.play(*[{"a": GOOD, "b": spoilt()}] * 4)
        self.assertEqual((code, runs), (77, 3))
        self.assertRegex(said, r"(?m)^skipped: T\.test_it: machine too busy \(3 times; last: b: .*"
                               r"CPU idle time was 0\.4 %")

    def test_wrong_after_it_was_spoilt_fails(self):
        code, _, runs = self.play({"a": GOOD, "b": spoilt()}, {"b": ("ok", [], 2)})
        self.assertEqual((code, runs), (1, 2))

    def test_what_is_computed_is_judged_in_spoilt_points_too(self):
        code, _, runs = self.play({"a": GOOD, "b": spoilt(-1)})
        self.assertEqual((code, runs), (1, 1))

    def test_invalid_for_another_reason_and_failed_fail(self):
        changed = "another program changed the links during the measurement: link host1"
        for point in (spoilt(reason=changed), ("failed", ["rank 1 ended"], 1),
                      ("invalid", [IDLE, changed], 1)):
            code, said, runs = self.play({"a": GOOD, "b": point})
            self.assertEqual((code, runs), (1, 1), said)

    def test_a_missing_tool_is_told_and_is_no_load(self):
        code, said, _ = self.play({"a": GOOD, "b": GOOD}, tool=True)
        self.assertEqual(code, 0)
        self.assertIn("skipped: T.test_what_needs_a_tool: tc is not installed", said)


class ReasonsTest(unittest.TestCase):
    """The program's own texts of reasons, as its source has them."""

    VALUES = {"": "3 ms", ":.1f": "96.9"}  # by format; 2 for others

    @classmethod
    def texts(cls):
        """All texts of harness/sweep that are sentences, with values filled in."""
        found = []
        for path in sorted(SWEEP.glob("*.cc")):
            # Literals that follow each other are one text.
            source = re.sub(r'"\s*\n\s*"', "", path.read_text(encoding="utf-8"))
            for text in re.findall(r'"((?:[^"\\\n]|\\.)*)"', source):
                if len(text) > 30 and " " in text:
                    found.append(re.sub(r"\{([^}]*)\}", lambda field: cls.VALUES.get(field[1], "2"), text))
        return found

    def test_each_reason_of_load_is_one_of_the_programs(self):
        texts = self.texts()
        for reason in REASONS_OF_LOAD:
            self.assertEqual(len([text for text in texts if re.match(reason, text)]), 1, reason)

    def test_reasons_that_name_a_busy_machine_are_reasons_of_load(self):
        busy = [text for text in self.texts() if re.search("machine was too busy|Use fewer ranks|"
                                                           "codecs need longer", text)]
        self.assertEqual(len(busy), 4, busy)
        for text in busy:
            self.assertRegex(text, f"^(?:{BY_LOAD.pattern})")

    def test_reasons_of_bypassed_or_changed_links_are_defects(self):
        wrong = [text for text in self.texts()
                 if re.search("bypass|another program|differs from the reference", text)]
        self.assertGreaterEqual(len(wrong), 6, wrong)
        for text in wrong:
            self.assertNotRegex(text, f"^(?:{BY_LOAD.pattern})")


class PartTest(unittest.TestCase):
    class Example(unittest.TestCase):
        def test_a(self):
            pass

        @timed
        def test_b(self):
            pass

        test_c = test_d = test_e = test_a

    def names(self, **environment):
        unset = {name: value for name, value in os.environ.items() if not name.startswith("TEST_")}
        with unittest.mock.patch.dict(os.environ, {**unset, **environment}, clear=True):
            return " ".join(Part().getTestCaseNames(self.Example))

    def test_every_test_is_in_one_part(self):
        self.assertEqual(self.names(), "test_a test_b test_c test_d test_e")
        self.assertEqual(self.names(TEST_TIMED="ON"), "test_b")
        self.assertEqual(self.names(TEST_TIMED="OFF"), "test_a test_c test_d test_e")
        for index, expected in ("0", "test_a test_d"), ("1", "test_b test_e"), ("2", "test_c"):
            self.assertEqual(self.names(TEST_SHARDS="3", TEST_SHARD_INDEX=index), expected)


if __name__ == "__main__":
    unittest.main()
