"""Reads traces: the gradients of a training, recorded by thinpipe (docs/trace-format.md)."""
import json
import mmap
import operator
import os
import struct
from typing import Any, Dict, Optional

from thinpipe._library import InputError

_MAX_HEADER = 100_000_000


class Trace:
    """A trace, opened by read_trace().

    model: name of the model.
    ranks: number of workers.
    names: names of the parameter tensors, in the model's order.
    shapes: {name: shape}.
    dtype: type of the gradients in the files, "F32", "F16" or "BF16".
    has_squares: True if the second moments were recorded.
    training_steps: numbers of the recorded steps in the training, ascending.
    complete: False if the recording was interrupted, lost a rank, or is still running.
    values: "gradients", or "updates": decreases of the parameters in steps of each worker's optimiser.
    """

    def __init__(self, folder):
        self.folder = os.fspath(folder)
        path = os.path.join(self.folder, "trace.json")
        try:
            with open(path, encoding="utf-8") as file:
                manifest = json.load(file)
        except (OSError, ValueError, RecursionError) as error:
            raise InputError(f"{path}: {error}") from None
        try:
            if manifest["format"] != "thinpipe-trace" or manifest["version"] != 1:
                raise InputError(f"{path}: found format {manifest['format']!r}, version "
                                 f"{manifest['version']}; expected 'thinpipe-trace', version 1")
            self.model, self.ranks = manifest["model"], manifest["ranks"]
            self.dtype = manifest.get("dtype", "F32")
            self.has_squares = manifest.get("squares", False)
            self.complete = manifest.get("complete", True)
            self.values = manifest.get("values", "gradients")
            self.names = [tensor["name"] for tensor in manifest["tensors"]]
            self.shapes = {tensor["name"]: tuple(tensor["shape"]) for tensor in manifest["tensors"]}
            self.training_steps = [step["training_step"] for step in manifest["steps"]]
            self._workers = [[(worker["file"], worker["bytes"], worker["loss"])
                              for worker in step["workers"]] for step in manifest["steps"]]
            if any(len(workers) != self.ranks for workers in self._workers):
                raise InputError(f"{path}: expected {self.ranks} workers in every step (ranks)")
        except (KeyError, TypeError) as error:
            raise InputError(f"{path}: {error}: the member is missing or has another type") from None

    def __len__(self) -> int:
        """Returns the number of recorded steps."""
        return len(self._workers)

    def __repr__(self):
        return (f"<thinpipe trace of {self.model}: {len(self)} steps, {self.ranks} ranks, "
                f"{len(self.names)} tensors>")

    def loss(self, step: int, rank: int = 0) -> Optional[float]:
        """Returns the mean loss of a rank's mini-batch; None if it was not recorded or not finite.
        step: a recorded step, 0 to len(self) - 1."""
        return self._worker(step, rank)[2]

    def gradients(self, step: int, rank: int = 0) -> Dict[str, Any]:
        """Returns {name: NumPy array of float32} of one rank in a recorded step, 0 to len(self) - 1.
        Gradients of 32 bits are mapped from the file, not read; others are converted exactly."""
        return self._tensors(step, rank, "", self.dtype)

    def squares(self, step: int, rank: int = 0) -> Dict[str, Any]:
        """Returns the second moments as gradients() does. @throws InputError without `has_squares`"""
        if not self.has_squares:
            raise InputError(f"{self.folder}: the trace was recorded without second moments")
        return self._tensors(step, rank, "q:", "F32")

    def _worker(self, step, rank):
        if not 0 <= step < len(self) or not 0 <= rank < self.ranks:
            raise InputError(f"{self.folder}: found step {step}, rank {rank}; expected a step of 0 to "
                             f"{len(self) - 1} and a rank of 0 to {self.ranks - 1}")
        return self._workers[step][rank]

    def _tensors(self, step, rank, prefix, dtype):
        file, size, _ = self._worker(step, rank)
        path = os.path.join(self.folder, file)
        data, header, begin = _open_safetensors(path, size)
        found = {}
        for name in self.names:
            entry, where = header.get(prefix + name), f"{path}: tensor '{prefix}{name}'"
            try:
                if entry["dtype"] != dtype or tuple(entry["shape"]) != self.shapes[name]:
                    raise InputError(f"{where}: found {entry}, expected {dtype} of shape "
                                     f"{self.shapes[name]}")
                found[name] = _array(data, begin, entry, where)
            except (KeyError, TypeError, IndexError, OverflowError):
                raise InputError(f"{where}: found {entry}, expected dtype, shape and data_offsets") from None
        return found


def _open_safetensors(path, size):
    """Returns the mapped file, its header, and the offset in bytes where the values begin. @throws
    InputError if the file does not have `size` bytes, or has no valid header"""
    try:
        with open(path, "rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {error}") from None
    if len(data) != size:
        raise InputError(f"{path}: found {len(data)} bytes, expected {size} (trace.json)")
    length = struct.unpack_from("<Q", data)[0] if len(data) >= 8 else _MAX_HEADER + 1
    if length > min(_MAX_HEADER, len(data) - 8):
        raise InputError(f"{path}: the header's length does not fit the file")
    try:
        header = json.loads(data[8:8 + length])
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: header: {error}") from None
    if not isinstance(header, dict):
        raise InputError(f"{path}: header: found {type(header).__name__}, expected an object")
    return data, header, 8 + length


def _array(data, begin, entry, where):
    import numpy
    types = {"F32": numpy.dtype("<f4"), "F16": numpy.dtype("<f2"), "BF16": numpy.dtype("<u2")}
    kind, shape = types[entry["dtype"]], tuple(entry["shape"])
    first, last = (operator.index(entry["data_offsets"][i]) for i in (0, 1))
    count = int(numpy.prod(shape, dtype=numpy.int64))
    if not 0 <= first <= last <= len(data) - begin or last - first != count * kind.itemsize:
        raise InputError(f"{where}: data_offsets: found [{first}, {last}], expected "
                         f"{count * kind.itemsize} bytes within the file")
    values = numpy.frombuffer(data, kind, count, begin + first)
    if entry["dtype"] == "BF16":  # the upper half of a binary32
        values = (values.astype("<u4") << 16).view("<f4")
    return values.astype("float32", copy=False).reshape(shape)


def read_trace(folder: Any) -> Trace:
    """Opens a trace folder. @throws InputError naming the file, and a member if it is wrong."""
    return Trace(folder)
