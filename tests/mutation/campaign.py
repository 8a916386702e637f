#!/usr/bin/env python3
"""Seeds the defects of defects.py one at a time and runs the tests named beside each: one of them
has to fail, or nobody would notice the defect.

A mutated file is compiled in the place of its own, with the flags of the build; the shared libraries
that it belongs to are linked anew into a folder of their own, and the tests run with that folder in
LD_LIBRARY_PATH, they and the programs that they start. Nothing of the build changes. Before, all the
tests that will be run are run once with libraries made in this way of unchanged files; one that
fails then has caught nothing, nor has one that fails without the defect right afterwards. A file that
does not compile, a program that does not start and a test that runs on for ever are no catch either.

  campaign.py BUILD                    all defects; prints the table, and writes it to docs/testing.md
                                       where THINPIPE_UPDATE_DOCS is set
  campaign.py BUILD --only NUMBER...   some of them; prints their rows
  campaign.py --sites                  looks whether each text occurs once in its file, and whether
                                       the table has each defect; compiles nothing
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field

from defects import DEFECTS

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "testing.md"
BEGIN, END = "<!-- made by tests/mutation/campaign.py -->\n", "<!-- end of the campaign -->\n"
SECONDS = 300  # that the tests of one defect may take; the longest take a third of it on a busy core
SECONDS_OF_A_HANG = 30  # where the tests may well wait for ever; they take 3 otherwise
# Kernels compile in a third of the time with -O1, and compute the same: no -O contracts or reorders
# floating-point arithmetic. Code that a defect leaves unused is no error.
OTHER_FLAGS = ["-O1", "-w"]
CONTROL_FILES = {  # a file of each library, which is compiled as it is
    "compressors": "compressors/methods/dgc.cc", "netem": "netem/link/shaping.cc",
    "reports": "reports/statistics/statistics.cc", "harness": "harness/launch/machines.cc",
    "trace": "workloads/trace/trace.cc", "collectives": "workloads/collectives/ring.cc",
    "predict": "workloads/predict/pipeline.cc", "replay": "workloads/replay/plan.cc",
}


class NotTried(Exception):
    """The defect could not be seeded, so the tests have no result."""


@dataclass
class Outcome:
    caught: list = field(default_factory=list)
    asked: int = 0
    seconds: float = 0
    hung: bool = False


def output_of(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise NotTried(f"{' '.join(map(str, command))[:200]}: {done.stderr[-2000:]}")
    return done.stdout


def mutated(defect):
    text = (ROOT / defect.file).read_text(encoding="utf-8")
    if (count := text.count(defect.text)) != 1:
        raise NotTried(f"{defect.file} has {count} times: {defect.text}")
    return text.replace(defect.text, defect.instead)


class Build:
    """How the build compiles a file and links a library."""

    def __init__(self, folder):
        self.folder = folder.resolve()
        self.units = {}  # source -> how its unit is compiled
        for unit in json.loads((self.folder / "compile_commands.json").read_text()):
            unit["words"] = shlex.split(unit["command"])
            unit["object"] = unit["words"][unit["words"].index("-o") + 1]
            if "/thinpipe_" not in unit["object"]:
                continue  # of a test
            source = pathlib.Path(unit["file"])
            members = (re.findall(r'^#include "(.*)"$', source.read_text(), re.MULTILINE)
                       if source.name.startswith("unity_") else [unit["file"]])
            for member in members:
                self.units[member] = unit
        self.links = {}  # object -> the words that link the library it is in
        for library in (self.folder / "lib").glob("libthinpipe_*.so.*.*"):
            link = output_of(["ninja", "-C", str(self.folder), "-t", "commands", "-s",
                              f"lib/{library.name}"]).splitlines()[-1]
            words = shlex.split(link.removeprefix(": && ").removesuffix(" && :"))
            self.links.update((word, words) for word in words if word.endswith(".o"))
        self.tests = {}
        for test in json.loads(output_of(["ctest", "--test-dir", str(self.folder),
                                          "--show-only=json-v1"]))["tests"]:
            if "command" not in test:
                continue
            shard = environment_of(test).get("GTEST_SHARD_INDEX")
            if shard is None:
                self.tests[test["name"]] = test
            elif shard == "0":
                self.tests.update(cases_of(test))

    def library(self, file, text, folder):
        """Makes in `folder` the library of `file`, with `text` as the file's content."""
        unit = self.units.get(str(ROOT / file))
        if unit is None:
            raise NotTried(f"{file} is in no library's unit")
        place = folder / "source" / file
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
        source = pathlib.Path(unit["file"])
        if source.name.startswith("unity_"):
            whole = source.read_text().replace(f'"{ROOT / file}"', f'"{place}"')
            source = folder / source.name
            source.write_text(whole)
        else:
            source = place
        object_file = folder / "mutated.o"
        # The folder comes first: a file that Highway includes again is found there.
        command = unit["words"][:unit["words"].index("-o")]
        output_of([command[0], f"-I{folder / 'source'}", *command[1:], *OTHER_FLAGS,
                   "-o", str(object_file), "-c", str(source)], cwd=unit["directory"])
        link = self.links[unit["object"]]
        library = link[link.index("-o") + 1]
        made = folder / pathlib.Path(library).name
        swap = {unit["object"]: str(object_file), library: str(made)}
        output_of([swap.get(word, word) for word in link], cwd=self.folder)
        soname = next(word for word in link if word.startswith("-Wl,-soname,")).split(",")[-1]
        (folder / soname).symlink_to(made.name)

    def named(self, patterns):
        names = [name for name in self.tests if any(re.search(one, name) for one in patterns)]
        for one in patterns:
            if not any(re.search(one, name) for name in names):
                raise NotTried(f"no test is named {one}")
        return names


