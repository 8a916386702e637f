#!/usr/bin/env python3
"""guest_test.py's results for tests that pass, fail or are skipped, with a shell as the guest."""
import contextlib
import io
import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import guest_test  # pylint: disable=wrong-import-position

# Runs what follows `--`, here.
GUEST = """import os, sys
if os.environ.get("BOOTS") == "no":
    print("no kernel to boot")
    sys.exit(77)
command = sys.argv[sys.argv.index("--") + 1:]
os.execvp(command[0], command)
"""

# Writes a report as GoogleTest does of tests that are named by their results.
PROGRAM = """#!/usr/bin/env python3
import sys
options = dict(word.split("=", 1) for word in sys.argv[1:])
PARTS = {"Good": "", "Bad": "<failure message='f'>too late</failure>",
         "Busy": "<skipped message='s'>machine too busy (idle 0.4 %)</skipped>",
         "Absent": "<skipped message='s'>no iperf3</skipped>"}
with open("count", "a") as count:
    count.write("run ")
cases = "".join("<testcase name='%s' classname='Suite' result='%s'>%s</testcase>"
                % (name, "skipped" if "skipped" in PARTS[name] else "completed", PARTS[name])
                for name in options["--gtest_filter"].split(":"))
with open(options["--gtest_output"].partition(":")[2], "w") as report:
    report.write("<testsuites><testsuite name='Suite'>" + cases + "</testsuite></testsuites>")
"""


class Reports(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="thinpipe-test-")
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        os.mkdir("bin")
        for name, text in ("guest", GUEST), ("bin/program", PROGRAM):
            pathlib.Path(name).write_text(text, encoding="utf-8")
            os.chmod(name, 0o755)
        guest_test.IN_GUEST = folder.name + "/guest"
        self.program = folder.name + "/bin/program"
        self.addCleanup(os.environ.pop, "BOOTS", None)

    def call(self, *words):
        with contextlib.redirect_stdout(io.StringIO()) as told:
            code = guest_test.main(["results", *words])
        return code, told.getvalue()

    def test_what_fails_has_failed_at_once(self):
        code, told = self.call("all", self.program, "--gtest_filter=Good:Bad")
        self.assertEqual(code, 1)
        self.assertIn("Suite.Bad\ntoo late\n2 tests, 1 failed, 0 without", told)
        self.assertEqual(pathlib.Path("count").read_text(encoding="utf-8"), "run ")
        self.assertEqual(self.call(self.program, "--gtest_filter=Suite.Good"), (0, ""))
        self.assertEqual(self.call(self.program, "--gtest_filter=Suite.Bad"), (1, "too late\n"))

    def test_without_a_valid_measurement_it_is_skipped_and_not_passed(self):
        code, told = self.call("all", self.program, "--gtest_filter=Good:Busy:Absent")
        self.assertEqual(code, 77)
        self.assertIn("Suite.Busy\nmachine too busy (idle 0.4 %)\n3 tests, 0 failed, 1 without",
                      told)
        self.assertEqual(self.call(self.program, "--gtest_filter=Suite.Busy"),
                         (77, "machine too busy (idle 0.4 %)\n[  SKIPPED ]\n"))
        code, _ = self.call("all", self.program, "--gtest_filter=Good:Absent")
        self.assertEqual(code, 0)  # what is missing is no matter of the measurement
        code, _ = self.call("all", self.program, "--gtest_filter=Bad:Busy")
        self.assertEqual(code, 1)

    def test_without_a_guest_all_is_skipped_with_the_reason(self):
        os.environ["BOOTS"] = "no"
        self.assertEqual(self.call("run", self.program)[0], 77)
        for words in ("report", self.program), (self.program, "--gtest_filter=Suite.Good"):
            self.assertEqual(self.call(*words), (77, "no kernel to boot\n[  SKIPPED ]\n"))


if __name__ == "__main__":
    unittest.main()
