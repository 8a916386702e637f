#!/usr/bin/env python3
"""Writes the roofline table of a campaign on a GPU, in Markdown.

The table compares measured times (OUT/bench-*) with the memory roofline and with peers.

Every time is the median over calls by the GPU's clock. The floor is t_R, the time of the best read
of the tensor in the same run, times the bytes per element that a method's passes must move, over
the 4 bytes of a read. The verdict of a row is `met`, `not met` or `not measured`. OUT/asked.txt
lists the requested points. Needs only Python.
"""
import argparse
import json
import pathlib
import re
import statistics
import sys

# Targets as factors of the floor.
SELECTION, QUANTISER, TOP_K = 1.6, 1.4, 2.0
# From LARGE elements on, memory bandwidth bounds a method. Below, kernel launches do, and the target
# is CUB's exact top-k of 0.26 million elements: 14 to 18 us on an H200.
LARGE, CUB_SECONDS = 1_000_000, 14e-6
CUB_METHODS = ("CUB radix sort + gather", "CUB DeviceTopK + gather")  # of docs/peers/peers.cu
TORCH_FACTOR, TORCH_RATIO = 10, 0.001

# Default memories other than `none`, as in `thinpipe list`; other sparse methods have a residual.
MEMORY = {"dgc": "momentum", "3lc": "residual"}
# Bytes per element of the first pass: reads the gradient; with a residual, reads and writes it as
# well; with momentum, also the velocity.
FIRST_PASS = {"none": 4, "residual": 12, "momentum": 20}
# Passes over the tensor by docs/gpu.md, "How a step works"; SIDCo's are in its records.
SELECTING = {"topk": 1, "threshold": 1, "dgc": 1, "gradientdropping": 1, "redsync": 2, "sidco": None}
QUANTISING = {"none": 1, "fp16": 1, "signsgd": 1, "int8": 2, "stoch3": 2, "3lc": 2}


def parse_spec(text):
    name, _, rest = text.partition(":")
    return name, dict(part.split("=", 1) for part in rest.split(",") if part)


def parse_size(text):
    factor = {"k": 10**3, "m": 10**6, "g": 10**9}.get(text[-1:], 1)
    return round(float(text.rstrip("kmg")) * factor)


def is_of(point, asked):
    """Returns whether a point is of the requested spec. A point's own spec leaves out defaults,
    which may include the ratio."""
    (name, own), (other, wanted) = parse_spec(point["axes"]["compressor"]), parse_spec(asked)
    ratio = wanted.pop("ratio", None)
    own.pop("ratio", None)
    return name == other and own == wanted and (ratio is None or ratio_of(point) == float(ratio))


def memory_of(name, parameters):
    return parameters.get("memory", MEMORY.get(name, "residual" if name in SELECTING else "none"))


def floor_bytes(spec, passes, bits):
    """Returns the bytes per element that the method's passes must move, payload included."""
    name, parameters = parse_spec(spec)
    memory = memory_of(name, parameters)
    payload = bits / 8
    if name in SELECTING:
        count = SELECTING[name] or min(max(passes, 2), 3)
        return FIRST_PASS[memory] + 4 * (count - 1) + payload
    count = 1 if int(parameters.get("bucket", 0)) else QUANTISING[name]
    # The coding pass writes the residual; if it is a later pass, it also reads c again.
    moved = FIRST_PASS[memory] + (4 + 4 * (memory != "none")) * (count - 1)
    if name == "3lc" and parameters.get("zre", "true") == "true":
        moved += 2 * 1.6 / 8  # bytes packed, and read again to fold zero runs
    return moved + payload


def target_of(spec):
    """Returns the target as a factor of the floor; None without a target."""
    name, _ = parse_spec(spec)
    if name == "topk":
        return TOP_K
    if name in SELECTING:
        return SELECTION
    return None if name == "none" else QUANTISER


def json_lines(path):
    """Yields the JSON objects of a file that may contain other lines."""
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith("{"):
            try:
                yield json.loads(line)
            except ValueError:
                pass  # an unfinished last line


