"""Averages arrays of all ranks through compressors."""
import time

import torch

from thinpipe._library import InputError, slice_ends
from thinpipe._ranks import Messages, RankError, size_of
from thinpipe.compressor import Compressor

_DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


class _Unit:
    """An array with its own compressor: a tensor, a bucket, or a slice of a tensor or bucket."""

    def __init__(self, exchange, name, shape, spec, owner):
        self.name, self.owner = name, owner
        self.compressor = Compressor(spec, shape, name=name, seed=exchange.seed,
                                     rank=exchange.ranks.rank, threads=exchange.threads)
        self.properties = self.compressor.properties
        # EF21's payloads decode to a change of this estimate.
        self.estimate = torch.zeros(self.properties.elements) if self.properties.incremental else None
        self.encodes = self.encoded_bytes = self.k = self.k_hat = 0
        self.encode_seconds = self.decode_seconds = 0.0

    def count(self, report, seconds):
        self.encodes += 1
        self.encoded_bytes += report.encoded_bytes
        self.k += report.k
        self.k_hat += report.k_hat
        self.encode_seconds += seconds

    def state(self):
        return {"compressor": _to_tensor(self.compressor.state()),
                **({} if self.estimate is None else {"estimate": self.estimate.clone()})}

    def load_state(self, state):
        """Restores what state() returned; for None, the state before the first step."""
        if state is None:
            self.compressor.reset()
        else:
            self.compressor.load_state(state["compressor"])
        if self.estimate is not None:
            self.estimate.zero_()
            if state is not None:
                self.estimate.copy_(state["estimate"])


def _to_tensor(data):
    return torch.frombuffer(bytearray(data), dtype=torch.uint8) if data else torch.zeros(
        0, dtype=torch.uint8)


class _Part:
    """A unit in one exchange. The exchange replaces `values`, the unit's gradient, by the mean."""

    def __init__(self, unit, values, step, epoch, squares=None):
        self.unit, self.values, self.step, self.epoch = unit, values, step, epoch
        self.squares = squares


def _in_turn(functions):
    """Returns a function that calls all of `functions` in order."""
    def call_all():
        for function in functions:
            function()
    return call_all


def _head(parts):
    """Returns the number of bytes before the payloads in a message (see Exchange._message)."""
    return 8 * (2 + len(parts))


def _loaded_in(message):
    """Returns the mark of the loaded checkpoint in a message (see _check_loaded), as a view: a tensor
    of one int64."""
    return message[8:16].view(torch.int64)


def _check_loaded(marks):
    """Checks that since the exchange before either no rank loaded a checkpoint, or all loaded one of
    the same step. @throws RankError

    marks: for each rank, 1 + the step of the checkpoint; 0 without one.
    """
    least, most = (f"a checkpoint of step {mark - 1}" if mark > 0 else "no checkpoint"
                   for mark in (min(marks), max(marks)))
    if least != most:
        raise RankError(f"ranks disagree: load_state_dict: found {most} on one rank and {least} on another; "
                        "expected checkpoints of one step on all ranks")


def _most(units):
    """Returns the greatest size, in bytes, of a message with one payload of each unit."""
    return _head(units) + sum(unit.properties.max_encoded_size for unit in units)


def _properties_of(spec, **options):
    """Returns a spec's properties for a large matrix, because some methods send small arrays in another
    way. Use only properties that do not depend on the array."""
    compressor = Compressor(spec, (1024, 1024), **options)
    found = compressor.properties
    compressor.close()
    return found


