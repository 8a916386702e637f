#!/usr/bin/env python3
"""Compares simulated points with the same points of a run, or of `predict --json`.

Usage: simulation_table.py OTHER SIMULATED
OTHER is the records of a run on emulated hosts, or the output of `predict --json`; SIMULATED is the
records of `run --engine simgrid`. Prints a Markdown table: by collective and number of ranks, the
range of simulated over other step times, and how many are within 10 %. Predicted steps are compared
without their codecs, whose times are measured anew each time.
"""
import collections
import json
import re
import statistics
import sys


def key(axes):
    # Records name the operation before the collective: allgather-ring.
    collective = re.sub("^(allreduce|allgather|sparsereduce|pushpull|mixed)-", "",
                        axes["collective"])
    return axes["compressor"], axes["link"], axes["ranks"], collective, axes["bucketing"]


def points(file):
    """Returns step times in s without and with the codec, by point; of valid points only."""
    with open(file, encoding="utf-8") as lines:
        text = lines.read()
    if '"points"' in text.split("\n", 2)[1] or text.lstrip().startswith("{\n"):
        return {key(one["axes"]): (one["prediction"]["exposed_time"], None)
                for one in json.loads(text)["points"] if one.get("prediction")}
    found = {}
    for record in map(json.loads, text.splitlines()):
        if record["record"] == "point" and record["status"] == "ok":
            step, compress, decode = (
                statistics.median(record["metrics"][name + "_time"]["samples"])
                for name in ("step", "compress", "decode"))
            found[key(record["axes"])] = (step - compress - decode, step)
    return found


def main():
    other, simulated = points(sys.argv[1]), points(sys.argv[2])
    ratios = collections.defaultdict(list)
    for name in sorted(other.keys() & simulated.keys()):
        times = zip(simulated[name], other[name])
        exchange, step = (mine / theirs if theirs else None for mine, theirs in times)
        ratios[name[3], name[2]].append((step or exchange, name))
    ranks = sorted({one for _, one in ratios})
    print("| collective | " + " | ".join(f"{one} ranks" for one in ranks) + " |")
    print("|---|" + "---|" * len(ranks))
    for collective in sorted({one for one, _ in ratios}):
        cells = []
        for one in ranks:
            row = [ratio for ratio, _ in ratios.get((collective, one), [])]
            near = sum(abs(ratio - 1) <= 0.1 for ratio in row)
            cells.append(f"{min(row):.2f} to {max(row):.2f} ({near} of {len(row)})" if row else "–")
        print(f"| `{collective}` | " + " | ".join(cells) + " |")
    every = [one for row in ratios.values() for one in row]
    near = sum(abs(ratio - 1) <= 0.1 for ratio, _ in every)
    print(f"\n{near} of {len(every)} points are within 10 %, median "
          f"{statistics.median(ratio for ratio, _ in every):.3f}")
    for ratio, name in sorted(every):
        if abs(ratio - 1) > 0.1:
            print(f"{ratio:.3f}: {name[2]} x {name[0]} on {name[1]} by {name[3]}")


if __name__ == "__main__":
    main()
