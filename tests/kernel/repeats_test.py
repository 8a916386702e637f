#!/usr/bin/env python3
"""What guest_test.py makes of tests that fail once, or always. The guest is played by a shell."""
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
GUEST = '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift\nexec "$@"\n'

# Writes a report as GoogleTest does: Suite.Once fails when first run, Suite.Never always.
PROGRAM = '''#!/usr/bin/env python3
import os, sys
options = dict(word.split("=", 1) for word in sys.argv[1:])
report = options["--gtest_output"].partition(":")[2]
chosen = options.get("--gtest_filter", "Suite.Good:Suite.Once:Suite.Never").split(":")
count = os.path.dirname(report) + "/runs"
with open(count, "a") as file: file.write(" ".join(chosen) + "\\n")
first = len(open(count).readlines()) == 1
cases = ""
for name in chosen:
    bad = name == "Suite.Never" or (name == "Suite.Once" and first)
    cases += ('<testcase name="%s" classname="Suite" result="completed">%s</testcase>'
              % (name.partition(".")[2], "<failure message='f'>too late</failure>" if bad else ""))
open(report, "w").write("<testsuites><testsuite name='Suite'>" + cases + "</testsuite></testsuites>")
'''


class Repeats(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="thinpipe-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.results = self.folder / "results"
        guest_test.IN_GUEST = self.script("guest", GUEST)
        self.program = str(self.script("bin/program", PROGRAM))

    def script(self, name, text):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        os.chmod(path, 0o755)
        return path

    def call(self, *words):
        with contextlib.redirect_stdout(io.StringIO()) as told:
            code = guest_test.main([str(self.results), *words])
        return code, told.getvalue()

    def test_only_what_failed_is_repeated_and_what_never_passes_fails(self):
        code, told = self.call("run", self.program)
        self.assertEqual(code, 0)
        self.assertIn("Suite.Once passed at attempt 2, after\ntoo late", told)
        runs = (self.results / "runs").read_text(encoding="utf-8").splitlines()
        self.assertEqual(runs[1:], ["Suite.Once Suite.Never", "Suite.Never"])
        look_up = lambda name: self.call(self.program, f"--gtest_filter=Suite.{name}")
        self.assertEqual(look_up("Good"), (0, ""))
        self.assertEqual(look_up("Once"), (0, "attempt: 2\n"))
        code, told = look_up("Never")
        self.assertEqual(code, 1)
        self.assertIn("too late", told)
        code, told = self.call("report", self.program)
        self.assertEqual(code, 1)
        self.assertIn("Suite.Never\ntoo late\n3 tests, 1 failed", told)


if __name__ == "__main__":
    unittest.main()
