"""A communication hook for PyTorch's DistributedDataParallel that exchanges compressed gradients.

    model = DistributedDataParallel(model)
    hook = thinpipe.torch.ddp_hook(model, "dgc:ratio=0.001")
    ...                     # the training, unchanged
    print(hook.report())    # bytes, times, k-hat / k

docs/python.md, "In a PyTorch job", describes options, checkpoints and failures.
"""
import atexit
import contextlib
import math
import queue
import re
import sys
import threading
import time
import warnings
import weakref
from typing import Any, Callable, Dict, Optional

import torch

import thinpipe
from thinpipe._exchange import Exchange
from thinpipe._library import InputError, whole
from thinpipe._ranks import RankError, Ranks
from thinpipe._steps import Steps

__all__ = ["FsdpHook", "Hook", "RankError", "ddp_hook", "fsdp_hook"]
_MOST_SECONDS = 1e9  # of a timeout: 31 years, which torch can count in milliseconds
_EXIT_SECONDS = 2.0  # the exit does not wait longer for an exchange: its other ranks may be gone
_FP16_MOST = 65504.0
_COLLECTIVES = ("auto", "allreduce", "allgather", "twoshot")


def ddp_hook(model: torch.nn.parallel.DistributedDataParallel, spec: str, *, collective: str = "auto",
             granularity: str = "tensor", min_elements: int = 0, seed: int = 1, threads: int = 1,
             nonfinite: str = "error", squares: Optional[Callable[[str], torch.Tensor]] = None,
             second: Optional[str] = None, timeout: float = 300.0) -> "Hook":
    """Makes a DistributedDataParallel model exchange its gradients through a compressor.

    Every rank calls it once, after the model's construction and before the first step. The mean
    gradient has the same bits on all ranks. Returns a Hook. @throws InputError for arguments that do not
    fit, RankError if another rank failed or has other arguments.

    spec: a compressor with its parameters, such as "dgc:ratio=0.001".
    collective: "allreduce" adds payloads, where the compressor's payloads can be added; "allgather"
        sends every payload to every rank; "twoshot" sends each slice of a tensor to one rank, which
        averages the slices of all ranks, encodes the mean and sends it to all. "auto" is the one of the
        first two that the compressor is made for.
    granularity: "tensor" compresses each parameter separately, "bucket" each of DDP's buckets as one
        vector. "bucket" does not compress the first step (with a static graph, the first two), because
        DDP then rebuilds its buckets.
    min_elements: tensors with fewer elements are averaged without compression.
    seed: seed of sampling and stochastic rounding.
    threads: number of threads of one encode.
    nonfinite: "error" ends the training on all ranks if a gradient has NaN or an infinity. "skip" makes
        the gradients of its bucket NaN on all ranks instead, so that a GradScaler skips the step.
    squares: a function that returns the second moments of a parameter's gradient by its name, a float32
        tensor, for compressors that need them (Tsuzuku et al., section 4).
    second: for "twoshot", the compressor of the mean; by default `spec` itself.
    timeout: seconds after which an exchange with a rank that does not answer fails.
    """
    if not isinstance(model, torch.nn.parallel.DistributedDataParallel):
        raise TypeError("model: found a " + type(model).__name__ + ", expected a "
                        "torch.nn.parallel.DistributedDataParallel")

    def check():
        for name, value, allowed in (("collective", collective, _COLLECTIVES),
                                     ("granularity", granularity, ("tensor", "bucket")),
                                     ("nonfinite", nonfinite, ("error", "skip"))):
            if value not in allowed:
                raise InputError(f"{name}: found {value!r}, expected one of {', '.join(allowed)}")
        whole("min_elements", min_elements, 63)
        if squares is not None and not callable(squares):
            raise InputError(f"squares: found a {type(squares).__name__}, expected a function of a "
                             "parameter's name")
        exchange = Exchange(str(spec), collective, second and str(second), seed, threads)
        if exchange.properties.needs_squares and (squares is None or granularity == "bucket"):
            raise InputError(f"{spec} needs second moments of each parameter: pass squares=, a function "
                             "that returns them by a parameter's name, and granularity='tensor'")
        return exchange, _parameters_of(model)

    ranks, (exchange, (names, shapes, strides)) = _checked_on_all(model.process_group, timeout, check)
    ranks.agree({"thinpipe": thinpipe.version(), "torch": torch.__version__,
                 **exchange.configuration(), "granularity": granularity,
                 "min_elements": min_elements, "nonfinite": nonfinite, "parameters": shapes})
    exchange.set_ranks(ranks, Ranks(model.process_group, timeout))
    _warn_of_momentum(exchange)
    _warn_of_unused_parameters(exchange, model)
    if exchange.collective == "twoshot" and granularity == "tensor":
        for name, shape in shapes:
            if math.prod(shape) >= max(min_elements, 1):
                exchange.plan_slices(name, math.prod(shape))
    hook = Hook(exchange, names, shapes, strides, granularity, min_elements, nonfinite, squares,
                2 if getattr(model, "static_graph", False) else 1)
    model.register_comm_hook(None, hook._enqueue)
    return hook


