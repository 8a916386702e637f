"""Loads thinpipe's library, declares its C functions (thinpipe.h), and finds the memory of arrays."""
import ctypes
import functools
import glob
import operator
import os
import sys
from ctypes import (POINTER, Structure, byref, c_char, c_char_p, c_double, c_float, c_int, c_int32,
                    c_int64, c_size_t, c_ssize_t, c_uint32, c_uint64, c_void_p)
from typing import Any, NamedTuple, Tuple

_API = 1  # THINPIPE_API
_NAME = "libthinpipe_compressors.so"


class InputError(ValueError):
    """An argument, a spec or a file that does not fit. The message names what was expected."""


class PayloadError(InputError):
    """A payload that cannot be decoded: truncated, too long, or out of range."""


class LibraryError(RuntimeError):
    """A failure inside the library, or a library that does not fit this package."""


# ------------------------------------------------------------------------------- structs of thinpipe.h

class Error(Structure):
    _fields_ = [("message", c_char * 512)]


class _Sized(Structure):
    """A struct whose first member is its size."""

    def __init__(self, **values):
        super().__init__(struct_size=ctypes.sizeof(type(self)), **values)


class Setup(_Sized):
    _fields_ = [("struct_size", c_size_t), ("tensor", c_char_p), ("shape", POINTER(c_int64)),
                ("dimensions", c_size_t), ("seed", c_uint64), ("rank", c_int32), ("threads", c_int32)]


class CProperties(_Sized):
    _fields_ = [("struct_size", c_size_t), ("spec", c_char_p), ("elements", c_size_t),
                ("max_encoded_size", c_size_t), ("period", c_uint64), ("aggregation", c_int32),
                ("element", c_int32), ("predivides", c_int32), ("rounds", c_int32),
                ("shares_scale", c_int32), ("needs_squares", c_int32), ("needs_whole", c_int32),
                ("incremental", c_int32), ("has_target", c_int32), ("max_pairs", c_size_t)]


class Gradient(_Sized):
    _fields_ = [("struct_size", c_size_t), ("values", c_void_p), ("squares", c_void_p),
                ("elements", c_size_t), ("step", c_uint64), ("epoch", c_double),
                ("shared_scale", c_float)]


class CReport(_Sized):
    _fields_ = [("struct_size", c_size_t), ("encoded_bytes", c_size_t), ("target_elements", c_size_t),
                ("selected_elements", c_size_t), ("threshold", c_double), ("passes", c_int32)]


_GRADIENT, _REPORT, _PAYLOAD = POINTER(Gradient), POINTER(CReport), (c_void_p, c_size_t)
# Arguments of each function. A pointer to an Error follows them.
_FUNCTIONS = {
    "open": (c_char_p, POINTER(Setup), POINTER(c_void_p)),
    "load_plugin": (c_char_p,),
    "describe": (c_void_p, POINTER(CProperties)),
    "encode": (c_void_p, _GRADIENT, *_PAYLOAD, _REPORT),
    "hold": (c_void_p, _GRADIENT),
    "decode_add": (c_void_p, *_PAYLOAD, c_float, c_void_p, c_size_t),
    "distortion": (c_void_p, _GRADIENT, *_PAYLOAD, POINTER(c_double), POINTER(c_double)),
    "prepare": (c_void_p, _GRADIENT, POINTER(c_float)),
    "first_round": (c_void_p, _GRADIENT, *_PAYLOAD, _REPORT),
    "next_round": (c_void_p, c_void_p, c_size_t, *_PAYLOAD, POINTER(c_size_t)),
    "own_payload": (c_void_p, *_PAYLOAD, POINTER(c_size_t)),
    "decode_pairs": (c_void_p, *_PAYLOAD, c_void_p, c_void_p, c_size_t, POINTER(c_size_t)),
    "give_back": (c_void_p, c_void_p, c_void_p, c_size_t),
    "slices": (c_char_p, c_size_t, c_int32, POINTER(c_size_t), POINTER(c_int32)),
    "reset": (c_void_p,),
    "save": (c_void_p, POINTER(c_void_p), POINTER(c_size_t)),
    "load": (c_void_p, *_PAYLOAD),
}
_ERRORS = {1: InputError, 2: PayloadError}


# ---------------------------------------------------------------------------------------- the library

def _candidates():
    """Returns the paths of the library; the first that exists is loaded. If THINPIPE_LIBRARY is set, it
    is the only one. Otherwise the order is: in the package, in the installation that has the package
    (PREFIX/share/thinpipe/python), in the build folder of thinpipe's sources, in the system."""
    if os.environ.get("THINPIPE_LIBRARY"):
        return [os.environ["THINPIPE_LIBRARY"]]
    package = os.path.dirname(os.path.abspath(__file__))
    sources, prefix = os.path.join(package, *2 * [".."]), os.path.join(package, *4 * [".."])
    folders = [os.path.join(package, "lib"), os.path.join(prefix, "lib"), os.path.join(prefix, "lib64"),
               os.path.join(sources, "build", "release", "lib")]
    return [path for folder in folders
            for path in sorted(glob.glob(os.path.join(folder, _NAME + "*")), key=len)] + [_NAME + ".0"]


