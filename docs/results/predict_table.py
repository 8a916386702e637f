#!/usr/bin/env python3
"""Predicted and measured step times of a run, as Markdown: predict_table.py FILE

FILE is a run's records.jsonl, with the predictions of its time, or what `thinpipe predict --records RUN
--json` prints, with those of today. Points that are not `ok` are left out and counted: what a busy machine
measured says nothing of a model. A star marks points of which the model says that a queue overflows.
"""
import collections
import json
import statistics
import sys


def recorded(lines):
    """The last record of each id, as readers count them."""
    found = {}
    for line in lines:
        record = json.loads(line)
        if record["record"] == "point":
            found[record["id"]] = record
    for record in found.values():
        prediction = record.get("prediction", {})
        measured = record.get("metrics", {}).get("step_time", {}).get("samples")
        yield {"axes": record["axes"], "status": record["status"],
               "measured": statistics.median(measured) if measured else None,
               "predicted": prediction.get("step_time"), "incast": prediction.get("incast", False)}


def points(path):
    """axes, status, measured, predicted and incast of each point."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if text.startswith("{\n"):
        return json.loads(text)["points"]
    return list(recorded(text.splitlines()))


def cell(by_rate, rate):
    if rate not in by_rate:
        return " – |"
    one = by_rate[rate]
    return f" {one['predicted'] / one['measured']:.2f}{'*' if one['incast'] else ''}" \
           f" ({1e3 * one['measured']:.3g} ms) |"


def close(some):
    return sum(abs(one["predicted"] / one["measured"] - 1) <= 0.1 for one in some)


def main():
    everything = points(sys.argv[1])
    good = [one for one in everything
            if one["status"] == "ok" and one["measured"] and one["predicted"]]
    rows = collections.defaultdict(dict)
    rates = sorted({one["axes"]["rate"] for one in good})
    for one in good:
        axes = one["axes"]
        one["names"] = (axes["collective"].split("-", 1)[1], axes["ranks"],
                        axes["compressor"].split(":")[0])
        rows[one["names"]][axes["rate"]] = one
    print("| collective | ranks | compressor |" +
          "".join(f" {rate / 1e6:g} Mbit/s |" for rate in rates))
    print("|---|---|---|" + "---|" * len(rates))
    for names, by_rate in sorted(rows.items()):
        print("| " + " | ".join(map(str, names)) + " |" +
              "".join(cell(by_rate, rate) for rate in rates))
    middle = statistics.median(one["predicted"] / one["measured"] for one in good)
    calm = [one for one in good if not one["incast"]]
    print(f"\n{close(good)} of {len(good)} points within 10 %, median ratio {middle:.3f};"
          f" {close(calm)} of the {len(calm)} of which no queue should overflow;"
          f" {len(everything) - len(good)} not ok or without a prediction, of {len(everything)}.")
    for name, index in (("collective", 0), ("ranks", 1), ("compressor", 2)):
        groups = collections.defaultdict(list)
        for one in good:
            groups[one["names"][index]].append(one)
        print(f"\nby {name}: " + ", ".join(f"{group} {close(some)}/{len(some)}"
                                           for group, some in sorted(groups.items())))


if __name__ == "__main__":
    main()
