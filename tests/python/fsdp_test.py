"""thinpipe.torch.fsdp_hook: reduce-scatters of FSDP2 through compressors, over gloo."""
import os
import sys
import unittest

from hook_test import TestCase, batch, dist, loss_of, make_model, nn, torch, train_step

from support import thinpipe
from thinpipe.torch import RankError, fsdp_hook

try:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import FSDPModule, fully_shard
except ImportError:
    FSDPModule = None
if not hasattr(FSDPModule, "set_custom_reduce_scatter"):
    print(f"skipped: torch {torch.__version__} has no FSDP2 with reduce-scatters of one's own (torch 2.8)")
    sys.exit(77)


class Training:
    """A sharded model, with the hook if there is a spec, and an optimiser."""

    def __init__(self, spec, rank):
        self.rank, self.model = rank, make_model()
        mesh = init_device_mesh("cpu", (dist.get_world_size(),))
        for layer in self.model:
            if isinstance(layer, nn.Linear):
                fully_shard(layer, mesh=mesh)
        fully_shard(self.model, mesh=mesh)
        self.hook = fsdp_hook(self.model, spec) if spec else None
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9)
        self.losses = []

    def run(self, first, last):
        for step in range(first, last):
            self.losses.append(train_step(self.model, self.optimizer, step, self.rank))
        return self

    def shards(self):
        return torch.cat([p.to_local().detach().reshape(-1) for p in self.model.parameters()])

    def gradients(self):
        return [p.grad.full_tensor() for p in self.model.parameters()]


class Fsdp(TestCase):
    def test_none_equals_fsdps_own_within_rounding(self):
        def work(rank):
            ours, theirs = Training("none", rank), Training(None, rank)
            for training in (ours, theirs):
                loss_of(training.model, 0, rank).backward()
            for a, b in zip(ours.gradients(), theirs.gradients()):
                torch.testing.assert_close(a, b, rtol=2 ** -21, atol=1e-8)
            assert set(ours.hook.statistics()) == {f"{layer}[{rank}]" for layer in "024"
                                                   for rank in range(dist.get_world_size())}
        for ranks in (2, 3):  # one rank has nothing to reduce
            self.run_ranks(ranks, work)

    def test_learns_through_compressors(self):
        def work(rank):
            for spec in ("topk:ratio=0.1", "int8:memory=residual", "3lc"):
                training = Training(spec, rank).run(0, 60)
                assert sum(training.losses[-10:]) < 0.7 * sum(training.losses[:10]), (spec, training.losses)
                assert training.hook.step == 60 and spec in training.hook.report()
        self.run_ranks(2, work)

    def test_resumed_training_equals_an_uninterrupted_one(self):
        def work(rank):
            whole, first = (Training("topk:ratio=0.1", rank) for _ in range(2))
            whole.run(0, 10)
            first.run(0, 4)
            second = Training("topk:ratio=0.1", rank)
            with torch.no_grad():
                for to, source in zip(second.model.parameters(), first.model.parameters()):
                    to.to_local().copy_(source.to_local())
            second.optimizer.load_state_dict(first.optimizer.state_dict())
            second.hook.load_state_dict(first.hook.state_dict())
            second.run(4, 10)
            assert torch.equal(second.shards(), whole.shards())
        self.run_ranks(2, work)

    def test_a_checkpoint_of_some_ranks_ends_all_ranks(self):
        def work(rank):
            training = Training("topk:ratio=0.1", rank).run(0, 2)
            training.hook.load_state_dict(training.hook.state_dict())
            training.run(2, 3)
            state = training.hook.state_dict()
            with self.assertRaisesRegex(thinpipe.InputError, r"'0.weight' of shape \(20, 64\), expected"):
                training.hook.load_state_dict({**state, "shapes": {"0.weight": (20, 64)}})
            if rank == 1:
                training.hook.load_state_dict(state)
            with self.assertRaisesRegex(RuntimeError, "ranks disagree: load_state_dict"):
                training.run(3, 4)
            os._exit(9)
        self.run_ranks(2, work, expected=9)

    def test_refusals_and_failures(self):
        def work(rank):
            with self.assertRaisesRegex(TypeError, "fully_shard"):
                fsdp_hook(nn.Linear(3, 3), "topk")
            for spec, words in (("powersgd", "all-reduces"), ("demo", "two shots"),
                                (["topk", "dgc"][rank], "ranks disagree: spec"),
                                (["topk", "tokp"][rank], "tokp")):
                with self.assertRaisesRegex((ValueError, RankError), words):
                    Training(spec, rank)
            training = Training("topk:ratio=0.1", rank).run(0, 2)
            loss = training.model(batch(2, rank)[0]).sum() * (float("inf") if rank == 1 else 1.0)
            with self.assertRaisesRegex((RuntimeError, thinpipe.InputError),
                                        "NaN or an infinity" if rank == 1 else "rank 1 failed"):
                loss.backward()
            os._exit(9)
        self.run_ranks(2, work, expected=9)


if __name__ == "__main__":
    unittest.main()
