"""An independent reader of traces, written from docs/trace-format.md with the standard library alone.

Prints, for every rank, step and tensor, a line "rank step name shape count bits", where `bits` is
the XOR over (index + 1) * (the 32 bits of the value as FP32), so that a test can compare every bit
and its position.
"""
import hashlib
import json
import os
import struct
import sys


def read_words(data, start, count, dtype):
    """The values as FP32, each as its 32 bits."""
    if dtype == "F32":
        return struct.unpack_from("<%dI" % count, data, start)
    if dtype == "BF16":
        return [bits << 16 for bits in struct.unpack_from("<%dH" % count, data, start)]
    halves = struct.unpack_from("<%de" % count, data, start)
    return struct.unpack("<%dI" % count, struct.pack("<%df" % count, *halves))


def read_safetensors(path, dtype):
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack_from("<Q", data, 0)
    header = json.loads(data[8:8 + length].decode("utf-8"))
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        expected = "F32" if name.startswith("q:") else dtype
        assert entry["dtype"] == expected, entry["dtype"]
        begin, end = entry["data_offsets"]
        count = 1
        for dimension in entry["shape"]:
            count *= dimension
        size = 4 if expected == "F32" else 2
        assert end - begin == size * count
        start = 8 + length + begin
        assert start % size == 0
        tensors[name] = (entry["shape"], read_words(data, start, count, expected))
    return tensors, hashlib.sha256(data).hexdigest(), len(data)


def main(folder):
    with open(os.path.join(folder, "trace.json"), encoding="utf-8") as file:
        trace = json.load(file)
    assert trace["format"] == "thinpipe-trace" and trace["version"] == 1
    for number, step in enumerate(trace["steps"]):
        assert len(step["workers"]) == trace["ranks"]
        for rank, worker in enumerate(step["workers"]):
            tensors, digest, size = read_safetensors(os.path.join(folder, worker["file"]),
                                                     trace.get("dtype", "F32"))
            assert digest == worker["sha256"] and size == worker["bytes"]
            names = [tensor["name"] for tensor in trace["tensors"]]
            if trace.get("squares", False):
                names += ["q:" + name for name in names]
            assert sorted(names) == sorted(tensors)
            for name in names:
                shape, words = tensors[name]
                bits = 0
                for index, word in enumerate(words):
                    bits ^= (index + 1) * word
                print(rank, number, name, "x".join(map(str, shape)), len(words), bits)


main(sys.argv[1])
