#!/usr/bin/env python3
"""Bus bandwidth of the dense all-reduce in every pattern, as a share of the TCP ceiling.

usage: pattern_bandwidth.py BIN WORK    BIN holds thinpipe (build/release/bin), WORK is a folder.
Prints a Markdown table of 4 MiB of floats; records stay in WORK and are not measured again.

A cell is the median of seven steps with the least and the greatest, which bound the median with
98.4 % confidence, and behind it what the pattern allows: the bytes that a ring's busiest link
carries over those that the pattern's carries. Of parameter servers it is the share of the busiest
link, a server's or a worker's, and ranks are workers. A star stands for a point that is not `ok`.
"""
import json
import math
import os
import statistics
import subprocess
import sys

STEPS, MEBIBYTES = 7, 4
PATTERNS = ["ring", "halving-doubling", "hierarchical:group=2", "hierarchical:group=4",
            "recursive-doubling", "tree", "openmpi", "ps:servers=1", "ps:servers=2"]


def allowed(pattern, ranks):
    if pattern in ("recursive-doubling", "tree"):
        return 2 * (ranks - 1) / ranks / math.log2(ranks)
    return 1


def shares(point):
    """Of the ceiling, a number for each step, least first."""
    ceiling = point["axes"]["rate"] * 1448 / 1514
    return sorted(bits / ceiling for bits in point["metrics"]["bus_bandwidth"]["samples"])


def main(bin_folder, work):
    print("| pattern | " + " | ".join(f"{rate}, {ranks}" for rate in ("100 Mbit/s", "1 Gbit/s")
                                      for ranks in (2, 4, 8)) + " |")
    print("|---" * 7 + "|")
    for pattern in PATTERNS:
        row = [pattern]
        for rate in ("100mbit", "1gbit"):
            for ranks in (2, 4, 8):
                out = os.path.join(work, f"{pattern.replace(':', '-')}-{rate}-{ranks}")
                subprocess.run([os.path.join(bin_folder, "thinpipe"), "run", "--trace",
                                f"synthetic:elements={MEBIBYTES * 262144}", "--out", out,
                                "--ranks", str(ranks), "--link", f"rate={rate}", "-c", "none",
                                "--compute-scale", "0", "--pattern", pattern, "--steps", str(STEPS),
                                "--warmup", "1", "--resume"], check=False)
                with open(os.path.join(out, "records.jsonl")) as file:
                    point = [json.loads(line) for line in file][-1]
                if "metrics" not in point:
                    row.append("failed")
                    continue
                share = shares(point)
                text = f"{statistics.median(share):.3f} ({share[0]:.3f}–{share[-1]:.3f})"
                if allowed(pattern, ranks) < 1:
                    text += f" of {allowed(pattern, ranks):.3f}"
                row.append(text + ("" if point["status"] == "ok" else " *"))
        print("| " + " | ".join(row) + " |", flush=True)


main(*sys.argv[1:])
