#!/usr/bin/env python3
"""One boot for GoogleTest programs, and ctest entries that report their results in the guest.

guest_test.py FOLDER run PROGRAM [--gtest_filter=...] [PROGRAM...]
                                     boots a guest (in_guest.py), runs the programs there, keeps
                                     their reports in FOLDER; fails if one left no report
guest_test.py FOLDER all PROGRAM [--gtest_filter=...] [PROGRAM...]
                                     run, then report for each program
guest_test.py FOLDER report PROGRAM  passes if the program did, else names the failed tests
guest_test.py FOLDER PROGRAM --gtest_list_tests
                                     lists them, without a guest
guest_test.py FOLDER PROGRAM --gtest_filter=NAME
                                     passes, fails or skips as that test did in the report

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
TOO_BUSY = "machine too busy"  # from a test without a valid measurement (tests/netem/helpers.h)
TIME_LIMIT_SECONDS = 330  # below the TIMEOUT of its ctest entries


def report_of(folder, program):
    return folder / (pathlib.Path(program).name + ".xml")


def boot(folder, commands):
    """Runs the commands (lists of words) in one guest. @returns exit code and output."""
    script = "\n".join(shlex.join(command) for command in commands) + "\nexit 0"
    visible = pathlib.Path(commands[0][0]).parent.parent
    result = subprocess.run(
        [sys.executable, IN_GUEST, "--verbose", "--time-limit", str(TIME_LIMIT_SECONDS),
         "--out", folder, "--visible", visible, "--log", folder / "console.log", "--",
         "sh", "-c", script], stdout=subprocess.PIPE, text=True, check=False)
    sys.stdout.write(result.stdout)
    return result.returncode, result.stdout


def name_of(case):
    return f"{case.get('classname')}.{case.get('name')}"


def run(folder, words):
    commands = []
    for word in words:
        if word.startswith("--"):
            commands[-1].append(word)
        else:
            commands.append([word, f"--gtest_output=xml:{report_of(folder, word)}"])
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    code, output = boot(folder, commands)
    (folder / "output.log").write_text(output, encoding="utf-8")
    if code == SKIPPED:
        (folder / "skipped").write_text(output, encoding="utf-8")
        return SKIPPED
    programs = [command[0] for command in commands]
    missing = [program for program in programs if not report_of(folder, program).exists()]
    for program in missing:
        print(f"{program} ended without a report")
    return 1 if code or missing else 0


def skipped(folder):
    if not (folder / "skipped").exists():
        return False
    print((folder / "skipped").read_text(encoding="utf-8") + "[  SKIPPED ]")
    return True


def texts(case, kind):
    return "\n".join(part.text or "" for part in case.iter(kind))


def report(folder, program):
    """Fails if a test did, or none ran; else is skipped if a measurement was not valid."""
    if skipped(folder):
        return SKIPPED
    cases = list(xml.parse(report_of(folder, program)).iter("testcase"))
    failed = [case for case in cases if case.find("failure") is not None]
    busy = [case for case in cases if TOO_BUSY in texts(case, "skipped")]
    for case in cases:
        if case.find("skipped") is not None and case not in busy:
            print(f"skipped: {name_of(case)}: {' '.join(texts(case, 'skipped').split())}")
    for case in failed + busy:
        print(f"{name_of(case)}\n{texts(case, 'failure')}{texts(case, 'skipped')}")
    print(f"{len(cases)} tests, {len(failed)} failed, {len(busy)} without a valid measurement")
    if failed or not cases:
        return 1
    return SKIPPED if busy else 0


def look_up(folder, program, name):
    if skipped(folder):
        return SKIPPED
    for case in xml.parse(report_of(folder, program)).iter("testcase"):
        if name_of(case) != name:
            continue
        for figure in case.iter("property"):
            print(f"{figure.get('name')}: {figure.get('value')}")
        if case.find("failure") is not None:
            print(texts(case, "failure"))
            return 1
        if case.get("result") == "skipped":
            print(texts(case, "skipped") + "\n[  SKIPPED ]")
            return SKIPPED
        return 0 if case.get("result") == "completed" else 1
    print(f"{report_of(folder, program)} has no {name}")
    return 1


def main(arguments):
    folder = pathlib.Path(arguments[0])
    if arguments[1] == "run":
        return run(folder, arguments[2:])
    if arguments[1] == "all":
        programs = [word for word in arguments[2:] if not word.startswith("--")]
        codes = [run(folder, arguments[2:])]
        codes += [report(folder, program) for program in programs if codes == [0]]
        return 1 if 1 in codes else max(codes)
    if arguments[1] == "report":
        return report(folder, arguments[2])
    for word in arguments[2:]:
        if word.startswith("--gtest_filter="):
            return look_up(folder, arguments[1], word.partition("=")[2])
    os.execv(arguments[1], arguments[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
