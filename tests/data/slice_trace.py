"""Copies some tensors of a trace: slice_trace.py FROM TO TENSOR...

With the standard library alone; docs/trace-format.md describes what is read and written.
"""
import hashlib
import json
import os
import struct
import sys


def slice_file(source, target, names):
    with open(source, "rb") as file:
        data = file.read()
    (length,) = struct.unpack_from("<Q", data, 0)
    header = json.loads(data[8:8 + length])
    kept, buffer = {}, b""
    for name in names:
        begin, end = header[name]["data_offsets"]
        kept[name] = {**header[name], "data_offsets": [len(buffer), len(buffer) + end - begin]}
        buffer += data[8 + length + begin:8 + length + end]
    text = json.dumps(kept, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % 64)
    written = struct.pack("<Q", len(text)) + text + buffer
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(target, "wb") as file:
        file.write(written)
    return len(written), hashlib.sha256(written).hexdigest()


def main(source, target, names):
    with open(os.path.join(source, "trace.json"), encoding="utf-8") as file:
        trace = json.load(file)
    places = [index for index, tensor in enumerate(trace["tensors"]) if tensor["name"] in names]
    kept = [trace["tensors"][place] for place in places]
    assert len(kept) == len(names), "no such tensor"
    for order, tensor in enumerate(sorted(kept, key=lambda tensor: tensor["ready_order"])):
        tensor["ready_order"] = order
    trace["tensors"] = kept
    trace["provenance"]["slice"] = "some tensors of the model; times are those of all"
    stored = [tensor["name"] for tensor in kept]
    if trace.get("squares"):
        stored += ["q:" + name for name in stored]
    for step in trace["steps"]:
        for worker in step["workers"]:
            worker["ready"] = [worker["ready"][place] for place in places]
            worker["bytes"], worker["sha256"] = slice_file(
                os.path.join(source, worker["file"]), os.path.join(target, worker["file"]), stored)
    with open(os.path.join(target, "trace.json"), "w", encoding="utf-8") as file:
        json.dump(trace, file, indent=1)
        file.write("\n")


main(sys.argv[1], sys.argv[2], sys.argv[3:])
