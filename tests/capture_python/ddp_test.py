"""thinpipe_capture in real DDP trainings over gloo: its records, and that nothing else changes."""
import copy
import math
import os
import threading
import unittest
import unittest.mock
import weakref

import support
from support import (batch_of, loss_of, make_model, named_gradients, nn, read_trace, thinpipe_capture,
                     torch)

DDP = nn.parallel.DistributedDataParallel
STEPS = 9


def train(kind, rank, folder=None, accumulate=1, views=False, **options):
    """Trains as a user's script does; returns the parameters at the end. With `folder`, captured."""
    model, _, _ = make_model(kind)
    torch.distributed._DEFAULT_FIRST_BUCKET_BYTES = 300  # several buckets even here
    ddp = DDP(model, bucket_cap_mb=0.0005, gradient_as_bucket_view=views)
    if folder is not None:
        capture = thinpipe_capture.ddp(ddp, folder, **options)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1, momentum=0.9)
    torch.manual_seed(rank)
    for step in range(STEPS):
        optimizer.zero_grad()
        for part in range(accumulate):
            batch = batch_of(kind, step, rank + 10 * part)
            if part < accumulate - 1:
                with ddp.no_sync():
                    loss_of(ddp, batch).backward()
            else:
                loss = loss_of(ddp, batch)
                if folder is not None:
                    capture.loss(loss)
                loss.backward()
        optimizer.step()
    if folder is not None:
        capture.close()
    return [p.detach().clone() for p in model.parameters()]


def by_hand(kind, ranks, accumulate=1):
    """For every step the gradients and losses of all ranks, by autograd alone."""
    model, _, _ = make_model(kind)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    steps = []
    for step in range(STEPS):
        of_ranks, losses = [], []
        for rank in range(ranks):
            optimizer.zero_grad()
            for part in range(accumulate):
                loss = loss_of(model, batch_of(kind, step, rank + 10 * part))
                loss.backward()
            of_ranks.append(named_gradients(model))
            losses.append(float(loss.detach()))
        steps.append((of_ranks, losses))
        for name, parameter in model.named_parameters():
            parameter.grad = sum(gradients[name] * (1 / ranks) for gradients in of_ranks)
        optimizer.step()
    return steps


class ExitTest(unittest.TestCase):
    """Waiting of the exit for callbacks; without it jobs sometimes abort (example_test.py)."""

    def capture(self, callback):
        capture = object.__new__(thinpipe_capture._DdpCapture)
        capture._pid, capture._callbacks = os.getpid(), weakref.WeakSet([callback])
        return capture

    def test_waits_until_other_threads_have_given_callbacks_back(self):
        held, let_go = [thinpipe_capture._FirstTensor()], threading.Event()
        capture = self.capture(held[0])

        def hold():
            let_go.wait()
            held.clear()
        thread = threading.Thread(target=hold)
        thread.start()
        threading.Timer(0.05, let_go.set).start()
        with unittest.mock.patch.object(thinpipe_capture, "_EXIT_SECONDS", math.inf):
            capture._let_go()
        self.assertEqual(held, [])
        thread.join()

    def test_does_not_wait_for_ever(self):
        held = thinpipe_capture._FirstTensor()
        with unittest.mock.patch.object(thinpipe_capture, "_EXIT_SECONDS", 0.01):
            self.capture(held)._let_go()
        del held


