#!/usr/bin/env python3
"""Step times of a real job, of its replay by `thinpipe run`, and of `thinpipe predict`, as Markdown.

replay_against_job.py --out DIR [--ranks 2 4] [--link rate=10mbit ...] [-c SPEC ...] [--steps 12]
                      [--thinpipe PROGRAM] [--python PROGRAM]

The job is examples/hook/train.py, a small GPT, with thinpipe.torch.ddp_hook, one rank on each emulated host
(`thinpipe net torchrun`). Its trace is captured from the same job without a hook, on links of 10 Gbit/s. A step
is the forward and the backward pass with the exchange, of the slowest rank; the optimiser is left out, as in a
replay. SPEC@twoshot exchanges in two shots. DIR keeps traces, records and the job's times; what is there already
is not measured again.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
WARMUP = 3
SPECS = ["none", "bf16", "topk:ratio=0.01", "dgc:ratio=0.01", "sidco:ratio=0.01", "3lc", "int8@twoshot"]


def worker(arguments):
    """One rank of the job: writes the seconds of its steps."""
    sys.path[:0] = [str(ROOT / "python"), str(ROOT / "workloads/capture/python"), str(ROOT / "examples/hook")]
    import torch
    import torch.distributed as dist
    import train
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo")
    rank, config = dist.get_rank(), train.Config()
    model = torch.nn.parallel.DistributedDataParallel(train.Gpt(config), broadcast_buffers=False)
    capture = None
    if arguments.spec == "capture":
        import thinpipe_capture
        capture = thinpipe_capture.ddp(model, arguments.result, steps=arguments.steps, every=1, first=WARMUP)
    else:
        import thinpipe.torch
        spec, _, collective = arguments.spec.partition("@")
        thinpipe.torch.ddp_hook(model, spec, collective=collective or "auto")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data, seconds = train.batches(config, rank), []
    for _ in range(WARMUP + arguments.steps):
        input_ids, labels = next(data)
        optimizer.zero_grad()
        dist.barrier()
        begin = time.perf_counter()
        model(input_ids, labels).backward()
        seconds.append(time.perf_counter() - begin)
        optimizer.step()
    if capture is not None:
        capture.close()
    all_ranks = [None] * dist.get_world_size()
    dist.all_gather_object(all_ranks, seconds[WARMUP:])
    if rank == 0 and capture is None:
        pathlib.Path(arguments.result).write_text(json.dumps([max(step) for step in zip(*all_ranks)]),
                                                  encoding="utf-8")
    dist.destroy_process_group()


def call(*words):
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    if done.returncode not in (0, 4):  # 4: some points are not valid; the table says which
        raise SystemExit(f"{' '.join(map(str, words))} ended with {done.returncode}:\n{done.stdout}")


def job(arguments, ranks, link, spec, result):
    if not result.exists():
        call(arguments.thinpipe, "net", "torchrun", "-q", "--ranks", ranks, "--link", link, "--python",
             arguments.python, "--", __file__, "--worker", "--spec", spec, "--steps", arguments.steps,
             "--result", result)
    return result


def replay(arguments, ranks, trace):
    """{(link, spec): record of the point}"""
    found = {}
    for collective in ("ring", "twoshot"):
        specs = [spec.partition("@")[0] for spec in arguments.compressors
                 if (spec.partition("@")[2] or "ring") == collective]
        if not specs:
            continue
        out = arguments.out / f"run-{ranks}-{collective}"
        call(arguments.thinpipe, "run", "--resume", "--trace", trace, "--out", out, "--ranks", ranks,
             "--collective", collective, "--overlap", "bucket", "--codec", "thread", "--no-baseline", "--steps",
             arguments.steps, *[word for link in arguments.link for word in ("--link", link)],
             *[word for spec in specs for word in ("-c", spec)])
        for line in (out / "records.jsonl").read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            if record["record"] == "point":
                asked = [spec for spec in specs if record["axes"]["compressor"].split(":")[0] ==
                         spec.split(":")[0]][0]
                suffix = "@twoshot" if collective == "twoshot" else ""
                found[record["axes"]["link"], asked + suffix] = record
    return found


def interval(samples):
    """The interval between the order statistics that hold the median with 95 % (binomial)."""
    ordered, count = sorted(samples), len(samples)
    low = max(0, int(count / 2 - 0.98 * count ** 0.5))
    return f"{1e3 * ordered[low]:.4g} to {1e3 * ordered[count - 1 - low]:.4g}"


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--link", nargs="+", default=["rate=10mbit", "rate=100mbit", "rate=1gbit"])
    parser.add_argument("-c", "--compressors", nargs="+", default=SPECS)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--thinpipe", default="thinpipe")
    parser.add_argument("--python", default="/usr/bin/python3")
    for hidden in ("--spec", "--result"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        return worker(arguments)
    arguments.out.mkdir(parents=True, exist_ok=True)
    print("| ranks | link | compressor | job, ms (95 %) | replay, ms (95 %) | replay / job | predicted / job |")
    print("|---|---|---|---|---|---|---|")
    near = {"replay": [], "predict": []}
    for ranks in arguments.ranks:
        trace = job(arguments, ranks, "rate=10gbit", "capture", arguments.out / f"trace-{ranks}")
        times = {}
        for link in arguments.link:
            for spec in arguments.compressors:
                name = f"{ranks}-{link}-{spec}".replace(":", "_").replace("=", "-")
                times[link, spec] = json.loads(job(arguments, ranks, link, spec, arguments.out / f"{name}.json")
                                               .read_text(encoding="utf-8"))
        points = replay(arguments, ranks, trace)
        for (link, spec), seconds in times.items():
            point, measured = points[link, spec], statistics.median(seconds)
            samples = point["metrics"]["step_time"]["samples"]
            ratio = statistics.median(samples) / measured
            predicted = point.get("prediction", {}).get("step_time")
            near["replay"].append(abs(ratio - 1) <= 0.05)
            if predicted:
                near["predict"].append(abs(predicted / measured - 1) <= 0.1)
            status = "" if point["status"] == "ok" else f" ({point['status']})"
            print(f"| {ranks} | {link} | {spec} | {1e3 * measured:.4g} ({interval(seconds)}) | "
                  f"{1e3 * statistics.median(samples):.4g} ({interval(samples)}){status} | {ratio:.3f} | "
                  f"{predicted / measured if predicted else float('nan'):.3f} |", flush=True)
    print(f"\nReplay within 5 % of the job in {sum(near['replay'])} of {len(near['replay'])} cells, predict "
          f"within 10 % in {sum(near['predict'])} of {len(near['predict'])}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
