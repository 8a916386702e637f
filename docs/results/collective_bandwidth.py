#!/usr/bin/env python3
"""Bus bandwidth of sums of 32 and of 16 bits in every collective, as a share of the TCP ceiling.

usage: collective_bandwidth.py BIN WORK    BIN holds thinpipe (build/release/bin), WORK is a folder.
Prints a Markdown table of 4 MiB of floats for `none` and for `bf16`; records stay in WORK and are not
measured again. Where the machine would be too slow it is dilated in time (--time-scale auto): at 10
Gbit/s, and with 8 ranks at 1 Gbit/s.

A cell is the median of seven steps with the least and the greatest, which bound the median with
98.4 % confidence, and behind it what the collective allows: the bytes that a ring's busiest link
carries over those that the collective's carries. Of parameter servers it is the share of the busiest
link, a server's or a worker's, and ranks are workers. A star stands for a point that is not `ok`.
"""
import json
import math
import os
import statistics
import subprocess
import sys

STEPS, MEBIBYTES = 7, 4
COLLECTIVES = ["ring", "halving-doubling", "hierarchical:group=2", "hierarchical:group=4",
            "recursive-doubling", "tree", "openmpi", "twoshot", "ps:servers=1", "ps:servers=2"]
RATES = {"100mbit": "100 Mbit/s", "1gbit": "1 Gbit/s", "10gbit": "10 Gbit/s"}
RANKS = (2, 4, 8)
COMPRESSORS = ("none", "bf16")


def time_scale(rate, ranks):
    return "auto" if rate == "10gbit" or (rate == "1gbit" and ranks == 8) else "1"


def allowed(collective, ranks):
    if collective in ("recursive-doubling", "tree"):
        return 2 * (ranks - 1) / ranks / math.log2(ranks)
    return 1


def shares(point):
    """Of the ceiling, a number for each step, least first."""
    ceiling = point["axes"]["rate"] * 1448 / 1514
    return sorted(bits / ceiling for bits in point["metrics"]["bus_bandwidth"]["samples"])


def cell(point, collective, ranks):
    if "metrics" not in point:
        return "failed"
    share = shares(point)
    text = f"{statistics.median(share):.3f} ({share[0]:.3f}–{share[-1]:.3f})"
    if allowed(collective, ranks) < 1:
        text += f" of {allowed(collective, ranks):.3f}"
    return text + ("" if point["status"] == "ok" else " *")


def measure(bin_folder, out, collective, rate, ranks):
    """The point of each compressor."""
    words = [os.path.join(bin_folder, "thinpipe"), "run", "--trace",
             f"synthetic:elements={MEBIBYTES * 262144}", "--out", out, "--ranks", str(ranks), "--link",
             f"rate={rate}", "--compute-scale", "0", "--collective", collective, "--steps", str(STEPS),
             "--warmup", "1", "--time-scale", time_scale(rate, ranks), "--resume"]
    for compressor in COMPRESSORS:
        words += ["-c", compressor]
    subprocess.run(words, check=False)
    with open(os.path.join(out, "records.jsonl"), encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    return {one["axes"]["compressor"]: one for one in records if one["record"] == "point"}


def main(bin_folder, work):
    head = ["collective", *(f"{rate}, {ranks}" for rate in RATES.values() for ranks in RANKS)]
    tables = {compressor: [head, ["---"] * len(head)] for compressor in COMPRESSORS}
    for collective in COLLECTIVES:
        cells = {compressor: [collective] for compressor in COMPRESSORS}
        for rate in RATES:
            for ranks in RANKS:
                out = os.path.join(work, f"{collective.replace(':', '-')}-{rate}-{ranks}")
                points = measure(bin_folder, out, collective, rate, ranks)
                for compressor in COMPRESSORS:
                    cells[compressor].append(cell(points[compressor], collective, ranks))
        for compressor in COMPRESSORS:
            tables[compressor].append(cells[compressor])
    for compressor, rows in tables.items():
        print(f"\n## `{compressor}`\n")
        for row in rows:
            print("| " + " | ".join(row) + " |")


main(*sys.argv[1:])
