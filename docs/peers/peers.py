#!/usr/bin/python3
"""What others need to select or quantise a gradient: PyTorch and NumPy on this CPU, one thread, or
PyTorch on this GPU.

Needs Debian's python3-torch and python3-numpy, or for --device cuda a PyTorch with CUDA alone. On the
CPU every method is timed twice: as malloc comes, and with malloc told to keep large blocks ("tuned"),
since most of PyTorch's time on large temporaries is page faults. On a GPU PyTorch keeps what it
allocated by itself; inputs rotate through twice the L2 cache, and CUDA events around as many calls as
take 20 ms must agree with the host's clock. Prints a table of ns/element, medians; --json FILE also
writes one JSON object a line. Exits with 77 where --device cuda finds no GPU.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time

RATIOS = (0.1, 0.01, 0.001)
# No block is mapped separately, and the heap is never returned to the system, so pages stay mapped.
TUNED = "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=68719476736"


def parse_size(text):
    factor = {"k": 10**3, "m": 10**6, "g": 10**9}.get(text[-1:], 1)
    return round(float(text.rstrip("kmg")) * factor)


def methods(torch, numpy):
    """name -> (function of gradient and ratio, takes a ratio). Each returns what it would send.
    Without NumPy (on a GPU) what it does is left out."""

    def take(g, mask):
        positions = mask.nonzero().view(-1)
        return positions, g[positions]

    def count_of(g, ratio):
        return max(math.ceil(ratio * g.numel()), 1)

    def torch_topk(g, ratio):
        positions = g.abs().topk(count_of(g, ratio), sorted=False).indices
        return positions, g[positions]

    def numpy_argpartition(g, ratio):
        g = g.numpy()
        k = count_of(torch.from_numpy(g), ratio)
        positions = numpy.argpartition(numpy.abs(g), g.size - k)[g.size - k:]
        return positions, g[positions]

    def sidco_e(g, ratio):
        a = g.abs()
        return take(g, a > a.mean().item() * math.log(1 / ratio))

    def sidco_e_stages(g, ratio):
        # 0.25 first; then so many stages that each keeps 0.15 to 0.4 of what the last one left.
        stages = {0.1: 2, 0.01: 3, 0.001: 4}[ratio]
        later = (ratio / 0.25) ** (1 / (stages - 1))
        a = g.abs()
        threshold = a.mean().item() * math.log(1 / 0.25)
        for _ in range(stages - 1):
            a_tail = a[a > threshold]
            threshold += (a_tail.mean().item() - threshold) * math.log(1 / later)
        return take(g, a > threshold)

    def dgc_with(draw):
        def dgc(g, ratio):
            k = count_of(g, ratio)
            a = g.abs()
            sample = a[draw(g.numel(), max(g.numel() // 100, 1), g.device)]
            top = max(math.ceil(ratio * sample.numel()), 1)
            threshold = sample.topk(top, sorted=False).values.min().item()
            for _ in range(10):
                mask = a > threshold
                count = int(mask.sum())
                if count >= 0.8 * k:
                    break
                threshold *= 0.8
            positions, values = take(g, mask)
            if count > 1.3 * k:
                chosen = values.abs().topk(k, sorted=False).indices
                positions, values = positions[chosen], values[chosen]
            return positions, values
        return dgc

    def redsync(g, ratio):
        k = count_of(g, ratio)
        a = g.abs()
        mean, largest = a.mean().item(), a.max().item()
        low, high = 0.0, 1.0
        mask = None
        while high - low > 0.2:
            middle = (low + high) / 2
            mask = a > mean + middle * (largest - mean)
            count = int(mask.sum())
            if k < count < 2 * k:
                break
            if count < k / 2:
                high = middle
            else:
                low = middle
        return take(g, mask)

    def gaussiank(g, ratio):
        k = count_of(g, ratio)
        deviation, mean = torch.std_mean(g)
        threshold = mean.item() + abs(statistics.NormalDist().inv_cdf(ratio / 2)) * deviation.item()
        a = g.abs()
        for _ in range(3):
            mask = a > threshold
            count = int(mask.sum())
            if count < 2 * k / 3:
                threshold *= 0.5
            elif count > 4 * k / 3:
                threshold *= 1.5
            else:
                break
        return take(g, mask)

    def int8(g, _):
        scale = g.abs().max() / 127
        return (g / scale).round().to(torch.int8), scale

    def terngrad(g, _):
        a = g.abs()
        scale = a.max()
        return (g.sign() * torch.bernoulli(a / scale)).to(torch.int8), scale

    def qsgd(g, _):
        levels, bucket = 7, 512  # 4 bits
        whole = g[:g.numel() // bucket * bucket].view(-1, bucket)
        norms = whole.norm(dim=1, keepdim=True)
        scaled = whole.abs() * (levels / norms)
        lower = scaled.floor()
        lower += torch.rand_like(scaled) < scaled - lower
        return (whole.sign() * lower).to(torch.int8), norms

    uniform = dgc_with(lambda d, n, device: torch.randint(d, (n,), device=device))
    published = dgc_with(lambda d, n, device: torch.randperm(d, device=device)[:n])
    all_of_them = {
        "torch.topk": (torch_topk, True),
        "numpy.argpartition": (numpy_argpartition, True),
        "SIDCo-E, one stage": (sidco_e, True),
        "SIDCo-E, 2/3/4 stages": (sidco_e_stages, True),
        "DGC, uniform sample": (uniform, True),
        "DGC, randperm": (published, True),
        "RedSync": (redsync, True),
        "GaussianK": (gaussiank, True),
        "int8": (int8, False),
        "TernGrad": (terngrad, False),
        "QSGD, 4 bits, 512": (qsgd, False),
    }
    if numpy is None:
        del all_of_them["numpy.argpartition"]
    return all_of_them


def laplace(torch, size, device):
    """Laplace(0, 1), as thinpipe bench draws by default; other values, for other generators."""
    u = torch.rand(size, dtype=torch.float64, device=device) - 0.5
    return (-u.sign() * torch.log1p(-2 * u.abs())).to(torch.float32)


def time_on_gpu(torch, call, calls, turn):
    """Seconds of one of so many calls, by events, which must agree with the host's clock."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    start = time.perf_counter()
    begin.record()
    for i in range(calls):
        call(turn + i)
    end.record()
    torch.cuda.synchronize()
    wall = time.perf_counter() - start
    seconds = begin.elapsed_time(end) / 1000
    if abs(wall - seconds) > 0.02 * wall + 2e-4:
        sys.exit(f"peers.py: {1e3 * seconds:.3f} ms by events, {1e3 * wall:.3f} ms by the host's "
                 "clock: not to be trusted")
    return seconds / calls


