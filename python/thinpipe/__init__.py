"""thinpipe's gradient compressors, traces and records in Python.

    import numpy, thinpipe
    compressor = thinpipe.Compressor("topk:ratio=0.01")
    payload = compressor.encode(numpy.random.randn(300, 400).astype("float32"))
    received = compressor.decode(payload)

Compressors need no other package. Arrays are NumPy arrays, torch tensors on the CPU, and all objects
with Python's buffer protocol or DLPack; they are not copied. `thinpipe.torch` has a communication hook
for PyTorch's DistributedDataParallel. docs/python.md describes everything here.
"""
from thinpipe._library import InputError, LibraryError, PayloadError, load_plugin, version
from thinpipe.compressor import Compressor, Distortion, Properties, Report
from thinpipe.records import Records, read_records
from thinpipe.trace import Trace, read_trace

__all__ = ["Compressor", "Distortion", "InputError", "LibraryError", "PayloadError", "Properties",
           "Records", "Report", "Trace", "load_plugin", "read_records", "read_trace", "version"]
__version__ = "0.1.0"