class Campaign:
    """The files of a campaign's folder."""

    def __init__(self, folder):
        self.folder = folder
        self.headers, self.points, self.peers, self.asked = [], [], [], []
        for path in sorted(folder.glob("bench-*/records.jsonl")):
            run = path.parent.name
            for line in json_lines(path):
                if line["record"] == "header":
                    self.headers.append(line)
                elif line["record"] == "point" and line["axes"].get("device") == "cuda":
                    self.points.append(dict(line, run=run))
        for path in sorted([*folder.glob("peers-torch-*.jsonl"), *folder.glob("peers-cub-*.txt")]):
            self.peers += [row for row in json_lines(path) if "ns_per_element" in row]
        asked = folder / "asked.txt"
        for line in asked.read_text().splitlines() if asked.exists() else ():
            run, size, spec = line.split("\t")
            self.asked.append((run, parse_size(size), spec))

    def peer(self, methods, ratio, elements):
        """Returns the seconds of the fastest of some peers; None if none was measured."""
        times = [row["ns_per_element"] * 1e-9 * elements for row in self.peers
                 if row["method"] in methods and row["ratio"] == ratio
                 and row["elements"] == elements]
        return min(times, default=None)

    def missing(self):
        """Yields (elements, spec, run, reason) of requested points without records."""
        for run, size, spec in self.asked:
            found = [point for point in self.points
                     if point["run"] == run and point["axes"]["elements"] == size
                     and is_of(point, spec)]
            if not found:
                yield size, spec, run, "its step did not end"


def seconds(point, metric):
    return statistics.median(point["metrics"][metric]["samples"])


def ratio_of(point):
    return point["axes"].get("ratio")


def verdict(met):
    return "met" if met else "**not met**"


def judge(campaign, point):
    """Returns target and verdict of a row."""
    spec, elements = point["axes"]["compressor"], point["axes"]["elements"]
    encode = seconds(point, "encode_time")
    factor = target_of(spec)
    if factor is None:
        return "-", "-"
    if elements < LARGE:
        cub = campaign.peer(CUB_METHODS, ratio_of(point) or 0.01, elements)
        limit = cub or CUB_SECONDS
        return f"under CUB's {micro(limit)} us{'' if cub else ' (H200)'}", verdict(encode < limit)
    return f"at most {factor:g} floors", verdict(encode <= factor * floor_seconds(point))


def floor_seconds(point):
    metrics = point["metrics"]
    moved = floor_bytes(point["axes"]["compressor"], metrics["passes"]["samples"][0],
                        metrics["bits_per_element"]["samples"][0])
    return seconds(point, "read_time") * moved / 4


def micro(value):
    value *= 1e6
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def spaced(number):
    return f"{number:,}".replace(",", " ")


def rows_of(campaign):
    """Yields (run, elements, cells) of every row; the last cell is the verdict."""
    for point in campaign.points:
        axes = point["axes"]
        group = (point["run"], axes["elements"])
        if point["status"] != "ok":
            reason = "; ".join(point["reasons"]).replace("|", "\\|").replace("\n", " ")
            yield *group, [f"`{axes['compressor']}`", *["-"] * 6, f"not measured: {reason}"]
            continue
        encode, floor = seconds(point, "encode_time"), floor_seconds(point)
        yield *group, [f"`{axes['compressor']}`", micro(encode),
                       micro(seconds(point, "encode_wall_time")),
                       micro(seconds(point, "decode_time")), micro(floor), f"{encode / floor:.2f}",
                       *judge(campaign, point)]
    for size, spec, run, why in campaign.missing():
        yield run, size, [f"`{spec}`", *["-"] * 6, f"not measured: {why}"]


