"""thinpipe.torch.ddp_hook in trainings of several ranks over gloo."""
import os
import signal
import sys
import time
import unittest
import warnings

from support import thinpipe

from ranks import RanksTestCase, dist, torch
from torch import nn

from thinpipe.torch import RankError, ddp_hook

DDP = nn.parallel.DistributedDataParallel
dist._DEFAULT_FIRST_BUCKET_BYTES = 5000  # several buckets even here
# One of each kind of exchange, memory and encoding.
SPECS = ["none", "bf16:exchange=allgather", "fp16", "topk:ratio=0.05", "dgc:ratio=0.05,warmup=0.5",
         "sidco:ratio=0.05", "3lc", "int8", "terngrad", "thc", "powersgd", "ef21:ratio=0.1",
         "randomk:ratio=0.1", "topk:ratio=0.1,delay=3", "sbc", "onebit", "demo", "blockint4"]
STEPS = 12


def make_model():
    torch.manual_seed(7)
    return nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 48), nn.Tanh(), nn.Linear(48, 4))


def batch(step, rank):
    draw = torch.Generator().manual_seed(1000 * step + rank)
    inputs = torch.randn(16, 20, generator=draw)
    return inputs, inputs[:, :4].argmax(1)


def loss_of(model, step, rank):
    inputs, targets = batch(step, rank)
    return nn.functional.cross_entropy(model(inputs), targets)


def train_step(model, optimizer, step, rank):
    optimizer.zero_grad()
    loss = loss_of(model, step, rank)
    loss.backward()
    optimizer.step()
    return float(loss.detach())


class Training:
    """A model with the hook and an optimiser."""

    def __init__(self, spec, rank, model=None, ddp_options=None, **options):
        self.rank, self.model = rank, model or make_model()
        self.ddp = DDP(self.model, bucket_cap_mb=0.01, **(ddp_options or {}))
        self.hook = ddp_hook(self.ddp, spec, **options) if spec else None
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9)
        self.losses = []

    def run(self, first, last):
        for step in range(first, last):
            self.losses.append(train_step(self.ddp, self.optimizer, step, self.rank))
        return self

    def parameters(self):
        return torch.cat([p.detach().reshape(-1) for p in self.model.parameters()])


def assert_same_on_all_ranks(values):
    others = [torch.empty_like(values) for _ in range(dist.get_world_size())]
    dist.all_gather(others, values)
    for other in others:
        assert torch.equal(other, values), (other - values).abs().max()
    assert bool(torch.isfinite(values).all())


