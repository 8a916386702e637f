#!/usr/bin/env python3
"""Step times of a real job, of its replay by `thinpipe run`, and of `thinpipe predict`, as Markdown.

replay_against_job.py --out DIR [--ranks 2 4] [--link rate=10mbit ...] [-c SPEC ...] [--steps 12]
                      [--collective ring|gloo] [--thinpipe PROGRAM] [--python PROGRAM]

The job is examples/hook/train.py, a small GPT, with thinpipe.torch.ddp_hook, one rank on each emulated host
(`thinpipe net torchrun`). Its trace is captured from the same job without a hook, on links of 10 Gbit/s. A step
is the forward and the backward pass with the exchange, of the slowest rank; the optimiser is left out, as in a
replay. "hook with waits" is the same job with captured gradients: it waits in place of computing, so that
no processor is shared with the forward and backward passes. SPEC@twoshot exchanges in two shots; for every
other SPEC, replays exchange by --collective. DIR keeps traces, records and the job's times; what is there
already is not measured again.
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


class Bucket:
    """A bucket of DistributedDataParallel with captured gradients."""

    def __init__(self, index, parameters, gradients, is_last):
        import torch
        self._index, self._parameters, self._is_last = index, parameters, is_last
        self._buffer = torch.cat([torch.from_numpy(gradient.copy()).reshape(-1) for gradient in gradients])

    def index(self):
        return self._index

    def buffer(self):
        return self._buffer

    def parameters(self):
        return self._parameters

    def gradients(self):
        parts = self._buffer.split([parameter.numel() for parameter in self._parameters])
        return [part.view(parameter.shape) for part, parameter in zip(parts, self._parameters)]

    def is_last(self):
        return self._is_last


def step_of_waits(hook, parameters, trace, step, rank):
    """Passes captured gradients to the hook at their captured times, without computing. Returns seconds."""
    import torch.distributed as dist
    step %= len(trace)
    times, gradients = trace._worker(step, rank), trace.gradients(step, rank)
    buckets = []
    for number, one in enumerate(times["buckets"]):
        names = [trace.names[tensor] for tensor in one["tensors"]]
        buckets.append((one["ready"], Bucket(number, [parameters[name] for name in names],
                                             [gradients[name] for name in names],
                                             number + 1 == len(times["buckets"]))))
    dist.barrier()
    begin, futures = time.perf_counter(), []

    def wait_until(moment):
        time.sleep(max(0.0, begin + moment - time.perf_counter()))
    for ready, bucket in buckets:
        wait_until(times["forward"] + ready)
        futures.append(hook._enqueue(None, bucket))
    wait_until(times["forward"] + times["backward"])
    for future in futures:
        future.wait()
    return time.perf_counter() - begin


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
        hook = thinpipe.torch.ddp_hook(model, spec, collective=collective or "auto")
    parameters = dict(model.module.named_parameters())
    trace = thinpipe.read_trace(arguments.waits) if arguments.waits else None
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data, seconds = train.batches(config, rank), []
    for step in range(WARMUP + arguments.steps):
        if trace is not None:
            seconds.append(step_of_waits(hook, parameters, trace, step, rank))
            continue
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


def job(arguments, ranks, link, spec, result, waits=""):
    if not result.exists():
        call(arguments.thinpipe, "net", "torchrun", "-q", "--ranks", ranks, "--link", link, "--python",
             arguments.python, "--", __file__, "--worker", "--spec", spec, "--steps", arguments.steps,
             "--result", result, *(["--waits", waits] if waits else []))
    return result


def replay(arguments, ranks, trace, compute):
    """{(link, spec): record of the point}"""
    found = {}
    for collective in (arguments.collective, "twoshot"):
        specs = [spec.partition("@")[0] for spec in arguments.compressors
                 if (spec.partition("@")[2] or arguments.collective) == collective]
        if not specs:
            continue
        out = arguments.out / f"run-{ranks}-{collective}-{compute}"
        call(arguments.thinpipe, "run", "--resume", "--trace", trace, "--out", out, "--ranks", ranks,
             "--collective", collective, "--overlap", "bucket", "--codec", "thread", "--no-baseline",
             "--compute", compute, "--steps", arguments.steps, *[word for link in arguments.link for word in ("--link", link)],
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
    parser.add_argument("--collective", choices=["ring", "gloo"], default="ring")
    parser.add_argument("--thinpipe", default="thinpipe")
    parser.add_argument("--python", default="/usr/bin/python3")
    for hidden in ("--spec", "--result", "--waits"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        return worker(arguments)
    arguments.out.mkdir(parents=True, exist_ok=True)
    columns = ("ranks", "link", "compressor", "job, ms (95 %)", "hook with waits, ms", "replay, ms (95 %)",
               "replay / job", "replay with `--compute work`, ms (95 %)", "replay with `--compute work` / job",
               "predicted / job")
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    near = {"wait": [], "work": [], "predict": []}
    for ranks in arguments.ranks:
        trace = job(arguments, ranks, "rate=10gbit", "capture", arguments.out / f"trace-{ranks}")
        times = {}
        for link in arguments.link:
            for spec in arguments.compressors:
                name = f"{ranks}-{link}-{spec}".replace(":", "_").replace("=", "-")
                times[link, spec] = [
                    json.loads(job(arguments, ranks, link, spec, arguments.out / f"{name}{kind}.json", waits)
                               .read_text(encoding="utf-8"))
                    for kind, waits in (("", ""), ("-waits", trace))]
        points = {compute: replay(arguments, ranks, trace, compute) for compute in ("wait", "work")}
        for (link, spec), (seconds, waited) in times.items():
            measured, cells = statistics.median(seconds), []
            for compute, of_kind in points.items():
                point = of_kind[link, spec]
                samples = point["metrics"]["step_time"]["samples"]
                ratio = statistics.median(samples) / measured
                near[compute].append(abs(ratio - 1) <= 0.05)
                status = "" if point["status"] == "ok" else f" ({point['status']})"
                cells.append(f"{1e3 * statistics.median(samples):.4g} ({interval(samples)}){status} | {ratio:.3f}")
            predicted = points["wait"][link, spec].get("prediction", {}).get("step_time", float("nan"))
            near["predict"].append(abs(predicted / measured - 1) <= 0.1)
            print(f"| {ranks} | {link} | {spec} | {1e3 * measured:.4g} ({interval(seconds)}) | "
                  f"{1e3 * statistics.median(waited):.4g} | {' | '.join(cells)} | {predicted / measured:.3f} |",
                  flush=True)
    print(f"\nReplay within 5 % of the job in {sum(near['wait'])} of {len(near['wait'])} cells, with `--compute "
          f"work` in {sum(near['work'])}, predict within 10 % in {sum(near['predict'])}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