def gpu_rows(options):
    """Rows of --device cuda; `malloc` is `device`."""
    try:
        import torch
    except ImportError:
        torch = None
    if torch is None or not torch.cuda.is_available():
        print("peers.py: no PyTorch that finds a GPU", file=sys.stderr)
        sys.exit(77)
    torch.manual_seed(1)
    size = parse_size(options.size)
    gpu = torch.cuda.get_device_properties(0)
    cache = getattr(gpu, "L2_cache_size", 64 << 20)
    g = laplace(torch, size, "cuda")
    inputs = [g] + [g.clone() for _ in range(math.ceil(2 * cache / (4 * size)) - 1)]
    for name, (function, takes_ratio) in methods(torch, None).items():
        if options.only and options.only not in name:
            continue
        for ratio in RATIOS if takes_ratio else (None,):
            def call(i, function=function, ratio=ratio):
                return function(inputs[i % len(inputs)], ratio)
            sent = call(0)  # kernels are loaded, and memory is kept
            once = time_on_gpu(torch, call, 3, 1)
            calls = min(max(round(0.02 / once), 3), 2000)
            times = [1e9 * time_on_gpu(torch, call, calls, 4 + i * calls) / size
                     for i in range(options.repetitions)]
            share = None if ratio is None else len(sent[0]) / max(math.ceil(ratio * size), 1)
            del sent
            print(f"{gpu.name}: {name}", file=sys.stderr)
            yield {"method": name, "ratio": ratio, "elements": size, "malloc": "device",
                   "device": gpu.name, "ns_per_element": statistics.median(times),
                   "all_ns_per_element": times, "selected_share": share}


def measure(options):
    """In the child: one JSON object a line."""
    import numpy
    import torch
    torch.set_num_threads(1)
    torch.manual_seed(1)
    size = parse_size(options.size)
    g = laplace(torch, size, "cpu")
    for name, (function, takes_ratio) in methods(torch, numpy).items():
        if options.only and options.only not in name:
            continue
        for ratio in RATIOS if takes_ratio else (None,):
            times = []
            sent = function(g, ratio)  # pages, caches and lazy initialisation
            for _ in range(options.repetitions):
                start = time.perf_counter_ns()
                sent = function(g, ratio)
                times.append((time.perf_counter_ns() - start) / size)
            share = None if ratio is None else len(sent[0]) / max(math.ceil(ratio * size), 1)
            print(json.dumps({"method": name, "ratio": ratio, "elements": size,
                              "malloc": options.child, "ns_per_element": statistics.median(times),
                              "all_ns_per_element": times, "selected_share": share}), flush=True)


def children(options):
    """Runs this file once for each malloc; yields the rows."""
    for malloc in ("plain", "tuned"):
        environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
        if malloc == "tuned":
            environment["GLIBC_TUNABLES"] = TUNED
        arguments = [sys.executable, __file__, "--child", malloc, "--size", options.size,
                     "--repetitions", str(options.repetitions), "--only", options.only]
        with subprocess.Popen(arguments, env=environment, stdout=subprocess.PIPE, text=True) as run:
            for line in run.stdout:
                row = json.loads(line)
                print(f"{malloc}: {row['method']}", file=sys.stderr)
                yield row
        if run.returncode != 0:
            sys.exit(f"peers.py: the run with {malloc} malloc ended with {run.returncode}")


def print_table(rows, mallocs):
    cells = {(row["malloc"], row["method"], row["ratio"]): row["ns_per_element"] for row in rows}
    names = list(dict.fromkeys(row["method"] for row in rows))
    print(f"{'ns/element at ratio':<24}" + "".join(
        f"{f'{malloc} {ratio}':>12}" for malloc in mallocs for ratio in RATIOS))
    for name in names:
        line = f"{name:<24}"
        for malloc in mallocs:
            for ratio in RATIOS:
                value = cells.get((malloc, name, ratio))
                if value is None and ratio == RATIOS[0]:
                    value = cells.get((malloc, name, None))
                # A GPU takes thousandths of a nanosecond.
                digits = ".4g" if malloc == "device" else ".2f"
                line += f"{value:12{digits}}" if value is not None else f"{'':12}"
        print(line.rstrip())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", default="26m", help="elements: 26m, 260k")
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--only", default="", help="only methods whose name has this in it")
    parser.add_argument("--json", metavar="FILE", help="also write one JSON object a line")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        measure(options)
        return
    on_gpu = options.device == "cuda"
    rows = list(gpu_rows(options) if on_gpu else children(options))
    print_table(rows, ("device",) if on_gpu else ("plain", "tuned"))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)


if __name__ == "__main__":
    main()
