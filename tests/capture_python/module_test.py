"""thinpipe_capture in one process: module hooks, dtypes, limits, memory; and how it is installed."""
import contextlib
import os
import shutil
import subprocess
import sys
import threading
import time
import unittest
import unittest.mock

import support
from support import (MODULE, batch_of, loss_of, make_model, named_gradients, nn, read_trace,
                     thinpipe_capture, torch)
import torch.utils.checkpoint


def train(kind, folder, length=8, mark=False, accumulate=1, spoil=False, **options):
    """A script in one process. Returns (gradients of each step by hand, the messages)."""
    model, _, _ = make_model(kind)
    gradients = []
    with support.heard() as said:
        capture = thinpipe_capture.module(model, folder, accumulate=accumulate, **options)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        for step in range(length):
            with capture.step() if mark else contextlib.nullcontext():
                optimizer.zero_grad()
                for part in range(accumulate):
                    loss = loss_of(model, batch_of(kind, step, part))
                    (capture.loss(loss) / accumulate).backward()
                gradients.append(named_gradients(model))
                if spoil:  # as clipping changes .grad before the step is over
                    nn.utils.clip_grad_norm_(model.parameters(), 1e-3)
                optimizer.step()
        capture.close()
    return gradients, said.getvalue()


class Caller:
    """The part of a capture that a clock calls."""

    def __init__(self):
        self.spent, self.entered = 0.0, None
        self.clock = thinpipe_capture._Clock(self, False)

    @thinpipe_capture._ours
    def note(self, pause):
        time.sleep(pause)  # as when another thread has the interpreter
        return self.clock.mark()

    @thinpipe_capture._ours
    def note_inside(self, pause):
        return self.note(pause)


class ClockTest(unittest.TestCase):
    def test_marks_never_go_back_whatever_delays_them(self):
        caller = Caller()
        begin = time.perf_counter()
        marks = [caller.note(pause) for pause in (0.02, 0, 0.01, 0)]
        marks.append(caller.note_inside(0.02))
        marks.append(caller.note(0))
        self.assertEqual(marks, sorted(marks))
        # The delays are ours: they count once, and stand in no mark.
        self.assertGreaterEqual(caller.spent, 0.05)
        self.assertLess(caller.spent, time.perf_counter() - begin)
        self.assertLess(marks[-1] - marks[0], time.perf_counter() - begin - 0.05)


class SummaryTest(unittest.TestCase):
    def test_durations_have_no_exponent(self):
        self.assertEqual([thinpipe_capture._duration(s) for s in (0.00132, 0.0565, 0.9994, 1, 6.784,
                                                                  1234.5)],
                         ["1.32 ms", "56.5 ms", "999 ms", "1 s", "6.78 s", "1234.5 s"])