@functools.lru_cache(maxsize=None)
def library():
    """Loads the library at the first call, and returns it. @throws LibraryError naming the file and the
    remedy."""
    path = next((path for path in _candidates() if os.path.exists(path)), _candidates()[-1])
    # The dynamic loader does not search the package's folder, but finds what is loaded already.
    folder = os.path.dirname(path)
    try:
        for needed in sorted(glob.glob(os.path.join(folder, "needed", "*.so*"))) if folder else ():
            ctypes.CDLL(needed)
        loaded = ctypes.CDLL(path)
        api, loaded.thinpipe_version.restype = loaded.thinpipe_api, c_char_p
    except (OSError, AttributeError) as error:
        raise LibraryError(f"cannot load {path}: {error}. Install the wheel of thinpipe, or set "
                           f"THINPIPE_LIBRARY to the path of {_NAME}") from None
    api.restype = c_uint32
    if api() != _API:
        raise LibraryError(f"{path} has version {api()} of the C interface, and this package needs "
                           f"version {_API}: install library and package of the same version")
    loaded.thinpipe_close.argtypes, loaded.thinpipe_close.restype = [c_void_p], None
    for name, arguments in _FUNCTIONS.items():
        function = getattr(loaded, "thinpipe_" + name)
        function.argtypes, function.restype = [*arguments, POINTER(Error)], c_int
    return loaded


def call(name, *arguments):
    """Calls thinpipe_NAME without holding the GIL. @throws InputError, PayloadError, LibraryError"""
    error = Error()
    result = getattr(library(), "thinpipe_" + name)(*arguments, byref(error))
    if result != 0:
        raise _ERRORS.get(result, LibraryError)(error.message.decode("utf-8", "replace"))


def whole(what, value, bits):
    """Returns the value as an int from 0 to 2^bits - 1. @throws InputError naming `what`"""
    try:
        if 0 <= (found := operator.index(value)) < 1 << bits:
            return found
    except TypeError:
        pass
    raise InputError(f"{what}: found {value!r}, expected a whole number, 0 to {(1 << bits) - 1}")


def slice_ends(spec, elements, ranks):
    """Returns the end of each slice, in elements, where a two-shot exchange cuts an array. Small arrays
    have fewer slices than ranks."""
    ends, count = (c_size_t * ranks)(), c_int32()
    call("slices", spec.encode(), elements, ranks, ends, byref(count))
    return ends[:count.value]


def version() -> str:
    """Returns the version of the loaded library, such as "0.1.0"."""
    return library().thinpipe_version().decode()


def load_plugin(path: Any) -> None:
    """Adds the compressors of a plug-in, a shared library (docs/plugins.md). @throws InputError"""
    call("load_plugin", os.fsencode(path))


# -------------------------------------------------------------------------------- the memory of arrays

class _Buffer(Structure):
    """CPython's Py_buffer."""
    _fields_ = [("buf", c_void_p), ("obj", c_void_p), ("len", c_ssize_t), ("itemsize", c_ssize_t),
                ("readonly", c_int), ("ndim", c_int), ("format", c_char_p),
                ("shape", POINTER(c_ssize_t)), ("strides", POINTER(c_ssize_t)),
                ("suboffsets", POINTER(c_ssize_t)), ("internal", c_void_p)]


class _DlTensor(Structure):
    """The beginning of a DLManagedTensor (dlpack.h)."""
    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32),
                ("ndim", c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
                ("byte_offset", c_uint64)]


_DL_CPU = (1, 3)  # CPU, and memory that CUDA pinned
_GET_BUFFER = ctypes.pythonapi.PyObject_GetBuffer
_GET_BUFFER.argtypes = [ctypes.py_object, POINTER(_Buffer), c_int]
_GET_POINTER = ctypes.pythonapi.PyCapsule_GetPointer
_GET_POINTER.argtypes, _GET_POINTER.restype = [ctypes.py_object, c_char_p], c_void_p


class _Elements(NamedTuple):
    """A kind of 32-bit elements, and its names in the interfaces of arrays."""
    name: str
    formats: Tuple[str, ...]  # of the struct module
    codes: Tuple[int, ...]    # of DLPack: 0 is int, 1 is unsigned int, 2 is float
    dtypes: Tuple[str, ...]   # of torch
    numpy_remedy: str
    torch_remedy: str


_FLOATS = _Elements("32-bit floats", ("f",), (2,), ("torch.float32",), ".astype('float32')",
                    ".float(), which converts 16-bit floats exactly")
