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
CASES = {}


def case(change):
    """A case changes `trace` (the object of trace.json) and `files` (header and buffer by name)."""
    CASES[change.__name__.replace("_", "-")] = change
    return change


def worker_of(trace):
    return trace["steps"][0]["workers"][0]


def header_of(files):
    return files[FIRST][0]


# --- the folder and trace.json as a text

@case
def sound(trace, files):
    pass


@case
def no_trace_json(trace, files):
    return {"trace.json": lambda text: None}


@case
def empty_trace_json(trace, files):
    return {"trace.json": lambda text: b""}


@case
def cut_trace_json(trace, files):
    return {"trace.json": lambda text: text[:200]}


@case
def name_twice(trace, files):
    return {"trace.json": lambda text: text.replace(b'"version"', b'"format": "x", "version"')}


@case
def nested_too_deep(trace, files):
    return {"trace.json": lambda text: text.replace(b'{"seed": 1}', b"[" * 70 + b"]" * 70)
            if b'{"seed": 1}' in text else text.replace(b'"seed": 1', b'"seed": ' + b"[" * 70 + b"]" * 70)}


@case
def not_an_object(trace, files):
    return {"trace.json": lambda text: b"[]"}


# --- members of trace.json

@case
def another_format(trace, files):
    trace["format"] = "safetensors"


@case
def version_missing(trace, files):
    del trace["version"]


@case
def newer_version(trace, files):
    trace["version"] = 2


@case
def unknown_origin(trace, files):
    trace["origin"] = "dreams"


@case
def model_without_a_name(trace, files):
    trace["model"] = ""


@case
def no_ranks(trace, files):
    trace["ranks"] = 0


@case
def more_ranks_than_workers(trace, files):
    trace["ranks"] = 3


@case
def unknown_dtype(trace, files):
    trace["dtype"] = "F64"


@case
def files_of_another_dtype(trace, files):
    trace["dtype"] = "BF16"


@case
def squares_not_boolean(trace, files):
    trace["squares"] = "yes"


@case
def squares_of_something_else(trace, files):
    trace["squares_of"] = "epochs"


@case
def complete_not_boolean(trace, files):
    trace["complete"] = 1


@case
def missing_with_a_control_character(trace, files):
    trace["complete"], trace["missing"] = False, ["rank 1:\nkilled"]


@case
def no_tensors(trace, files):
    trace["tensors"] = []


@case
def tensor_without_a_name(trace, files):
    trace["tensors"][0]["name"] = ""


@case
def tensor_with_a_name_kept_for_second_moments(trace, files):
    trace["tensors"][0]["name"] = "q:weight"


@case
def tensor_named_twice(trace, files):
    trace["tensors"][1]["name"] = "weight"


@case
def tensor_without_elements(trace, files):
    trace["tensors"][0]["shape"] = [2, 0]


@case
def tensor_with_too_many_elements(trace, files):
    trace["tensors"][0]["shape"] = [2**32, 2**32]


@case
def ready_order_twice(trace, files):
    trace["tensors"][1]["ready_order"] = 1


@case
def ready_order_with_a_gap(trace, files):
    trace["tensors"][0]["ready_order"] = 2


@case
def no_steps(trace, files):
    trace["steps"] = []


@case
def steps_not_ascending(trace, files):
    trace["steps"][1]["training_step"] = 7


@case
def step_below_zero(trace, files):
    trace["steps"][0]["training_step"] = -1


# --- workers

@case
def file_outside_the_folder(trace, files):
    worker_of(trace)["file"] = "../rank-000/step-00000007.safetensors"


@case
def file_with_an_absolute_path(trace, files):
    worker_of(trace)["file"] = "/etc/passwd"


@case
def file_with_a_backslash(trace, files):
    worker_of(trace)["file"] = "rank-000\\step-00000007.safetensors"


@case
def file_missing(trace, files):
    return {FIRST: lambda data: None}


@case
def file_cut(trace, files):
    return {FIRST: lambda data: data[:-4]}


@case
def file_changed(trace, files):
    return {FIRST: lambda data: data[:-1] + b"\0"}


@case
def hash_in_upper_case(trace, files):
    worker_of(trace)["sha256"] = "A" * 64


@case
def time_below_zero(trace, files):
    worker_of(trace)["forward"] = -0.5


@case
def time_too_long(trace, files):
    worker_of(trace)["backward"] = 1e300


@case
def time_not_finite(trace, files):
    return {"trace.json": lambda text: text.replace(b"0.01,", b"1e999,", 1)}


@case
def loss_not_a_number(trace, files):
    worker_of(trace)["loss"] = "NaN"


@case
def ready_too_short(trace, files):
    worker_of(trace)["ready"] = [0.02]


@case
def ready_after_the_backward_pass(trace, files):
    worker_of(trace)["ready"] = [0.03, 0.005]


# --- step files

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
def unknown_member_in_a_header(trace, files):
    header_of(files)["bias"]["device"] = "cpu"


@case
def gradient_missing(trace, files):
    header_of(files)["bais"] = header_of(files).pop("bias")


@case
def second_moments_missing(trace, files):
    header_of(files)["r:bias"] = header_of(files).pop("q:bias")


@case
def gradient_of_another_shape(trace, files):
    header_of(files)["weight"]["shape"] = [3, 2]


@case
def gradient_of_64_bits(trace, files):
    header_of(files)["weight"].update(dtype="F64", shape=[3])


@case
def offsets_that_do_not_fit_the_shape(trace, files):
    header_of(files)["weight"]["data_offsets"] = [0, 20]


@case
def offsets_that_overlap(trace, files):
    header_of(files)["bias"]["data_offsets"] = [20, 28]


@case
def offsets_with_a_hole(trace, files):
    header, buffer = files[FIRST]
    files[FIRST] = header, buffer + b"\0" * 8
    header["q:bias"]["data_offsets"] = [64, 72]


@case
def offsets_beyond_the_file(trace, files):
    header_of(files)["q:bias"]["data_offsets"] = [56, 72]


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