def _checked_on_all(group, timeout, check):
    """Returns the Ranks of a group, and the result of check(). If check() fails on a rank, raises its
    error on that rank, and a RankError with the error's text on the others."""
    problem = result = None
    try:
        if not (isinstance(timeout, (int, float)) and 0 < timeout < _MOST_SECONDS):
            raise InputError(f"timeout: found {timeout!r}, expected seconds, more than 0 and less than "
                             f"{_MOST_SECONDS:.0f}")
        result = check()
    except Exception as error:
        problem = error
    ranks = Ranks(group, timeout if problem is None else 300.0)
    try:
        ranks.agree({"error": problem and str(problem)})
    finally:
        if problem is not None:
            raise problem from None
    return ranks, result


def _warn_of_momentum(exchange):
    """Warns, on rank 0, if the compressor applies momentum. The optimiser, which is unknown here, may
    apply momentum too, and two momenta make a training diverge (Lin et al., section 3.2)."""
    if "memory=momentum" in exchange.properties.spec and exchange.ranks.rank == 0:
        warnings.warn(f"{exchange.spec} applies momentum itself: use an optimiser without momentum",
                      stacklevel=3)


def _warn_of_unused_parameters(exchange, model):
    """Warns, on rank 0, if the compressor has a memory and DDP drops the mean gradient of a parameter
    that no rank used in a step."""
    drops = model.find_unused_parameters or getattr(model, "static_graph", False)
    memory = "memory=" in exchange.properties.spec and "memory=none" not in exchange.properties.spec
    if drops and memory and exchange.ranks.rank == 0:
        warnings.warn(f"{exchange.spec} sends a part of its memory in every step, and DDP drops what "
                      "arrives for a parameter that no rank used in that step (find_unused_parameters, "
                      "static_graph): this part is lost", stacklevel=3)


