#!/usr/bin/env python3
"""One boot for all tests of a GoogleTest program, one ctest entry for each of them.

guest_test.py FOLDER run PROGRAM    boots a guest (in_guest.py), runs the program there, keeps its
                                    report in FOLDER; fails only if there is no report in the end
guest_test.py FOLDER PROGRAM --gtest_list_tests
                                    lists them, without a guest
guest_test.py FOLDER PROGRAM --gtest_filter=NAME
                                    passes, fails or skips as the report says of that test

CMake calls the last two as the program's CROSSCOMPILING_EMULATOR; `run` is a ctest fixture.
"""
import os
import pathlib
import subprocess
import sys
import xml.etree.ElementTree as xml

IN_GUEST = pathlib.Path(__file__).resolve().with_name("in_guest.py")
SKIPPED = 77
TIME_LIMIT_SECONDS = 240


def run(folder, program):
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    result = subprocess.run(
        [IN_GUEST, "--verbose", "--time-limit", str(TIME_LIMIT_SECONDS), "--out", folder,
         "--visible", program.parent.parent, "--log", folder / "console.log", "--", program,
         f"--gtest_output=xml:{folder / 'report.xml'}"],
        stdout=subprocess.PIPE, text=True, check=False)
    sys.stdout.write(result.stdout)
    (folder / "output.log").write_text(result.stdout, encoding="utf-8")
    if result.returncode == SKIPPED:
        (folder / "skipped").write_text(result.stdout, encoding="utf-8")
        print("[  SKIPPED ]")
        return SKIPPED
    return 0 if result.returncode in (0, 1) and (folder / "report.xml").exists() else 1


def look_up(folder, name):
    if (folder / "skipped").exists():
        print((folder / "skipped").read_text(encoding="utf-8") + "[  SKIPPED ]")
        return SKIPPED
    suite, _, test = name.partition(".")
    for case in xml.parse(folder / "report.xml").iter("testcase"):
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
    print(f"{folder / 'report.xml'} has no {name}")
    return 1


def main(arguments):
    folder = pathlib.Path(arguments[0])
    if arguments[1] == "run":
        return run(folder, pathlib.Path(arguments[2]))
    for word in arguments[2:]:
        if word.startswith("--gtest_filter="):
            return look_up(folder, word.partition("=")[2])
    os.execv(arguments[1], arguments[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
