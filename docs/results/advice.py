#!/usr/bin/env python3
"""The regret of `thinpipe advise`: by how much the advised compressor's measured step is longer than the best.

advice.py --out DIR [--thinpipe PROGRAM] [--steps 5]

For each of 20 configurations (model, ranks, rate) it asks for advice and then measures all compressors and
collectives of the advice with `thinpipe run` on emulated links. Prints a Markdown table. DIR keeps the advice
and the records; what is there already is not measured again.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess

MODELS = ["lenet5", "resnet20", "charlstm"]
CONFIGURATIONS = [(model, ranks, rate) for model in MODELS for ranks in (2, 4)
                  for rate in ("10mbit", "100mbit", "500mbit")]
CONFIGURATIONS += [("lenet5", 2, "1gbit"), ("charlstm", 2, "1gbit")]


def advice_of(out, program, model, ranks, rate):
    file = out / f"{model}-{ranks}-{rate}.json"
    if not file.exists():
        answer = subprocess.run([program, "advise", "--trace", f"synthetic:model={model}", "--ranks", str(ranks),
                                 "--link", f"rate={rate}", "--cores", str(os.cpu_count()), "--codecs", "cpu",
                                 "--json"],
                                check=True, stdout=subprocess.PIPE).stdout
        file.write_bytes(answer)
    return json.loads(file.read_text())


def measured(out, program, steps, advice, model, ranks, rate):
    """Returns the median step in s of each (compressor, collective) with a valid point."""
    folder = out / f"{model}-{ranks}-{rate}"
    command = [program, "run", "--trace", f"synthetic:model={model}", "--ranks", str(ranks), "--link",
               f"rate={rate}", "--collective", "ring|twoshot", "--overlap", "bucket", "--codec", "thread",
               "--steps", str(steps), "--warmup", "2", "--out", str(folder), "--resume"]
    for spec in advice["specs"]:
        if not spec["is_baseline"]:
            command += ["-c", spec["compressor"]]
    subprocess.run(command, stdout=subprocess.DEVNULL)
    steps_of, left_out = {}, 0
    for line in (folder / "records.jsonl").read_text().splitlines():
        record = json.loads(line)
        if record["record"] != "point":
            continue
        if record["status"] != "ok":
            left_out += 1
            continue
        axes = record["axes"]
        collective = axes["collective"].split("-", 1)[1]  # without the operation: "allgather-ring"
        steps_of[axes["compressor"], collective] = statistics.median(
            record["metrics"]["step_time"]["samples"])
    return steps_of, left_out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True, metavar="DIR")
    parser.add_argument("--thinpipe", default="thinpipe", metavar="PROGRAM")
    parser.add_argument("--steps", type=int, default=5)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    print("| model | ranks | rate | advised | measured step | fastest measured | its step | regret "
          "| points left out |\n|---|---:|---:|---|---:|---|---:|---:|---:|")
    regrets = []
    for model, ranks, rate in CONFIGURATIONS:
        advice = advice_of(arguments.out, arguments.thinpipe, model, ranks, rate)
        steps, left_out = measured(arguments.out, arguments.thinpipe, arguments.steps, advice, model, ranks, rate)
        chosen = (advice["recommended"] or [spec for spec in advice["specs"] if spec["is_baseline"]])[0]
        advised = chosen["compressor"], chosen["collective"]
        best = min(steps, key=steps.get) if steps else None
        regret = steps[advised] / steps[best] - 1 if advised in steps else None
        regrets.append(regret)
        cells = [model, str(ranks), rate, " ".join(advised),
                 f"{1e3 * steps[advised]:.1f} ms" if advised in steps else "invalid",
                 " ".join(best) if best else "none", f"{1e3 * steps[best]:.1f} ms" if best else "-",
                 "-" if regret is None else f"{100 * regret:.1f} %", f"{left_out}"]
        print("| " + " | ".join(cells) + " |", flush=True)
    known = [regret for regret in regrets if regret is not None]
    print(f"\nRegret of at most 5 %: {sum(regret <= 0.05 for regret in known)} of {len(known)}; of at most 15 %: "
          f"{sum(regret <= 0.15 for regret in known)} of {len(known)}.")


if __name__ == "__main__":
    main()
