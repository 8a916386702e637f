"""Shared by the tests of thinpipe_capture: small models, a reader, the program."""
import contextlib
import io
import json
import os
import struct
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODULE = os.path.join(ROOT, "workloads", "capture", "python")
sys.path.insert(0, MODULE)
sys.path.append(os.path.join(ROOT, "tests", "python"))
sys.dont_write_bytecode = True

from ranks import RanksTestCase, torch
from torch import nn

import thinpipe_capture


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


class TestCase(RanksTestCase):
    runs_exit_functions = True  # they close captures

    def setUp(self):
        super().setUp()
        self.trace = os.path.join(self.folder, "trace")

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
