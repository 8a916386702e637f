#!/usr/bin/env python3
"""Counts the results in ctest's JUnit files, and lists each failure and each skip with its reason.

summary.py [--failed NAME]... FILE.xml...

Each NAME is a stage that failed before its tests. Prints the skips, then the failures, then as the
last line `N passed, N failed, N skipped`. Exits with 1 if a test failed, a file is missing or
damaged, or no test was executed.

Standard library only.
"""
import argparse
import pathlib
import re
import sys
import xml.etree.ElementTree as xml

# Patterns of skipped tests in the output of programs that run several tests in one ctest entry: a
# line "skipped: NAME: REASON", or the output of Python's unittest.
OWN_SKIP = re.compile(r"^skipped: (?P<name>[^:]+): (?P<reason>.+)$", re.MULTILINE)
UNITTEST_SKIP = re.compile(r"^(?P<name>\w+) \(.*\)(?:\n.*)? \.\.\. skipped ['\"](?P<reason>.+)['\"]$",
                           re.MULTILINE)
# unittest's last line, which only counts; --verbose names the skips.
UNITTEST_SKIPS = re.compile(r"^OK \(.*\bskipped=(\d+)", re.MULTILINE)
# GoogleTest: a program's first line, the number of passed cases, and the names of the others.
GTEST_START = "Running main() from"
GTEST_PASSED = re.compile(r"^\[  PASSED  \] (\d+) tests?\.$", re.MULTILINE)
GTEST_FAILED = re.compile(r"^\[  FAILED  \] ([^\s,]+\.[^\s,]+)", re.MULTILINE)
GTEST_REASON = re.compile(r"Skipped\n(.+)")  # also without names of cases (--gtest_brief)
GTEST_SKIPPED = re.compile(r"Skipped\n(?P<reason>.+)\n+\[  SKIPPED \] (?P<name>\S+)")
REASON_LENGTH = 160  # characters: the whole output is in ctest's log


def own_skips(name, output):
    """Returns the skips that a program of several tests prints, as (name, reason)."""
    patterns = [GTEST_SKIPPED] if output.startswith(GTEST_START) else [OWN_SKIP, UNITTEST_SKIP]
    for pattern in patterns:
        found = [(one["name"], one["reason"].strip()) for one in pattern.finditer(output)]
        if found:
            # For a single case of GoogleTest, ctest's name is the name of the case.
            return [(case if case == name else f"{name} {case}", why) for case, why in found]
    return []


def reason_of(output):
    """Returns the reason that a skipped test printed, on one line."""
    found = GTEST_REASON.search(output)
    if found:
        return found[1].strip()
    lines = [line.strip() for line in output.splitlines() if line.strip(" []") not in ("", "SKIPPED")]
    return lines[-1] if lines else "no reason given"


def short(text):
    return text if len(text) <= REASON_LENGTH else text[:REASON_LENGTH] + "..."


class Summary:
    """Totals over several runs of ctest."""

    def __init__(self):
        self.passed = 0
        self.failed = []   # (name, reason)
        self.skipped = []  # (name, reason)

    def add_file(self, path):
        try:
            cases = list(xml.parse(path).iter("testcase"))
        except (OSError, xml.ParseError) as error:
            self.failed.append((pathlib.Path(path).stem, f"ctest left no results: {error}"))
            return
        if not cases:
            self.failed.append((pathlib.Path(path).stem, "no test was executed"))
        for case in cases:
            self.add_case(case)

    def add_case(self, case):
        output = case.findtext("system-out") or ""
        status, name = case.get("status"), case.get("name")
        if status == "run":
            inner = GTEST_PASSED.findall(output) if output.startswith(GTEST_START) else []
            self.passed += int(inner[-1]) if inner else 1
            named = own_skips(name, output)
            self.skipped += named
            if len(named) < sum(map(int, UNITTEST_SKIPS.findall(output))):
                self.failed.append((name, "skips without a name; expected unittest's --verbose"))
        elif status in ("notrun", "disabled") and case.find("skipped") is not None:
            message = case.find("skipped").get("message") or ""
            # ctest reports a test whose program is missing as not run, which is a failure.
            if message.startswith(("SKIP_RETURN_CODE", "SKIP_REGULAR", "Disabled")):
                self.skipped += own_skips(name, output) or [(name, reason_of(output))]
            else:
                self.failed.append((name, message or "did not run"))
        else:
            failure = case.find("failure")
            why = (failure.get("message") if failure is not None else None) or status or "failed"
            inner = dict.fromkeys(GTEST_FAILED.findall(output)) if output.startswith(GTEST_START) else {}
            self.failed += [(name if one == name else f"{name} {one}", why) for one in inner or [name]]

    def lines(self):
        for word, cases in (("skipped", self.skipped), ("FAILED", self.failed)):
            for name, reason in cases:
                yield f"{word}: {name}: {short(reason)}"
        yield (f"{self.passed} passed, {len(self.failed)} failed, {len(self.skipped)} skipped")


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--failed", action="append", default=[])
    parser.add_argument("files", nargs="*")
    options = parser.parse_args(arguments)
    summary = Summary()
    summary.failed += [(name, "see above") for name in options.failed]
    for file in options.files:
        summary.add_file(file)
    print(*summary.lines(), sep="\n")
    return 1 if summary.failed or not summary.passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