class ModuleTest(support.TestCase):
    def check(self, kind, expected, **options):
        gradients, said = train(kind, self.trace, **options)
        trace = read_trace(self.trace)
        self.assertEqual([s["training_step"] for s in trace["steps"]], expected)
        for step in trace["steps"]:
            worker = step["workers"][0]
            self.assert_same_values(worker["values"], gradients[step["training_step"]])
            self.assertGreater(worker["forward"], 0)
            self.assertGreater(worker["backward"], max(worker["ready"]) * 0.999)
            self.assertIsNotNone(worker["loss"])
        self.assertTrue(trace["complete"])
        steps = len(expected)
        self.assertIn(f"{steps} of {steps} steps recorded", said)
        self.assert_replays(self.trace)
        return trace

    def test_each_kind_of_model(self):
        for kind in ("mlp", "transformer", "lstm", "normed"):
            with self.subTest(kind):
                self.trace = os.path.join(self.folder, kind)
                trace = self.check(kind, [3, 5, 7], steps=3, every=2)
                # The first tensors of a model are ready last.
                order = {t["name"]: t["ready_order"] for t in trace["tensors"]}
                names = [t["name"] for t in trace["tensors"]]
                self.assertLess(order[names[-1]], order[names[0]])

    def test_marked_steps_and_gradients_that_are_clipped_later(self):
        self.check("mlp", [0, 1, 2, 3], steps=4, first=0, mark=True, spoil=True)

    def test_clipped_later_with_steps_that_are_not_marked(self):
        self.check("mlp", [3, 4], steps=2, spoil=True)

    def test_a_forward_pass_after_the_gradients_belongs_to_no_step(self):
        model = nn.Linear(6, 3)
        capture = thinpipe_capture.module(model, self.trace, steps=2, first=0)
        for _ in range(2):
            with capture.step():
                capture.loss(model(torch.ones(4, 6)).square().mean()).backward()
                accuracy = model(torch.ones(4, 6)).mean()  # with gradients enabled
                self.assertTrue(accuracy.requires_grad)
        capture.close()
        for step in read_trace(self.trace)["steps"]:
            self.assertNotIn("forward_passes", step["workers"][0])
            self.assertGreater(step["workers"][0]["backward"], 0)

    def test_accumulation(self):
        for mark in (False, True):
            with self.subTest(mark=mark):
                self.trace = os.path.join(self.folder, f"marked-{mark}")
                gradients, _ = train("mlp", self.trace, accumulate=3, mark=mark, steps=2, first=2)
                trace = read_trace(self.trace)
                self.assertEqual([s["training_step"] for s in trace["steps"]], [2, 3])
                for step in trace["steps"]:
                    worker = step["workers"][0]
                    self.assert_same_values(worker["values"], gradients[step["training_step"]])
                    self.assertEqual(worker["forward_passes"], 3)

    def test_activation_checkpoints_and_an_output_that_is_a_tuple(self):
        class Checkpointed(nn.Module):
            def __init__(self, reentrant):
                super().__init__()
                self.first, self.inner, self.last = nn.Linear(4, 5), nn.Linear(5, 5), nn.Linear(5, 3)
                self.reentrant = reentrant  # then a backward pass runs within the backward pass

            def forward(self, inputs):
                hidden = torch.utils.checkpoint.checkpoint(
                    lambda x: torch.tanh(self.inner(x)), torch.relu(self.first(inputs)),
                    use_reentrant=self.reentrant)
                return self.last(hidden), hidden
        for reentrant in (False, True):
            with self.subTest(reentrant=reentrant):
                folder = f"{self.trace}-{reentrant}"
                model, gradients = Checkpointed(reentrant), []
                with support.heard(), thinpipe_capture.module(model, folder, steps=2, first=1):
                    for _ in range(4):
                        model.zero_grad()
                        model(torch.randn(6, 4))[0].pow(2).mean().backward()
                        gradients.append(named_gradients(model))
                steps = read_trace(folder)["steps"]
                self.assertEqual([step["training_step"] for step in steps], [1, 2])
                for step in steps:
                    self.assert_same_values(step["workers"][0]["values"],
                                            gradients[step["training_step"]])

    def test_training_is_bit_for_bit_that_without_a_capture(self):
        results = []
        for captured in (False, True):
            model, _, _ = make_model("normed")
            torch.manual_seed(3)
            if captured:
                capture = thinpipe_capture.module(model, self.trace, steps=3, squares=loss_of)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for step in range(6):
                batch = batch_of("normed", step)
                torch.manual_seed(step)  # of the dropout
                with capture.step(batch) if captured else contextlib.nullcontext():
                    optimizer.zero_grad()
                    loss_of(model, batch).backward()
                    optimizer.step()
            results.append([t.clone() for t in model.state_dict().values()] + [torch.rand(4)])
        capture.close()
        for a, b in zip(*results):
            self.assertTrue(torch.equal(a, b))

    def test_parameters_without_a_gradient_are_zero_and_frozen_ones_left_out(self):
        model, _, _ = make_model("mlp")
        model.add_module("unused", nn.Linear(2, 2))
        model[0].weight.requires_grad = False
        forward = nn.Sequential(*list(model)[:5])
        capture = thinpipe_capture.module(model, self.trace, steps=1, first=0)
        with capture.step():
            loss_of(forward, batch_of("mlp", 0)).backward()  # past the model's own forward, too
        capture.close()
        (step,) = read_trace(self.trace)["steps"]
        values = step["workers"][0]["values"]
        self.assertNotIn("0.weight", values)
        self.assertTrue(torch.equal(values["unused.weight"], torch.zeros(2, 2)))
        self.assertTrue(torch.equal(values["0.bias"], model[0].bias.grad))

    def test_dtypes(self):
        wide, _ = train("mlp", self.trace, steps=1)
        for name, kind in (("bfloat16", "BF16"), ("float16", "F16")):
            folder = os.path.join(self.folder, name)
            train("mlp", folder, steps=1, dtype=name)
            trace = read_trace(folder)
            self.assertEqual(trace["dtype"], kind)
            expected = {n: g.to(getattr(torch, name)) for n, g in wide[3].items()}
            self.assert_same_values(trace["steps"][0]["workers"][0]["values"], expected)
            self.assert_replays(folder)
        # A model in bfloat16 is recorded as it is, nothing rounded; one in float64 is rounded.
        for dtype, kind, rounded in ((torch.bfloat16, "BF16", None), (torch.float64, "F32", "float64")):
            folder = os.path.join(self.folder, str(dtype))
            model = nn.Linear(4, 3).to(dtype)
            with thinpipe_capture.module(model, folder, steps=1, first=0):
                model(torch.ones(2, 4, dtype=dtype)).sum().backward()
            trace = read_trace(folder)
            self.assertEqual((trace["dtype"], trace["provenance"].get("rounded_from")),
                             (kind, rounded))
            expected = {n: g.to(support.DTYPES[kind]) for n, g in named_gradients(model).items()}
            self.assert_same_values(trace["steps"][0]["workers"][0]["values"], expected)

    def test_a_loss_scale_is_taken_out_again(self):
        class Scaler:
            def get_scale(self):
                return 1024.0
        plain, _ = train("mlp", self.trace, steps=1)
        scaled = os.path.join(self.folder, "scaled")
        model, _, _ = make_model("mlp")
        with thinpipe_capture.module(model, scaled, steps=1, first=0, scaler=Scaler()):
            (loss_of(model, batch_of("mlp", 0)) * 1024).backward()
        values = read_trace(scaled)["steps"][0]["workers"][0]["values"]
        self.assert_same_values(values, plain[0])

    def test_the_scale_is_that_of_the_backward_pass(self):
        class Scaler:
            scale = 1024.0

            def get_scale(self):
                return self.scale
        plain, _ = train("mlp", self.trace, steps=1)
        scaled, scaler = os.path.join(self.folder, "scaled"), Scaler()
        model, _, _ = make_model("mlp")
        with thinpipe_capture.module(model, scaled, steps=1, first=0, scaler=scaler) as capture:
            with capture.step():
                (loss_of(model, batch_of("mlp", 0)) * 1024).backward()
                scaler.scale = 2048.0  # as scaler.update() does before the step is over
        values = read_trace(scaled)["steps"][0]["workers"][0]["values"]
        self.assert_same_values(values, plain[0])

    def test_sparse_gradients_are_recorded_dense(self):
        model = nn.Embedding(6, 2, sparse=True)
        with thinpipe_capture.module(model, self.trace, steps=1, first=0):
            (model(torch.tensor([1, 4, 1])) * torch.tensor([1.0, 3.0])).sum().backward()
        expected = torch.zeros(6, 2)
        expected[1], expected[4] = torch.tensor([2.0, 6.0]), torch.tensor([1.0, 3.0])
        values = read_trace(self.trace)["steps"][0]["workers"][0]["values"]
        self.assert_same_values(values, {"weight": expected})

    def test_tensors_laid_out_otherwise_in_memory(self):
        model = nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last)
        with thinpipe_capture.module(model, self.trace, steps=1, first=0):
            model(torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last)).sum().backward()
        values = read_trace(self.trace)["steps"][0]["workers"][0]["values"]
        self.assert_same_values(values, named_gradients(model))

    def test_size_limit(self):
        _, said = train("mlp", self.trace, steps=5)
        size = read_trace(self.trace)["steps"][0]["workers"][0]["bytes"]
        limited = os.path.join(self.folder, "limited")
        _, said = train("mlp", limited, steps=5, limit=3 * size - 1)
        self.assertIn("allows 2 of the 5 requested steps", said)
        trace = read_trace(limited)
        self.assertEqual(len(trace["steps"]), 2)
        self.assertIn("allows 2 of the 5 requested steps", trace["provenance"]["stopped"])
        self.assert_replays(limited)
        with self.assertRaisesRegex(ValueError, "one step of 1 ranks takes"):
            train("mlp", os.path.join(self.folder, "none"), steps=5, limit=size - 1)

    def test_memory_is_bounded_and_a_full_queue_waits_or_drops(self):
        for when_full in ("wait", "drop"):
            with self.subTest(when_full):
                folder = os.path.join(self.folder, when_full)
                model, _, _ = make_model("mlp")
                gate, made = threading.Event(), []
                slot = thinpipe_capture._Slot

                def counted(*arguments):
                    made.append(1)
                    return slot(*arguments)
                save = thinpipe_capture._Writer._save

                def held(writer, record):  # a disk that writes nothing until the gate opens
                    gate.wait(60)
                    save(writer, record)
                with support.heard() as said, \
                        unittest.mock.patch.object(thinpipe_capture, "_Slot", counted), \
                        unittest.mock.patch.object(thinpipe_capture._Writer, "_save", held):
                    capture = thinpipe_capture.module(model, folder, steps=6, first=0, buffers=2,
                                                      when_full=when_full)
                    take = capture._writer.free.get

                    def wait(block=True, timeout=None):  # the third step is the first that blocks
                        if block:
                            threading.Timer(0.2, gate.set).start()
                        return take(block, timeout)
                    capture._writer.free.get = wait
                    for step in range(6):
                        loss_of(model, batch_of("mlp", step)).backward()
                    gate.set()
                    capture.close()
                self.assertEqual(len(made), 2)
                recorded = [s["training_step"] for s in read_trace(folder)["steps"]]
                if when_full == "wait":
                    self.assertEqual(recorded, list(range(6)))
                    self.assertIn("the training waited", said.getvalue())
                else:
                    self.assertEqual(recorded, [0, 1])
                    self.assertIn("step 2 is not recorded: all 2 buffers wait", said.getvalue())
                    self.assertIn("4 steps were dropped", said.getvalue())

    def test_a_trace_is_never_overwritten(self):
        train("mlp", self.trace, steps=1)
        with self.assertRaisesRegex(FileExistsError, "never overwritten"):
            train("mlp", self.trace, steps=1)

    def test_a_job_that_is_restarted_goes_on_without_recording(self):
        train("mlp", self.trace, steps=1)
        before = read_trace(self.trace)["provenance"]
        with unittest.mock.patch.dict(os.environ, TORCHELASTIC_RESTART_COUNT="1"):
            gradients, said = train("mlp", self.trace, steps=1)
            self.assertEqual(len(gradients), 8)
            self.assertIn("from before this job's restart, so nothing is recorded", said)
            train("mlp", self.trace + "-new", steps=1)  # where nothing is left, it records
        self.assertEqual(read_trace(self.trace)["provenance"], before)
        self.assertTrue(read_trace(self.trace + "-new")["complete"])

    def test_wrong_options_are_refused_by_name(self):
        for options, words in (({"steps": 0}, "steps=0"), ({"every": 1.5}, "every=1.5"),
                               ({"dtype": "int8"}, "dtype='int8'"), ({"limit": "9 XB"}, "limit="),
                               ({"when_full": "cry"}, "when_full='cry'"), ({"rank": 1}, "ranks=1"),
                               ({"squares": 3}, "squares=3"), ({"scaler": 1024}, "scaler=1024")):
            with self.assertRaisesRegex(ValueError, words):
                thinpipe_capture.module(make_model("mlp")[0], self.trace, **options)
            self.assertFalse(os.path.exists(self.trace))
        self.assertEqual(thinpipe_capture._bytes_of("1.5GiB"), 3 << 29)
        self.assertEqual(thinpipe_capture._bytes_of("20 MB"), 20_000_000)

    def test_a_backward_pass_that_fails_is_not_recorded_and_the_next_one_is(self):
        def fail(_):
            raise OSError("out of memory")

        for mark in (False, True):
            with self.subTest(mark=mark):
                folder = f"{self.trace}-{mark}"
                model, gradients = make_model("mlp")[0], []
                with support.heard(), thinpipe_capture.module(model, folder, steps=2, first=2) as capture:
                    for number in range(5):
                        with contextlib.suppress(OSError):
                            with capture.step() if mark else contextlib.nullcontext():
                                model.zero_grad()
                                loss = loss_of(model, batch_of("mlp", number))
                                hook = model[2].bias.register_hook(fail) if number == 2 else None
                                try:
                                    loss.backward()
                                finally:
                                    if hook:
                                        hook.remove()
                                gradients.append(named_gradients(model))
                steps = read_trace(folder)["steps"]
                self.assertEqual([step["training_step"] for step in steps], [2, 3])
                for step, expected in zip(steps, gradients[2:]):
                    worker = step["workers"][0]
                    self.assert_same_values(worker["values"], expected)
                    self.assertNotIn("forward_passes", worker)

    def test_an_error_in_the_hooks_ends_the_recording_and_not_the_training(self):
        model, _, _ = make_model("mlp")
        with support.heard() as said:
            capture = thinpipe_capture.module(model, self.trace, steps=5, first=0)
            for step in range(6):
                loss_of(model, batch_of("mlp", step)).backward()
                if step == 2:
                    capture.parameters = None  # as a bug in thinpipe_capture would
            capture.close()
        self.assertIn("stopped: TypeError", said.getvalue())
        code, out, _ = support.thinpipe("trace", "verify", self.trace)
        self.assertEqual(code, 4, out)
        self.assertIn("incomplete: rank 0: stopped: TypeError", out)

    def test_pip_installs_it_from_the_tree_without_a_network(self):
        tools = "import setuptools, wheel, pip"  # in this order, or setuptools is not content
        if subprocess.run([sys.executable, "-c", tools], capture_output=True).returncode != 0:
            self.skipTest("pip, setuptools or wheel is not installed")
        source, target = (os.path.join(self.folder, name) for name in ("source", "target"))
        shutil.copytree(MODULE, source)
        done = subprocess.run(
            [sys.executable, "-m", "pip", "install", "--no-build-isolation", "--no-deps",
             "--no-index", "--disable-pip-version-check", "--target", target, source],
            capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(os.path.exists(os.path.join(target, "thinpipe_capture.py")))


if __name__ == "__main__":
    unittest.main()
