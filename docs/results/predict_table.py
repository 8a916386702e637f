#!/usr/bin/env python3
"""Predicted and measured step times of a run, as Markdown: predict_table.py RECORDS.jsonl

Points that are not `ok` are left out and counted: what a busy machine measured says nothing of a model.
"""
import collections
import json
import statistics
import sys


def points(path):
    """The last record of each id, as readers count them."""
    found = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            if record["record"] == "point":
                found[record["id"]] = record
    return list(found.values())


def main():
    everything = points(sys.argv[1])
    good = [one for one in everything if one["status"] == "ok" and "prediction" in one]
    ratios = collections.defaultdict(dict)
    rates = sorted({one["axes"]["rate"] for one in good})
    for one in good:
        axes = one["axes"]
        measured = statistics.median(one["metrics"]["step_time"]["samples"])
        key = (axes["pattern"].split("-", 1)[1], axes["ranks"], axes["compressor"].split(":")[0])
        ratios[key][axes["rate"]] = (one["prediction"]["step_time"] / measured, measured)
    print("| pattern | ranks | compressor |" +
          "".join(f" {rate / 1e6:g} Mbit/s |" for rate in rates))
    print("|---|---|---|" + "---|" * len(rates))
    for key, by_rate in sorted(ratios.items()):
        cells = [f" {by_rate[rate][0]:.2f} ({1e3 * by_rate[rate][1]:.3g} ms) |"
                 if rate in by_rate else " – |" for rate in rates]
        print("| " + " | ".join(map(str, key)) + " |" + "".join(cells))
    every = [ratio for by_rate in ratios.values() for ratio, _ in by_rate.values()]
    within = sum(abs(ratio - 1) <= 0.1 for ratio in every)
    print(f"\n{within} of {len(every)} points within 10 %, median ratio "
          f"{statistics.median(every):.3f}; {len(everything) - len(good)} not ok or without a"
          f" prediction, of {len(everything)}.")
    for name, index in (("pattern", 0), ("ranks", 1), ("compressor", 2)):
        groups = collections.defaultdict(list)
        for key, by_rate in ratios.items():
            groups[key[index]] += [ratio for ratio, _ in by_rate.values()]
        print(f"\nby {name}: " + ", ".join(
            f"{group} {sum(abs(ratio - 1) <= 0.1 for ratio in some)}/{len(some)}"
            for group, some in sorted(groups.items())))


if __name__ == "__main__":
    main()
