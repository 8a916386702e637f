"""A small trace with nothing wrong, two ranks, two steps, second moments, and how it becomes files."""
import copy
import hashlib
import json
import struct

SHAPES = {"weight": [2, 3], "bias": [2], "q:weight": [2, 3], "q:bias": [2]}


def step_file(rank, step):
    header, values, at = {}, [], 0
    for name, shape in SHAPES.items():
        count = 1
        for size in shape:
            count *= size
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [at, at + 4 * count]}
        values += [0.5 * (i + 1) + rank - step / 8 for i in range(count)]
        at += 4 * count
    return header, struct.pack("<%df" % len(values), *values)


def file_bytes(header, buffer):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % 64)
    return struct.pack("<Q", len(text)) + text + buffer


def sound_trace():
    files, steps = {}, []
    for step in (7, 9):
        workers = []
        for rank in (0, 1):
            name = f"rank-{rank:03d}/step-{step:08d}.safetensors"
            files[name] = step_file(rank, step)
            workers.append({"file": name, "forward": 0.01, "backward": 0.02, "loss": 1.5,
                            "ready": [0.02, 0.005]})
        steps.append({"training_step": step, "workers": workers})
    tensors = [{"name": "weight", "shape": [2, 3], "ready_order": 1},
               {"name": "bias", "shape": [2], "ready_order": 0}]
    trace = {"format": "thinpipe-trace", "version": 1, "origin": "training", "model": "toy", "ranks": 2,
             "dtype": "F32", "squares": True, "squares_of": "samples", "provenance": {"seed": 1},
             "tensors": tensors, "steps": steps}
    return trace, files


def write_trace(folder, change):
    """The trace as `change` leaves it; see make.py."""
    trace, files = copy.deepcopy(sound_trace())
    instead = change(trace, files) or {}
    for name, content in files.items():
        data = content if isinstance(content, bytes) else file_bytes(*content)
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        for step in trace["steps"]:
            for worker in step["workers"]:
                if isinstance(worker, dict) and worker.get("file") == name:
                    worker.setdefault("bytes", len(data))
                    worker.setdefault("sha256", hashlib.sha256(data).hexdigest())
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(trace, indent=1).encode()
    instead.setdefault("trace.json", lambda text: text)
    for name, replace in instead.items():
        path = folder / name
        data = replace(text if name == "trace.json" else path.read_bytes())
        if data is None:
            path.unlink(missing_ok=True)
        else:
            path.write_bytes(data)