def environment_of(test):
    return dict(one.split("=", 1) for one in properties_of(test).get("ENVIRONMENT", []))


def cases_of(test):
    """The cases of a GoogleTest program that several ctest entries run in shards, as tests."""
    program = test["command"][0]
    cases, suite = {}, ""
    for line in output_of([program, "--gtest_list_tests"]).splitlines():
        word = line.split("#")[0].strip()
        if line.startswith("  "):
            cases[suite + word] = {"command": [program, f"--gtest_filter={suite}{word}"]}
        elif word.endswith("."):
            suite = word
    return cases


def properties_of(test):
    return {one["name"]: one["value"] for one in test.get("properties", [])}


def run_program(command, test, folder, seconds):
    """Exit code and output; None instead of the code where time was up."""
    properties = properties_of(test)
    environment = dict(os.environ, LD_LIBRARY_PATH=str(folder))
    environment.update(environment_of(test))
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace",
                          env=environment, cwd=properties.get("WORKING_DIRECTORY"),
                          start_new_session=True) as program:
        try:
            output, _ = program.communicate(timeout=max(1, seconds))
            return program.returncode, output
        except subprocess.TimeoutExpired:
            os.killpg(program.pid, signal.SIGKILL)
            return None, program.communicate()[0]


def failed_cases(code, output):
    """The failed tests of a GoogleTest program, and the one in which it crashed."""
    failed = re.findall(r"^\[  FAILED  \] ([\w/]+\.[\w/]+)", output, re.MULTILINE)
    if code is not None and code < 0:
        begun = re.findall(r"^\[ RUN      \] ([\w/]+\.[\w/]+)", output, re.MULTILINE)
        failed += begun[-1:]
    if code not in (0, None) and not failed:
        raise NotTried(f"a test program ended with {code}: {output[-1000:]}")
    return failed


def ask(build, names, folder, seconds):
    """Runs the tests with the libraries in `folder`."""
    outcome = Outcome(asked=len(names))
    begin = time.monotonic()
    left = lambda: seconds - (time.monotonic() - begin)
    programs = {}
    for name in names:
        command = build.tests[name]["command"]
        if not pathlib.Path(command[0]).exists():
            raise NotTried(f"{command[0]} is not built")
        own = [word for word in command if word.startswith("--gtest_filter=")]
        if own:
            programs.setdefault(command[0], []).append((name, own[0].split("=", 1)[1]))
            continue
        code, output = run_program(command, build.tests[name], folder, left())
        outcome.hung = outcome.hung or code is None
        if code not in (0, 77, None):
            if re.search(r"error while loading shared libraries|symbol lookup error", output):
                raise NotTried(output[-1000:])
            outcome.caught.append(name)
    for program, cases in programs.items():
        filters = ":".join(case for _, case in cases)
        name_of = {case: name for name, case in cases}
        code, output = run_program([program, f"--gtest_filter={filters}"],
                                   build.tests[cases[0][0]], folder, left())
        outcome.hung = outcome.hung or code is None
        outcome.caught += [name_of[case] for case in failed_cases(code, output)]
    outcome.seconds = time.monotonic() - begin
    return outcome


