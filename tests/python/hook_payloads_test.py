"""The hook's payloads are those of `thinpipe compress --state` on the same gradients, byte for byte."""
import json
import os
import unittest

from support import command, methods, write_safetensors

from ranks import RanksTestCase, dist, torch
from torch import nn

from thinpipe.torch import ddp_hook

STEPS = 20


class Payloads(RanksTestCase):
    def setUp(self):
        super().setUp()
        dist.init_process_group("gloo", init_method=f"file://{self.folder}/store", rank=0, world_size=1)

    def tearDown(self):
        dist.destroy_process_group()
        super().tearDown()

    def test_of_every_method_for_20_steps(self):
        for method in methods():
            with self.subTest(method["name"]):
                self.check(method)

    def check(self, method):
        torch.manual_seed(3)
        model = nn.Linear(30, 20)
        ddp = nn.parallel.DistributedDataParallel(model)
        squares = {}
        hook = ddp_hook(ddp, method["name"], squares=squares.get if method["needs_squares"] else None)
        payloads = {}

        def keep(name, step, payload):
            payloads[name] = bytes(payload.tolist())
        hook.exchange.on_payload = keep
        path = os.path.join(self.folder, method["name"])
        exchanges = 0
        for step in range(STEPS):
            payloads.clear()
            inputs = torch.randn(8, 30)
            loss = model(inputs).pow(2).mean()
            names, parameters = zip(*model.named_parameters())
            gradients = dict(zip(names, torch.autograd.grad(loss, parameters)))
            squares.update((name, 0.1 * gradient ** 2) for name, gradient in gradients.items())
            model.zero_grad()
            ddp(inputs).pow(2).mean().backward()
            tensors = {name: (gradient.shape, data(gradient)) for name, gradient in gradients.items()}
            if method["needs_squares"]:
                tensors.update(("q:" + name, (value.shape, data(value)))
                               for name, value in squares.items())
            write_safetensors(path + ".in", tensors)
            said = json.loads(command("compress", "-c", method["name"], "-i", path + ".in", "-o",
                                      path + ".out", "--state", path + ".state", "--json"))
            sizes = {tensor["name"]: tensor["encoded_bytes"] for tensor in said["tensors"]}
            with open(path + ".out", "rb") as file:
                frames = file.read()
            for name, payload in payloads.items():
                self.assertIn(payload, frames, f"step {step}, {name}")
                self.assertEqual(len(payload), sizes[name], f"step {step}, {name}")
            exchanges += len(payloads) // len(names)
        self.assertEqual(exchanges, STEPS // hook.exchange.properties.period)


def data(tensor):
    return bytes(tensor.contiguous().view(-1).view(torch.uint8).tolist())


if __name__ == "__main__":
    unittest.main()
