#!/usr/bin/env python3
"""Tests of the scripts behind ./check: sums over ctest's results, detection of leftovers."""
import contextlib
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import left_behind  # pylint: disable=wrong-import-position
import many_runs  # pylint: disable=wrong-import-position
import summary  # pylint: disable=wrong-import-position


def case(name, status, output="", inner=""):
    return (f'<testcase name="{name}" status="{status}">{inner}'
            f"<system-out>{output}</system-out></testcase>")


GTEST = "Running main() from ./gtest_main.cc\n{}\n"
SKIP_CODE = '<skipped message="SKIP_RETURN_CODE=77"/>'


class ManyRuns(unittest.TestCase):
    def test_the_end_of_a_run_is_read(self):
        self.assertEqual(many_runs.read_end(
            ["skipped: of a test's own output", "./check (standard) took 8 min 3 s.",
             "skipped: a.b: machine too busy (idle 0.4 %)", "FAILED: c: Failed",
             "7 passed, 1 failed, 1 skipped"]),
            (7, 1, "8 min 3 s", [("skipped", "a.b: machine too busy (idle 0.4 %)"),
                                 ("FAILED", "c: Failed")]))

    def test_a_run_without_an_end_is_none(self):
        for lines in ([], ["7 passed, 1 failed, 1 skipped"], ["./check took 8 min 3 s.", "killed"]):
            with self.assertRaises(ValueError):
                many_runs.read_end(lines)


