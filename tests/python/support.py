"""Shared by the tests of the Python package: the package from the sources, methods, the command."""
import array
import json
import os
import random
import struct
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "python"))
sys.dont_write_bytecode = True

import thinpipe  # noqa: E402  (the path is set above)


def command(*words, code=0):
    """Standard output of the command under test."""
    ran = subprocess.run([os.environ["THINPIPE"], *words], capture_output=True, text=True, timeout=120,
                         check=False)
    assert ran.returncode == code, (words, ran.returncode, ran.stderr)
    return ran.stdout


def methods():
    """Every method, as `thinpipe list --json` describes it."""
    return json.loads(command("list", "--json"))["compressors"]


def gradient(elements, seed):
    """Heavy-tailed finite floats, without NumPy."""
    draw = random.Random(seed)
    return array.array("f", (draw.gauss(0, 1) ** 3 for _ in range(elements)))


def write_safetensors(path, tensors):
    """tensors: {name: (shape, bytes of F32)}"""
    header, at = {}, 0
    for name, (shape, data) in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % 64)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, data in tensors.values():
            file.write(data)
