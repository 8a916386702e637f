#!/usr/bin/python3
"""PyTorch's DistributedDataParallel over gloo, on thinpipe's emulated hosts: what an exchange takes.

ddp.py [--ranks 2 4 8] [--link rate=100mbit ...] [--elements 1048576] [--steps 10] [--json FILE]
       [--thinpipe PROGRAM]

One process a host, a model of one parameter: a step is a backward pass that has a gradient of that many floats at
once, DDP's all-reduce of it with each communication hook, and nothing else. Prints the median over steps of the slowest
rank's time. Needs Debian's python3-torch.
"""
import argparse
import json
import os
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

HOOKS = ["all-reduce", "fp16", "bf16", "powersgd"]
WARMUP = 3


def register(model, hook):
    """DDP's hook of that name. @returns why it cannot be used, or nothing"""
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

    if hook == "fp16":
        model.register_comm_hook(None, default_hooks.fp16_compress_hook)
    elif hook == "bf16":
        try:
            model.register_comm_hook(None, default_hooks.bf16_compress_hook)
        except (RuntimeError, TypeError) as error:
            return str(error).splitlines()[0]
    elif hook == "powersgd":
        state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=4,
                                            start_powerSGD_iter=2)
        model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    return None


def measure(hook, elements, steps):
    """Seconds of each step of this rank, and why there are none."""
    import torch

    class Vector(torch.nn.Module):
        def __init__(self):
            super().__init__()
            # A matrix: PowerSGD has nothing to do with a vector.
            self.weight = torch.nn.Parameter(torch.randn(1024, elements // 1024))

        def forward(self, scale):
            return (self.weight * scale).sum()

    model = torch.nn.parallel.DistributedDataParallel(Vector(), bucket_cap_mb=1 << 10)
    try:
        why = register(model, hook)
        if why:
            return [], why
        seconds = []
        for _ in range(WARMUP + steps):
            loss = model(torch.tensor(1.0))
            torch.distributed.barrier()
            begin = time.perf_counter()
            loss.backward()
            seconds.append(time.perf_counter() - begin)
        return seconds[WARMUP:], None
    except RuntimeError as error:
        return [], str(error).splitlines()[0]


def worker(rank, arguments):
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(rank)
    address = os.environ["THINPIPE_MASTER"]
    torch.distributed.init_process_group("gloo", init_method=f"tcp://{address}:29500", rank=rank,
                                         world_size=arguments.world)
    found = {}
    for hook in HOOKS:
        seconds, why = measure(hook, arguments.elements, arguments.steps)
        all_ranks = [None] * arguments.world
        torch.distributed.all_gather_object(all_ranks, seconds)
        found[hook] = {"why": why} if why else {
            "seconds": [max(step) for step in zip(*all_ranks)]}
    if rank == 0:
        pathlib.Path(arguments.result).write_text(json.dumps(found), encoding="utf-8")


def run(arguments, ranks, link):
    """What each hook took on so many hosts."""
    with tempfile.TemporaryDirectory() as folder:
        result = pathlib.Path(folder) / "result.json"

        def command(rank):
            return ("export GLOO_SOCKET_IFNAME=thin0 THINPIPE_MASTER=198.18.0.1; exec "
                    f"{shlex.quote(sys.executable)} {shlex.quote(os.path.abspath(__file__))} "
                    f"--rank {rank} --world {ranks} --elements {arguments.elements} "
                    f"--steps {arguments.steps} --result {shlex.quote(str(result))}")

        serve = []
        for rank in range(1, ranks):
            serve += ["--serve", f"host{rank}:{command(rank)}"]
        done = subprocess.run(
            [arguments.thinpipe, "net", "exec", "--ranks", str(ranks), "--link", link, "--wait",
             "0", *serve, "--", "sh", "-c", command(0)],
            check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise SystemExit(f"ddp.py: thinpipe net exec ended with {done.returncode}:\n{done.stdout}")
        return json.loads(result.read_text(encoding="utf-8"))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4, 8])
    parser.add_argument("--link", nargs="+", default=["rate=100mbit", "rate=1gbit"])
    parser.add_argument("--elements", type=int, default=1 << 20)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--thinpipe", default="thinpipe")
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--world", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--result", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.elements % 1024 != 0:
        parser.error("--elements: expected a multiple of 1024")
    if arguments.rank is not None:
        worker(arguments.rank, arguments)
        return
    rows = []
    print(f"{'link':<14}{'ranks':>6}" + "".join(f"{hook:>13}" for hook in HOOKS))
    for link in arguments.link:
        for ranks in arguments.ranks:
            found = run(arguments, ranks, link)
            rows.append({"link": link, "ranks": ranks, "hooks": found})
            cells = [f"{1e3 * statistics.median(one['seconds']):.1f} ms" if "seconds" in one else "-"
                     for one in found.values()]
            print(f"{link:<14}{ranks:>6}" + "".join(f"{cell:>13}" for cell in cells), flush=True)
    for why in {(hook, one["why"]) for row in rows for hook, one in row["hooks"].items()
                if "why" in one}:
        print(f"{why[0]}: {why[1]}")
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
