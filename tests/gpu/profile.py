#!/usr/bin/env python3
"""Writes a table of kernels in Markdown, from the raw CSV of NVIDIA's ncu (campaign, stage profile).

A row per kernel and file: the median of its launches. Needs only Python."""
import argparse
import collections
import csv
import pathlib
import re
import statistics

# Columns of the table by ncu's metrics.
TIME = "gpu__time_duration.sum"  # in ns
METRICS = {"memory, %": "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
           "SM, %": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
           "occupancy, %": "sm__warps_active.avg.pct_of_peak_sustained_active",
           "registers": "launch__registers_per_thread", "blocks": "launch__grid_size",
           "threads": "launch__block_size"}
STALL = re.compile(r"smsp__average_warps_issue_stalled_(\w+)_per_issue_active\.ratio")
STALLS = 3  # reasons to wait, the most frequent ones


def number(text):
    return float(text.replace(",", "")) if text else 0.0


def launches(path):
    """Yields a dictionary of metrics for each launch of a kernel."""
    lines = [line for line in path.read_text(errors="replace").splitlines() if line.startswith('"')]
    rows = list(csv.reader(lines))
    for row in rows[2:]:  # after names and units
        yield dict(zip(rows[0], row))


def short(kernel):
    """Returns a kernel's name without what all names contain."""
    found = re.match(r"void (?:thinpipe::cuda::)?run<(.*)>\(", kernel)
    return (found[1] if found else kernel).replace("thinpipe::cuda::", "")


def rows_of(path):
    kernels = collections.defaultdict(list)
    for launch in launches(path):
        kernels[short(launch["Kernel Name"])].append(launch)
    for kernel, some in kernels.items():
        def median(metric, some=some):
            return statistics.median(number(launch.get(metric, "")) for launch in some)
        stalls = sorted(((median(name), found[1]) for name in some[0]
                         if (found := STALL.fullmatch(name)) and found[1] != "selected"),
                        reverse=True)
        yield [f"`{kernel}`", f"{median(TIME) / 1000:.1f}",
               *(f"{median(metric):.0f}" for metric in METRICS.values()),
               ", ".join(f"{name} {ratio:.1f}" for ratio, name in stalls[:STALLS])]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=pathlib.Path, help="CSV files of ncu")
    for path in parser.parse_args().files:
        heads = ["kernel", "time, us", *METRICS, "waiting warps per issued instruction"]
        print(f"**{path.stem}**\n\n| {' | '.join(heads)} |")
        print("|---|" + "---:|" * (len(heads) - 2) + "---|")
        for row in rows_of(path):
            print(f"| {' | '.join(row)} |")
        print()


if __name__ == "__main__":
    main()