class Exchange:
    """Exchanges of the arrays of one job.

    collective: "allreduce", "allgather", "twoshot", or "auto", the compressor's own.
    second: for "twoshot", the compressor of means; None: `spec`.
    ranks: a Ranks for the exchanges; see set_ranks().
    ahead: another Ranks of the same processes, for begin(), or None if begin() is not used.
    units: {name: unit}; a unit has a Compressor and its statistics.
    problem: None, or an error of this rank in a step without an exchange. The next exchange raises the
        error on this rank, and a RankError on the others.
    on_payload: None, or a function that receives (unit's name, step, payload) for every payload that
        this rank encodes in one round. The payload is a tensor of uint8, valid during the call only.
    """

    def __init__(self, spec, collective, second, seed, threads):
        self.spec, self.second, self.seed, self.threads = spec, second or spec, seed, threads
        self.properties = _properties_of(spec, seed=seed, threads=threads)
        self.collective = self._check(collective)
        self.has_half = "float16" in (self.properties.element,
                                      _properties_of(self.second).element)  # sends elements in fp16
        self.ranks = self.ahead = self.on_payload = self.problem = None
        self.units = {}
        self._slices = {}  # of an array, by its name
        self.plain_bytes = 0  # of arrays that were averaged without compression
        self._load = {}    # elements that each rank averages
        self._unrestored = {}
        self._damaged = None  # an error of a state, of which the next exchange tells all ranks
        self._loaded = 0  # 1 + the step of a checkpoint of which the next exchange tells all ranks
        self._turn = 0  # of two buffers for messages

    def _check(self, collective):
        if collective == "auto":
            collective = self.properties.aggregation
        if collective == "allreduce" and self.properties.aggregation != "allreduce":
            raise InputError(f"{self.spec}: its payloads cannot be added; expected "
                             "collective='allgather' or 'twoshot'")
        if self.properties.rounds > 1 and collective != "allreduce":
            raise InputError(f"{self.spec} takes {self.properties.rounds} all-reduces in a step; expected "
                             "collective='allreduce'")
        if collective == "twoshot":
            for spec in (self.spec, self.second):
                found = _properties_of(spec)
                if found.needs_whole or found.incremental or found.needs_squares or found.period > 1:
                    raise InputError(f"{spec} cannot be exchanged in two shots: it needs whole tensors, "
                                     "second moments, an estimate on all ranks, or several steps")
        elif self.second != self.spec:
            raise InputError("second: only for collective='twoshot'")
        return collective

    def set_ranks(self, ranks, ahead=None):
        """Sets the ranks, before the first exchange and on all of them. @throws RankError if gloo cannot
        add the compressor's payloads."""
        self.ranks, self.ahead = ranks, ahead
        if self.collective == "allreduce":
            ranks.sum(torch.zeros(1, dtype=_DTYPES[self.properties.element]))
            ranks.sent_bytes = 0

    def sent_bytes(self):
        """Returns the bytes that this rank has sent so far, without the headers of network protocols."""
        return sum(ranks.sent_bytes for ranks in (self.ranks, self.ahead) if ranks is not None)

    def configuration(self):
        """Returns the settings that must be equal on all ranks, by name."""
        return {"spec": self.spec, "second": self.second, "collective": self.collective,
                "seed": self.seed}

    def states(self):
        """Returns {unit's name: everything that the unit carries between steps}. @throws `problem`, if it
        is set, because the states then lack the gradient of its step."""
        if self.problem is not None:
            raise self.problem
        return {**self._unrestored, **{name: unit.state() for name, unit in self.units.items()}}

    def load_states(self, states):
        """Restores what states() returned. A unit is created by its first exchange, which also restores
        the unit's state."""
        self._unrestored = dict(states)
        self.problem = self._damaged = None  # of what is discarded here
        for unit in self.units.values():
            unit.load_state(self._unrestored.pop(unit.name, None))

    def tell_loaded(self, step):
        """Makes the next exchange fail on all ranks unless all have loaded a checkpoint of this step. The
        messages of that exchange carry the step."""
        self._loaded = 1 + step

    def _take_loaded(self):
        loaded, self._loaded = self._loaded, 0
        return loaded

    def begin(self, pieces, plain, step, epoch, squares=None, problem=None):
        """Encodes what this rank sends. Returns a function that exchanges it and replaces every array by
        its mean over the ranks, the same bits on all ranks.

        One thread may begin with the next arrays while another thread finishes those before, so that links
        do not wait for codecs. All ranks must call begin() in the same order. The third begin() overwrites
        the messages of the first, which must be finished by then.

        pieces: [(name, shape, flat tensor)] to compress.
        plain: tensors that are averaged without compression.
        squares: {name: second moments}, for compressors that need them.
        problem: an error of this rank, or None. It is raised after the other ranks have been told. In a
            step without an exchange, it is kept in `self.problem` until the next exchange.
        """
        self._turn = 1 - self._turn
        if self.problem is not None:
            problem = self.problem
        ways = {}
        for name, shape, flat in pieces:
            if self.collective == "twoshot":
                units = self._slice(name, flat)
            else:
                units = [(self._unit(name, shape, flat.numel()), flat)]
            for unit, values in units:
                part = _Part(unit, values, step, epoch, (squares or {}).get(name))
                ways.setdefault(self._way(unit.properties, step), []).append(part)
        problem = problem or self._damaged
        # Before the exchanges, which tell the other ranks of its errors too.
        problem = self._hold(ways.get("hold", ()), problem)
        # Of a delayed method in every step: ranks that loaded other checkpoints may not exchange now.
        if plain and (not ways or self.properties.period > 1):
            self._raise_on_all(problem)
        # In the same order on all ranks. Each tells the other ranks of a problem, and raises it.
        finishes = [begin(ways[way], problem)
                    for way, begin in (("twoshot", self._begin_two_shots),
                                       ("allgather", self._begin_all_gather),
                                       ("rounds", self._begin_several_rounds),
                                       ("allreduce", self._begin_all_reduce)) if way in ways]
        if problem is not None and "hold" in ways:  # no rank exchanges now
            self.problem = problem
            return lambda: None
        if problem is not None:
            raise problem
        if plain:
            finishes.append(lambda: self._average(plain))
        return _in_turn(finishes)

    def _raise_on_all(self, problem):
        """Raises an error on all ranks if a rank has a problem: there the problem, on the others a
        RankError. Also checks the loaded checkpoints (see _check_loaded)."""
        loaded = self._take_loaded()
        failed, most, least = self.ahead.greatest(torch.tensor(
            [0 if problem is None else self.ahead.rank + 1, loaded, -loaded])).tolist()
        if problem is not None:
            raise problem
        if failed > 0:
            raise RankError(f"rank {failed - 1} failed in this exchange; its own error says why")
        _check_loaded((most, -least))

    def _on_all(self, work, problem):
        """Returns the result of work(), which needs no other rank. @throws as _raise_on_all(), if work()
        fails on a rank or a rank has a problem already."""
        result = None
        if problem is None:
            try:
                result = work()
            except Exception as error:
                problem = error
        self._raise_on_all(problem)
        return result

    def _way(self, properties, step):
        if (step + 1) % properties.period != 0:
            return "hold"
        if self.collective == "allreduce" and properties.rounds > 1 and self.ranks.count > 1:
            return "rounds"
        return self.collective

    def _unit(self, name, shape, elements, spec=None, owner=None):
        unit = self.units.get(name)
        if unit is None:
            unit = self.units[name] = _Unit(self, name, shape, spec or self.spec, owner)
            if name in self._unrestored:
                try:
                    unit.load_state(self._unrestored.pop(name))
                except Exception as error:
                    self._damaged = self._damaged or error
        if unit.properties.elements != elements:
            raise InputError(f"{name} had {unit.properties.elements} elements and now has {elements}: DDP "
                             "has rebuilt its buckets; expected granularity='tensor' for this model")
        return unit

    def _average(self, arrays):
        """Sums arrays without compression and divides by the number of ranks."""
        joined = arrays[0] if len(arrays) == 1 else torch.cat(arrays)
        self.plain_bytes += 4 * joined.numel()
        self.ranks.sum(joined)
        joined.mul_(1.0 / self.ranks.count)
        at = 0
        for array in arrays:
            if array is not joined:
                array.copy_(joined[at:at + array.numel()])
            at += array.numel()

    def _hold(self, parts, problem):
        """Adds gradients to the compressors' memories, unless there is a problem, and sets them to 0.
        Returns the problem, or the first error, or None."""
        for part in parts:
            try:
                if problem is None:
                    part.unit.compressor.hold(part.values, squares=part.squares, step=part.step,
                                              epoch=part.epoch)
            except Exception as error:
                problem = error
            part.values.zero_()
        return problem

    def _encode(self, part, out, shared_scale=0.0):
        started = time.perf_counter()
        report = part.unit.compressor.encode_into(
            out, part.values, squares=part.squares, step=part.step, epoch=part.epoch,
            shared_scale=shared_scale)
        part.unit.count(report, time.perf_counter() - started)
        if self.on_payload is not None:
            self.on_payload(part.unit.name, part.step, out[:report.encoded_bytes])
        return report.encoded_bytes

    def _decode(self, part, payloads, factor):
        """Replaces the part's gradient by the sum of the decoded payloads, each times `factor`. With
        EF21, adds this sum to the unit's estimate, and replaces the gradient by the estimate."""
        unit, started = part.unit, time.perf_counter()
        out = part.values
        if unit.estimate is not None:
            out = unit.estimate
        else:
            out.zero_()
        for payload in payloads:
            unit.compressor.decode_add(payload, out, factor)
        if unit.estimate is not None:
            part.values.copy_(out)
        unit.decode_seconds += time.perf_counter() - started

    def _scales(self, parts, problem=None):
        """Returns {unit's name: the greatest scale of all ranks} for the compressors whose ranks share a
        scale; {} if there is only one rank."""
        shared = [part for part in parts if part.unit.properties.shares_scale]
        if not shared or self.ranks.count == 1:
            return {}
        scales = self._on_all(lambda: torch.tensor(
            [part.unit.compressor.prepare(part.values, step=part.step, epoch=part.epoch)
             for part in shared]), problem)
        self.ahead.greatest(scales)
        return {part.unit.name: float(scale) for part, scale in zip(shared, scales)}

    def _message(self, parts, what, scales=None):
        """Encodes parts into one message and returns it. The message has its size, the checkpoint's mark
        (which _begin_messages() writes), the size of each payload (all in 8 bytes), and the payloads."""
        room, sizes, at = self.ranks.buffer(what, _most([part.unit for part in parts])), [], _head(parts)
        for part in parts:
            sizes.append(self._encode(part, room[at:], (scales or {}).get(part.unit.name, 0.0)))
            at += sizes[-1]
        room[:_head(parts)] = torch.tensor([at, 0, *sizes], dtype=torch.int64).view(torch.uint8)
        return room[:at]

    def _payloads(self, message, count, rank):
        """Returns the `count` payloads of a message from `rank`. @throws RankError if the sizes in the
        message do not fit it."""
        total, at = size_of(message), 8 * (2 + count)
        sizes = message[16:at].view(torch.int64).tolist() if message.numel() >= at else [-1]
        if min(sizes, default=0) < 0 or at + sum(sizes) != total or total > message.numel():
            raise RankError(f"rank {rank} sent a message of {total} bytes that does not fit its {count} "
                            "payloads")
        payloads = []
        for size in sizes:
            payloads.append(message[at:at + size])
            at += size
        return payloads

    def _begin_messages(self, what, most, encode, problem, ranks):
        """Calls encode(), which returns a message for each rank, and sends the messages over `ranks`. If
        there is a problem, or encode() fails, tells the other ranks and raises the error. Returns a
        function that waits for the messages of all ranks and returns them."""
        messages, loaded = Messages(ranks, what, most), self._take_loaded()
        try:
            if problem is not None:
                raise problem
            own = encode()
        except Exception:
            messages.fail()
            raise
        for message in own:
            _loaded_in(message).fill_(loaded)
        messages.send(own)

        def wait():
            received = messages.wait()
            _check_loaded([int(_loaded_in(message)) for message in received])
            return received
        return wait

    def _begin_all_gather(self, parts, problem):
        scales = self._scales(parts, problem)
        count, what = self.ranks.count, f"message {self._turn}"
        exchange = self._begin_messages(what, [_most([part.unit for part in parts])] * count,
                                        lambda: [self._message(parts, what, scales)] * count, problem,
                                        self.ahead)

        def finish():
            received = [self._payloads(message, len(parts), rank)
                        for rank, message in enumerate(exchange())]
            for i, part in enumerate(parts):
                self._decode(part, [payloads[i] for payloads in received], 1.0 / self.ranks.count)
        return finish

    def _begin_all_reduce(self, parts, problem):
        scales = self._scales(parts, problem)
        by_element = {element: [part for part in parts if part.unit.properties.element == element]
                      for element in _DTYPES}
        return _in_turn([self._begin_sum(chosen, element, scales, problem)
                         for element, chosen in by_element.items() if chosen])

    def _begin_sum(self, parts, element, scales, problem):
        room = self.ranks.buffer(f"{element}{self._turn}", sum(part.unit.properties.max_encoded_size
                                                               for part in parts) + 8)

        def encode():
            ends, at = [], 0
            for part in parts:
                at += self._encode(part, room[at:], scales.get(part.unit.name, 0.0))
                ends.append(at)
            return ends

        ends = self._on_all(encode, problem)

        def finish():
            array = room[:ends[-1]].view(_DTYPES[element])
            predivides = parts[0].unit.properties.predivides
            if predivides:
                array.div_(self.ranks.count)
            self.ranks.sum(array)
            begin = 0
            for part, end in zip(parts, ends):
                self._decode(part, [room[begin:end]], 1.0 if predivides else 1.0 / self.ranks.count)
                begin = end
        return finish

    def _begin_several_rounds(self, parts, problem):
        """Begins an exchange of several all-reduces: in PowerSGD (algorithm 1), first of P, then of Q."""
        payloads = [torch.empty(part.unit.properties.max_encoded_size, dtype=torch.uint8)
                    for part in parts]

        def first_round(part, payload):
            started = time.perf_counter()
            report = part.unit.compressor.first_round(payload, part.values, step=part.step,
                                                      epoch=part.epoch)
            part.unit.count(report, time.perf_counter() - started)
            return report.encoded_bytes

        sizes = self._on_all(lambda: list(map(first_round, parts, payloads)), problem)

        def finish():
            for _ in range(parts[0].unit.properties.rounds):
                floats = torch.cat([payload[:size].view(torch.float32)
                                    for payload, size in zip(payloads, sizes)])
                self.ranks.sum(floats)
                floats.mul_(1.0 / self.ranks.count)
                at = 0
                for i, part in enumerate(parts):
                    count = sizes[i] // 4
                    sizes[i] = part.unit.compressor.next_round(floats[at:at + count], payloads[i])
                    at += count
            for part, payload, size in zip(parts, payloads, sizes):
                self._decode(part, [payload[:size]], 1.0)
        return finish

    # -------------------------------------------------------------------------------------- two shots

    def plan_slices(self, name, elements):
        """Cuts an array into one slice a rank, as `thinpipe run --collective twoshot` does. Returns [(name,
        begin, end, owner)]. A small array has fewer slices, whose owners are the ranks with the fewest
        elements so far. Plan all arrays in the same order in every process of a training, also after a
        restart, because a checkpoint has the state of a slice's mean on its owner only."""
        ends = slice_ends(self.spec, elements, self.ranks.count)
        found = self._slices[name] = []
        for i, (begin, end) in enumerate(zip([0, *ends], ends)):
            owner = i if len(ends) == self.ranks.count else min(range(self.ranks.count),
                                                                key=self._load_of)
            self._load[owner] = self._load_of(owner) + end - begin
            found.append((f"{name}[{begin}..{end - 1}]", begin, end, owner))
        return found

    def _slice(self, name, flat):
        found = self._slices.get(name) or self.plan_slices(name, flat.numel())
        return [(self._unit(label, (end - begin,), end - begin, owner=owner), flat[begin:end])
                for label, begin, end, owner in found]

    def _load_of(self, rank):
        return self._load.get(rank, 0)

    def _begin_two_shots(self, parts, problem):
        """Begins a two-shot exchange: every rank sends each slice, encoded, to the slice's owner. The
        owner averages the slices of all ranks, encodes the mean, and sends it to all ranks."""
        by_owner = [[part for part in parts if part.unit.owner == rank] for rank in range(self.ranks.count)]
        mine, what = by_owner[self.ranks.rank], f"message {self._turn}"
        exchange = self._begin_messages(what, [_most([part.unit for part in mine])] * self.ranks.count,
                                        lambda: [self._message(of_rank, f"{what} to {rank}")
                                                 for rank, of_rank in enumerate(by_owner)], problem,
                                        self.ahead)

        def answer(received):
            contributions = [self._payloads(message, len(mine), rank)
                             for rank, message in enumerate(received)]
            means = []
            for i, part in enumerate(mine):
                self._decode(part, [payloads[i] for payloads in contributions],
                             1.0 / self.ranks.count)
                second = self._unit("mean of " + part.unit.name, tuple(part.values.shape),
                                    part.values.numel(), self.second, self.ranks.rank)
                means.append(_Part(second, part.values, part.step, part.epoch))
            if self._damaged is not None:  # the state of a mean
                raise self._damaged
            return [self._message(means, "mean")] * self.ranks.count

        def finish():
            received = exchange()
            most = [_most([self._second_decoder(part) for part in of_rank]) for of_rank in by_owner]
            answers = self._begin_messages("mean", most, lambda: answer(received), None, self.ranks)()
            for rank, message in enumerate(answers):
                for part, payload in zip(by_owner[rank],
                                         self._payloads(message, len(by_owner[rank]), rank)):
                    started = time.perf_counter()
                    part.values.zero_()
                    self._second_decoder(part).decode_add(payload, part.values)
                    part.unit.decode_seconds += time.perf_counter() - started
        return finish

    def reduce_scatter(self, name, values, step, epoch, problem, factor):
        """Cuts an array into one slice of equal size for each rank, and sends each rank its slice, encoded.
        Writes the sum of the slices that this rank receives, times `factor`, to the front of the array."""
        flat, count = values.view(-1), self.ranks.count
        size = flat.numel() // count
        parts = [_Part(self._unit(f"{name}[{rank}]", (size,), size), flat[rank * size:(rank + 1) * size],
                       step, epoch) for rank in range(count)]
        problem = problem or self._damaged
        received = self._begin_messages("part", [_most([parts[self.ranks.rank].unit])] * count,
                                        lambda: [self._message([part], f"part to {rank}")
                                                 for rank, part in enumerate(parts)], problem, self.ranks)()
        own = parts[self.ranks.rank]
        payloads = [self._payloads(message, 1, rank)[0] for rank, message in enumerate(received)]
        self._decode(own, payloads, factor)
        flat[:size] = own.values

    def _second_decoder(self, part):
        """Returns the compressor that decodes the mean of a part's slice. It need not be the owner's,
        because any compressor of the same spec, name and shape can decode."""
        if not hasattr(part.unit, "second"):
            part.unit.second = Compressor(self.second, tuple(part.values.shape),
                                          name="mean of " + part.unit.name, seed=self.seed,
                                          rank=part.unit.owner)
        return part.unit.second
