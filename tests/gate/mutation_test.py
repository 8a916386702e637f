#!/usr/bin/env python3
"""A comparator that does not compare must fail its own tests: each mutation of the gate's source is
compiled with those tests, which have to fail; the unchanged source has to pass. Two minutes of
compiling, which `./check --full` takes."""
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(os.environ["ROOT"])
LIBRARIES = pathlib.Path(os.environ["LIBRARIES"])
COMPILER = os.environ["COMPILER"]
SOURCES = ["comparison.cc", "gate.cc"]
TESTS = ["comparison_test.cc", "gate_test.cc"]

# What is wrong then, the file, its text, and what stands there instead.
MUTATIONS = [
    ("nothing is compared", "gate.cc",
     "for (const auto& [name, series] : after.series) {\n    const auto old",
     "for (const auto& [name, series] : decltype(after.series){}) {\n    const auto old"),
    ("times are always the same", "gate.cc", "verdict = worse[i] ", "verdict = false "),
    ("times are never the same", "gate.cc", "tested[i].p_same <= alpha", "false"),
    ("better and worse times are mixed up", "gate.cc",
     "const double sign = lower_is_better(series) ? 1 : -1;",
     "const double sign = lower_is_better(series) ? -1 : 1;"),
    ("what one side lacks is passed over", "gate.cc",
     "outcome.missing.push_back(std::string(where)", "(void)(std::string(where)"),
    ("a failed point is passed over", "gate.cc", "outcome.failed.push_back(id",
     "(void)(id"),
    ("nothing compared is a pass", "gate.cc",
     "if (!outcome.missing.empty() || outcome.comparisons.empty()) return kNotComparable;", ""),
    ("exact values are always the same", "comparison.cc", "} else if (old_samples == samples) {",
     "} else if (true) {"),
    ("quality is always the same", "comparison.cc",
     "comparison.change > margins.margin ", "false "),
    ("the policy's bounds do not count", "comparison.cc", "comparison.after > *margins.most", "false"),
    ("pairs in turn are taken by their medians", "comparison.cc", "in_turns && old.size()",
     "false && old.size()"),
]


class Mutations(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.folder = pathlib.Path(cls.temporary.name)
        for name in SOURCES:
            cls.compile(ROOT / "reports/gate" / name, name)
        for name in TESTS:
            cls.compile(ROOT / "tests/reports/gate" / name, name)

    @classmethod
    def compile(cls, source, name):
        subprocess.run([COMPILER, "-std=c++20", "-O0", "-DFMT_SHARED", f"-I{ROOT}", "-c",
                        str(source), "-o", str(cls.folder / name) + ".o"], check=True)

    def passes(self, objects):
        """Links the gate's files into the tests, so that those of the library do not count."""
        program = self.folder / "program"
        subprocess.run([COMPILER, *map(str, objects), "-o", str(program), f"-L{LIBRARIES}",
                        f"-Wl,-rpath,{LIBRARIES}", "-lthinpipe_reports", "-lgtest_main", "-lgtest",
                        "-lfmt", "-lpthread"], check=True)
        result = subprocess.run([str(program)], capture_output=True, text=True, check=False,
                                timeout=100)
        return result.returncode == 0

    def test_the_source_as_it_is_passes(self):
        self.assertTrue(self.passes(self.folder / f"{name}.o" for name in SOURCES + TESTS))

    def test_every_mutation_is_found(self):
        for what, file, text, instead in MUTATIONS:
            with self.subTest(what):
                source = (ROOT / "reports/gate" / file).read_text()
                self.assertEqual(source.count(text), 1, f"{file} has changed: {text}")
                mutated = self.folder / "mutated.cc"
                mutated.write_text(source.replace(text, instead))
                self.compile(mutated, "mutated.cc")
                objects = [self.folder / f"{name}.o" for name in SOURCES + TESTS if name != file]
                self.assertFalse(self.passes([*objects, self.folder / "mutated.cc.o"]),
                                 f"no test has noticed that {what}")


if __name__ == "__main__":
    unittest.main()