class DdpTest(support.TestCase):
    def check_against_hand(self, kind, accumulate=1, **options):
        trace = f"{self.trace}-{kind}"

        def rank(number):
            train(kind, number, trace, accumulate, **options)
            torch.distributed.barrier()  # the last rank to close completes the trace
            if number > 0:
                return
            expected = by_hand(kind, 2, accumulate)
            found = read_trace(trace)
            self.assertEqual([step["training_step"] for step in found["steps"]], [3, 5, 7])
            for step in found["steps"]:
                gradients, losses = expected[step["training_step"]]
                for number, worker in enumerate(step["workers"]):
                    where = f"step {step['training_step']} rank {number}"
                    if "values" in worker:
                        self.assert_same_values(worker["values"], gradients[number], where)
                    self.assertAlmostEqual(worker["loss"], losses[number], 6, where)
        self.run_ranks(2, rank)
        self.assert_replays(trace)
        return read_trace(trace)

    def test_layouts_other_than_row_by_row_and_parameters_without_elements(self):
        class Odd(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv2d(3, 4, 2, bias=False).to(memory_format=torch.channels_last)
                self.matrix = nn.Parameter(torch.randn(6, 5).t())
                self.nothing = nn.Parameter(torch.zeros(0))

            def forward(self, images):
                return (self.conv(images).pow(2).sum() + (self.matrix @ images.flatten()[:6]).sum() +
                        self.nothing.sum())

        def rank(number):
            torch.manual_seed(1)
            model, images = Odd(), torch.randn(2, 3, 4, 4)
            ddp = DDP(model)
            capture = thinpipe_capture.ddp(ddp, self.trace, steps=1, first=1)
            for _ in range(2):
                ddp.zero_grad()
                ddp(images).backward()
            capture.close()
            worker = read_trace(self.trace)["steps"][0]["workers"][0]
            self.assertEqual(set(worker["values"]), {"conv.weight", "matrix"})
            for name, parameter in (("conv.weight", model.conv.weight), ("matrix", model.matrix)):
                self.assertTrue(torch.equal(worker["values"][name], parameter.grad), name)
        self.run_ranks(1, rank)

    def test_buckets_are_the_gradients_computed_by_hand(self):
        for kind in ("mlp", "transformer", "lstm"):
            with self.subTest(kind):
                trace = self.check_against_hand(kind, steps=3, every=2, first=3)
                self.assertTrue(trace["complete"])
                self.assertEqual((trace["origin"], trace["ranks"]), ("training", 2))
                tensors = len(trace["tensors"])
                for step in trace["steps"]:
                    for worker in step["workers"]:
                        buckets = worker["buckets"]
                        self.assertGreater(len(buckets), 1)
                        # Every tensor is in exactly one bucket. A tensor is ready no later than its
                        # bucket, except for the rounding of clock differences.
                        members = [t for bucket in buckets for t in bucket["tensors"]]
                        self.assertEqual(sorted(members), list(range(tensors)))
                        self.assertEqual([b["index"] for b in buckets], list(range(len(buckets))))
                        for bucket in buckets:
                            for tensor in bucket["tensors"]:
                                self.assertLessEqual(worker["ready"][tensor], bucket["ready"] + 1e-9)
                            self.assertLessEqual(bucket["ready"], worker["backward"])
                        self.assertGreater(worker["forward"], 0)
                # A backward pass begins at the end of the model.
                last = max(trace["tensors"], key=lambda tensor: tensor["ready_order"])["name"]
                self.assertFalse(last.startswith("out"), last)

    def test_accumulated_micro_batches_are_recorded_as_they_are_exchanged(self):
        trace = self.check_against_hand("mlp", accumulate=3, steps=3, every=2, first=3)
        self.assertEqual(trace["steps"][0]["workers"][0]["forward_passes"], 3)

    def test_training_is_bit_for_bit_that_without_a_capture(self):
        def rank(number):
            for views in (False, True):
                without = train("normed", number, views=views)
                captured = train("normed", number, f"{self.trace}-{views}", views=views, steps=2,
                                 every=3)
                for a, b in zip(without, captured):
                    self.assertTrue(torch.equal(a, b))
        self.run_ranks(3, rank)  # dividing by 3 is not multiplying by a third
        self.assert_replays(self.trace + "-True")

    def test_sparse_gradients_are_recorded_dense(self):
        def rank(number):
            model = nn.Sequential(nn.Embedding(20, 4, sparse=True), nn.Flatten(), nn.Linear(12, 3))
            ddp = DDP(copy.deepcopy(model))
            capture = thinpipe_capture.ddp(ddp, self.trace, steps=2, first=1)
            for step in range(3):
                torch.manual_seed(10 * step + number)
                ddp.zero_grad()
                ddp(torch.randint(20, (5, 3))).sum().backward()
            capture.close()

        def by_hand(step, number):
            torch.manual_seed(10 * step + number)
            counts = torch.zeros(20)
            for symbol in torch.randint(20, (5, 3)).flatten():
                counts[symbol] += 1
            return counts
        self.run_ranks(2, rank)
        for step in read_trace(self.trace)["steps"]:
            for number, worker in enumerate(step["workers"]):
                rows = worker["values"]["0.weight"].abs().sum(1)
                self.assertTrue(torch.equal(rows > 0, by_hand(step["training_step"], number) > 0))

    def test_a_hook_of_ones_own_goes_on(self):
        from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook

        def rank(number):
            results = []
            for captured in (False, True):
                model, _, _ = make_model("mlp")
                ddp = DDP(copy.deepcopy(model))
                if captured:
                    capture = thinpipe_capture.ddp(ddp, self.trace, steps=2,
                                                   then=(None, fp16_compress_hook))
                else:
                    ddp.register_comm_hook(None, fp16_compress_hook)
                for step in range(6):
                    ddp.zero_grad()
                    loss_of(ddp, batch_of("mlp", step, number)).backward()
                results.append([p.grad.clone() for p in ddp.parameters()])
            capture.close()
            for a, b in zip(*results):
                self.assertTrue(torch.equal(a, b))
        self.run_ranks(2, rank)
        self.assertEqual(len(read_trace(self.trace)["steps"]), 2)

    def test_bfloat16_is_written_as_such_and_replays(self):
        def rank(number):
            train("mlp", number, self.trace + "-narrow", steps=2, dtype="bfloat16")
            train("mlp", number, self.trace, steps=2)
        self.run_ranks(2, rank)
        narrow, wide = read_trace(self.trace + "-narrow"), read_trace(self.trace)
        self.assertEqual((narrow["dtype"], wide["dtype"]), ("BF16", "F32"))
        self.assertEqual(narrow["provenance"]["rounded_from"], "float32")
        for a, b in zip(narrow["steps"], wide["steps"]):
            for one, other in zip(a["workers"], b["workers"]):
                rounded = {n: v.to(torch.bfloat16) for n, v in other["values"].items()}
                self.assert_same_values(one["values"], rounded)
        self.assert_replays(self.trace + "-narrow")
        self.assertIn("as BF16", support.thinpipe("trace", "info", self.trace + "-narrow")[1])

    def test_steps_are_recognised_by_themselves_and_evaluation_is_none(self):
        def rank(number):
            model, inputs, _ = make_model("mlp")
            ddp = DDP(model)
            thinpipe_capture.ddp(ddp, self.trace, steps=2, every=2, first=1)
            for step in range(5):
                with torch.no_grad():
                    ddp(inputs)
                ddp.zero_grad()
                loss_of(ddp, batch_of("mlp", step, number)).backward()
            # No close(): the exit does it.
        self.run_ranks(2, rank)
        trace = read_trace(self.trace)
        self.assertEqual([s["training_step"] for s in trace["steps"]], [1, 3])
        self.assertIsNone(trace["steps"][0]["workers"][0]["loss"])
        self.assertTrue(trace["complete"])
        said = self.errors_of(0)
        self.assertIn("2 of 2 steps recorded", said)
        self.assertRegex(said, r"m?s of .* m?s \(.* %\) in a recorded step")

    def test_wrong_use_is_refused_by_name(self):
        with self.assertRaisesRegex(TypeError, "thinpipe_capture.module"):
            thinpipe_capture.ddp(make_model("mlp")[0], self.trace)

        def rank(_number):
            ddp = DDP(make_model("mlp")[0])
            for options, words in (({"first": 0}, "first=0"), ({"then": print}, r"then: .*\(state, hook\)")):
                with self.assertRaisesRegex(ValueError, words):
                    thinpipe_capture.ddp(ddp, self.trace, **options)
                self.assertFalse(os.path.exists(self.trace))
        self.run_ranks(1, rank)


if __name__ == "__main__":
    unittest.main()
