#!/usr/bin/env python3
"""Runs ./check several times and prints the results of the runs as a Markdown table.

many_runs.py RUNS [--beside COMMAND] [--log FOLDER] [-- CHECK OPTIONS]

With --beside, the shell command COMMAND runs repeatedly on the machine's first core while ./check
runs, for example `--beside 'ccache -C; cmake --build build/other --clean-first -j1'`. Each run's
output goes to FOLDER (default: build/many_runs). Exits with 1 if a test failed.
"""
import argparse
import collections
import os
import pathlib
import re
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUMS = re.compile(r"(\d+) passed, (\d+) failed, (\d+) skipped")
TOOK = re.compile(r"\./check.* took (\d+) min (\d+) s")
NAMED = re.compile(r"(skipped|FAILED): (.+)")
BUSY = "machine too busy"


class Beside:
    """A command that runs repeatedly on one core."""

    def __init__(self, command):
        self.process = command and subprocess.Popen(
            ["taskset", "-c", "0", "sh", "-c", f"while :; do {command}; done"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process:
            os.killpg(self.process.pid, signal.SIGTERM)
            self.process.wait()


def read_end(lines):
    """Parses the output of ./check: (passed, failed, time, [(kind, name and reason)])."""
    sums = SUMS.fullmatch(lines[-1]) if lines else None
    took = next(filter(None, map(TOOK.match, reversed(lines))), None)
    if not sums or not took:
        raise ValueError
    named = [NAMED.fullmatch(line) for line in lines[-1 - int(sums[2]) - int(sums[3]):-1]]
    return (int(sums[1]), int(sums[2]), f"{took[1]} min {took[2]} s",
            [(one[1], one[2]) for one in named if one])


def run_check(options, beside, log):
    """Runs ./check once and returns the result of read_end()."""
    with Beside(beside), open(log, "w", encoding="utf-8") as out:
        subprocess.run([ROOT / "check", *options], stdin=subprocess.DEVNULL, stdout=out,
                       stderr=subprocess.STDOUT, check=False)
    try:
        return read_end(log.read_text(encoding="utf-8", errors="replace").splitlines())
    except ValueError:
        raise SystemExit(f"many_runs.py: {log} does not end with the sums of ./check") from None


def main(arguments):
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("runs", type=int)
    parser.add_argument("--beside")
    parser.add_argument("--log", type=pathlib.Path, default=ROOT / "build/many_runs")
    parser.add_argument("options", nargs="*")
    given = parser.parse_args(arguments)
    given.log.mkdir(parents=True, exist_ok=True)
    runs_of = collections.defaultdict(list)  # (kind, name and reason without figures) -> runs
    any_failed = False
    print("| run | passed | failed | skipped for load | skipped for another reason | time |")
    print("|---|---|---|---|---|---|")
    for number in range(1, given.runs + 1):
        passed, failed, took, named = run_check(given.options, given.beside,
                                                given.log / f"{number}.log")
        skips = [what for kind, what in named if kind == "skipped"]
        busy = sum(BUSY in what for what in skips)
        print(f"| {number} | {passed} | {failed} | {busy} | {len(skips) - busy} | {took} |", flush=True)
        any_failed |= failed > 0
        for kind, what in named:
            runs_of[kind, what.split(BUSY)[0] + BUSY if BUSY in what else what].append(number)
    print()
    for (kind, what), runs in runs_of.items():
        where = "all runs" if len(runs) == given.runs else f"run {', '.join(map(str, runs))}"
        print(f"* {kind} in {where}: {what}")
    return 1 if any_failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