class _Hook:
    """The compressed exchange of one model's gradients.

    exchange: the Exchange. Set its `on_payload` to receive payloads; its `units` have the compressors.
    step: number of backward passes that exchanged.
    """

    def __init__(self, exchange, arrays, shapes):
        self.exchange, self.ranks = exchange, exchange.ranks
        self._arrays = arrays  # names of the arrays that units are of; None: not known beforehand
        self._shapes = dict(shapes)  # of the model's parameters, by name
        self._agreed = False  # all ranks are at the same step
        self.step, self.epoch = 0, 0.0
        self._begun = 0  # step of the checkpoint that was loaded last
        self.seconds = 0.0  # of all exchanges: codec and network
        self._error = None
        self._reported = Steps(torch.distributed.get_rank(), compressor=exchange.spec,
                               collective=exchange.collective)

    def _configuration(self):
        return {**self.exchange.configuration(), "rank": self.ranks.rank, "ranks": self.ranks.count}

    def _check_error(self):
        if self._error is not None:
            raise RuntimeError(f"thinpipe: {self._error}") from self._error

    def _begin_step(self):
        """Reports the step before to `thinpipe net torchrun`. Called before the first exchange of each
        step, when no exchange is under way."""
        if self._reported.active:
            total, means = self._totals(), self._totals("mean of ")  # of two shots
            codec = total["encode_seconds"] + total["decode_seconds"]
            self._reported.begin({"compress_time": total["encode_seconds"],
                                  "decode_time": total["decode_seconds"],
                                  "exchange_time": self.seconds - codec,
                                  "payload_bytes": total["encoded_bytes"] - means["encoded_bytes"] +
                                  self.exchange.plain_bytes,
                                  "k": total["k"] - means["k"], "k_hat": total["k_hat"] - means["k_hat"]},
                                 dense_bytes=self._dense_bytes())

    def _dense_bytes(self):
        """Returns the bytes of one gradient in 32 bits, once all units exist."""
        return 4 * sum(unit.properties.elements for unit in self.exchange.units.values())

    def _totals(self, prefix=""):
        """Returns the sums of statistics() over the units whose names begin with the prefix."""
        total = dict.fromkeys(("encoded_bytes", "dense_bytes", "k", "k_hat", "encode_seconds",
                               "decode_seconds"), 0)
        for name, unit in self.statistics().items():
            for key in total if name.startswith(prefix) else ():
                total[key] += unit[key]
        return total

    def set_epoch(self, epoch: float) -> None:
        """Sets the epoch of the training, for compressors with a warm-up. The epoch may be a fraction."""
        self.epoch = float(epoch)

    def state_dict(self) -> Dict[str, Any]:
        """Returns everything that the compressors carry between steps, for a checkpoint of this rank.
        Call it between steps, on all ranks; each rank saves its own."""
        self._check_error()
        return {**self._configuration(), "shapes": dict(self._shapes), "step": self.step,
                "epoch": self.epoch, "units": self.exchange.states()}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Restores the state_dict() of the same rank. Call it between steps, on all ranks; the next
        exchange fails if a rank has loaded none, or one of another step. @throws InputError if `state`
        is of another configuration, or of a model with other parameters."""
        for name, value in self._configuration().items():
            if state.get(name) != value:
                raise InputError(f"state_dict: {name}: found {state.get(name)!r}, expected {value!r}")
        for name, shape in state.get("shapes", {}).items():  # absent in checkpoints of earlier versions
            found, expected = tuple(shape), self._shapes.get(name)
            if found != expected:
                raise InputError(f"state_dict: found a state of the parameter {name!r} of shape {found}, " +
                                 ("which the model does not have" if expected is None else
                                  f"expected {expected}, its shape in the model"))
        for unit in state["units"] if self._arrays is not None else ():
            array = re.sub(r"^mean of |\[[^\[]*\]$", "", unit)
            if array not in self._arrays:
                raise InputError(f"state_dict: found a state of {array!r}, which the model does not have: "
                                 "expected a model whose parameters have the same names")
        self.exchange.load_states(state["units"])
        self._begun += state["step"] - self.step  # the statistics go on
        self.step, self.epoch = state["step"], state["epoch"]
        if self._agreed:  # the first step compares steps itself
            self.exchange.tell_loaded(self.step)

    def statistics(self) -> Dict[str, Dict[str, Any]]:
        """Returns {unit's name: dictionary} with this rank's sums over all steps of encodes,
        encoded_bytes, dense_bytes (4 a float), k, k_hat, encode_seconds and decode_seconds."""
        return {name: {"encodes": unit.encodes, "encoded_bytes": unit.encoded_bytes,
                       "dense_bytes": 4 * unit.properties.elements * unit.encodes, "k": unit.k,
                       "k_hat": unit.k_hat, "encode_seconds": unit.encode_seconds,
                       "decode_seconds": unit.decode_seconds}
                for name, unit in self.exchange.units.items()}

    def report(self) -> str:
        """Returns the statistics of this rank in a few lines of text."""
        total = self._totals()
        steps = max(self.step - self._begun, 1)
        dense = self._dense_bytes() * steps  # also of steps that exchange nothing
        plain = self.exchange.plain_bytes
        ratio = dense / (total["encoded_bytes"] + plain) if total["encoded_bytes"] + plain else 1.0
        lines = [f"{self.exchange.spec}, {self.exchange.collective} on {self.ranks.count} ranks, "
                 f"{self.step} steps",
                 f"encoded: {total['encoded_bytes'] / steps / 1e6:.3f} MB a step, " +
                 (f"uncompressed: {plain / steps / 1e6:.3f} MB, together " if plain else "") +
                 f"{ratio:.1f} times fewer than fp32; "
                 f"sent: {self.exchange.sent_bytes() / steps / 1e6:.3f} MB a step",
                 f"a step: encode {1e3 * total['encode_seconds'] / steps:.2f} ms, decode "
                 f"{1e3 * total['decode_seconds'] / steps:.2f} ms, with the network "
                 f"{1e3 * self.seconds / steps:.2f} ms"]
        if total["k"]:
            lines.append(f"k-hat / k: {total['k_hat'] / total['k']:.3f}")
        return "\n".join(lines)


# ----------------------------------------------------------------------------- DistributedDataParallel

class Hook(_Hook):
    """The compressed exchange of a DistributedDataParallel model. Made by ddp_hook()."""

    def __init__(self, exchange, names, shapes, strides, granularity, min_elements, nonfinite, squares,
                 unsettled):
        super().__init__(exchange, set(names.values()) if granularity == "tensor" else None, shapes)
        self.granularity, self.min_elements = granularity, min_elements
        self.nonfinite, self.squares = nonfinite, squares
        self._names, self._strides = names, strides
        self._elements = sum(math.prod(shape) for _, shape in shapes)
        self._unsettled = unsettled  # next steps of this process in which DDP's buckets are not final
        self._new_step = True
        self._pinned = {}    # copies of a GPU's buckets
        self._exchange_failed = False  # the error was in an exchange, not in an encode
        self._lock = threading.Lock()  # of seconds
        self._queue = _start_threads()
        weakref.finalize(self, self._queue.put, None).atexit = False

    def _configuration(self):
        return {**super()._configuration(), "granularity": self.granularity,
                "min_elements": self.min_elements}

    def _dense_bytes(self):
        return 4 * self._elements

    def _enqueue(self, _state, bucket):
        """Passes a bucket to the encoding thread, and returns the future of its mean, as DDP's
        communication hook. Backward passes of all ranks fill their buckets in the same order."""
        buffer = bucket.buffer()
        if buffer.is_sparse:
            raise InputError("sparse gradients cannot be compressed: expected Embedding(sparse=False)")
        names = [self._names[id(parameter)] for parameter in bucket.parameters()]
        index = "first" if self._unsettled > 0 else bucket.index()
        if self._new_step:
            self._begin_step()
            self._new_step = False
        ready = None
        if buffer.device.type == "cuda":
            ready = torch.cuda.current_stream(buffer.device).record_event()
        job = (index, buffer, bucket.gradients(), names, self.step, self.epoch)
        if bucket.is_last():
            self.step += 1
            self._unsettled = max(self._unsettled - 1, 0)
            self._new_step = True
        future = torch.futures.Future() if buffer.device.type == "cpu" else torch.futures.Future(
            devices=[buffer.device])
        self._queue.put((self, job, future, ready))
        # An exception in a callback reaches backward() with its text.
        return future.then(self._finish)

    def _finish(self, future):
        self._check_error()
        return future.value()

    def _run(self, phase, job, future, ready):
        """Runs one phase of a bucket's exchange: _begin(), or the function that _begin() returned.
        Completes the future after the last phase, or after an error. Returns the next phase, or None."""
        buffer, following = job[1], None
        is_first = phase == self._begin
        try:
            if ready is not None:
                torch.cuda.set_device(buffer.device)
                ready.synchronize()
            # The other ranks wait for a bucket that was encoded, also if a later one has failed.
            if self._error is None or not (is_first or self._exchange_failed):
                started = time.perf_counter()
                following = phase(*job)
                with self._lock:
                    self.seconds += time.perf_counter() - started
        except BaseException as error:  # raised by the thread that trains: see _finish()
            self._error = self._error or error
            self._exchange_failed = self._exchange_failed or not is_first
            self._print(error)
        if following is None:
            future.set_result(buffer)  # backward() waits for it
        return following

    def _print(self, message):
        with contextlib.suppress(OSError, ValueError):  # nobody reads it
            print(f"thinpipe: rank {self.ranks.rank}: {message}", file=sys.stderr, flush=True)

    def _begin(self, index, buffer, gradients, names, step, epoch):
        """Encodes a bucket. Returns a function that exchanges the bucket, or None if the bucket is skipped
        (nonfinite="skip")."""
        ahead = self.exchange.ahead
        if not self._agreed:
            ahead.agree({"step": step})
            self._agreed = True
        problem = self._find_nonfinite(index, buffer, gradients, names, step)
        if self.nonfinite == "skip":
            if int(ahead.greatest(torch.tensor([int(problem is not None)]))) > 0:
                buffer.fill_(float("nan"))
                return None
        values = self._on_host(index, buffer)
        pieces, plain = self._pieces(index, values, gradients, names)
        squares = {}
        if self.exchange.properties.needs_squares:
            try:
                squares = {name: self._in_memory_order(name, self.squares(name))
                           for name, _, _ in pieces}
            except Exception as error:  # raised when the other ranks have been told
                problem = problem or error
        waiting = self.exchange.problem
        finish = self.exchange.begin(pieces, plain, step, epoch, squares, problem)
        if self.exchange.problem is not waiting:
            self._print(f"{self.exchange.problem}; the next exchange ends the training")

        def exchange(*_job):
            finish()
            if values is not buffer:
                buffer.copy_(values)
        return exchange

    def _in_memory_order(self, name, values):
        """Returns a parameter's values as one row, in the order of its gradient in DDP's buckets."""
        if name not in self._strides:
            return values.reshape(-1)
        laid = torch.empty_strided(values.shape, self._strides[name], dtype=values.dtype)
        laid.copy_(values)
        return laid.as_strided((values.numel(),), (1,))

    def _find_nonfinite(self, index, buffer, gradients, names, step):
        """Returns an error that names the gradients with NaN, an infinity, or, if the compressor sends
        fp16, a value beyond 65504; else None. Tests the sum first, which takes one pass without memory: a
        finite sum has finite terms only."""
        if bool(torch.isfinite(buffer.sum())) or bool(torch.isfinite(buffer).all()):
            whole = self.granularity == "bucket"
            if not self.exchange.has_half or (whole and index == "first"):
                return None
            where = [name for name, gradient in zip(names, gradients)
                     if gradient.numel() > 0 and (whole or gradient.numel() >= self.min_elements) and
                     bool(gradient.abs().max() > _FP16_MOST)]
            return InputError(f"step {step}: the gradient of {', '.join(where[:3])} is beyond fp16's "
                              "65504; with a GradScaler pass nonfinite='skip'") if where else None
        where = [name for name, gradient in zip(names, gradients)
                 if not bool(torch.isfinite(gradient).all())]
        return InputError(f"step {step}: the gradient of {', '.join(where[:3])} has NaN or an infinity; "
                          "with a GradScaler pass nonfinite='skip'")

    def _on_host(self, index, buffer):
        """Returns the bucket as float32 on the CPU: the bucket itself, or a copy, exact for 16-bit
        floats."""
        if buffer.device.type == "cpu":
            return buffer if buffer.dtype == torch.float32 else buffer.float()
        if index != "first":
            self._pinned.pop("first", None)  # DDP has rebuilt its buckets
        host = self._pinned.get(index)
        # Before DDP has rebuilt its buckets, several of them are under way at once.
        if index == "first" or host is None or host.numel() != buffer.numel():
            if index == "first" and not self._pinned:
                print(f"thinpipe: gradients on {buffer.device} are compressed on the CPU, through pinned "
                      "memory", file=sys.stderr, flush=True)
            host = self._pinned[index] = torch.empty(buffer.numel(), pin_memory=True)
        host.copy_(buffer)
        return host

    def _pieces(self, index, values, gradients, names):
        """Returns the arrays to compress, as [(name, shape, values)], and the arrays to average without
        compression."""
        if self.granularity == "bucket":
            return ([], [values]) if index == "first" else (
                [(f"bucket{index}", (values.numel(),), values)], [])
        pieces, plain, at = [], [], 0
        for name, gradient in zip(names, gradients):
            flat = values[at:at + gradient.numel()]
            at += gradient.numel()
            if gradient.numel() < self.min_elements:
                plain.append(flat)
            else:
                pieces.append((name, self._shape_in_memory(name, gradient), flat))
        return pieces, plain

    def _shape_in_memory(self, name, gradient):
        """Returns the gradient's shape with its dimensions in memory order, greatest stride first."""
        stride = self._strides.get(name)
        if stride is None:
            return tuple(gradient.shape)
        sides = sorted(range(len(stride)), key=lambda side: -stride[side])
        return tuple(gradient.shape[side] for side in sides)


def _start_threads():
    """Starts two threads: one encodes a bucket while the other exchanges the bucket before. A single
    thread exchanges, so the exchanges of all ranks have the same order. Returns the queue of buckets, in
    which None ends the threads."""
    buckets, encoded, room = queue.SimpleQueue(), queue.SimpleQueue(), threading.Semaphore(2)
    for work in ((_encode, buckets, encoded, room), (_exchange, encoded, room)):
        thread = threading.Thread(target=_forget_at_end, args=work, name="thinpipe", daemon=True)
        _threads[thread] = buckets
        thread.start()
    return buckets


def _forget_at_end(work, *queues):
    work(*queues)
    del _threads[threading.current_thread()]


# Neither has a reference to a hook while it waits, so that a hook can be freed.
def _encode(buckets, encoded, room):
    while (bucket := buckets.get()) is not None:
        hook, *rest = bucket
        room.acquire()
        finish = hook._run(hook._begin, *rest)
        if finish is None:
            room.release()
        else:
            encoded.put((hook, finish, *rest))
        del bucket, hook, rest, finish
    encoded.put(None)


def _exchange(encoded, room):
    while (bucket := encoded.get()) is not None:
        hook, finish, *rest = bucket
        hook._run(finish, *rest)
        room.release()
        del bucket, hook, finish, rest


_threads = {}  # of hooks: {thread: the queue that ends it}


@atexit.register
def _end_threads():
    """Ends all hooks' threads, and waits for them for _EXIT_SECONDS at most. The interpreter's end aborts
    the process if a thread is then within torch's code, which also runs when a hook is freed."""
    for buckets in set(_threads.values()):
        buckets.put(None)
    end = time.monotonic() + _EXIT_SECONDS
    for thread in list(_threads):
        thread.join(max(0.0, end - time.monotonic()))


# ------------------------------------------------------------------------------------------------ FSDP2

def fsdp_hook(model: torch.nn.Module, spec: str, *, seed: int = 1, threads: int = 1,
              timeout: float = 300.0) -> "FsdpHook":
    """Makes a model of fully_shard() (FSDP2, torch 2.8 or newer) reduce-scatter its gradients through a
    compressor. Every rank sends each rank the encoded chunk of that rank's shard; the receiver decodes
    and adds the chunks. The all-gathers of parameters stay PyTorch's.

    Every rank calls it once, after all calls of fully_shard(model) and before the first step. Each FSDP
    module's gradients are compressed as one vector for each rank. Arguments: see ddp_hook(). Returns an
    object with step, set_epoch(), state_dict(), load_state_dict(), statistics() and report().
    """
    modules = [(name, module) for name, module in model.named_modules()
               if hasattr(module, "set_custom_reduce_scatter")]
    if not modules:
        raise TypeError(f"model: found a {type(model).__name__} of torch {torch.__version__}, expected a "
                        "model of torch.distributed.fsdp.fully_shard in torch 2.8 or newer")
    ranks, exchange = _checked_on_all(_group_of(model), timeout, lambda: Exchange(
        str(spec), "twoshot", None, seed, threads))
    names = [name for name, _ in modules]
    ranks.agree({"thinpipe": thinpipe.version(), "torch": torch.__version__,
                 **exchange.configuration(), "modules": names})
    exchange.set_ranks(ranks)
    _warn_of_momentum(exchange)
    shapes = [(name, tuple(parameter.shape)) for name, parameter in model.named_parameters()
              if parameter.requires_grad]  # not of this rank's shards
    hook = FsdpHook(exchange, names, shapes)
    for name, module in modules:
        module.set_custom_reduce_scatter(_ReduceScatter(hook, name))
    return hook


def _group_of(model):
    """Returns the process group over which a model's parameters are sharded."""
    mesh = next(parameter.device_mesh for parameter in model.parameters()
                if hasattr(parameter, "device_mesh"))
    if mesh.ndim != 1:
        raise InputError(f"found a device mesh of {mesh.ndim} dimensions, expected one dimension")
    return mesh.get_group()


class FsdpHook(_Hook):
    """The compressed reduce-scatters of an FSDP2 model. Made by fsdp_hook()."""

    def __init__(self, exchange, names, shapes):
        super().__init__(exchange, names, shapes)
        self._steps = {}  # of each module since the beginning or the checkpoint
        self._first = 0

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._steps, self._first = {}, self.step

    def reduce_scatter(self, name, values, out, average):
        """Called by FSDP2 for each module's gradients, in the same order on all ranks."""
        self._check_error()
        step = self._steps.get(name, self._first)
        if step == self.step:  # the first module of a step
            self._begin_step()
        started = time.perf_counter()
        host = values.to("cpu", torch.float32)  # exact for 16-bit floats
        problem = None
        if not bool(torch.isfinite(host).all()):
            problem = InputError(f"step {step}: a gradient of {name or 'the model'} has NaN or an infinity")
        elif self.exchange.has_half and host.numel() > 0 and bool(host.abs().max() > _FP16_MOST):
            problem = InputError(f"step {step}: a gradient of {name or 'the model'} is beyond fp16's 65504")
        try:
            if not self._agreed:
                self.ranks.agree({"step": step})
                self._agreed = True
            self.exchange.reduce_scatter(name, host, step, self.epoch, problem,
                                         1.0 / self.ranks.count if average else 1.0)
        except Exception as error:
            self._error = error
            raise
        out.copy_(host[:out.numel()].view(out.shape))
        self._steps[name] = step + 1
        self.step = max(self.step, step + 1)
        self.seconds += time.perf_counter() - started


class _ReduceScatter:
    """A compressed reduce-scatter with the interface that FSDP2 calls."""

    def __init__(self, hook, name):
        self._hook, self._name = hook, name

    def allocate(self, size, *, dtype, device):
        return torch.empty(*size, dtype=dtype, device=device)

    def __call__(self, output_tensor, input_tensor, group, op, async_op=False):
        average = op == torch.distributed.ReduceOp.AVG
        if not average and op != torch.distributed.ReduceOp.SUM:
            raise InputError(f"reduce-scatter: found {op}, expected a sum or a mean; do not set a gradient "
                             "divide factor")
        self._hook.reduce_scatter(self._name, input_tensor, output_tensor, average)


def _parameters_of(model):
    """Returns {id: name} of the parameters that DDP exchanges, [(name, shape)] in the model's order, and
    {name: strides} of the parameters that are not row-major. Gradients in DDP's buckets have their
    parameters' layout. @throws InputError for parameters whose gradients a hook cannot exchange."""
    names, shapes, strides, devices = {}, [], {}, set()
    sparse = [name for name, module in model.module.named_modules()
              if isinstance(module, (torch.nn.Embedding, torch.nn.EmbeddingBag)) and module.sparse]
    if sparse:
        raise InputError(f"{sparse[0]}.weight has sparse gradients, which cannot be compressed: expected "
                         "sparse=False")
    for name, parameter in model.module.named_parameters():
        if not parameter.requires_grad:
            continue
        if parameter.dtype not in (torch.float32, torch.float16, torch.bfloat16):
            raise InputError(f"{name}: found {parameter.dtype}, expected float32, float16 or bfloat16")
        names[id(parameter)] = name
        shapes.append((name, tuple(parameter.shape)))
        dense = torch.empty_like(parameter).stride() == parameter.stride()
        if dense and not parameter.is_contiguous():
            strides[name] = parameter.stride()
        devices.add(parameter.device)
    if len(devices) > 1:
        raise InputError("the model's parameters are on several devices, "
                         f"{', '.join(sorted(map(str, devices)))}; expected one device a rank")
    return names, shapes, strides