# Older versions of torch have no uint32.
_POSITIONS = _Elements("32-bit integers", ("I", "i"), (0, 1), ("torch.int32", "torch.uint32"),
                       ".astype('uint32')", ".int()")


class Memory:
    """An array's memory: its address, number of elements, and shape. `owner` keeps it alive."""

    def __init__(self, owner, address, shape):
        self.owner, self.address, self.shape = owner, address, tuple(shape)
        self.elements = 1
        for size in self.shape:
            self.elements *= size


def _address_of(view):
    buffer = _Buffer()
    _GET_BUFFER(view, byref(buffer), 0)  # PyBUF_SIMPLE: the memory of any contiguous array
    ctypes.pythonapi.PyBuffer_Release(byref(buffer))
    return buffer.buf  # valid while `view` lives


def _tensor_memory(tensor, what, kind):
    if str(tensor.dtype) not in kind.dtypes:
        raise InputError(f"{what}: found {tensor.dtype}, expected {' or '.join(kind.dtypes)}: use "
                         f"{kind.torch_remedy}")
    if tensor.device.type != "cpu":
        raise InputError(f"{what}: found a tensor on {tensor.device}, expected one on the CPU: use "
                         ".cpu()")
    if not tensor.is_contiguous():
        raise InputError(f"{what}: found a tensor that is not contiguous: use .contiguous()")
    return Memory(tensor, tensor.data_ptr(), tensor.shape)


def _dlpack_memory(array, what, kind):
    try:
        capsule = array.__dlpack__()  # unused, it frees its tensor by itself
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise InputError(f"{what}: found {type(array).__name__}, which DLPack cannot export: "
                         f"{error}") from None
    tensor = _DlTensor.from_address(_GET_POINTER(capsule, b"dltensor"))
    if tensor.device_type not in _DL_CPU:
        raise InputError(f"{what}: found an array on another device, expected one on the CPU")
    if tensor.code not in kind.codes or (tensor.bits, tensor.lanes) != (32, 1):
        raise InputError(f"{what}: found elements of {tensor.bits} bits, DLPack's type {tensor.code}; "
                         f"expected {kind.name}")
    shape = tuple(tensor.shape[:tensor.ndim])
    stride = 1
    for i in reversed(range(0 if 0 in shape else tensor.ndim)):
        if tensor.strides and shape[i] > 1 and tensor.strides[i] != stride:
            raise InputError(f"{what}: found an array that is not contiguous (C order)")
        stride *= shape[i]
    return Memory((array, capsule), (tensor.data or 0) + tensor.byte_offset, shape)


def floats(array, what, writable=False):
    """Returns the Memory of an array of 32-bit floats. @throws InputError naming `what` for another
    type of elements, order or device, and for a read-only array where `writable`."""
    return _memory(array, what, writable, _FLOATS)


def positions(array, what, writable=False):
    """Returns the Memory of an array of 32-bit integers, signed or not. @throws as floats()"""
    return _memory(array, what, writable, _POSITIONS)


def _memory(array, what, writable, kind):
    if hasattr(array, "data_ptr"):
        return _tensor_memory(array, what, kind)
    try:
        view = memoryview(array)
    except (TypeError, ValueError):  # NumPy's ValueError: elements that no buffer can have
        if hasattr(array, "__dlpack__") and not writable:
            return _dlpack_memory(array, what, kind)
        raise InputError(f"{what}: found {type(array).__name__}, expected a NumPy array, a torch tensor "
                         f"or another array of {kind.name}") from None
    if view.format.lstrip("@=" + ("<" if sys.byteorder == "little" else ">")) not in kind.formats:
        raise InputError(f"{what}: found elements of format '{view.format}', expected {kind.name} "
                         f"('{kind.formats[0]}'): use {kind.numpy_remedy}")
    if not view.c_contiguous:
        raise InputError(f"{what}: found an array that is not contiguous: use numpy.ascontiguousarray")
    if writable and view.readonly:
        raise InputError(f"{what}: found a read-only array, expected one to write to")
    return Memory(view, _address_of(view), view.shape)


def octets(data, what, writable=False):
    """Returns the Memory of bytes: any contiguous buffer, or a torch tensor of uint8. @throws
    InputError naming `what` for anything else, and for a read-only buffer where `writable`."""
    if hasattr(data, "data_ptr"):
        if str(data.dtype) != "torch.uint8" or data.device.type != "cpu" or not data.is_contiguous():
            raise InputError(f"{what}: found a tensor of {data.dtype} on {data.device}, expected a "
                             "contiguous one of torch.uint8 on the CPU")
        return Memory(data, data.data_ptr(), (data.numel(),))
    try:
        view = memoryview(data)
    except TypeError:
        raise InputError(f"{what}: found {type(data).__name__}, expected bytes") from None
    if not view.c_contiguous or (writable and view.readonly):
        raise InputError(f"{what}: found a buffer that is read-only or not contiguous")
    return Memory(view, _address_of(view), (view.nbytes,))
