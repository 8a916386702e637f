"""The ranks of a PyTorch job, and the exchanges between them, over gloo."""
import contextlib
import inspect
from datetime import timedelta

import torch
import torch.distributed as dist

from thinpipe._library import InputError


class RankError(RuntimeError):
    """Ranks that disagree, or a rank that failed in an exchange."""


class Ranks:
    """The ranks of a process group.

    count, rank: how many there are, and which this is.
    sent_bytes: that this rank has sent, without headers.
    """

    def __init__(self, group, timeout):
        self.rank, self.count = dist.get_rank(group), dist.get_world_size(group)
        self.sent_bytes = 0
        self._numbers = _numbers_in_job(group, self.count)
        # A group of its own, because DDP's collectives run at the same time in another thread.
        options = {"timeout": timedelta(seconds=timeout), "backend": "gloo"}
        if self.count < dist.get_world_size():
            if "use_local_synchronization" not in inspect.signature(dist.new_group).parameters:
                raise InputError("the model's process group has some of the job's ranks only; expected "
                                 "all of them, or torch 2.1")
            options["use_local_synchronization"] = True
        self._group = dist.new_group(self._numbers, **options)
        self._buffers = {}

    def buffer(self, what, size):
        """Returns a reused tensor of at least so many bytes."""
        found = self._buffers.get(what)
        if found is None or found.numel() < size:
            found = self._buffers[what] = torch.empty(max(size, 1), dtype=torch.uint8)
        return found

    def agree(self, own):
        """Compares a dictionary with that of every rank. @throws RankError on all ranks, with the name and
        values of the first difference."""
        answers = [None] * self.count
        dist.all_gather_object(answers, own, group=self._group)
        for rank, answer in enumerate(answers):
            for name, value in answers[0].items():
                if answer.get(name) != value:
                    raise RankError(f"ranks disagree: {name}: found {answer.get(name)!r} on rank {rank} "
                                    f"and {value!r} on rank 0"[:2000])

    def greatest(self, array):
        """Replaces each element by the greatest of all ranks."""
        if self.count > 1:
            dist.all_reduce(array, op=dist.ReduceOp.MAX, group=self._group)
        return array

    def sum(self, array):
        """Replaces each element by the sum over all ranks, the same bits on every rank."""
        if self.count == 1 or array.numel() == 0:
            return
        try:
            dist.all_reduce(array, group=self._group)
        except RuntimeError as error:
            if "scalar type" not in str(error):
                raise
            raise RankError(f"gloo of torch {torch.__version__} cannot add {array.dtype}; expected "
                            "collective='allgather', or a newer torch") from None
        # A ring's bytes. The last digit depends on gloo's choice of algorithm.
        self.sent_bytes += 2 * array.numel() * array.element_size() * (self.count - 1) // self.count

    def begin_exchange(self, own):
        """Sends the length of the message own[r] to rank r, because lengths differ from rank to rank.
        A negative length tells the other ranks of a failure. Returns at once, with a function that
        returns the lengths of the messages to this rank. @throws RankError there if a rank has failed."""
        if self.count == 1:
            return lambda: own
        rows = [torch.zeros(self.count, dtype=torch.int64) for _ in range(self.count)]
        work = dist.all_gather(rows, torch.tensor(own, dtype=torch.int64), group=self._group,
                               async_op=True)

        def wait():
            work.wait()
            for rank, row in enumerate(rows):
                if int(row.min()) < 0:
                    raise RankError(f"rank {rank} failed in this exchange; its own error says why")
            return [int(row[self.rank]) for row in rows]
        return wait

    def fail(self):
        """Tells the other ranks, which call begin_exchange(), that this one has failed."""
        with contextlib.suppress(RuntimeError):  # this rank's own failure, or a rank that is gone
            self.begin_exchange([-1] * self.count)()

    def exchange(self, own, sizes):
        """Sends the message own[r] to rank r, and returns the messages of all ranks to this one, which
        have these sizes."""
        if self.count == 1:
            return own
        room = self.buffer("received", sum(sizes))
        received, at, requests = [], 0, []
        for rank, size in enumerate(sizes):
            received.append(own[rank] if rank == self.rank else room[at:at + size])
            at += size
            if rank != self.rank and size > 0:
                requests.append(dist.irecv(received[rank], self._numbers[rank], group=self._group))
        for distance in range(1, self.count):  # every rank begins with another receiver
            rank = (self.rank + distance) % self.count
            if own[rank].numel() > 0:
                requests.append(dist.isend(own[rank], self._numbers[rank], group=self._group))
                self.sent_bytes += own[rank].numel()
        for request in requests:
            request.wait()
        return received


def _numbers_in_job(group, count):
    """Returns the numbers that a group's ranks have in the whole job."""
    if count == dist.get_world_size():
        return list(range(count))
    return dist.distributed_c10d.get_process_group_ranks(group)
