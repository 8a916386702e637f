#!/usr/bin/env python3
"""One boot for GoogleTest programs, and ctest entries that tell how they did there.

guest_test.py FOLDER run PROGRAM [--gtest_filter=...] [PROGRAM...]
                                     boots a guest (in_guest.py), runs the programs there, keeps
                                     their reports in FOLDER; fails if one left no report
guest_test.py FOLDER report PROGRAM  passes if the program did, else names what failed
guest_test.py FOLDER PROGRAM --gtest_list_tests
                                     lists them, without a guest
guest_test.py FOLDER PROGRAM --gtest_filter=NAME
                                     passes, fails or skips as the report says of that test

CMake calls the last two as a program's CROSSCOMPILING_EMULATOR; `run` is a ctest fixture.
"""
import os
import pathlib
import shlex
import subprocess
import sys
import xml.etree.ElementTree as xml

IN_GUEST = pathlib.Path(__file__).resolve().with_name("in_guest.py")
SKIPPED = 77
TIME_LIMIT_SECONDS = 240


def report_of(folder, program):
    return folder / (pathlib.Path(program).name + ".xml")


def run(folder, words):
    programs = [word for word in words if not word.startswith("--")]
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    script = ""
    for word in words:
        script += (f" {shlex.quote(word)}" if word.startswith("--") else "\n" + shlex.join(
            [word, f"--gtest_output=xml:{report_of(folder, word)}"]))
    script += "\nexit 0"
    result = subprocess.run(
        [IN_GUEST, "--verbose", "--time-limit", str(TIME_LIMIT_SECONDS), "--out", folder,
         "--visible", pathlib.Path(programs[0]).parent.parent, "--log", folder / "console.log",
         "--", "sh", "-c", script], stdout=subprocess.PIPE, text=True, check=False)
    sys.stdout.write(result.stdout)
    (folder / "output.log").write_text(result.stdout, encoding="utf-8")
    if result.returncode == SKIPPED:
        (folder / "skipped").write_text(result.stdout, encoding="utf-8")
        return SKIPPED
    missing = [program for program in programs if not report_of(folder, program).exists()]
    for program in missing:
        print(f"{program} ended without a report")
    return 1 if result.returncode or missing else 0


def skipped(folder):
    if not (folder / "skipped").exists():
        return False
    print((folder / "skipped").read_text(encoding="utf-8") + "[  SKIPPED ]")
    return True


def report(folder, program):
    if skipped(folder):
        return SKIPPED
    cases = list(xml.parse(report_of(folder, program)).iter("testcase"))
    failed = [case for case in cases if case.find("failure") is not None]
    for case in failed:
        print(f"{case.get('classname')}.{case.get('name')}")
        print("\n".join(failure.text for failure in case.iter("failure")))
    print(f"{len(cases)} tests, {len(failed)} failed")
    return 1 if failed or not cases else 0


def look_up(folder, program, name):
    if skipped(folder):
        return SKIPPED
    suite, _, test = name.partition(".")
    for case in xml.parse(report_of(folder, program)).iter("testcase"):
        if (case.get("classname"), case.get("name")) != (suite, test):
            continue
        for figure in case.iter("property"):
            print(f"{figure.get('name')}: {figure.get('value')}")
        failures = [failure.text for failure in case.iter("failure")]
        if failures:
            print("\n".join(failures))
            return 1
        if case.get("result") == "skipped":
            print("\n".join(skip.text or "" for skip in case.iter("skipped")) + "\n[  SKIPPED ]")
            return SKIPPED
        return 0 if case.get("result") == "completed" else 1
    print(f"{report_of(folder, program)} has no {name}")
    return 1


def main(arguments):
    folder = pathlib.Path(arguments[0])
    if arguments[1] == "run":
        return run(folder, arguments[2:])
    if arguments[1] == "report":
        return report(folder, arguments[2])
    for word in arguments[2:]:
        if word.startswith("--gtest_filter="):
            return look_up(folder, arguments[1], word.partition("=")[2])
    os.execv(arguments[1], arguments[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
