"""Records of runs and trainings that nobody measured, for pages to be looked at. The figures follow from
closed forms; every kind of point occurs: ok, invalid, failed, with hostile and with long names."""

import json
import math

ELEMENTS = 431080
COMPRESSORS = {  # spec: payload / dense bytes, error, compression time in s
    "none": (1, 0, 0),
    "bf16": (0.5, 0.002, 0.0004),
    "topk:memory=residual,ratio=0.01,positions=packed,values=fp32": (0.015, 0.9, 0.004),
    "sidco:ratio=0.001": (0.0012, 0.98, 0.002),
    "3lc:s=1.75": (0.02, 0.7, 0.006),
    "a-method-whose-name-does-not-end:alpha=0.3333333,beta=0.25,memory=residual": (0.1, 0.5, 0.003),
}


def metric(unit, kind, samples, better="lower"):
    return {"unit": unit, "better": better, "kind": kind, "samples": samples}


def header(kind, words, **more):
    return {"record": "header", "version": 1, "kind": kind, "created": "2026-01-01T00:00:00Z",
            "command": ["thinpipe", *words], "seed": 1, "threads": 1, "simd": "avx2",
            "trace": {"model": "lenet5", "elements": ELEMENTS, "tensors": 8, "steps": 20},
            "fingerprint": {"cpu": "none at all", "kernel": "6.1"}, "calibration": {}, **more}


def status_of(spec, rate):
    if spec.startswith("3lc") and rate == 1e7:
        return "invalid", ["links: the wire carried <1.2> times what was predicted"]
    if spec.startswith("a-method") and rate == 1e9:
        return "failed", ["rank 3 ended by signal 9 & left " + "no-space-" * 12]
    return "ok", []


def run_point(spec, rate, ranks, delay=0):
    share, error, compress = COMPRESSORS[spec]
    status, reasons = status_of(spec, rate)
    dense = 4 * ELEMENTS
    exchange = 2 * (ranks - 1) / ranks * share * dense * 8 / rate

    def wavy(value):
        return [value * (1 + 0.03 * math.sin(1.7 * step)) for step in range(12)]

    parts = {"compute_time": 0.02, "compress_time": compress, "exchange_time": exchange,
             "decode_time": compress / 2}
    point = {"record": "point", "id": f"{spec}/{rate:g}/{delay:g}/{ranks}",
             "axes": {"compressor": spec, "method": spec.split(":")[0],
                      "link": f"rate={rate / 1e6:g}mbit" + (f",delay={delay:g}s" if delay else ""),
                      "rate": rate, "delay": delay, "ranks": ranks,
                      "collective": "allreduce-ring" if spec in ("none", "bf16") else "allgather-ring",
                      "repeat": 0},
             "status": status, "reasons": reasons}
    if status == "failed":
        return point
    point["metrics"] = {name: metric("s", "timed", wavy(value)) for name, value in parts.items()}
    point["metrics"]["step_time"] = metric("s", "timed", wavy(sum(parts.values())))
    point["metrics"]["payload_bytes"] = metric("B", "exact", wavy(share * dense))
    point["metrics"]["dense_bytes"] = metric("B", "exact", [dense])
    point["metrics"]["relative_error"] = metric("1", "quality", wavy(error))
    if spec.startswith(("topk", "sidco")):
        point["metrics"]["quality"] = metric("1", "quality", wavy(1), "target:1")
    point["fidelity"] = {"wire_ratio": 1.01, "idle_cpu": 0.4, "burst_seconds": 0.001}
    return point


def run_records(rates=(1e7, 1e8, 1e9)):
    points = [run_point(spec, rate, ranks) for ranks in (2, 4) for rate in rates
              for spec in COMPRESSORS]
    # Only some links have a delay, so the table of all points has a column for it.
    points += [run_point(spec, rates[0], 2, delay=0.01) for spec in ("none", "sidco:ratio=0.001")]
    return [header("run", ["run", "--trace", "trace"]), *points]


def train_point(spec, rate, seed):
    share, error, compress = COMPRESSORS[spec]
    status, reasons = status_of(spec, rate)
    dense = 4 * ELEMENTS
    steps, every = 120, 10
    step = 0.02 + compress + share * dense * 8 / rate
    places = list(range(every, steps + 1, every))
    loss = [2.3 * math.exp(-place / (30 + 10 * error)) + 0.02 * seed for place in places]
    accuracy = [1 - value / 2.6 for value in loss]
    point = {"record": "point", "id": f"{spec}/{rate:g}/{seed}",
             "axes": {"compressor": spec, "method": spec.split(":")[0],
                      "link": f"rate={rate / 1e6:g}mbit", "rate": rate, "delay": 0, "ranks": 4,
                      "collective": "allgather-ring", "repeat": seed, "seed": seed},
             "status": status, "reasons": reasons}
    if status == "failed":
        return point
    point["training"] = {"loss": [1.0] * steps, "seconds": [step * (i + 1) for i in range(steps)],
                         "bytes": [share * dense * (i + 1) for i in range(steps)],
                         "evaluations": {"steps": places, "loss": loss, "accuracy": accuracy,
                                         "seconds": [step * place for place in places],
                                         "bytes": [share * dense * place for place in places]}}
    point["metrics"] = {
        "step_time": metric("s", "timed", [step] * steps),
        "payload_bytes": metric("B", "exact", [share * dense] * steps),
        "dense_bytes": metric("B", "exact", [dense]),
        "train_seconds": metric("s", "timed", [step * steps]),
        "train_bytes": metric("B", "exact", [share * dense * steps]),
        "final_loss": metric("1", "quality", [loss[-1]]),
        "final_accuracy": metric("1", "quality", [accuracy[-1]], "higher"),
        "target_seconds": metric("s", "timed", [step * 60]),
        "target_bytes": metric("B", "exact", [share * dense * 60])}
    return point


def train_records():
    training = {"figure": "accuracy", "target": "acc=0.9", "steps": 120, "data": "drawn digits"}
    points = [train_point(spec, rate, seed) for rate in (1e7, 1e9) for spec in COMPRESSORS
              for seed in range(3)]
    return [header("train", ["train", "--model", "lenet5"], training=training), *points]


def write(folder, records):
    folder.mkdir(parents=True)
    with open(folder / "records.jsonl", "w", encoding="utf-8") as file:
        for record in records:
            file.write(json.dumps(record) + "\n")
