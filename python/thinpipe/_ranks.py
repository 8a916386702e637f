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

    count, rank: number of ranks, and this process's rank in the group.
    group: a process group of the same ranks, for exchanges over gloo.
    numbers: the number that each rank of the group has in the whole job.
    sent_bytes: bytes that this rank has sent so far, without the headers of network protocols.
    """

    def __init__(self, group, timeout):
        self.rank, self.count = dist.get_rank(group), dist.get_world_size(group)
        self.sent_bytes = 0
        self.numbers = _numbers_in_job(group, self.count)
        # A group of its own, because DDP's collectives run at the same time in another thread.
        options = {"timeout": timedelta(seconds=timeout), "backend": "gloo"}
        if self.count < dist.get_world_size():
            if "use_local_synchronization" not in inspect.signature(dist.new_group).parameters:
                raise InputError("the model's process group has some of the job's ranks only; expected "
                                 "all of them, or torch 2.1")
            options["use_local_synchronization"] = True
        self.group = dist.new_group(self.numbers, **options)
        self._buffers = {}

    def others(self):
        """Returns all other ranks, from the next one on, so that not all ranks send to one rank first."""
        return [(self.rank + distance) % self.count for distance in range(1, self.count)]

    def buffer(self, what, size):
        """Returns a uint8 tensor of at least `size` bytes, the same one for the same `what`."""
        found = self._buffers.get(what)
        if found is None or found.numel() < size:
            found = self._buffers[what] = torch.empty(max(size, 1), dtype=torch.uint8)
        return found

    def agree(self, own):
        """Compares a dictionary with that of every rank. @throws RankError on all ranks, with the name and
        values of the first difference."""
        answers = [None] * self.count
        dist.all_gather_object(answers, own, group=self.group)
        for rank, answer in enumerate(answers):
            for name, value in answers[0].items():
                if answer.get(name) != value:
                    raise RankError(f"ranks disagree: {name}: found {answer.get(name)!r} on rank {rank} "
                                    f"and {value!r} on rank 0"[:2000])

    def greatest(self, array):
        """Replaces each element by its maximum over all ranks. Returns the array."""
        if self.count > 1:
            dist.all_reduce(array, op=dist.ReduceOp.MAX, group=self.group)
        return array

    def sum(self, array):
        """Replaces each element by its sum over all ranks, with the same bits on every rank.
        @throws RankError if gloo cannot add the array's type."""
        if self.count == 1 or array.numel() == 0:
            return
        try:
            dist.all_reduce(array, group=self.group)
        except RuntimeError as error:
            if "scalar type" not in str(error):
                raise
            raise RankError(f"gloo of torch {torch.__version__} cannot add {array.dtype}; expected "
                            "collective='allgather', or a newer torch") from None
        # A ring's bytes. The last digit depends on gloo's choice of algorithm.
        self.sent_bytes += 2 * array.numel() * array.element_size() * (self.count - 1) // self.count


class Messages:
    """An exchange of one message from each rank to each other rank. A message is a tensor of uint8. Its
    first 8 bytes are its size in bytes, or -1 if its sender has failed.

    Every rank first posts receives with buffers of the greatest size. gloo then sends a message without
    asking the receiver, and no rank waits for the sizes of others' messages. (gloo accepts messages that
    are shorter than their buffers. Untouched pages of a buffer take no memory.)

    what: name of the buffers, for Ranks.buffer().
    most: most[r] is the greatest size, in bytes, of the message from rank r.
    """

    def __init__(self, ranks, what, most):
        self._ranks, self._own, self._sends = ranks, None, []
        self._rooms, self._receives = {}, {}
        for rank in ranks.others():
            room = self._rooms[rank] = ranks.buffer(f"{what} from {rank}", most[rank])[:most[rank]]
            _set_size(room, 0)
            self._receives[rank] = dist.irecv(room, ranks.numbers[rank], group=ranks.group)

    def send(self, own):
        """Sends the message own[r] to rank r."""
        self._own = own[self._ranks.rank]
        for rank in self._ranks.others():
            self._sends.append(dist.isend(own[rank], self._ranks.numbers[rank], group=self._ranks.group))
            self._ranks.sent_bytes += own[rank].numel()

    def fail(self):
        """Tells the other ranks that this one has failed."""
        message = torch.empty(8, dtype=torch.uint8)
        _set_size(message, -1)
        with contextlib.suppress(RuntimeError):  # a rank that is gone
            self.send([message] * self._ranks.count)
            for send in self._sends:
                send.wait()

    def wait(self):
        """Waits for the messages of all ranks to this one and returns them, by rank. @throws RankError if
        a rank has failed"""
        messages = [self._own] * self._ranks.count
        for rank, room in self._rooms.items():
            try:
                self._receives[rank].wait()
            except RuntimeError:
                self._check()
                raise
            messages[rank] = room
        self._check()
        for send in self._sends:
            send.wait()
        return messages

    def _check(self):
        for rank, room in self._rooms.items():
            if size_of(room) < 0:
                raise RankError(f"rank {rank} failed in this exchange; its own error says why")


def size_of(message):
    return int(message[:8].view(torch.int64))


def _set_size(message, size):
    message[:8].view(torch.int64).fill_(size)


def _numbers_in_job(group, count):
    """Returns the numbers that a group's ranks have in the whole job."""
    if count == dist.get_world_size():
        return list(range(count))
    return dist.distributed_c10d.get_process_group_ranks(group)
