#!/usr/bin/env python3
"""Bus bandwidth of the dense all-reduce as a share of the TCP ceiling: our ring and Open MPI's own.

usage: ring_bandwidth.py BIN WORK    BIN holds thinpipe and make_trace (build/release/bin), WORK is
a folder. Prints a Markdown table; records stay in WORK and are not measured again.

The time is the whole step of the slowest rank (no compute phase, but the copy of the gradient and
the wait for ranks that were told to start microseconds later): what is printed is at most too low,
but for the credit that the links' buckets saved between steps.
"""
import json
import os
import statistics
import subprocess
import sys

bin_folder, work = sys.argv[1:]
# MiB of floats: rates that take a sensible time, steps.
SIZES = {1: (["10mbit", "100mbit", "1gbit"], 15), 4: (["100mbit", "1gbit"], 15),
         16: (["1gbit"], 15)}
cells = {}
for mebibytes, (rates, steps) in SIZES.items():
    trace = os.path.join(work, f"trace-{mebibytes}")
    if not os.path.exists(trace):
        subprocess.run([os.path.join(bin_folder, "make_trace"), trace, "2", "2",
                        str(mebibytes * 262144), "0"], check=True)
    for collective in ("ring", "openmpi"):
        out = os.path.join(work, f"{collective}-{mebibytes}")
        subprocess.run([os.path.join(bin_folder, "thinpipe"), "run", "--trace", trace, "--out", out,
                        "--ranks", "2|4|8", "--link", "rate=" + "|".join(rates), "-c", "none",
                        "--compute-scale", "0", "--collective", collective, "--steps", str(steps), "--resume"])
        for line in open(os.path.join(out, "records.jsonl")):
            point = json.loads(line)
            if point["record"] != "point" or point["status"] == "failed":
                continue
            axes = point["axes"]
            ceiling = axes["rate"] * 1448 / 1514
            sent = 2 * (axes["ranks"] - 1) / axes["ranks"] * mebibytes * 2**20 * 8
            times = point["metrics"]["step_time"]["samples"]
            shares = sorted(sent / seconds / ceiling for seconds in times)
            # Order statistics 4 and 12 of 15 bound the median with 96.5 % confidence.
            text = f"{statistics.median(shares):.3f} ({shares[3]:.3f}–{shares[11]:.3f})"
            cells[mebibytes, axes["rate"], axes["ranks"], collective] = (
                text if point["status"] == "ok" else text + " *")

print("| MiB | link | ranks | ring | Open MPI |\n|---|---|---|---|---|")
for size, rate, ranks in sorted({key[:3] for key in cells}):
    row = [cells.get((size, rate, ranks, collective), "failed") for collective in ("ring", "openmpi")]
    print(f"| {size} | {rate / 1e6:g} Mbit/s | {ranks} | {row[0]} | {row[1]} |")