def wait_until(condition, seconds=200):  # less than the hook's timeout, 300 s
    """Returns whether the condition was true within this time."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.001)
    return condition()


class TestCase(RanksTestCase):
    def codes_of(self, count, function):
        def together(rank):
            function(rank)
            dist.barrier()
        return super().codes_of(count, together)


class Equalities(TestCase):
    def test_parameters_are_the_same_bits_on_all_ranks(self):
        def work(rank):
            for spec in SPECS:
                training = Training(spec, rank).run(0, STEPS)
                assert_same_on_all_ranks(training.parameters())
                assert spec in training.hook.report()
        self.run_ranks(3, work)

    def test_after_100_steps_too_and_it_learns(self):
        def work(rank):
            for spec in ("topk:ratio=0.05", "powersgd"):
                training = Training(spec, rank).run(0, 100)
                assert_same_on_all_ranks(training.parameters())
                assert sum(training.losses[-20:]) < 0.5 * sum(training.losses[:20]), training.losses
        self.run_ranks(2, work)

    def test_a_bucket_is_encoded_while_the_one_before_is_exchanged(self):
        def work(rank):
            for options in ({}, {"collective": "twoshot"}):
                training = Training("topk:ratio=0.1", rank, **options).run(0, 2)
                exchange, encoded, found = training.hook.exchange, [], []
                begin = exchange.begin

                def begin_and_delay(*arguments):
                    finish = begin(*arguments)
                    encoded.append(finish)

                    def finish_late():
                        found.append(len(found) > 0 or wait_until(lambda: len(encoded) == 2))
                        finish()
                    return finish_late
                exchange.begin = begin_and_delay
                training.run(2, 3)
                assert len(found) > 1 and all(found), found
                assert_same_on_all_ranks(training.parameters())
        self.run_ranks(2, work)

    def test_two_shots(self):
        def work(rank):
            for spec in ("int8", "blockint4", "3lc", "topk:ratio=0.1", "fp16", "none"):
                training = Training(spec, rank, collective="twoshot").run(0, STEPS)
                assert_same_on_all_ranks(training.parameters())
            mixed = Training("int8", rank, collective="twoshot", second="bf16").run(0, STEPS)
            assert_same_on_all_ranks(mixed.parameters())
        for ranks in (1, 2, 3):
            self.run_ranks(ranks, work)

    def test_none_equals_ddps_own_within_a_rounding(self):
        def work(rank):
            ours, theirs = Training("none", rank), Training(None, rank)
            for training in (ours, theirs):
                loss_of(training.ddp, 0, rank).backward()
            for a, b in zip(ours.model.parameters(), theirs.model.parameters()):
                # One rounding of the sum, one of the product or quotient.
                torch.testing.assert_close(a.grad, b.grad, rtol=2 ** -22, atol=1e-9)
        self.run_ranks(2, work)

    def test_a_gathered_aggregate_is_the_mean_of_what_ranks_decode(self):
        def work(rank):
            training = Training("topk:ratio=0.1", rank, model=nn.Linear(20, 64))
            training.ddp(batch(0, rank)[0]).pow(2).sum().backward()
            total = torch.zeros(64, 20)
            for other in range(2):
                model = nn.Linear(20, 64)
                model.load_state_dict(training.model.state_dict())
                model(batch(0, other)[0]).pow(2).sum().backward()
                compressor = thinpipe.Compressor("topk:ratio=0.1", (64, 20), name="weight", rank=other)
                compressor.decode_add(compressor.encode(model.weight.grad), total, 0.5)
            assert torch.equal(training.model.weight.grad, total)
        self.run_ranks(2, work)

    def test_resumed_training_equals_an_uninterrupted_one(self):
        def work(rank):
            for spec, options in (("dgc:ratio=0.05", {}), ("powersgd", {}), ("ef21:ratio=0.1", {}),
                                  ("int8:memory=residual", {"collective": "twoshot"}),
                                  ("topk:ratio=0.1,delay=3", {})):
                whole = Training(spec, rank, **options).run(0, STEPS)
                first = Training(spec, rank, **options).run(0, 7)
                path = os.path.join(self.folder, f"checkpoint-{rank}")
                torch.save({"model": first.model.state_dict(), "hook": first.hook.state_dict(),
                            "optimizer": first.optimizer.state_dict()}, path)
                saved = torch.load(path)
                second = Training(spec, rank, **options)
                second.model.load_state_dict(saved["model"])
                second.optimizer.load_state_dict(saved["optimizer"])
                second.hook.load_state_dict(saved["hook"])
                second.run(7, STEPS)
                assert torch.equal(second.parameters(), whole.parameters()), spec
        self.run_ranks(2, work)

    def test_a_report_counts_the_steps_since_a_checkpoint(self):
        def work(rank):
            first = Training("topk:ratio=0.1", rank).run(0, 7)
            second = Training("topk:ratio=0.1", rank)
            second.hook.load_state_dict(first.hook.state_dict())
            second.run(7, 9)
            encoded = second.hook._totals()["encoded_bytes"]
            self.assertIn(f"encoded: {encoded / 2 / 1e6:.3f} MB a step", second.hook.report())
        self.run_ranks(2, work)

    def test_a_report_counts_what_was_sent(self):
        def work(rank):
            for spec, headers in (("topk:ratio=0.1", 1000), ("none", 0)):
                hook = Training(spec, rank).run(0, 3).hook
                encoded, sent = hook._totals()["encoded_bytes"], hook.exchange.sent_bytes()
                # To one other rank: each payload once, or both halves of a ring's sum.
                assert encoded <= sent <= encoded + 3 * headers, (spec, encoded, sent)
                self.assertIn(f"sent: {sent / 3 / 1e6:.3f} MB a step", hook.report())
        self.run_ranks(2, work)


class Uses(TestCase):
    def test_gradient_accumulation(self):
        def work(rank):
            steps = []
            training = Training("topk:ratio=0.1", rank)
            training.hook.exchange.on_payload = lambda name, step, payload: steps.append((name, step))
            for step in range(3):
                training.optimizer.zero_grad()
                with training.ddp.no_sync():
                    loss_of(training.ddp, step, rank).backward()
                loss_of(training.ddp, step, rank + 5).backward()
                training.optimizer.step()
            assert training.hook.step == 3
            assert sorted(set(steps)) == sorted((name, step) for step in range(3)
                                                for name, _ in training.model.named_parameters())
            assert_same_on_all_ranks(training.parameters())
        self.run_ranks(2, work)

    def test_buckets_small_tensors_and_epochs(self):
        def work(rank):
            training = Training("topk:ratio=0.1,warmup=0.5/0.25", rank, granularity="bucket")
            for epoch in range(3):
                training.hook.set_epoch(epoch)
                training.run(4 * epoch, 4 * epoch + 4)
            assert_same_on_all_ranks(training.parameters())
            found = training.hook.statistics()
            assert found and set(found) <= {f"bucket{i}" for i in range(9)}, found
            assert all(unit["encodes"] > 0 for unit in found.values()), found
            static = Training("topk:ratio=0.1", rank, granularity="bucket",
                              ddp_options={"static_graph": True}).run(0, 5)
            assert_same_on_all_ranks(static.parameters())
            assert static.hook.statistics(), "nothing was compressed"
            exempt = Training("topk:ratio=0.1", rank, min_elements=100).run(0, 3)
            assert set(exempt.hook.statistics()) == {"0.weight", "2.weight", "4.weight"}
            assert_same_on_all_ranks(exempt.parameters())
        self.run_ranks(2, work)

    def test_a_world_of_one(self):
        def work(rank):
            for spec in SPECS:
                assert bool(torch.isfinite(Training(spec, rank).run(0, 4).parameters()).all()), spec
        self.run_ranks(1, work)

    def test_unused_parameters(self):
        class Half(nn.Module):
            def __init__(self):
                super().__init__()
                self.used, self.unused = nn.Linear(20, 4), nn.Linear(20, 4)

            def forward(self, inputs):
                return self.used(inputs)

        def work(rank):
            torch.manual_seed(1)
            training = Training("topk:ratio=0.1", rank, model=Half(),
                                ddp_options={"find_unused_parameters": True}).run(0, 6)
            assert_same_on_all_ranks(training.parameters())
        self.run_ranks(2, work)

    @unittest.skipIf(torch.__version__.startswith("1."), "gloo of torch 1 has no bfloat16")
    def test_halves_are_converted_exactly(self):
        def work(rank):
            torch.manual_seed(1)
            model = nn.Linear(20, 64).bfloat16()
            training = Training("topk:ratio=0.1,memory=none", rank, model=model)
            training.ddp(batch(0, 0)[0].bfloat16()).pow(2).sum().backward()
            other = nn.Linear(20, 64).bfloat16()
            other.load_state_dict(model.state_dict())
            other(batch(0, 0)[0].bfloat16()).pow(2).sum().backward()
            sent = model.weight.grad != 0
            assert int(sent.sum()) == 128
            assert torch.equal(model.weight.grad[sent], other.weight.grad[sent])
        self.run_ranks(2, work)

    def test_second_moments(self):
        def work(rank):
            training = Training("variance", rank, squares=lambda name: 1e-6 + 0 * dict(
                training.model.named_parameters())[name].detach())
            training.run(0, 3)
            assert_same_on_all_ranks(training.parameters())
        self.run_ranks(2, work)

    def test_gradients_have_the_order_of_their_parameters_in_memory(self):
        """A convolution that is laid out channels last, and a matrix that lies column by column."""
        class Odd(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv2d(3, 4, 2, bias=False).to(memory_format=torch.channels_last)
                self.matrix = nn.Parameter(torch.randn(20, 12).t())

            def forward(self, inputs):
                return self.conv(inputs[:, :12].reshape(-1, 3, 2, 2)).sum() + (inputs @ self.matrix.t()).sum()

        def work(rank):
            torch.manual_seed(1)
            sent = {}
            training = Training("none", rank, model=Odd())
            training.hook.exchange.on_payload = lambda name, step, payload: sent.update(
                {name: payload.clone().view(torch.float32)})
            training.ddp(batch(0, 0)[0]).backward()
            conv, matrix = training.model.conv.weight, training.model.matrix
            self.assertTrue(torch.equal(sent["conv.weight"], conv.grad.permute(0, 2, 3, 1).reshape(-1)))
            self.assertTrue(torch.equal(sent["matrix"], matrix.grad.t().reshape(-1)))
            # Second moments and shapes go with it.
            self.assertTrue(torch.equal(training.hook._in_memory_order("conv.weight", conv.grad),
                                        sent["conv.weight"]))
            shapes = {name: unit.compressor.shape for name, unit in training.hook.exchange.units.items()}
            self.assertEqual(shapes, {"conv.weight": (4, 2, 2, 3), "matrix": (20, 12)})
        self.run_ranks(1, work)

    def test_non_finite_steps_are_skipped_together(self):
        def work(rank):
            training = Training("topk:ratio=0.1", rank, nonfinite="skip")
            loss = training.ddp(batch(0, rank)[0]).sum()
            (loss * (float("inf") if rank == 1 else 1.0)).backward()
            for parameter in training.model.parameters():
                assert bool(torch.isnan(parameter.grad).all())
            training.run(1, 4)
            assert_same_on_all_ranks(training.parameters())
        self.run_ranks(2, work)


class Failures(TestCase):
    def refused(self, words, *arguments, **options):
        with self.assertRaisesRegex((TypeError, ValueError, RankError), words):
            ddp_hook(*arguments, **options)

    def test_of_one_rank(self):
        def work(rank):
            ddp = DDP(nn.Linear(3, 3))
            self.refused("DistributedDataParallel", nn.Linear(3, 3), "topk")
            self.refused("topk", ddp, "tokp")
            self.refused("collective.*ring", ddp, "topk", collective="ring")
            self.refused("cannot be added", ddp, "topk", collective="allreduce")
            self.refused("all-reduces in a step", ddp, "powersgd", collective="allgather")
            self.refused("two shots", ddp, "demo", collective="twoshot")
            self.refused("second", ddp, "topk", second="int8")
            self.refused("second moments", ddp, "variance")
            self.refused("granularity.*layer", ddp, "topk", granularity="layer")
            self.refused("squares: found a int", ddp, "variance", squares=3)
            self.refused("tokp", ddp, "topk", collective="twoshot", second="tokp")
            for name, values in (("min_elements", (-1, 1.5, "7")), ("seed", (-1, None)),
                                 ("threads", (0, 0.5)), ("timeout", (0, float("nan"), "300"))):
                for value in values:
                    self.refused(name + ": found", ddp, "topk", **{name: value})
            self.refused("sparse", DDP(nn.Sequential(nn.Embedding(4, 4, sparse=True))), "topk")
            self.refused("float64", DDP(nn.Linear(3, 3).double()), "topk")
            hook = ddp_hook(ddp, "topk")
            state = hook.state_dict()
            for name, value in (("spec", "dgc"), ("rank", 7), ("seed", 3)):
                with self.assertRaisesRegex(thinpipe.InputError, name):
                    hook.load_state_dict({**state, name: value})
            with self.assertRaisesRegex(thinpipe.InputError, "state of 'module.weight'"):
                hook.load_state_dict({**state, "units": {"module.weight[0..8]": {}}})
        self.run_ranks(1, work)

    def test_of_two_momenta_is_warned(self):
        def work(rank):
            for spec, warned in (("dgc", rank == 0), ("topk:memory=momentum", rank == 0), ("topk", False)):
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    ddp_hook(DDP(nn.Linear(3, 3)), spec)
                self.assertEqual(["without momentum" in str(one.message) for one in caught
                                  if one.filename == __file__], [True] * warned, spec)
        self.run_ranks(2, work)

    def test_ranks_that_disagree(self):
        def work(rank):
            for options in ({"seed": rank}, {"min_elements": rank}):
                self.refused("ranks disagree: " + list(options)[0], DDP(nn.Linear(3, 3)), "topk",
                             **options)
            self.refused("ranks disagree: spec", DDP(nn.Linear(3, 3)), ["topk", "dgc"][rank])
            # A wrong argument of one rank is told to the others.
            for options in ({"min_elements": -rank}, {"timeout": 300 - 300 * rank},
                            {"collective": ["auto", "ring"][rank]}):
                name = list(options)[0]
                self.refused(f"^{name}: found" if rank == 1 else f"disagree: error: found .*{name}.*rank 1",
                             DDP(nn.Linear(3, 3)), "topk", **options)
        self.run_ranks(2, work)

    @unittest.skipUnless(torch.__version__.startswith("1."), "gloo has bfloat16")
    def test_payloads_that_gloo_cannot_add_are_refused_at_once(self):
        def work(rank):
            self.refused("cannot add torch.bfloat16; expected collective='allgather'", DDP(nn.Linear(3, 3)),
                         "bf16")
        self.run_ranks(2, work)

    def test_a_non_finite_gradient_ends_all_ranks_with_a_reason(self):
        def work(rank):
            for spec, options in (("topk:ratio=0.1", {}), ("none", {}), ("powersgd", {}),
                                  ("terngrad", {}), ("int8", {"collective": "twoshot"}),
                                  ("topk", {"min_elements": 10_000})):
                training = Training(spec, rank, **options).run(0, 2)
                loss = training.ddp(batch(2, rank)[0]).sum()
                with self.assertRaisesRegex(RuntimeError, "NaN or an infinity" if rank == 1
                                            else "rank 1 failed"):
                    (loss * (float("inf") if rank == 1 else 1.0)).backward()
                with self.assertRaises(RuntimeError):
                    training.hook.state_dict()
            os._exit(9)
        self.run_ranks(2, work, expected=9)
        self.assertRegex(self.errors_of(1), r"weight.* has NaN or an infinity")

    def test_a_failure_in_a_step_without_an_exchange_ends_all_ranks_at_the_next_exchange(self):
        def fail_in(step, training, rank):
            training.optimizer.zero_grad()
            loss = training.ddp(batch(step, rank)[0]).sum()
            (loss * (float("inf") if rank == 1 else 1.0)).backward()

        def ends(rank):
            return self.assertRaisesRegex(RuntimeError, "step 1: .* has NaN or an infinity"
                                          if rank == 1 else "rank 1 failed")

        def work(rank):
            for spec, options in (("topk:ratio=0.1,delay=3", {}), ("fp16:delay=3", {}),
                                  ("terngrad:delay=3", {}), ("powersgd:delay=3", {}),
                                  ("topk:ratio=0.1,delay=3", {"granularity": "bucket"})):
                training = Training(spec, rank, **options).run(0, 1)  # exchanges in steps 2, 5, ...
                fail_in(1, training, rank)
                if rank == 1:
                    with self.assertRaisesRegex(thinpipe.InputError, "step 1"):
                        training.hook.state_dict()
                with ends(rank):
                    training.run(2, 3)
            # Tensors below min_elements are exchanged in every step.
            training = Training("topk:ratio=0.1,delay=3", rank, min_elements=100).run(0, 1)
            with ends(rank):
                fail_in(1, training, rank)
            os._exit(9)
        self.run_ranks(2, work, expected=9)
        self.assertIn("; the next exchange ends the training", self.errors_of(1))

    def test_an_error_while_encoding_ends_all_ranks(self):
        def fail(*_):
            raise OSError("the disk is full")

        def work(rank):
            for spec, options in (("none", {}), ("fp16", {}), ("topk:ratio=0.1", {}),
                                  ("int8", {"collective": "twoshot"})):
                training = Training(spec, rank, **options).run(0, 2)
                if rank == 0:
                    training.hook.exchange.on_payload = fail
                with self.assertRaisesRegex(RuntimeError, "the disk is full" if rank == 0
                                            else "rank 0 failed"):
                    training.run(2, 3)
            os._exit(9)
        self.run_ranks(2, work, expected=9)

    def test_an_error_in_a_bucket_does_not_end_the_exchange_of_the_bucket_before(self):
        """The other ranks wait for it, and would not hear the reason."""
        def work(rank):
            training = Training("topk:ratio=0.1", rank).run(0, 2)
            hook, run, buckets = training.hook, training.hook._run, []

            def late(phase, *arguments):
                if phase == hook._begin:
                    buckets.append(phase)
                elif rank == 0:
                    wait_until(lambda: hook._error is not None)
                return run(phase, *arguments)

            def fail(*_):
                if len(buckets) == 2:
                    raise OSError("the disk is full")
            hook._run = late
            if rank == 0:
                hook.exchange.on_payload = fail
            with self.assertRaisesRegex(RuntimeError, "the disk is full" if rank == 0 else "rank 0 failed"):
                training.run(2, 3)
            os._exit(9)
        self.run_ranks(2, work, expected=9)

    def test_elements_beyond_fp16_are_not_clipped_in_silence(self):
        def work(rank):
            training = Training("fp16", rank).run(0, 2)
            loss = training.ddp(batch(2, rank)[0]).sum()
            with self.assertRaisesRegex(RuntimeError, "weight.* is beyond fp16's 65504" if rank == 1
                                        else "rank 1 failed"):
                (loss * (1e7 if rank == 1 else 1.0)).backward()
            os._exit(9)
        self.run_ranks(2, work, expected=9)

    def test_checkpoints_of_different_steps_end_all_ranks(self):
        def work(rank):
            training = Training("topk:ratio=0.1,delay=3", rank)
            state = training.hook.state_dict()
            training.hook.load_state_dict({**state, "step": rank})
            with self.assertRaisesRegex(RuntimeError, "ranks disagree: step"):
                training.run(0, 1)
            os._exit(9)
        self.run_ranks(2, work, expected=9)

    def test_a_checkpoint_of_some_ranks_ends_all_ranks_at_the_next_exchange(self):
        def work(rank):
            for spec, options in (("topk:ratio=0.1", {}), ("none", {}), ("powersgd", {}), ("terngrad", {}),
                                  ("int8", {"collective": "twoshot"}), ("topk", {"min_elements": 10_000}),
                                  ("topk:ratio=0.1,delay=3", {}),
                                  ("topk:ratio=0.1,delay=3", {"min_elements": 100})):
                training = Training(spec, rank, **options).run(0, 3)
                training.hook.load_state_dict(training.hook.state_dict())
                training.run(3, 6)
                assert_same_on_all_ranks(training.parameters())
                if rank == 1:
                    training.hook.load_state_dict(training.hook.state_dict())
                with self.assertRaisesRegex(RuntimeError, "load_state_dict: found a checkpoint of step 6 on "
                                            "one rank and no checkpoint on another"):
                    training.run(6, 9)
            os._exit(9)
        begin = time.monotonic()
        self.run_ranks(2, work, expected=9)
        self.assertLess(time.monotonic() - begin, 200)  # a timeout is 300 s

    def test_checkpoints_of_different_steps_in_a_training_end_all_ranks(self):
        def work(rank):
            # With delay=2, rank 1 would exchange in its next step, and rank 0 would not.
            for spec, options in (("topk:ratio=0.1", {}),
                                  ("topk:ratio=0.1,delay=2", {"min_elements": 100})):
                training = Training(spec, rank, **options).run(0, 2)
                training.hook.load_state_dict({**training.hook.state_dict(), "step": rank})
                with self.assertRaisesRegex(RuntimeError, "a checkpoint of step 1 on one rank and a "
                                            "checkpoint of step 0 on another"):
                    training.run(2, 3)
            os._exit(9)
        begin = time.monotonic()
        self.run_ranks(2, work, expected=9)
        self.assertLess(time.monotonic() - begin, 200)  # a timeout is 300 s

    def test_a_checkpoint_of_other_shapes_is_refused_when_it_is_loaded(self):
        def work(rank):
            for options in ({}, {"granularity": "bucket"}):
                state = ddp_hook(DDP(nn.Linear(3, 4)), "topk", **options).state_dict()
                hook = ddp_hook(DDP(nn.Linear(3, 5)), "topk", **options)
                with self.assertRaisesRegex(thinpipe.InputError,
                                            r"'weight' of shape \(4, 3\), expected \(5, 3\)"):
                    hook.load_state_dict(state)
                unknown = {**hook.state_dict(), "shapes": {"other": [3]}}
                with self.assertRaisesRegex(thinpipe.InputError, "'other' .* which the model does not have"):
                    hook.load_state_dict(unknown)
                del state["shapes"]  # as of versions that did not have them
                hook.load_state_dict(state)
        self.run_ranks(1, work)

    def test_a_rank_that_leaves_ends_the_others(self):
        for spec in ("topk:ratio=0.1", "powersgd"):
            def work(rank):
                training = Training(spec, rank).run(0, 3)
                if rank == 1:
                    os.kill(os.getpid(), signal.SIGKILL)
                training.run(3, STEPS)
            begin = time.monotonic()
            self.run_ranks(2, work, expected=[1, -signal.SIGKILL])
            self.assertLess(time.monotonic() - begin, 200)  # a timeout is 300 s
            self.assertIn("thinpipe", self.errors_of(0))

    def test_the_process_ends_after_a_training(self):
        """As a script does: without os._exit, with a hook that nobody closes."""
        program = os.path.join(self.folder, "program.py")
        with open(program, "w", encoding="utf-8") as file:
            file.write(f"""
import os, sys
sys.path[:0] = {sys.path!r}
import hook_test, thinpipe.torch, torch.distributed as dist
thinpipe.torch._EXIT_SECONDS = 100  # enough for the hook's threads on a busy machine
dist.init_process_group("gloo", init_method="file://" + sys.argv[1], rank=int(sys.argv[2]), world_size=2)
def main():  # at its end the hook's thread may have the last reference to the hook
    training = hook_test.Training("topk:ratio=0.1", int(sys.argv[2])).run(0, 5)
    print(training.hook.report())
    dist.destroy_process_group()
main()
""")
        import subprocess
        for i in range(6):
            store = os.path.join(self.folder, f"store-{i}")
            ranks = [subprocess.Popen([sys.executable, program, store, str(rank)], text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE) for rank in (0, 1)]
            said = [rank.communicate(timeout=120) for rank in ranks]
            self.assertEqual([rank.returncode for rank in ranks], [0, 0], said)
            self.assertIn("5 steps", said[0][0])


if __name__ == "__main__":
    unittest.main()
