"""One tensor's compressor."""
import ctypes
import math
from ctypes import byref
from typing import Any, Iterable, NamedTuple, Optional, Sequence, Tuple, Union

from thinpipe import _library
from thinpipe._library import InputError

Array = Any  # of 32-bit floats: NumPy array, torch tensor on the CPU, buffer protocol, DLPack
Positions = Any  # as Array, but of uint32; int32 if the tensor has at most 2^31 elements
Bytes = Any  # bytes, bytearray, memoryview, torch tensor of uint8, ...

_ELEMENTS = {1: "float32", 2: "float16", 3: "bfloat16"}


class Report(NamedTuple):
    """Statistics of one encode."""
    encoded_bytes: int  # exact size of the payload
    k: int              # elements to send; 0 without a target
    k_hat: int          # elements in the payload
    threshold: float    # on the magnitude of gradient plus memory; NaN where none was used
    passes: int         # over the tensor's elements

    @property
    def estimation(self) -> float:
        """k-hat / k, the estimation quality of SIDCo; NaN without a target."""
        return self.k_hat / self.k if self.k else math.nan


class Distortion(NamedTuple):
    """Difference between decoded values and c, the gradient plus the memory."""
    error_squares: float  # |decoded - c|^2
    input_squares: float  # |c|^2

    @property
    def relative(self) -> float:
        """|decoded - c| / |c|, L2 norms; 0 if c is all zeros."""
        return math.sqrt(self.error_squares / self.input_squares) if self.input_squares else 0.0


class Properties(NamedTuple):
    """Properties of a compressor. They never change."""
    spec: str              # with every parameter, in one normal form
    elements: int          # d, the product of the shape
    max_encoded_size: int  # bytes, an upper bound of every payload
    period: int            # only every period-th step exchanges; hold() accumulates in the others
    aggregation: str       # "allreduce": add payloads as arrays; "allgather": decode all payloads
    element: str           # type of the elements that an all-reduce adds: "float32", "float16", "bfloat16"
    predivides: bool       # True: divide the array by the number of workers before the all-reduce
    rounds: int            # all-reduces in one step; more than 1: see first_round()
    shares_scale: bool     # True: workers may agree on one scale; see prepare()
    needs_squares: bool    # True: encode() needs squares
    needs_whole: bool      # True: it uses the tensor's shape, so slices of a tensor do not work
    incremental: bool      # True: payloads decode to a change of the previous estimate (EF21)
    has_target: bool       # True: k is known beforehand
    max_pairs: int         # upper bound of the pairs of a payload; 0: it has no pairs; see decode_pairs()


def _zeros(element, shape):
    """Returns a NumPy array, or an array.array of as many elements where NumPy is not installed.

    element: "f" (32-bit floats) or "I" (uint32)
    """
    try:
        import numpy
    except ImportError:
        import array
        return array.array(element, bytes(4 * math.prod(shape)))
    return numpy.zeros(shape, element)


