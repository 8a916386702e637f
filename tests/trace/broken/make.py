#!/usr/bin/env python3
"""Writes the corpus of broken traces: make.py OUT makes OUT/NAME for every case below.

Each is the same small trace (two ranks, two steps, second moments) with one thing wrong.
messages.txt has the messages that `thinpipe trace verify` must print; any other reader must refuse
these traces too.
The case `sound` has nothing wrong.
"""
import json
import pathlib
import struct
import sys

sys.dont_write_bytecode = True
from toy_trace import file_bytes, write_trace  # beside this file

FIRST = "rank-000/step-00000007.safetensors"
WORKER = ("steps", 0, "workers", 0)
DEEP = b"[" * 70 + b"]" * 70

# One value of trace.json is wrong: the path to it, then the value.
TRACE_VALUES = {
    "another-format": ("format", "safetensors"),
    "newer-version": ("version", 2),
    "unknown-origin": ("origin", "dreams"),
    "model-without-a-name": ("model", ""),
    "no-ranks": ("ranks", 0),
    "more-ranks-than-workers": ("ranks", 3),
    "unknown-dtype": ("dtype", "F64"),
    "files-of-another-dtype": ("dtype", "BF16"),
    "squares-not-boolean": ("squares", "yes"),
    "squares-of-something-else": ("squares_of", "epochs"),
    "complete-not-boolean": ("complete", 1),
    "no-tensors": ("tensors", []),
    "tensor-without-a-name": ("tensors", 0, "name", ""),
    "tensor-with-a-name-kept-for-second-moments": ("tensors", 0, "name", "q:weight"),
    "tensor-named-twice": ("tensors", 1, "name", "weight"),
    "tensor-without-elements": ("tensors", 0, "shape", [2, 0]),
    "tensor-with-too-many-elements": ("tensors", 0, "shape", [2**32, 2**32]),
    "ready-order-twice": ("tensors", 1, "ready_order", 1),
    "ready-order-with-a-gap": ("tensors", 0, "ready_order", 2),
    "no-steps": ("steps", []),
    "steps-not-ascending": ("steps", 1, "training_step", 7),
    "step-below-zero": ("steps", 0, "training_step", -1),
    "file-outside-the-folder": (*WORKER, "file", "../rank-000/step-00000007.safetensors"),
    "file-with-an-absolute-path": (*WORKER, "file", "/etc/passwd"),
    "file-with-a-backslash": (*WORKER, "file", "rank-000\\step-00000007.safetensors"),
    "hash-in-upper-case": (*WORKER, "sha256", "A" * 64),
    "time-below-zero": (*WORKER, "forward", -0.5),
    "time-too-long": (*WORKER, "backward", 1e300),
    "loss-not-a-number": (*WORKER, "loss", "NaN"),
    "ready-too-short": (*WORKER, "ready", [0.02]),
    "ready-after-the-backward-pass": (*WORKER, "ready", [0.03, 0.005]),
}
# The same of the first file's header.
HEADER_VALUES = {
    "unknown-member-in-a-header": ("bias", "device", "cpu"),
    "gradient-of-another-shape": ("weight", "shape", [3, 2]),
    "gradient-of-64-bits": ("weight", {"dtype": "F64", "shape": [3], "data_offsets": [0, 24]}),
    "offsets-that-do-not-fit-the-shape": ("weight", "data_offsets", [0, 20]),
    "offsets-that-overlap": ("bias", "data_offsets", [20, 28]),
    "offsets-beyond-the-file": ("q:bias", "data_offsets", [56, 72]),
}
# A file's bytes are replaced; None removes the file.
BYTES = {
    "no-trace-json": ("trace.json", lambda text: None),
    "empty-trace-json": ("trace.json", lambda text: b""),
    "cut-trace-json": ("trace.json", lambda text: text[:200]),
    "name-twice": ("trace.json",
                   lambda text: text.replace(b'"version"', b'"format": "x", "version"')),
    "nested-too-deep": ("trace.json", lambda text: text.replace(b'"seed": 1', b'"seed": ' + DEEP)),
    "not-an-object": ("trace.json", lambda text: b"[]"),
    "time-not-finite": ("trace.json", lambda text: text.replace(b"0.01,", b"1e999,", 1)),
    "file-missing": (FIRST, lambda data: None),
    "file-cut": (FIRST, lambda data: data[:-4]),
    "file-changed": (FIRST, lambda data: data[:-1] + b"\0"),
}


def put(root, *place):
    """Sets a value below `root`: put(root, "a", 0, "b", value)."""
    *path, last, value = place
    for name in path:
        root = root[name]
    root[last] = value


# Changes of `trace` (the object of trace.json) and `files` (header and buffer by name), by case.
CASES = {"sound": lambda trace, files: None}
for name, place in TRACE_VALUES.items():
    CASES[name] = lambda trace, files, place=place: put(trace, *place)
for name, place in HEADER_VALUES.items():
    CASES[name] = lambda trace, files, place=place: put(files[FIRST][0], *place)
for name, (file, replace) in BYTES.items():
    CASES[name] = lambda trace, files, file=file, replace=replace: {file: replace}


def case(change):
    """Adds a change that no table above can express."""
    CASES[change.__name__.replace("_", "-")] = change
    return change


@case
def version_missing(trace, files):
    del trace["version"]


@case
def missing_with_a_control_character(trace, files):
    trace["complete"], trace["missing"] = False, ["rank 1:\nkilled"]


@case
def header_length_beyond_the_file(trace, files):
    data = file_bytes(*files[FIRST])
    files[FIRST] = struct.pack("<Q", 1 << 40) + data[8:]


@case
def header_not_json(trace, files):
    files[FIRST] = b"{weight}", files[FIRST][1]


@case
def header_not_an_object(trace, files):
    files[FIRST] = b'["weight"]', files[FIRST][1]


@case
def gradient_missing(trace, files):
    header = files[FIRST][0]
    header["bais"] = header.pop("bias")


@case
def second_moments_missing(trace, files):
    header = files[FIRST][0]
    header["r:bias"] = header.pop("q:bias")


@case
def offsets_with_a_hole(trace, files):
    header, buffer = files[FIRST]
    files[FIRST] = header, buffer + b"\0" * 8
    header["q:bias"]["data_offsets"] = [64, 72]


@case
def bytes_left_over(trace, files):
    header, buffer = files[FIRST]
    files[FIRST] = header, buffer + b"\0" * 4


@case
def values_off_their_alignment(trace, files):
    header, buffer = files[FIRST]
    text = json.dumps(header).encode()
    text += b" " * ((1 - len(text)) % 4)
    files[FIRST] = struct.pack("<Q", len(text)) + text + buffer


if __name__ == "__main__":
    for name, change in CASES.items():
        write_trace(pathlib.Path(sys.argv[1]) / name, change)
