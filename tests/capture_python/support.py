"""Shared by the tests of thinpipe_capture: small models, ranks as forked processes, a reader."""
import atexit
import contextlib
import io
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import traceback
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODULE = os.path.join(ROOT, "workloads", "capture", "python")
sys.path.insert(0, MODULE)
sys.dont_write_bytecode = True

try:
    import torch
except ImportError:
    print(f"skipped: {sys.executable} has no torch (Debian: python3-torch)")
    sys.exit(77)  # ctest's code for skipped
import torch.distributed
from torch import nn

import thinpipe_capture

torch.set_num_threads(1)  # one order of summation; and processes may be forked


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cells = nn.LSTM(6, 8, num_layers=2, batch_first=True)
        self.out = nn.Linear(8, 3)

    def forward(self, inputs):
        return self.out(self.cells(inputs)[0][:, -1])


def make_model(kind):
    """(model, inputs of 8 samples, targets), the same at every call."""
    torch.manual_seed(7)
    if kind == "mlp":
        model = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 16), nn.Tanh(),
                              nn.Linear(16, 3))
        inputs = torch.randn(8, 10)
    elif kind == "transformer":
        model = nn.Sequential(nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True),
                              nn.Flatten(), nn.Linear(40, 3))
        inputs = torch.randn(8, 5, 8)
    elif kind == "lstm":
        model, inputs = Recurrent(), torch.randn(8, 7, 6)
    elif kind == "normed":
        model = nn.Sequential(nn.Linear(10, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.25),
                              nn.Linear(16, 3))
        inputs = torch.randn(8, 10)
    return model, inputs, torch.randint(3, (8,))


def batch_of(kind, step, rank=0):
    """A mini-batch of its own for every step and rank."""
    _, inputs, targets = make_model(kind)
    torch.manual_seed(1000 * step + rank)
    return inputs + torch.randn_like(inputs), targets


def loss_of(model, batch):
    return nn.functional.cross_entropy(model(batch[0]), batch[1])


def named_gradients(model):
    return {n: p.grad.detach().clone() for n, p in model.named_parameters()}


DTYPES = {"F32": torch.float32, "BF16": torch.bfloat16, "F16": torch.float16}


def read_trace(folder):
    """trace.json, with every worker's tensors under `values`."""
    with open(os.path.join(folder, "trace.json"), encoding="utf-8") as file:
        trace = json.load(file)
    for step in trace["steps"]:
        for worker in step["workers"]:
            with open(os.path.join(folder, worker["file"]), "rb") as file:
                data = file.read()
            (length,) = struct.unpack_from("<Q", data)
            worker["values"] = {}
            for name, entry in json.loads(data[8:8 + length]).items():
                if name != "__metadata__":
                    begin, end = (8 + length + at for at in entry["data_offsets"])
                    values = torch.frombuffer(bytearray(data[begin:end]),
                                              dtype=DTYPES[entry["dtype"]])
                    worker["values"][name] = values.view(entry["shape"])
    return trace


def thinpipe(*words):
    """(exit code, standard output, standard error) of the program under test."""
    ran = subprocess.run([os.environ["THINPIPE"], *words], capture_output=True, text=True,
                         timeout=120)
    return ran.returncode, ran.stdout, ran.stderr


def heard():
    """with heard() as said: collects standard error, as said.getvalue()."""
    return contextlib.redirect_stderr(io.StringIO())


def fork_ranks(count, function, folder):
    """Starts function(rank) in processes of their own, joined by gloo; returns their ids. This
    process must not have run a backward pass before: torch refuses one after a fork then."""
    store = os.path.join(folder, "store")
    if os.path.exists(store):
        os.unlink(store)
    children = []
    for rank in range(count):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                with open(os.path.join(folder, f"errors-{rank}"), "w") as errors:
                    os.dup2(errors.fileno(), 2)
                torch.distributed.init_process_group("gloo", init_method=f"file://{store}",
                                                     rank=rank, world_size=count)
                function(rank)
                code = 0
            except BaseException:  # also a failed assertion: the parent sees the exit code
                traceback.print_exc()
            atexit._run_exitfuncs()  # as at the end of a script
            sys.stderr.flush()
            os._exit(code)
        children.append(child)
    return children


def wait_for(children):
    """Exit codes; those of killed processes negative, as subprocess has them."""
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


class TestCase(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="thinpipe-capture-")
        self.trace = os.path.join(self.folder, "trace")

    def tearDown(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def errors_of(self, rank):
        with open(os.path.join(self.folder, f"errors-{rank}")) as file:
            return file.read()

    def run_ranks(self, count, function):
        codes = wait_for(fork_ranks(count, function, self.folder))
        if any(codes):
            self.fail("\n".join(f"rank {rank} exited with {code}:\n{self.errors_of(rank)}"
                                for rank, code in enumerate(codes) if code))

    def assert_same_values(self, found, expected, where=""):
        self.assertEqual(sorted(found), sorted(expected), where)
        for name, value in expected.items():
            if not torch.equal(found[name], value):
                off = (found[name].double() - value.double()).abs().max()
                self.fail(f"{where} {name}: off by up to {off}")

    def assert_replays(self, folder):
        """thinpipe verifies every hash, and compressors accept the recorded gradients."""
        code, out, err = thinpipe("trace", "verify", folder)
        self.assertEqual(code, 0, out + err)
        code, out, err = thinpipe("quality", "--trace", folder, "-c", "topk:ratio=0.1", "-c", "none")
        self.assertEqual(code, 0, out + err)
        self.assertIn("topk:ratio=0.1", out)