def passes(build, name, folder):
    test = build.tests[name]
    code, output = run_program(test["command"], test, folder, SECONDS)
    if code not in (0, 77):
        print(f"fails without a defect: {name}\n{output[-600:]}", flush=True)
    return code in (0, 77)


def control(build, folder):
    """The tests that fail though nothing is wrong."""
    for file in CONTROL_FILES.values():
        part = folder / "parts" / file.replace("/", "_")
        build.library(file, (ROOT / file).read_text(encoding="utf-8"), part)
        for made in part.glob("lib*"):
            made.rename(folder / made.name)
    names = list(dict.fromkeys(name for defect in DEFECTS for name in build.named(defect.tests)))
    return {name for name in names if not passes(build, name, folder)}, len(names)


def seed(build, scratch, number, failing):
    """@returns a row of the table, and whether the defect was caught"""
    defect = DEFECTS[number - 1]
    folder = scratch / f"{number}"
    begin = time.monotonic()
    try:
        folder.mkdir(parents=True)
        build.library(defect.file, mutated(defect), folder)
        outcome = ask(build, build.named(defect.tests), folder,
                      SECONDS_OF_A_HANG if defect.may_hang else SECONDS)
    except NotTried as reason:
        return f"| {number} | {defect.what} | `{defect.file}` | **not tried**: {reason} | |", False
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    caught = [name for name in dict.fromkeys(outcome.caught) if name not in failing]
    while caught and not passes(build, caught[0], build.folder / "lib"):
        caught.pop(0)
    by = f"`{caught[0]}`" if caught else "**nobody**"
    if len(caught) > 1:
        by += f" and {len(caught) - 1} more"
    if outcome.hung:
        by = f"{by}; the tests did not end" if caught else "the tests did not end"
    if defect.added:
        by += "; added for it"
    good = bool(caught) or (outcome.hung and defect.may_hang)
    return (f"| {number} | {defect.what} | `{defect.file}` | {by} | "
            f"{time.monotonic() - begin:.0f} |"), good


def table_of(rows, caught, asked, seconds):
    return (f"{caught} of {len(rows)} defects were caught. Before, {asked} tests ran without a defect. "
            f"It took {seconds / 60:.0f} minutes.\n\n"
            "| | defect | file | caught by | s |\n|---|---|---|---|---|\n" +
            "\n".join(rows) + "\n")


def check_sites():
    wrong = []
    for defect in DEFECTS:
        try:
            mutated(defect)
        except (NotTried, OSError) as reason:
            wrong.append(str(reason))
    page = PAGE.read_text(encoding="utf-8")
    wrong += [f"{PAGE.name} lacks: {defect.what}" for defect in DEFECTS
              if f"| {defect.what} |" not in page]
    print("\n".join(wrong) or f"{len(DEFECTS)} defects, each with its place")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", type=pathlib.Path)
    parser.add_argument("--only", nargs="+", type=int, default=[])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--sites", action="store_true")
    options = parser.parse_args()
    if options.sites or options.build is None:
        return check_sites()
    begin = time.monotonic()
    build = Build(options.build)
    scratch = build.folder / "tests" / "mutation" / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    rows, caught, asked = [], 0, 0
    try:
        failing = set()
        if not options.only:
            failing, asked = control(build, scratch / "control")
        numbers = options.only or range(1, len(DEFECTS) + 1)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for row, good in pool.map(lambda one: seed(build, scratch, one, failing), numbers):
                rows.append(row)
                caught += good
                print(row, flush=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    table = table_of(rows, caught, asked, time.monotonic() - begin)
    print(table.split("\n", 1)[0])
    if not options.only and os.environ.get("THINPIPE_UPDATE_DOCS"):
        page = PAGE.read_text(encoding="utf-8")
        head, tail = page.split(BEGIN)[0], page.split(END)[1]
        PAGE.write_text(head + BEGIN + "\n" + table + "\n" + END + tail, encoding="utf-8")
    return 0 if caught == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