class Summaries(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="thinpipe-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def told(self, *cases):
        file = self.folder / "run.xml"
        file.write_text(f"<testsuite>{''.join(cases)}</testsuite>", encoding="utf-8")
        return self.call(str(file))

    def call(self, *files):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            code = summary.main(list(files))
        return code, out.getvalue().splitlines()

    def test_counts_and_names(self):
        code, lines = self.told(
            case("good", "run"),
            case("bad", "fail", inner='<failure message="timeout"/>'),
            case("off", "notrun", "first\nno GPU here\n", SKIP_CODE),
            case("Suite.Case", "notrun", GTEST.format(
                     "x.cc:7: Skipped\nmachine too busy (idle 0.4 %)\n\n[  SKIPPED ] Suite.Case (3 ms)\n"
                     "[  PASSED  ] 0 tests."),
                 '<skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>'))
        self.assertEqual(code, 1)
        self.assertEqual(lines, ["skipped: off: no GPU here",
                                 "skipped: Suite.Case: machine too busy (idle 0.4 %)",
                                 "FAILED: bad: timeout", "1 passed, 1 failed, 2 skipped"])

    def test_skips_within_a_program_are_named_whether_it_passed_or_not(self):
        code, lines = self.told(
            case("two", "notrun", "skipped: A.b: machine too busy (idle 1 %)\nskipped: A.c: so\n",
                 SKIP_CODE),
            case("python", "run", "test_a (mod.Cls.test_a)\nWhat it does. ... skipped 'no torch'\n"
                                  "test_b (mod.Cls.test_b) ... ok\n"))
        self.assertEqual(code, 0)
        self.assertEqual(lines[:3], ["skipped: two A.b: machine too busy (idle 1 %)",
                                     "skipped: two A.c: so", "skipped: python test_a: no torch"])
        self.assertEqual(lines[-1], "1 passed, 0 failed, 3 skipped")

    def test_skips_that_are_only_counted_have_failed(self):
        code, lines = self.told(case("python", "run", "..s\nRan 3 tests in 1 s\n\nOK (skipped=1)\n"))
        self.assertEqual(code, 1)
        self.assertIn("FAILED: python: skips without a name", lines[0])

    def test_cases_within_a_program_of_googletest_are_counted(self):
        code, lines = self.told(
            case("many.1", "run", GTEST.format("[  PASSED  ] 205 tests.")),
            case("many.2", "fail", GTEST.format(
                "[  FAILED  ] A.b, where GetParam() = 1 (2 ms)\n[  PASSED  ] 3 tests.\n"
                "[  FAILED  ] 1 test, listed below:\n[  FAILED  ] A.b, where GetParam() = 1")))
        self.assertEqual((code, lines), (1, ["FAILED: many.2 A.b: fail",
                                             "205 passed, 1 failed, 0 skipped"]))

    def test_a_program_that_is_missing_has_failed(self):
        code, lines = self.told(case("good", "run"), case(
            "gone", "notrun", inner='<skipped message="Unable to find executable: gone"/>'))
        self.assertEqual((code, lines[-1]), (1, "1 passed, 1 failed, 0 skipped"))

    def test_a_part_that_failed_counts(self):
        code, lines = self.told(case("good", "run"))
        self.assertEqual((code, lines[-1]), (0, "1 passed, 0 failed, 0 skipped"))
        code, lines = self.call("--failed", "build asan", str(self.folder / "run.xml"))
        self.assertEqual((code, lines), (1, ["FAILED: build asan: see above",
                                             "1 passed, 1 failed, 0 skipped"]))

    def test_no_results_have_failed(self):
        self.assertEqual(self.told()[0], 1)
        self.assertEqual(self.call(str(self.folder / "none.xml"))[0], 1)
        self.assertEqual(self.told(case("off", "notrun", "", SKIP_CODE))[0], 1)


class Labels(unittest.TestCase):
    def test_those_of_the_background_exist(self):
        root = pathlib.Path(__file__).resolve().parents[2]
        named = re.search(r"^computing='\^\(([^']*)'\ncomputing\+='([^)]*)\)", (root / "check").read_text(),
                          re.MULTILINE)
        lists = "\n".join(file.read_text() for file in (root / "tests").rglob("CMakeLists.txt"))
        labels = set(re.findall(r"LABELS (\w+)", lists))
        labels.update(re.search(r"foreach\(library ([^)]*)\)", lists)[1].split())
        self.assertLessEqual(set("".join(named.groups()).split("|")), labels)


class LeftBehind(unittest.TestCase):
    MARK = f"THINPIPE_LEFT_BEHIND_TEST={os.getpid()}"

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="thinpipe-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.own = self.folder / "own"
        self.own.mkdir()
        self.call("before", str(self.folder / "state"))

    def call(self, *arguments):
        result = subprocess.run([sys.executable, HERE / "left_behind.py", *arguments], text=True,
                                env=dict(os.environ, TMPDIR=str(self.own)), capture_output=True,
                                check=False)
        return result.returncode, result.stdout

    def after(self):
        code, told = self.call("after", str(self.folder / "state"), str(self.folder / "build"),
                               self.MARK)
        # Other tests may run at the same time: their additions are in shared folders.
        lines = [line for line in told.splitlines() if str(self.own) in line or "process" in line]
        return code, lines

    def test_only_our_interfaces_are_found(self):
        # Every name in the sources, with numbers in it.
        names = {"thin0", "nic0-peer", "a0"}
        for file in ("network.cc", "link/shaping.cc"):
            text = (HERE.parents[1] / "netem" / file).read_text(encoding="utf-8")
            names.update(name.replace("{}", "12")
                         for name in re.findall(r'format\("([a-z]+\{\}(?:\.\{\})?)"', text))
        self.assertLessEqual({"up12", "data12", "trunk12", "control12", "ctl12.12"}, names)
        before = {"own": [], "shared": dict.fromkeys(left_behind.SHARED_FOLDERS, []),
                  "namespaces": [], "mounts": [], "interfaces": ["lo", "trunk0"]}
        others = ["eth1", "veth3a1b2c", "docker0", "br-0a1b2c", "wg0", "ifb0", "tap12", "updraft0"]
        now = {**before, "interfaces": ["lo", "trunk0", *others, *names]}
        found = left_behind.added(before, now, str(self.folder / "build"), self.MARK)
        self.assertEqual(set(found), {f"interface {name}" for name in names})

    def test_a_file_is_found(self):
        self.assertEqual(self.after()[1], [])
        (self.own / "some").touch()
        self.assertEqual(self.after(), (1, [f"left behind: file {self.own}/some"]))

    def test_a_process_is_found_by_its_mark(self):
        name, value = self.MARK.split("=")
        process = subprocess.Popen(["sleep", "100"], env=dict(os.environ, **{name: value}))
        try:
            self.assertEqual(self.after(), (1, [f"left behind: process {process.pid} sleep 100"]))
        finally:
            process.kill()
            process.wait()
        self.assertEqual(self.after()[1], [])


if __name__ == "__main__":
    unittest.main()