class Compressor:
    """One tensor's compressor, with the state that it carries between steps.

    Workers that exchange payloads need the same spec, seed, name and shape. A compressor may be used
    by several threads, but only by one at a time. Calls release the GIL.

    spec: a method with its parameters, such as "sidco:ratio=0.001"; `thinpipe list` prints them all.
    shape: the tensor's shape. By default the shape of the first array that is encoded or decoded.
    name: the tensor's name, for messages and seeds.
    seed: shared by all workers; for sampling and stochastic rounding.
    rank: this worker's rank, from 0.
    threads: number of threads that one call may use, 1 to 256.
    """

    def __init__(self, spec: str, shape: Union[None, int, Sequence[int]] = None, *,
                 name: str = "tensor", seed: int = 1, rank: int = 0, threads: int = 1):
        self._options = (spec, name, seed, rank, threads)
        self._handle = None
        self._pending = None  # keeps an array that the library reads again
        self.step = 0        # number of the next step
        self.report: Optional[Report] = None  # of the last encode
        if shape is None:
            self._open((1,))  # a wrong spec fails here, not in the first step
            self.close()
        else:
            self._open(shape)

    def _open(self, shape):
        spec, name, seed, rank, threads = self._options
        sides = shape if isinstance(shape, Iterable) else (shape,)
        self._shape = tuple(_library.whole("shape", side, 63) for side in sides)
        sizes = (ctypes.c_int64 * len(self._shape))(*self._shape)
        setup = _library.Setup(tensor=str(name).encode(), shape=sizes, dimensions=len(self._shape),
                               seed=_library.whole("seed", seed, 64),
                               rank=_library.whole("rank", rank, 31),
                               threads=_library.whole("threads", threads, 31))
        handle = ctypes.c_void_p()
        _library.call("open", str(spec).encode(), byref(setup), byref(handle))
        self._handle = handle
        found = _library.CProperties()
        _library.call("describe", handle, byref(found))
        self._properties = Properties(
            found.spec.decode(), found.elements, found.max_encoded_size, found.period,
            "allreduce" if found.aggregation == 1 else "allgather", _ELEMENTS[found.element],
            *(value if name in ("rounds", "max_pairs") else bool(value) for name, value in
              ((name, getattr(found, name)) for name, _ in _library.CProperties._fields_[7:])))

    def close(self) -> None:
        """Frees the compressor's memory at once."""
        if self._handle is not None:
            _library.library().thinpipe_close(self._handle)
            self._handle = None

    def __del__(self):
        if getattr(self, "_handle", None) is not None:
            self.close()

    def __reduce__(self):
        raise TypeError("a Compressor cannot be copied or pickled: make another one and pass it state()")

    def __repr__(self):
        shape = "" if self._handle is None else f", shape={self._shape}"
        return f"thinpipe.Compressor({self._options[0]!r}{shape})"

    @property
    def properties(self) -> Properties:
        """The compressor's Properties. @throws InputError if the tensor's shape is not known yet"""
        self._needs_shape()
        return self._properties

    @property
    def shape(self) -> Optional[Tuple[int, ...]]:
        """The tensor's shape; None until it is known."""
        return self._shape if self._handle is not None else None

    def _needs_shape(self):
        if self._handle is None:
            raise InputError("the tensor's shape is not known yet: pass shape= to the Compressor")

    # ------------------------------------------------------------------------------------- encoding

    def _gradient(self, values, squares, step, epoch, shared_scale=0.0):
        memory = _library.floats(values, "gradient")
        if self._handle is None:
            self._open(memory.shape)
        second = None if squares is None else _library.floats(squares, "squares")
        if second is not None and second.elements != memory.elements:
            raise InputError(f"squares: found {second.elements} elements, expected {memory.elements}")
        gradient = _library.Gradient(
            values=memory.address, squares=second and second.address, elements=memory.elements,
            step=_library.whole("step", self.step if step is None else step, 63), epoch=epoch,
            shared_scale=shared_scale)
        gradient.owners = memory, second
        return gradient

    def _encode(self, function, gradient, payload):
        found = _library.CReport()
        _library.call(function, self._handle, byref(gradient), payload.address, payload.elements,
                      byref(found))
        self._pending = gradient if function == "first_round" else None
        self.step = gradient.step + 1
        self.report = Report(found.encoded_bytes, found.target_elements, found.selected_elements,
                             found.threshold, found.passes)
        return self.report

    def encode(self, gradient: Array, *, squares: Optional[Array] = None, step: Optional[int] = None,
               epoch: float = 0.0, shared_scale: float = 0.0) -> bytes:
        """Compresses a gradient plus the memory, and keeps unsent values in the memory.

        gradient: d finite floats. NaN and infinities are no error; every method decides what they
            become.
        squares: d second moments (Tsuzuku et al., section 4), for methods that need them.
        step: number of this step; by default the successor of the last one, from 0.
        epoch: of the training, for warm-up schedules.
        shared_scale: the greatest prepare() over all workers; 0: this worker's own scale.
        Returns the payload as bytes; `report` has its statistics.
        """
        self._when_shaped(gradient)
        payload = bytearray(self._properties.max_encoded_size)
        report = self.encode_into(payload, gradient, squares=squares, step=step, epoch=epoch,
                                  shared_scale=shared_scale)
        return bytes(memoryview(payload)[:report.encoded_bytes])

    def _when_shaped(self, gradient):
        if self._handle is None:
            self._open(_library.floats(gradient, "gradient").shape)

    def encode_into(self, payload: Bytes, gradient: Array, *, squares: Optional[Array] = None,
                    step: Optional[int] = None, epoch: float = 0.0,
                    shared_scale: float = 0.0) -> Report:
        """Encodes as encode() does, but writes the payload to the front of `payload`, a writable buffer
        or torch tensor of uint8 with at least `properties.max_encoded_size` bytes. Returns the Report."""
        return self._encode("encode", self._gradient(gradient, squares, step, epoch, shared_scale),
                            _library.octets(payload, "payload", writable=True))

    @property
    def exchanges(self) -> bool:
        """True if the next step exchanges, so that it calls encode(). If False, call hold() instead."""
        self._needs_shape()
        return (self.step + 1) % self._properties.period == 0

    def hold(self, gradient: Array, *, squares: Optional[Array] = None, step: Optional[int] = None,
             epoch: float = 0.0) -> None:
        """Adds the gradient of a step without an exchange to the memory (see `exchanges`). @throws
        InputError if `properties.period` is 1"""
        held = self._gradient(gradient, squares, step, epoch)
        _library.call("hold", self._handle, byref(held))
        self.step = held.step + 1

    def prepare(self, gradient: Array, *, step: Optional[int] = None, epoch: float = 0.0) -> float:
        """Adds the gradient to the memory and returns this worker's scale (TernGrad, section 4.3).
        Pass the same gradient to encode(), with the greatest scale of all workers."""
        scale = ctypes.c_float()
        prepared = self._gradient(gradient, None, step, epoch)
        _library.call("prepare", self._handle, byref(prepared), byref(scale))
        self._pending = prepared  # the library reads the array again in encode()
        return scale.value

    # ------------------------------------------------------------------------------------- decoding

    def decode_add(self, payload: Bytes, out: Array, factor: float = 1.0) -> None:
        """Computes out += factor * decoded. `out` is a writable array of d floats."""
        data = _library.octets(payload, "payload")
        memory = _library.floats(out, "out", writable=True)
        if self._handle is None:
            self._open(memory.shape)
        _library.call("decode_add", self._handle, data.address, data.elements, factor, memory.address,
                      memory.elements)

    def decode(self, payload: Bytes) -> Array:
        """Returns the decoded values: a NumPy array of the tensor's shape, or an array.array of d
        floats where NumPy is not installed."""
        self._needs_shape()
        out = _zeros("f", self._shape)
        self.decode_add(payload, out)
        return out

    def distortion(self, gradient: Array, payload: Bytes) -> Distortion:
        """Returns the Distortion of the last encode(), which encoded this gradient to this payload."""
        error, norm = ctypes.c_double(), ctypes.c_double()
        data = _library.octets(payload, "payload")
        encoded = self._gradient(gradient, None, None, 0.0)
        _library.call("distortion", self._handle, byref(encoded), data.address, data.elements,
                      byref(error), byref(norm))
        return Distortion(error.value, norm.value)

    # ------------------------------------------- several all-reduces in one step (properties.rounds)

    def first_round(self, payload: Bytes, gradient: Array, *, step: Optional[int] = None,
                    epoch: float = 0.0) -> Report:
        """Writes the floats of the first all-reduce to `payload` and returns the Report. A job with
        several workers calls it in place of encode(), then next_round() `properties.rounds` times. Do
        not change the gradient in between."""
        return self._encode("first_round", self._gradient(gradient, None, step, epoch),
                            _library.octets(payload, "payload", writable=True))

    def next_round(self, mean: Array, payload: Bytes) -> int:
        """Reads the mean over workers of the floats that the previous round wrote, writes the floats of
        the next round to `payload`, and returns their size in bytes. The last call writes the
        aggregate's payload instead, for decode_add() with factor 1."""
        memory = _library.floats(mean, "mean")
        return self._sized("next_round", payload, memory.address, memory.elements)

    def own_payload(self, payload: Bytes) -> int:
        """Writes the payload of this worker's own contribution, after the last round, and returns its
        size in bytes."""
        return self._sized("own_payload", payload)

    def _sized(self, function, payload, *arguments):
        self._needs_shape()
        size = ctypes.c_size_t()
        data = _library.octets(payload, "payload", writable=True)
        _library.call(function, self._handle, *arguments, data.address, data.elements, byref(size))
        return size.value

    # ------------------------------------- pairs, for a sparse all-reduce (properties.max_pairs > 0)

    def decode_pairs(self, payload: Bytes) -> Tuple[Positions, Array]:
        """Returns the positions of the payload's elements, strictly ascending, and their values: two
        NumPy arrays of n uint32 and n float32, or array.arrays where NumPy is not installed. A position
        counts the elements of the flattened tensor from 0. The values are those that decode_add() adds
        with factor 1."""
        self._needs_shape()
        positions, values = (_zeros(element, (self._properties.max_pairs,)) for element in "If")
        count = self.decode_pairs_into(payload, positions, values)
        return positions[:count], values[:count]

    def decode_pairs_into(self, payload: Bytes, positions: Positions, values: Array) -> int:
        """Decodes as decode_pairs() does, but writes to the front of two writable arrays of at least
        `properties.max_pairs` elements, for example torch tensors of int32 and float32. Returns n, the
        number of pairs."""
        self._needs_shape()
        data = _library.octets(payload, "payload")
        where = _library.positions(positions, "positions", writable=True)
        memory = _library.floats(values, "values", writable=True)
        count = ctypes.c_size_t()
        _library.call("decode_pairs", self._handle, data.address, data.elements, where.address,
                      memory.address, min(where.elements, memory.elements), byref(count))
        return count.value

    def give_back(self, positions: Positions, values: Array) -> None:
        """Restores values to the memory: those that a worker sent, but that the selection from the
        workers' sums dropped. The worker may be another one. Call it before the next encode() or hold().
        Without a memory the values are lost.

        positions: n positions in the flattened tensor, strictly ascending.
        values: n floats.
        """
        self._needs_shape()
        where, memory = _library.positions(positions, "positions"), _library.floats(values, "values")
        if memory.elements != where.elements:
            raise InputError(f"values: found {memory.elements} elements, expected {where.elements}, as "
                             "many as positions")
        _library.call("give_back", self._handle, where.address, memory.address, where.elements)

    # ------------------------------------------------------------------------- state between steps

    def reset(self) -> None:
        """Discards everything carried between steps. The next step is step 0."""
        if self._handle is not None:
            _library.call("reset", self._handle)
        self.step = 0

    def state(self) -> bytes:
        """Returns everything carried between steps, as bytes. `step` is not part of it."""
        self._needs_shape()
        data, size = ctypes.c_void_p(), ctypes.c_size_t()
        _library.call("save", self._handle, byref(data), byref(size))
        state = ctypes.string_at(data.value, size.value) if size.value else b""
        _library.call("describe", self._handle, byref(_library.CProperties()))  # frees the library's copy
        return state

    def load_state(self, state: Bytes) -> None:
        """Restores what state() returned for a compressor of the same spec, name and shape. @throws
        InputError for other bytes, after which the memory is empty"""
        self._needs_shape()
        data = _library.octets(state, "state")
        _library.call("load", self._handle, data.address, data.elements)