def against_torch(campaign):
    """Yields rows that compare exact top-k with torch.topk."""
    sizes = sorted({size for _, size, _ in campaign.asked} |
                   {point["axes"]["elements"] for point in campaign.points})
    for size in sizes:
        ours = [seconds(point, "encode_time") for point in campaign.points
                if point["status"] == "ok" and point["axes"]["elements"] == size
                and is_of(point, f"topk:memory=none,ratio={TORCH_RATIO:g}")]
        torch = campaign.peer(("torch.topk",), TORCH_RATIO, size)
        cells = [spaced(size), micro(min(ours)) if ours else "-",
                 micro(torch) if torch else "-"]
        if not ours or not torch:
            yield [*cells, "-", "not measured"]
        else:
            factor = torch / min(ours)
            yield [*cells, f"{factor:.3g}", verdict(factor >= TORCH_FACTOR)]


def table(heads, rows):
    return "\n".join("| " + " | ".join(row) + " |"
                     for row in [heads, ["---"] + ["---:"] * (len(heads) - 2) + ["---"], *rows])


def megahertz(hertz):
    return f"{hertz / 1e6:.0f} MHz" if hertz else "unknown"


def where_and_when(headers):
    devices = [header["device"] for header in headers if "device" in header]
    if not devices:
        return "No records of a GPU.\n"
    device = devices[0]
    times = sorted(header["created"] for header in headers)
    built = sorted({f"thinpipe {h['fingerprint']['thinpipe']} ({h['fingerprint']['git']})"
                    for h in headers})
    if len({d["name"] for d in devices}) > 1:
        sys.exit("roofline.py: the folder has records of several GPUs; expected one GPU")
    return (f"{device['name']} ({device['architecture']}), CUDA {device['cuda_runtime']}, driver "
            f"{device['driver'] or 'unknown'} (CUDA {device['cuda_driver']}), clocks under load: "
            f"SM {megahertz(device['sm_hz'])}, memory {megahertz(device['memory_hz'])}; "
            f"{times[0]} to {times[-1]}; {', '.join(built)}.\n")


def key_of(run):
    """Returns a sort key of a run's name that compares numbers by value."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", run)]


def page(campaign):
    rows = sorted(rows_of(campaign), key=lambda row: (row[1], key_of(row[0])))
    parts = [where_and_when(campaign.headers)]
    verdicts = []
    for run, size in dict.fromkeys((run, size) for run, size, _ in rows):
        group = [cells for other, elements, cells in rows if (other, elements) == (run, size)]
        measured = [p for p in campaign.points if p["run"] == run and p["status"] == "ok"
                    and p["axes"]["elements"] == size]
        reads = f"t_R = {micro(seconds(measured[0], 'read_time'))} us, " if measured else ""
        residencies = {p["axes"]["residency"] for p in measured}
        in_cache = ", in the L2 cache" if residencies == {"cache"} else ""
        parts.append(f"**{spaced(size)} elements{in_cache}** ({reads}`{run}`)\n")
        parts.append(table(["compressor", "encode, us", "with wait, us", "decode, us", "floor, us",
                            "floors", "target", "verdict"], group) + "\n")
        verdicts += [cells[-1] for cells in group]
    torch = list(against_torch(campaign))
    parts.append(f"**Exact top-k, without memory, and torch.topk at ratio {TORCH_RATIO:g}** "
                 f"(target: {TORCH_FACTOR} times as fast)\n")
    parts.append(table(["elements", "thinpipe, us", "torch, us", "times", "verdict"], torch) + "\n")
    verdicts += [cells[-1] for cells in torch]
    counts = {name: sum(v.startswith(name) for v in verdicts)
              for name in ("met", "**not met**", "not measured")}
    parts.insert(1, ", ".join(f"{count} {name.strip('*')}" for name, count in counts.items()) + ".\n")
    return "\n".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path, help="OUT of tests/gpu/campaign run")
    parser.add_argument("--output", metavar="FILE", type=pathlib.Path,
                        help="default: standard output")
    options = parser.parse_args()
    if not options.folder.is_dir():
        parser.error(f"{options.folder}: no such folder")
    text = page(Campaign(options.folder))
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
