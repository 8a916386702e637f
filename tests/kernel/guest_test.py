#!/usr/bin/env python3
"""One boot for GoogleTest programs, and ctest entries that tell how they did there.

guest_test.py FOLDER run PROGRAM [--gtest_filter=...] [PROGRAM...]
                                     boots a guest (in_guest.py), runs the programs there, keeps
                                     their reports in FOLDER; fails if one left no report. What
                                     failed gets two more boots: on a busy machine the guest may
                                     stand still for longer than a figure allows, which a defect
                                     does three times out of three
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
ATTEMPTS = 3


def report_of(folder, program):
    return folder / (pathlib.Path(program).name + ".xml")


def boot(folder, commands, log):
    """Runs the commands (lists of words) in one guest. @returns exit code and output."""
    script = "\n".join(shlex.join(command) for command in commands) + "\nexit 0"
    visible = pathlib.Path(commands[0][0]).parent.parent
    result = subprocess.run(
        [IN_GUEST, "--verbose", "--time-limit", str(TIME_LIMIT_SECONDS), "--out", folder,
         "--visible", visible, "--log", folder / log, "--", "sh", "-c", script],
        stdout=subprocess.PIPE, text=True, check=False)
    sys.stdout.write(result.stdout)
    return result.returncode, result.stdout


def name_of(case):
    return f"{case.get('classname')}.{case.get('name')}"


def failed_cases(report_tree):
    return [case for case in report_tree.iter("testcase") if case.find("failure") is not None]


def repeat_failed(folder, programs, attempt):
    """Boots once more for what failed; what passes now replaces what the reports said."""
    trees = {program: xml.parse(report_of(folder, program)) for program in programs}
    commands = [[program, f"--gtest_filter={':'.join(map(name_of, failed_cases(tree)))}",
                 f"--gtest_output=xml:{report_of(folder, program)}.again"]
                for program, tree in trees.items() if failed_cases(tree)]
    if not commands:
        return
    boot(folder, commands, f"console{attempt}.log")
    for program, *_ in commands:
        again = pathlib.Path(f"{report_of(folder, program)}.again")
        if not again.exists():
            continue
        passed = {name_of(case): case for case in xml.parse(again).iter("testcase")
                  if case.find("failure") is None and case.get("result") == "completed"}
        again.unlink()
        for suite in trees[program].iter("testsuite"):
            for place, case in enumerate(list(suite)):
                better = passed.get(name_of(case)) if case.find("failure") is not None else None
                if better is None:
                    continue
                print(f"{name_of(case)} passed at attempt {attempt}, after\n"
                      + "\n".join(failure.text for failure in case.iter("failure")))
                kept = better.find("properties")
                if kept is None:
                    kept = xml.SubElement(better, "properties")
                xml.SubElement(kept, "property", name="attempt", value=str(attempt))
                suite[place] = better
        trees[program].write(report_of(folder, program), encoding="utf-8")


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
    code, output = boot(folder, commands, "console.log")
    (folder / "output.log").write_text(output, encoding="utf-8")
    if code == SKIPPED:
        (folder / "skipped").write_text(output, encoding="utf-8")
        return SKIPPED
    programs = [command[0] for command in commands]
    missing = [program for program in programs if not report_of(folder, program).exists()]
    for program in missing:
        print(f"{program} ended without a report")
    if code or missing:
        return 1
    for attempt in range(2, ATTEMPTS + 1):
        repeat_failed(folder, programs, attempt)
    return 0


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
        print(name_of(case))
        print("\n".join(failure.text for failure in case.iter("failure")))
    print(f"{len(cases)} tests, {len(failed)} failed")
    return 1 if failed or not cases else 0


def look_up(folder, program, name):
    if skipped(folder):
        return SKIPPED
    for case in xml.parse(report_of(folder, program)).iter("testcase"):
        if name_of(case) != name:
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
